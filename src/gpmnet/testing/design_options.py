"""How flexible the regressions on conditioning sets are; see `gpmnet.testing.design`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from gpmnet.checks import check_number
from gpmnet.columns.tabulated import cosines_that_fit
from gpmnet.parts import Part
from gpmnet.testing.chosen import Choice


@dataclass(frozen=True)
class DesignOptions(Part):
    """How flexible the regressions are.

    Attributes
    ----------
    n_cosines : int or None
        W, cosines of the rank per continuous variable; None is n / 16 shared among the continuous members of a set, at least
        2 n^0.15 (6 for 1,000 rows, 8 for 10,000), and no more than the tables of a fit have room for ...
    most_cosines : int
        ... nor than this many.
    n_slow : int
        Of these, the ones that every set has; the rest join where what is left shows a sign of them.
    n_index : int or None
        Cosines of the index of a target, see `indices`; None is n / 50, between 2 and 8; 0 leaves it out.
    most_interactions : int or None
        Products of functions of several members of a set that are looked at; None is n / 5, between 200 and 400.
    least_t : float or None
        Those that say this much about an end, in standard errors, join the design; None is 2.5 for 1,000 rows and 0.3 less
        for e times as many, between 2 and 3 ...
    interaction_share : float
        ... but no more of them than this share of the rows, ten at least ...
    most_chosen : int
        ... and no more than this; half of these places go to the simplest products whatever they say.
    ridge : float
        Penalty relative to the variance of a standardised column.
    rows_per_cell : int
        A joint table of discrete variables is saturated if it has at most n / rows_per_cell cells.
    most_cells : int
        And at most this many.
    closer_up_to : int
        Pairs that would be rejected are looked at more closely (`closer`) in tables of at most this many variables.
    """

    n_cosines: int | None = None
    most_cosines: int = 128
    n_slow: int = 16
    n_index: int | None = None
    most_interactions: int | None = None
    least_t: float | None = None
    interaction_share: float = 0.1
    most_chosen: int = 128
    ridge: float = 1e-3
    rows_per_cell: int = 10
    most_cells: int = 256
    closer_up_to: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_cosines", "n_index", "most_interactions"):
            if getattr(self, name) is not None:
                check_number(self, name, 0, integer=True)
        if self.least_t is not None:
            check_number(self, "least_t", 0.0)
        for name in ("most_cosines", "n_slow", "most_chosen"):
            check_number(self, name, 0, integer=True)
        check_number(self, "interaction_share", 0.0, 1.0)
        check_number(self, "ridge", 0.0, open_low=True)
        check_number(self, "rows_per_cell", 1, integer=True)
        for name in ("most_cells", "closer_up_to"):
            check_number(self, name, 0, integer=True)

    def cosines(self, n: int, n_continuous: int) -> int:
        """Return W with n rows and some continuous members of a set."""
        if self.n_cosines is not None:
            return self.n_cosines
        least = round(2 * math.pow(n, 0.15))
        return max(least, min(self.most_cosines, n // (16 * max(1, n_continuous))))

    def room(self, n: int, levels: Tensor, n_features: int) -> int:
        """Return the cosines of each variable for which tables have room; those that every set has in any case."""
        return max(self.n_slow, cosines_that_fit(n, levels, n_features))

    def index_cosines(self, n: int) -> int:
        """Return the cosines of an index with n rows."""
        return max(2, min(8, n // 50)) if self.n_index is None else self.n_index

    def choice(self, n: int) -> Choice:
        """Return which products a regression takes, with n rows."""
        t = self.least_t
        if t is None:
            t = min(3.0, max(2.0, 2.5 - 0.3 * math.log(n / 1000)))
        most = int(min(self.most_chosen, max(10, self.interaction_share * n)))
        return Choice(t, most, most // 2)

    def n_interactions(self, n: int) -> int:
        """Return how many products a set may have, with n rows."""
        return min(400, max(200, n // 5)) if self.most_interactions is None else self.most_interactions

    def n_cells(self, n: int) -> float:
        """Return how many cells a joint table may have to be saturated, with n rows."""
        return min(n / self.rows_per_cell, self.most_cells)

    def most_members(self, n: int) -> int:
        """Return how many continuous members a set may have so that its design takes at most a quarter of n rows."""
        products = min(self.n_interactions(n), self.choice(n).most)
        return int(max(1, (n / 4 - products) // (1 + self.cosines(n, n))))
