"""
What goes into one basket?
==========================

Baskets are lists of what was taken together. Here are real ones that every Python has at hand: the modules that each file of
its standard library imports. A file is a basket, an imported module an item; hidden occasions (networking, text, processes)
put several items into a basket at once, and a basket may have several occasions.
"""

import ast
import sysconfig
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import latentbits

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)


def imported(path):
    """Modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8", errors="replace"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


library = Path(sysconfig.get_paths()["stdlib"])
packages = [
    "email",
    "http",
    "urllib",
    "json",
    "asyncio",
    "multiprocessing",
    "logging",
    "unittest",
    "xml/dom",
    "importlib",
]
folders = [library, *(library / name for name in packages)]
baskets = {}
for path in (path for folder in folders for path in sorted(folder.glob("*.py"))):
    baskets[path.relative_to(library).as_posix()] = imported(path) - {"__future__"}
counts = Counter(item for basket in baskets.values() for item in basket)
often = {item for item, n in counts.items() if n >= 8}
baskets = {name: basket & often for name, basket in baskets.items() if len(basket & often) >= 2}

# %%
# One basket per line is a format that the library reads: the items become the columns of a sparse table.

lines = "\n".join(" ".join(sorted(basket)) for basket in baskets.values())
place = Path(tempfile.mkdtemp()) / "baskets.txt"
place.write_text(lines + "\n")
table = latentbits.data.read_table(place, format="transactions")
print(f"{table.shape[0]} baskets, {table.shape[1]} items")

# %%
# Noisy-or sources are occasions: any of them can put an item into the basket.

model = latentbits.NoisyOrComponentAnalysis(6, random_state=0).fit(table)
latentbits.plots.communities(model)

# %%
# What else goes into a basket with ``socket`` and ``ssl`` in it?

names = list(table.columns)
basket = np.full((1, len(names)), np.nan)
basket[0, [names.index(item) for item in ("socket", "ssl") if item in names]] = 1.0
chance = model.reconstruct(basket)[0]
for j in np.argsort(-chance)[:9]:
    if np.isnan(basket[0, j]):
        print(f"{names[j]:14s} {chance[j]:.2f}")
