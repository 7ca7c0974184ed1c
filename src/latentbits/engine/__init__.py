"""How fits run.  Knows blocks, sums and states; knows no family."""

from __future__ import annotations
