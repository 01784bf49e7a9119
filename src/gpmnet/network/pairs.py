"""`Pairs`: pairs of variables and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpmnet.errors import InputError
from gpmnet.frozen import Frozen, locked

ESTIMATES = ("omega", "strength", "strength_low", "strength_high", "sign", "p_value", "q_value", "marginal")
STATISTICS = (*ESTIMATES, "n_rows")
RESAMPLED = ("stability", "stability_forward", "stability_backward")
"""What half-samples say of a pair, where they were asked."""
FIGURES = (*STATISTICS, *RESAMPLED)
DTYPES: dict[str, type[np.generic]] = {
    "first": np.intp,
    "second": np.intp,
    "is_edge": np.bool_,
    **dict.fromkeys(FIGURES, np.float64),
}


@dataclass(frozen=True, eq=False)
class Pairs(Frozen):
    """Pairs of variables (first < second) with their statistics, each a read-only array of shape (m,).

    Attributes
    ----------
    first, second : ndarray of int
        Positions of the two variables.
    is_edge : ndarray of bool
        Whether the pair is an edge; the others came close and are kept so that a reader can move the cutoff.
    omega, strength, strength_low, strength_high, sign, p_value, q_value, marginal, n_rows : ndarray of float
        NaN where a method has no such figure; sign is -1, 0 (no single sign) or 1, and `strength_low` and
        `strength_high` are the ends of the 95% interval of the strength; `marginal` is the rank correlation of two
        ordered variables with nothing given, `n_rows` how many rows a pair rests on.
    stability, stability_forward, stability_backward : ndarray of float
        Share of the half-samples in which the pair was an edge, and in which the arrow first -> second, or the other one,
        was in every directed graph of the class; NaN where no half-samples were drawn, or no directions are learned.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    is_edge: NDArray[np.bool_]
    omega: NDArray[np.float64]
    strength: NDArray[np.float64]
    strength_low: NDArray[np.float64]
    strength_high: NDArray[np.float64]
    sign: NDArray[np.float64]
    p_value: NDArray[np.float64]
    q_value: NDArray[np.float64]
    marginal: NDArray[np.float64]
    n_rows: NDArray[np.float64]
    stability: NDArray[np.float64]
    stability_forward: NDArray[np.float64]
    stability_backward: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name, dtype in DTYPES.items():
            values = locked(getattr(self, name), dtype)
            if values.shape != np.shape(self.first):
                raise InputError(f"{name} has shape {values.shape} for pairs of shape {np.shape(self.first)}")
            object.__setattr__(self, name, values)
        if not np.all(self.first < self.second):
            raise InputError("a pair must name its earlier variable first")

    @classmethod
    def of(
        cls, first: ArrayLike, second: ArrayLike, is_edge: ArrayLike | None = None, **statistics: ArrayLike
    ) -> Pairs:
        """Return pairs with the given statistics; the others are NaN."""
        first, second = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
        edge = np.ones(len(first), dtype=bool) if is_edge is None else np.asarray(is_edge, dtype=bool)
        values = {name: np.full(len(first), np.nan) for name in FIGURES}
        values |= {name: np.asarray(value, dtype=np.float64) for name, value in statistics.items()}
        return cls(first, second, edge, **values)

    def take(self, rows: NDArray[Any]) -> Pairs:
        """Return some of the pairs."""
        return replace(self, **{name: getattr(self, name)[rows] for name in DTYPES})

    def order(self) -> NDArray[np.intp]:
        """Return the positions of the pairs, the most certain first, then the strongest."""
        return np.lexsort((self.second, self.first, -self.strength, self.p_value))

    def __len__(self) -> int:
        return len(self.first)
