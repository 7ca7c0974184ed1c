"""Prepared sets that are not shipped: searched in the folder named by ``LATENTBITS_DATA`` and checked by SHA-256."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import FileError, InputError


class Prepared(NamedTuple):
    """A prepared file: name, checksum, what it is."""

    file: str
    sha256: str
    about: str


DEBD_SETS = {
    "nltcs": "15b3d1168af44a83789027c2f6955f8637d916ad5fba7fbe3a6290e8ae109cd3",
    "msnbc": "ddc9519a3ab2260231438bf1504ad61e4eb4160371248c515ef747d6adb30abf",
    "kdd": "91a9917ffcb0119ec9e4849ab1fcd349bc535a796b85bc450ef401688721071d",
    "plants": "11a980726ef75d07c9ee6a9a1a8a14dd88fdb55b5099caf7738b235b74f21a85",
    "baudio": "469241367bd13dd62206bc3d4e1da380a46e7af5d33da37e3797a6cc0a83b5f9",
    "jester": "17e18344fabbfc2f75dc97ed910675d7be1c73814e1545f129c3b5b356e92d62",
    "bnetflix": "187d73cdb65e5bdcf4922d937183b25850f4ce09ec3ef5cfd4bff918c089054a",
    "accidents": "d8c1896c7a5b01c52c8f0f7bd3f058c67a757b3b026fba87a1f6dbd155b9d217",
    "tretail": "95e63c1d91f679f35c3e02ffb69a5d98fd9b9bb7e5486a81df0143b646dd3e40",
    "pumsb_star": "cc387dfba39102b231a9e197ba340006e8e9291bb34d1a2f54c0b73944d0db7e",
    "dna": "702b3710b680e94465f2c567a76f2db94cbece9254d41b709843885df2ccd191",
    "kosarek": "382c6dd2274fabc3808e68b84b50bc9bd36680577415adae95e6782d7b9009a5",
    "msweb": "1bb85b6cbfd6ce266adcd675f5fca8ca1e63a11e63b1e0cdca4330152ae98dc1",
    "book": "383886641cda8907c00a0528c46416abcb9df87b7414529b1d8e703e4180f7ed",
    "tmovie": "47ecddf0f958e979eb0bd2904dad34ed4d29ec09cbccf318eb1ddf0fea1124c2",
    "cwebkb": "65d2371e991b3bc6f49b7d306b202afae6e436d7fcae9d9ce8b5bb81f6b80d65",
    "cr52": "05d02bfc5febe852a9ac52cea026a3907d80e17a9f4a5ddfe8552515fa86b3bd",
    "c20ng": "f17c022d1d7496c696708185c62338d2459b7795c8c4e9ba49e59a833b463d52",
    "bbc": "dcd5465ad4d9f4881a71ad90f420c908be19271ea6af03b783a4304bf4dd7e5b",
    "ad": "3ac0c4a0e504b8913fadf8d5647167262ecbf76145aced7864e49699dc317ff7",
}
PREPARED = {
    **{
        f"debd/{name}": Prepared(
            f"debd/{name}.npz", seal, "binary density estimation benchmark, split into train / valid / test"
        )
        for name, seal in DEBD_SETS.items()
    },
    "carcinoma": Prepared(
        "small/carcinoma.csv",
        "7d9a20e0e9e52f876f87d3ccf5144e2baf95b0a80439074bccf06d2b238fdd9b",
        "118 slides × 7 pathologists, the standard latent-class example",
    ),
    "mfeat_pix": Prepared(
        "mfeat_pix.npz",
        "c69945d718ae68a5048f0bb089e7126a5f957e782271141e0cbc57edbc5a44f6",
        "2,000 handwritten digits of 16 × 15 grey pixels (UCI Multiple Features)",
    ),
    "newsgroups": Prepared(
        "newsgroups.parquet",
        "5aa33e10a32cab5f238c4a8de4e3d18a2a21cec1af2852b109aca77562c1123f",
        "19,997 posts of twenty newsgroups",
    ),
    "newsgroups_w100": Prepared(
        "newsgroups_w100.npz",
        "6579c50c1aa61c4396d4d0639a331165a568bbb3338af2a24581562acefd416f",
        "16,242 newsgroup posts × 100 words, in four groups",
    ),
    "newsgroups_lines": Prepared(
        "large/newsgroups_lines.npz",
        "bc7c6da60fa2feb93cb20d546fd75e5bd6b8818866b2f3aa309735a9a75cc0ed",
        "482,636 lines × 13,245 words of newsgroup posts",
    ),
    "usps": Prepared(
        "usps.npz",
        "20d1c86c5803ad12ea573bd4284651a1fc9f2dc371d35b479413b24d63ef3e0a",
        "11,000 handwritten digits of 16 × 16 grey pixels, 1,100 of each",
    ),
    "citations": Prepared(
        "citations.npz",
        "a10b399996605c2ddc5610f24ead67625d6b58f835d79ed9ae1e390b1b0c6a82",
        "8,153 documents × 40 cited authors in five areas of computational linguistics",
    ),
    "citations_wide": Prepared(
        "citations_wide.npz",
        "90c847e2942cb0dd2a382a91bedea42015c138719fce483b7556f06210dca008",
        "14,005 documents × 841 cited authors of computational linguistics",
    ),
    "debian_depends": Prepared(
        "large/debian_depends.npz",
        "6724e16475098e6751a1898e7782adfe2d1f571a9431e56939287164b242ce63",
        "55,991 packages × 34,840 packages that they depend on",
    ),
    "spambase": Prepared(
        "spambase.npz",
        "55031df2e8a3272df1cb17bd2e3b5cb2cac15a4485d8b6684351b412a712190a",
        "4,601 mails × 57 frequencies, spam or not (UCI)",
    ),
    "movielens100k": Prepared(
        "movielens100k.npz",
        "248672996add97900810893280f5fc659645f884762c1069ea8aa823a5000ec0",
        "100,000 ratings of 1,682 movies by 943 users (GroupLens; not to be redistributed)",
    ),
    "debtags": Prepared(
        "large/debtags.npz",
        "d230f98ecb5feb56213a9d37de174b5b4645810df5cc135b08dab0639a4e4a63",
        "29,824 packages × 597 tags that describe them",
    ),
    "retail": Prepared(
        "large/retail_fimi.npz",
        "f5c1ed8f54d687860c24d05dad6b8bb773ebaae90fba91bc3bf4c588f5b62072",
        "88,162 baskets × 16,470 items of a Belgian supermarket (FIMI)",
    ),
}


def find(name: str) -> Path | None:
    """The file of a prepared set in the folder that ``LATENTBITS_DATA`` names, or None."""
    if name not in PREPARED:
        raise InputError(f"there is no prepared set {name!r}; `latentbits data list` shows them.")
    folder = os.environ.get("LATENTBITS_DATA")
    path = Path(folder) / PREPARED[name].file if folder else None
    return path if path is not None and path.is_file() else None


def fetch(name: str) -> Path:
    """The checked file of a prepared set.

    The sets are conversions of public data that may not be redistributed with the package; nothing is downloaded.

    Parameters
    ----------
    name : str
        A name of ``latentbits data list``.

    Returns
    -------
    Path of the file

    Examples
    --------
    >>> from latentbits.errors import LatentBitsError
    >>> try:
    ...     fetch("no such set")
    ... except LatentBitsError as error:
    ...     print(type(error).__name__)
    InputError
    """
    path = find(name)
    if path is None:
        raise FileError(
            f"the prepared set {name!r} ({PREPARED[name].file}) was not found. Put it into a folder and name that folder "
            "in the environment variable LATENTBITS_DATA."
        )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != PREPARED[name].sha256:
        raise FileError(f"{path} is not the prepared set {name!r}: its SHA-256 is {digest}.")
    return path


def load_debd(name: str) -> dict[str, Any]:
    """The train, valid and test tables of a density-estimation benchmark, as bytes of 0 and 1.

    Parameters
    ----------
    name : str
        Of the benchmark: "nltcs", "plants", ...

    Returns
    -------
    dict of arrays

    Examples
    --------
    >>> from latentbits.errors import LatentBitsError
    >>> try:
    ...     load_debd("no such set")
    ... except LatentBitsError as error:
    ...     print(type(error).__name__)
    InputError
    """
    with np.load(fetch(f"debd/{name}"), allow_pickle=False) as parts:
        n = int(parts["n_vars"])
        return {split: np.unpackbits(parts[split], axis=1, count=n) for split in ("train", "valid", "test")}
