"""Run the experiments on Bayesian mixtures: ``python -m papers.bayesian_mixture [--full] [NAME ...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from papers.common import main

if __name__ == "__main__":
    sys.exit(main("bayesian-mixture", Path(__file__).parent, sys.argv[1:]))
