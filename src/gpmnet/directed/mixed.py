"""Which score for which kinds: tables, basis functions and regressions in cells put together.

==========  =======================================================================================
child       score of parents, discrete ones D and continuous ones C
==========  =======================================================================================
discrete    tables of D, plus the basis score of C within the cells of D
continuous  the larger of the basis score of D and C, and the regressions on C in the cells of D
==========  =======================================================================================

From each comes a price for every parent, since it was chosen among d.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.basis import BasisFit, BasisScore
from gpmnet.directed.conditional_gaussian import ConditionalGaussianScore
from gpmnet.directed.score import FamilyScore, Floats, Ints, Parents, with_parent
from gpmnet.directed.tables import TableScore


class MixedScore(FamilyScore):
    """The score of a table of any kinds.

    Parameters
    ----------
    is_discrete : ndarray of bool, shape (d,)
    price : float
        Of every parent.
    """

    def __init__(
        self,
        is_discrete: NDArray[np.bool_],
        tables: TableScore,
        basis: BasisScore,
        regressions: ConditionalGaussianScore,
        price: float,
    ) -> None:
        self.d = len(is_discrete)
        self.tables, self.basis, self.regressions, self.price = tables, basis, regressions, price
        self._is_discrete = is_discrete
        self._fits: dict[tuple[int, Parents], tuple[float, BasisFit]] = {}

    def score(self, child: int, parents: Parents) -> float:
        """Return the evidence for a set of parents, less its price."""
        return self._fit(child, parents)[0] - self.price * len(parents)

    def gains(self, child: int, parents: Parents, candidates: Ints) -> Floats:
        """Return about what each candidate adds; see `FamilyScore`."""
        found = np.empty(len(candidates))
        discrete = self._is_discrete[candidates]
        own = self._discrete_child if self._is_discrete[child] else self._continuous_child
        own(child, parents, candidates, discrete, found)
        return found - self.price

    def _discrete_child(
        self, child: int, parents: Parents, candidates: Ints, discrete: NDArray[np.bool_], found: Floats
    ) -> None:
        given, _ = self._split(parents)
        found[discrete] = self.tables.gains(child, given, candidates[discrete])
        if not discrete.all():
            fit = self._fit(child, parents)[1]
            found[~discrete] = self.basis.gains(child, fit, candidates[~discrete], given)

    def _continuous_child(
        self, child: int, parents: Parents, candidates: Ints, discrete: NDArray[np.bool_], found: Floats
    ) -> None:
        now, fit = self._fit(child, parents)
        given, rest = self._split(parents)
        found[:] = fit.score + self.basis.gains(child, fit, candidates)
        for at in np.flatnonzero(discrete).tolist():
            cells = with_parent(given, int(candidates[at]))
            found[at] = max(found[at], self.regressions.score(child, rest, cells))
        if given:
            for at in np.flatnonzero(~discrete).tolist():
                slopes = with_parent(rest, int(candidates[at]))
                found[at] = max(found[at], self.regressions.score(child, slopes, given))
        found -= now

    def _fit(self, child: int, parents: Parents) -> tuple[float, BasisFit]:
        key = child, parents
        if key not in self._fits:
            given, rest = self._split(parents)
            if self._is_discrete[child]:
                fit = self.basis.fit(child, rest, given)
                score = fit.score + self.tables.score(child, given)
            else:
                fit = self.basis.fit(child, parents)
                score = max(fit.score, self.regressions.score(child, rest, given)) if given else fit.score
            self._fits[key] = score, fit
        return self._fits[key]

    def _split(self, parents: Parents) -> tuple[Parents, Parents]:
        """Return the discrete and the continuous parents."""
        discrete = tuple(p for p in parents if self._is_discrete[p])
        return discrete, tuple(p for p in parents if not self._is_discrete[p])
