"""Run the experiments with the binary GTM: ``python -m papers.gtm [--full] [NAME ...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from papers.common import main

if __name__ == "__main__":
    sys.exit(main("gtm", Path(__file__).parent, sys.argv[1:]))
