"""Which score for which kinds: tables, indicators, means and scales, and regressions in cells.

==========  =======================================================================================
child       score of parents, discrete ones D and continuous ones C
==========  =======================================================================================
discrete    tables of D, plus indicators given C within the cells of D
continuous  the larger of mean and scale given D and C, and regressions on C in the cells of D
==========  =======================================================================================

From each comes a price for every parent, since it was chosen among d.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.conditional_gaussian import ConditionalGaussianScore
from gpmnet.directed.indicators import IndicatorFit, Indicators
from gpmnet.directed.location_scale import LocationScale, LocationScaleFit
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
        indicators: Indicators,
        continuous: LocationScale,
        regressions: ConditionalGaussianScore,
        price: float,
    ) -> None:
        self.d = len(is_discrete)
        self.tables, self.indicators, self.continuous = tables, indicators, continuous
        self.regressions, self.price, self._is_discrete = regressions, price, is_discrete
        self._of_discrete: dict[tuple[int, Parents], IndicatorFit] = {}
        self._of_continuous: dict[tuple[int, Parents], tuple[float, LocationScaleFit]] = {}

    def score(self, child: int, parents: Parents) -> float:
        """Return the evidence for a set of parents, less its price."""
        if self._is_discrete[child]:
            given, _ = self._split(parents)
            found = self._discrete(child, parents).score + self.tables.score(child, given)
        else:
            found = self._continuous(child, parents)[0]
        return found - self.price * len(parents)

    def gains(self, child: int, parents: Parents, candidates: Ints) -> Floats:
        """Return about what each candidate adds; see `FamilyScore`."""
        own = self._gains_discrete if self._is_discrete[child] else self._gains_continuous
        return own(child, parents, candidates) - self.price

    def spare(self, child: int, parents: Parents) -> Parents:
        """Return those parents without which the score could be higher; see `FamilyScore`."""
        if self._is_discrete[child] or any(self._is_discrete[p] for p in parents):
            return parents
        return self.continuous.spare(self._continuous(child, parents)[1])

    def _gains_discrete(self, child: int, parents: Parents, candidates: Ints) -> Floats:
        found, discrete = np.empty(len(candidates)), self._is_discrete[candidates]
        given, _ = self._split(parents)
        found[discrete] = self.tables.gains(child, given, candidates[discrete])
        if not discrete.all():
            found[~discrete] = self.indicators.gains(self._discrete(child, parents), candidates[~discrete])
        return found

    def _gains_continuous(self, child: int, parents: Parents, candidates: Ints) -> Floats:
        now, fit = self._continuous(child, parents)
        given, rest = self._split(parents)
        found = fit.score + self.continuous.gains(fit, candidates)
        for at, other in enumerate(candidates.tolist()):
            if self._is_discrete[other]:
                found[at] = max(found[at], self.regressions.score(child, rest, with_parent(given, other)))
            elif given:
                found[at] = max(found[at], self.regressions.score(child, with_parent(rest, other), given))
        return np.asarray(found - now)

    def _discrete(self, child: int, parents: Parents) -> IndicatorFit:
        key = child, parents
        if key not in self._of_discrete:
            given, rest = self._split(parents)
            self._of_discrete[key] = self.indicators.fit(child, rest, given)
        return self._of_discrete[key]

    def _continuous(self, child: int, parents: Parents) -> tuple[float, LocationScaleFit]:
        key = child, parents
        if key not in self._of_continuous:
            given, rest = self._split(parents)
            fit = self.continuous.fit(child, parents)
            best = max(fit.score, self.regressions.score(child, rest, given)) if given else fit.score
            self._of_continuous[key] = best, fit
        return self._of_continuous[key]

    def _split(self, parents: Parents) -> tuple[Parents, Parents]:
        """Return the discrete and the continuous parents."""
        discrete = tuple(p for p in parents if self._is_discrete[p])
        return discrete, tuple(p for p in parents if not self._is_discrete[p])
