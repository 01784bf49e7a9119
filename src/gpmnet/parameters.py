"""The estimator's parameters: what was given is checked, and becomes what a fit needs."""

from __future__ import annotations

import os
from collections.abc import Collection
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from gpmnet.errors import InputError, quote, with_article
from gpmnet.files import Shelf
from gpmnet.jobs import Where
from gpmnet.network import Origin

MOST_PAIRS = 100_000
MOST_PROCESSES = 16
"""Where there are fewer processors than that, no more processes are started."""


def share(name: str, value: Any) -> float:
    """Return a parameter that must be a number between 0 and 1.

    >>> share("fdr", np.float32(0.5))
    0.5
    """
    if not isinstance(value, Real) or not 0 < _float(value) < 1:
        raise InputError(f"{name} must be between 0 and 1; got {quote(value)}")
    return float(value)


def least_strength(value: Any) -> float:
    """Return the parameter min_strength, a number from 0 to below 1.

    >>> least_strength(np.float32(0.5))
    0.5
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= _float(value) < 1:
        raise InputError(f"min_strength must be a number from 0 to below 1; got {quote(value)}")
    return float(value)


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of any size
        return np.inf


def count_of_pairs(value: Any) -> int:
    """Return the parameter stability: how many pairs of half-samples, 0 or None for none.

    >>> count_of_pairs(np.int64(50)), count_of_pairs(None)
    (50, 0)
    """
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= MOST_PAIRS:
        raise InputError(
            f"stability must be a number of pairs of half-samples from 0 to {MOST_PAIRS:,}, 50 for instance; "
            f"got {quote(value)}"
        )
    return int(value)


def where_of(workers: Any, cluster: Any) -> Where:
    """Return where half-samples are fitted.

    >>> where_of(2, None)
    Where(workers=2, cluster=None)
    """
    if workers is not None:
        whole = isinstance(workers, int | np.integer) and not isinstance(workers, bool)
        if not whole or (workers < 1 and workers != -1):
            raise InputError(
                f"workers must be a number of processes, -1 for all processors, or None; got {quote(workers)}"
            )
        if workers == -1 and cluster is not None:
            raise InputError("workers is the number of a cluster's workers to wait for, which cannot be -1")
        # Of this machine no more than it has a use for: each takes memory of its own, and nothing depends on their number.
        most = max(MOST_PROCESSES, os.cpu_count() or 1) if cluster is None else workers
        workers = int(min(workers, most))
    if cluster is not None and not (isinstance(cluster, str) and "://" in cluster):
        raise InputError(
            f"cluster must be the address of a Dask scheduler, as in 'tcp://127.0.0.1:8786'; got {quote(cluster)}"
        )
    return Where(workers, cluster)


def check_device(device: Any) -> None:
    """Raise unless a device is a processor, or a CUDA device that torch finds."""
    unknown = InputError(f"device={quote(device)} is not cpu or cuda")
    if not isinstance(device, str):
        raise unknown
    try:
        found = torch.device(device)
    except RuntimeError:
        raise unknown from None
    if found.type not in ("cpu", "cuda"):
        raise unknown
    if found.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device={quote(device)}, but torch finds no CUDA device; use device='cpu'")
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise InputError(f"device={quote(device)}, but torch finds {torch.cuda.device_count()} CUDA devices")


def shelf_of(resume: Any) -> Shelf | None:
    """Return the shelf in a folder; None where nothing is to be kept."""
    if resume is None or isinstance(resume, Shelf):
        return resume
    if not isinstance(resume, str | Path) or not str(resume):
        raise InputError(f"resume must be the path of a folder, or None; got {quote(resume)}")
    return Shelf(Path(resume).resolve())


def check_callables(**given: Any) -> None:
    """Raise unless parameters are functions, or None."""
    for name, value in given.items():
        if value is not None and not callable(value):
            raise InputError(f"{name} must be a function; got {quote(value)}")


def check_origin(origin: Any) -> None:
    """Raise unless a parameter is an `Origin`, or None."""
    if origin is not None and not isinstance(origin, Origin):
        got = with_article(type(origin).__name__)
        raise InputError(f"origin must be a gpmnet.network.Origin; got {got}")


def seed_of(random_state: Any) -> int:
    """Return a seed: a whole number as it is, else one drawn from a source of random numbers.

    >>> seed_of(np.int64(3))
    3
    """
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**63:
            raise InputError(f"random_state must be from 0 to 2^63 - 1; got {quote(random_state)}")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if not isinstance(random_state, bool):
        try:
            return int(check_random_state(random_state).randint(2**31))
        except ValueError:
            pass
    raise InputError(
        f"random_state must be a whole number, a RandomState, a Generator or None; got {quote(random_state)}"
    )


def name_pairs(name: str, given: Any) -> list[tuple[str, str]]:
    """Return a parameter that must be a collection of pairs of names, or None.

    >>> name_pairs("forbid", np.array([["a", "b"]]))
    [('a', 'b')]
    """
    if given is None:
        return []
    pairs = given.tolist() if isinstance(given, np.ndarray) else given
    if not _is_collection(pairs) or not all(_is_pair(pair) for pair in pairs):
        raise InputError(f"{name} must be a list of pairs of names, as in [('a', 'b')]; got {quote(given)}")
    return [(str(a), str(b)) for a, b in pairs]


def _is_collection(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str)


def _is_pair(pair: Any) -> bool:
    return _is_collection(pair) and len(pair) == 2 and all(isinstance(name, str) for name in pair)


def name_tiers(given: Any) -> list[list[str]]:
    """Return the parameter tiers: a sequence of collections of names, the earliest first, or None.

    >>> name_tiers([["age", "sex"], ["smoking"]])
    [['age', 'sex'], ['smoking']]
    """
    if given is None:
        return []
    tiers = given.tolist() if isinstance(given, np.ndarray) else given
    if not _is_collection(tiers) or not all(
        _is_collection(tier) and all(isinstance(name, str) for name in tier) for tier in tiers
    ):
        raise InputError(
            f"tiers must be a list of lists of names, as in [['age', 'sex'], ['smoking']]; got {quote(given)}"
        )
    return [[str(name) for name in tier] for tier in tiers]
