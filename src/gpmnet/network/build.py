"""From what an engine found to the network: columns that repeat others come back, edges get axes, Omega its matrix."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gpmnet.columns.functions import GRID
from gpmnet.engines.base import Description, Found, Joint
from gpmnet.engines.decide import cautions_of
from gpmnet.network import matrix
from gpmnet.network.facts import Facts
from gpmnet.network.joint import JointFinding
from gpmnet.network.marginal import rank_correlations
from gpmnet.network.network import MarkovNetwork
from gpmnet.network.pairs import FIGURES, Pairs
from gpmnet.network.shapes import Axis, Shapes
from gpmnet.selection import Chosen, Cutoff, choose_edges
from gpmnet.table import Table
from gpmnet.testing.strength import interval

MOST_SHAPES = 2000
"""The strongest edges, at most this many, get a shape; none above `gpmnet.network.DENSE_UP_TO` variables."""
_CERTAIN = dict.fromkeys(FIGURES, np.nan) | {
    "strength": 1.0,
    "strength_low": 1.0,
    "strength_high": 1.0,
    "sign": 0.0,
    "p_value": 0.0,
    "q_value": 0.0,
}
"""What is said of a column and the one that stands for it."""


def shown_edges(d: int, chosen: Chosen, strength: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the positions of the edges whose surface is wanted, increasing: the strongest, the surest of equals.

    Parameters
    ----------
    d : int
        Number of variables.
    strength : ndarray of shape (m,)
        Of all pairs.

    Examples
    --------
    >>> chosen = Chosen(np.array([True, False, True]), np.zeros(3), np.zeros(3))
    >>> shown_edges(3, chosen, np.array([0.1, 0.9, 0.5]))
    array([0, 2])
    """
    edges = np.flatnonzero(chosen.is_edge)
    if d > matrix.DENSE_UP_TO:
        return edges[:0]
    strongest = np.lexsort((chosen.p_value[edges], -strength[edges]))[:MOST_SHAPES]
    return np.sort(edges[strongest])


@dataclass(frozen=True, eq=False)
class Draft:
    """The edges of a table, before and after they are described.

    Attributes
    ----------
    table : Table
    found : Found
        The pairs over the table's variables, first < second.
    chosen : Chosen
        Which of them are edges.
    cutoff : Cutoff or None
        None where the engine itself decides.
    """

    table: Table
    found: Found
    chosen: Chosen
    cutoff: Cutoff | None

    @cached_property
    def marginal(self) -> NDArray[np.float64]:
        """Rank correlations of the pairs, computed once."""
        return rank_correlations(self.table, self.found.first, self.found.second)


def build_network(
    draft: Draft, described: Description, shown: NDArray[np.intp], facts: Facts
) -> tuple[MarkovNetwork, NDArray[np.float64] | csr_array[Any]]:
    """Return the network of a table, and Omega over its names.

    The network has all columns that are not ignored: one that repeats another is joined to it, without a test.

    Parameters
    ----------
    described : Description
        Their Omega, its diagonal, and the surfaces of `shown`.
    shown : ndarray of int
        Positions of the edges that have a surface, increasing.
    facts : Facts
        What else is known of the run, the table's schema included.

    Returns
    -------
    network : MarkovNetwork
    omega : (d, d) ndarray, or scipy.sparse above `gpmnet.network.DENSE_UP_TO` variables
        Zero where there is no edge, unless Omega itself decides. A column that repeats another has that one's diagonal
        entry, and NaN with it.
    """
    table, found, chosen = draft.table, draft.found, draft.chosen
    used = [column for column in table.schema if column.kind != "ignored"]
    names = tuple(column.name for column in used)
    low, high = interval(found.strength, found.strength_error, found.strength_excess)
    pairs = Pairs.of(
        found.first,
        found.second,
        chosen.is_edge,
        omega=described.omega,
        strength=found.strength,
        strength_low=low,
        strength_high=high,
        sign=found.sign,
        p_value=chosen.p_value,
        q_value=chosen.q_value,
        n_rows=found.n_rows,
        marginal=draft.marginal,
    )
    joined = _with_twins(table, pairs, names)
    network = MarkovNetwork(
        names,
        joined,
        tuple(column.kind for column in used),
        table.n_rows,
        draft.cutoff,
        Shapes(_axes(table, pairs.take(shown), names), shown, tuple(described.surfaces)),
        facts,
        directions=found.directions(),
    )
    given = joined if found.has_whole_omega else joined.take(np.flatnonzero(joined.is_edge))
    own = _diagonal(table, described.own, names)
    return network, matrix.symmetric_matrix(given, given.omega, len(own), own)


def joint_findings(
    table: Table, joint: Joint, cutoff: Cutoff, neighbors: Sequence[Collection[int]]
) -> tuple[tuple[tuple[str, ...], ...], tuple[JointFinding, ...]]:
    """Return the groups by name, columns that repeat a member included, and the findings, the surest first.

    The cutoff is that of the edges; of a false-discovery rate the family is all variables and groups that they are
    not in, once for the narrow answers and once for the wide ones (see `gpmnet.selection.joint`). Where only the wide
    one passes, the rivals are named; where one of them has an edge to the variable, that says it already.

    Parameters
    ----------
    neighbors : sequence of d collections of int
        Of each of the table's variables.
    """
    twins: dict[str, list[str]] = {}
    for name, first in table.schema.duplicates.items():
        twins.setdefault(first, []).append(name)
    groups = []
    for group in joint.groups:
        members = [table.names[at] for at in group]
        groups.append((*members, *(twin for name in members for twin in twins.get(name, ()))))
    none = np.zeros(len(joint.tests), dtype=bool)
    narrow, wide = (
        choose_edges(np.array([getattr(test, name) for test in joint.tests]), joint.n_tests, cutoff, none)
        for name in ("log_p", "log_p_wide")
    )
    findings = []
    for at, test in enumerate(joint.tests):
        chosen, rivals = (narrow, ()) if narrow.is_edge[at] else (wide, test.rivals)
        if chosen.is_edge[at] and not set(rivals) & set(neighbors[test.variable]):
            figures = float(chosen.p_value[at]), float(chosen.q_value[at]), test.strength
            named = tuple(table.names[rival] for rival in rivals)
            findings.append(JointFinding(table.names[test.variable], groups[test.group], *figures, named))
    return tuple(groups), tuple(sorted(findings, key=lambda finding: finding.p_value))


def _diagonal(table: Table, own: NDArray[np.float64], names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return Omega's diagonal over all names; a twin has that of the column that stands for it."""
    value = dict(zip(table.names, own.tolist(), strict=True))
    stands = table.schema.duplicates
    return np.array([value[stands.get(name, name)] for name in names], dtype=np.float64)


def _with_twins(table: Table, pairs: Pairs, names: tuple[str, ...]) -> Pairs:
    """Return the pairs over all names, the given ones first; then each twin with the column that stands for it."""
    place = {name: at for at, name in enumerate(names)}
    moved = np.array([place[name] for name in table.names], dtype=np.intp)
    twins = [sorted((place[first], place[name])) for name, first in table.schema.duplicates.items()]
    first, second = np.array(twins, dtype=np.intp).reshape(-1, 2).T
    certain = _CERTAIN | {"n_rows": float(table.n_rows)}
    columns = {name: np.r_[getattr(pairs, name), np.full(len(twins), certain[name])] for name in FIGURES}
    return Pairs.of(
        np.r_[moved[pairs.first], first],
        np.r_[moved[pairs.second], second],
        np.r_[pairs.is_edge, np.ones(len(twins), dtype=bool)],
        **columns,
    )


def _axes(table: Table, pairs: Pairs, names: tuple[str, ...]) -> dict[int, Axis]:
    """Return the grids of the variables of some pairs, by their positions among the network's names."""
    place = {name: at for at, name in enumerate(names)}
    ends = np.unique(np.r_[pairs.first, pairs.second]).tolist()
    return {place[table.names[at]]: _axis(table, at) for at in ends}


def _axis(table: Table, at: int) -> Axis:
    column = table.variables[at]
    if table.is_discrete[at]:
        codes = table.codes[:, np.count_nonzero(table.is_discrete[:at])]
        counts = np.bincount(codes[codes >= 0], minlength=len(column.levels))
        return Axis((), column.levels, tuple((counts / counts.sum()).tolist()))
    values = table.decode(column.name, GRID)
    if column.levels:  # a long ordered category: its labels have no scale
        return Axis((), tuple(values.tolist()))
    if column.dates:
        labels = np.array(np.floor(values), dtype="datetime64[D]").astype(str).tolist()
    else:
        labels = [f"{value:.4g}" for value in values]
    return Axis(tuple(values.tolist()), tuple(labels))


def edges_alone(draft: Draft, facts: Facts) -> MarkovNetwork:
    """Return the network before Omega is known, which says so."""
    found, names = draft.found, draft.table.names
    cautions = (*cautions_of(found.stops, names), "Omega and the shapes of the edges are not there yet")
    nothing = Description.nothing(len(found.first), len(names))
    shown = np.empty(0, dtype=np.intp)
    return build_network(draft, nothing, shown, replace(facts, warnings=cautions))[0]
