"""
What else would such a text say?
================================

Short texts mention a few of the words that belong to their subject. The texts here are real ones that every Python has at
hand: the one-line descriptions of the functions and classes of its standard library. Words are columns, descriptions rows,
and most zeros mean only that there was no room for the word.
"""

import inspect
import re
import warnings
from importlib import import_module

import pandas as pd

import latentbits

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)

MODULES = (
    "os shutil pathlib socket ssl email.message urllib.parse http.client sqlite3 csv json math statistics "
    "random datetime calendar time zipfile tarfile gzip threading asyncio subprocess logging unittest "
    "inspect re string multiprocessing http.server imaplib ftplib smtplib xml.etree.ElementTree decimal "
    "fractions locale gettext hashlib secrets tempfile glob filecmp configparser argparse difflib pickle "
    "copy heapq bisect queue selectors signal textwrap collections itertools functools"
).split()
COMMON = set(
    (
        "a an the of to in and or is be for with from by on at as it its this that if not are was which "
        "return returns returned object class method function value values given used use new like see "
        "instead also can will any all one has have i when into than then "
    ).split()
)

texts = {}
for name in MODULES:
    module = import_module(name)
    for key, thing in vars(module).items():
        text = (inspect.getdoc(thing) or "").split("\n")[0] if callable(thing) and not key.startswith("_") else ""
        if not text[:1].isupper() or "(" in text or "->" in text or " " not in text:
            continue  # a signature, not a sentence
        words = {w for w in re.findall(r"[a-z]{3,}", text.lower()) if w not in COMMON}
        if len(words) >= 3:
            texts[f"{name}.{key}"] = (name, text, words)
counts = pd.Series([word for _, _, words in texts.values() for word in words]).value_counts()
vocabulary = list(counts[counts >= 7].index[:120])
rows = {key: words & set(vocabulary) for key, (_, _, words) in texts.items()}
X = pd.DataFrame({word: [float(word in words) for words in rows.values()] for word in vocabulary}, index=list(rows))
X = X[X.sum(axis=1) >= 2]
print(f"{len(X)} descriptions, {X.shape[1]} words, {X.to_numpy().mean():.1%} ones")

# %%
# Aspect Bernoulli with a phantom: a cause that never says a word and takes up the zeros that the subject does not explain.

model = latentbits.AspectBernoulli(9, n_phantom=1, n_init=3, max_iter=300, random_state=0).fit(X)
latentbits.plots.causes(model)

# %%
# For some descriptions, the words that were left out but belong to their subject.

chosen = [list(X.index).index(key) for key in X.index if key.startswith(("math.", "tarfile.", "socket.", "shutil."))][
    ::9
][:6]
for record in model.expand(X, chosen, top=4):
    if record["rank"] == 1:
        key = X.index[record["row"]]
        print(f"\n{key}: {texts[key][1]}")
    print(f"    {record['feature']} ({record['content']:.2f})")
