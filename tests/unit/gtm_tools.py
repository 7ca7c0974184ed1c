"""What the tests of maps share."""

from __future__ import annotations

import warnings
from functools import cache

from latentbits import BinaryGTM
from latentbits.datasets import make_map
from latentbits.errors import LatentBitsWarning


def quiet_fit(X, shape=(5, 4), weights=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return BinaryGTM(shape, **{"random_state": 0, **options}).fit(X, sample_weight=weights)


@cache
def known_map():
    return make_map(300, 14, latent_shape=(6, 6), basis_shape=(3, 3), unknown=0.1, random_state=1)


def fitted_map():
    return quiet_fit(known_map().data, max_iter=40)
