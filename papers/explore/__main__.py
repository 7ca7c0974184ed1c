"""Run the experiments with the comparison of families: ``python -m papers.explore [--full] [NAME ...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from papers.common import main

if __name__ == "__main__":
    sys.exit(main("explore", Path(__file__).parent, sys.argv[1:]))
