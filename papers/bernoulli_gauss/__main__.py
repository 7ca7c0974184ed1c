"""Run the experiments with the Bernoulli-Gauss model: ``python -m papers.bernoulli_gauss [--full] [NAME ...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from papers.common import main

if __name__ == "__main__":
    sys.exit(main("bernoulli-gauss", Path(__file__).parent, sys.argv[1:]))
