"""Run the experiments on noisy-or component analysis: ``python -m papers.noisy_or [--full] [NAME ...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from papers.common import main

if __name__ == "__main__":
    sys.exit(main("noisy-or", Path(__file__).parent, sys.argv[1:]))
