"""latentbits: hidden causes in tables of zeros, ones and blanks.

>>> import latentbits
>>> X = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, None, 1]]
>>> latentbits.BernoulliMixture(n_components=2, random_state=0).fit(X).predict(X).tolist()
[0, 0, 1, 1]
"""

from __future__ import annotations

import importlib
from typing import Any

from .families import COMPOSITES, FAMILIES

__version__ = "0.2.0"

# Public names and where they live.  They are imported when first asked for, so that `import latentbits` is quick.
_MODULES = ("plots", "datasets", "metrics", "data", "errors")
_HOMES = {
    **{family.cls: family.home for family in FAMILIES},
    **COMPOSITES,
    "Imputer": "latentbits.evaluation",
    **{name: f"latentbits.{name}" for name in _MODULES},
    "bootstrap_lrt": "latentbits.evaluation",
    "compare": "latentbits.evaluation",
    "explore": "latentbits.exploring",
    "load": "latentbits.persist",
    "select": "latentbits.evaluation",
}
__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'latentbits' has no attribute {name!r}")
    module = importlib.import_module(_HOMES[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
