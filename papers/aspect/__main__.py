"""Run the experiments on Aspect Bernoulli: ``python -m papers.aspect [--full] [NAME ...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from papers.common import main

if __name__ == "__main__":
    sys.exit(main("aspect", Path(__file__).parent, sys.argv[1:]))
