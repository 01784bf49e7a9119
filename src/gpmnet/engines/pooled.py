"""What an engine found in several complete draws of one table, as one answer.

The p-value of a pair is that of the draw that is least sure of it; a pair that did not come close to an edge in one draw is
none. A draw treats what it invented in the conditioning set as known, so its own p-value is a little too small; the largest
of several is honest as long as one of them is. (Measured beside it: the middle p-value and the
second largest find more edges, and hold on most laws; but behind a sine of a member that 30% of the rows lack, which draws
follow roughly, they reject a third and a fifth of the null pairs at 0.05, where the largest rejects a tenth. Rubin's rules
for the scores of the p-values reject more null pairs too, and lose strong edges, since the scores of these differ between
draws in proportion to their size.)

Fisher's z of the strengths is pooled by Rubin's rules, with the standard errors inside and between draws; a pair that did
not come close has strength 0. Omega and shapes are means over the draws. Where the engine itself decides which pairs are
edges, the graph is that of the draw that differs least from all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.directions import Directions
from gpmnet.engines.base import Description, Engine, Found, Joint, Problem
from gpmnet.imputing import n_together
from gpmnet.selection.joint import JointTest
from gpmnet.table import LEAST_TOGETHER

_STRONGEST = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class PooledFound(Found):
    """The pairs of all draws.

    Attributes
    ----------
    parts : tuple of Found
    place : ndarray of int, shape (M, m)
        Where each pair stands in each draw, -1 where it did not come close.
    typical : int
        The draw whose graph differs least from those of all others, where the engine itself decides.
    """

    parts: tuple[Found, ...]
    place: NDArray[np.intp]
    typical: int

    def describe(self, is_edge: NDArray[np.bool_], shown: NDArray[np.intp]) -> Description:
        """Return means over the draws in which an edge came close."""
        total = Description.nothing(len(self.first), 0)
        omegas, owns, stops, n_iter = [], [], [], 0
        sums: dict[int, NDArray[np.float32]] = {}
        counts: dict[int, int] = {}
        is_shown = np.isin(np.arange(len(is_edge)), shown)
        for part, place in zip(self.parts, self.place, strict=True):
            there = np.flatnonzero(place >= 0)
            inside, wanted = (np.zeros(len(part.first), dtype=bool) for _ in range(2))
            inside[place[there]], wanted[place[there]] = is_edge[there], is_shown[there]
            said = part.describe(inside, np.flatnonzero(wanted))
            omegas.append(np.where(place >= 0, said.omega[place], np.nan) if len(said.omega) else total.omega)
            owns.append(said.own)
            stops += [stop for stop in said.stops if stop not in stops]
            n_iter = max(n_iter, said.n_iter)
            back = {int(at): int(pair) for pair, at in zip(there, place[there], strict=True)}
            for at, surface in zip(np.flatnonzero(wanted).tolist(), said.surfaces, strict=True):
                pair = back[at]
                sums[pair] = sums[pair] + surface if pair in sums else surface
                counts[pair] = counts.get(pair, 0) + 1
        surfaces = [sums[pair] / np.float32(counts[pair]) for pair in shown.tolist()]
        return Description(_known_mean(omegas), _known_mean(owns), surfaces, tuple(stops), n_iter)

    def decided(self) -> NDArray[np.bool_] | None:
        """Return the edges of the typical draw where the engine itself decides."""
        own = self.parts[self.typical].decided()
        return None if own is None else _placed(own, self.place[self.typical], False).astype(bool)

    @property
    def has_whole_omega(self) -> bool:
        """Whether Omega of pairs that are no edges means something too."""
        return self.parts[0].has_whole_omega

    @property
    def notes(self) -> tuple[str, ...]:
        """What the draws say of how they were learned, each sentence once."""
        return tuple(dict.fromkeys(note for part in self.parts for note in part.notes))

    def directions(self) -> Directions | None:
        """Return the directed graph of the typical draw."""
        return self.parts[self.typical].directions()

    def joint(self, is_edge: NDArray[np.bool_]) -> Joint:
        """Return the groups of near-copies of the first draw, and the tests against those that other draws have too."""
        found = []
        for part, place in zip(self.parts, self.place, strict=True):
            inside = np.zeros(len(part.first), dtype=bool)
            inside[place[place >= 0]] = is_edge[place >= 0]
            found.append(part.joint(inside))
        first = found[0]
        said = [{(t.variable, frozenset(one.groups[t.group])): t for t in one.tests} for one in found]
        tests = []
        for key, test in said[0].items():
            known = [one.get(key) for one in said]
            narrow, wide = (
                float(pooled_log_p(np.array([[0.0 if x is None else getattr(x, name)] for x in known]))[0])
                for name in ("log_p", "log_p_wide")
            )
            strength = float(np.mean([0.0 if x is None else x.strength for x in known]))
            tests.append(JointTest(test.variable, test.group, narrow, wide, test.rivals, strength))
        return Joint(first.groups, tuple(tests), first.n_tests)


def fit_draws(engine: Engine, problems: Sequence[Problem]) -> Found:
    """Return what an engine finds in the complete draws of one table, each a problem, as one answer."""
    return pooled([engine.fit(one) for one in problems], problems[0].encoded.observed)


def pooled(parts: Sequence[Found], observed: NDArray[np.bool_] | None) -> Found:
    """Return what an engine found in several complete draws of a table, as one; of one draw it is returned as it is.

    A pair that too few rows have both of is not tested: the draws say nothing of it that is not their own invention.

    Parameters
    ----------
    observed : ndarray of bool, shape (n, d)
        Which values were observed, of several draws; the rows may come in any order.
    """
    if len(parts) == 1:
        return parts[0]
    if observed is None:
        raise TypeError("several draws are of a table with gaps")
    d = observed.shape[1]
    codes = [part.first * d + part.second for part in parts]
    union = np.unique(np.concatenate(codes))
    place = np.full((len(parts), len(union)), -1, dtype=np.intp)
    for row, code in zip(place, codes, strict=True):
        row[np.searchsorted(union, code)] = np.arange(len(code))
    first, second = union // d, union % d

    def of(name: str, otherwise: float) -> NDArray[np.float64]:
        return np.stack(
            [_placed(getattr(part, name), row, otherwise) for part, row in zip(parts, place, strict=True)]
        )

    log_p = pooled_log_p(of("log_p", 0.0))
    strength, error = pooled_strength(of("strength", 0.0), of("strength_error", np.nan))
    sign = of("sign", 0.0).mean(axis=0)
    both = n_together(observed, first, second)
    n_rows = np.fmin(both, np.fmax.reduce(of("n_rows", np.nan)))  # an engine may look at fewer than all rows
    apart = both < LEAST_TOGETHER
    typical = _typical(parts, place)
    return PooledFound(
        first,
        second,
        np.where(apart, 0.0, log_p),
        np.where(apart, 0.0, strength),
        error,
        of("strength_excess", 0.0).mean(axis=0),
        np.where(np.abs(sign) > 0.5, np.sign(sign), 0.0),
        n_rows,
        max(part.n_iter for part in parts),
        tuple(dict.fromkeys(stop for part in parts for stop in part.stops)),
        parts[typical].learned,
        parts=tuple(parts),
        place=place,
        typical=typical,
    )


def pooled_log_p(log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log p-values (m,) of hypotheses that were tested in several draws, (M, m): those of the least sure draws.

    >>> np.exp(pooled_log_p(np.log([[0.01, 0.001], [0.01, 0.1], [0.01, 0.01]]))).round(3)
    array([0.01, 0.1 ])
    """
    found: NDArray[np.float64] = log_p.max(axis=0)
    return found


def pooled_strength(
    strength: NDArray[np.float64], error: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the strengths (m,) and the standard errors of their Fisher's z, from those in several draws (M, m).

    >>> value, error = pooled_strength(np.array([[0.5], [0.5]]), np.array([[0.1], [0.1]]))
    >>> value.round(6), error.round(6)
    (array([0.5]), array([0.1]))
    """
    z = np.arctanh(np.minimum(strength, _STRONGEST))
    between = (1 + 1 / len(z)) * z.var(axis=0, ddof=1)
    return np.tanh(z.mean(axis=0)), np.sqrt(_known_mean([row**2 for row in error]) + between)


def _placed(values: NDArray[np.generic], place: NDArray[np.intp], otherwise: float) -> NDArray[np.generic]:
    """Return values at some places, something else where there is none."""
    found = np.full(len(place), otherwise, dtype=values.dtype)
    found[place >= 0] = values[place[place >= 0]]
    return found


def _known_mean(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the mean of what is known of each, NaN where nothing is."""
    stacked = np.stack(rows)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _typical(parts: Sequence[Found], place: NDArray[np.intp]) -> int:
    """Return the draw whose decided edges differ least from those of all others, the first of equals."""
    decided = [part.decided() for part in parts]
    edges = [_placed(own, row, False) for own, row in zip(decided, place, strict=True) if own is not None]
    if not edges:
        return 0
    stacked = np.stack(edges).astype(np.intp)
    share = stacked.sum(axis=0)
    differs = (stacked * (len(parts) - share) + (1 - stacked) * share).sum(axis=1)
    return int(differs.argmin())
