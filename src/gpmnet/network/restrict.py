"""Parts of a network: some of its variables, or another cutoff."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError
from gpmnet.network.joint import kept_findings
from gpmnet.network.shapes import Shapes
from gpmnet.selection import Cutoff

if TYPE_CHECKING:
    from gpmnet.network.network import MarkovNetwork


def part(network: MarkovNetwork, kept: Iterable[int]) -> MarkovNetwork:
    """Return the network of the variables at some positions."""
    positions = np.unique(np.fromiter(kept, dtype=np.intp))
    moved = np.full(len(network.names), -1, dtype=np.intp)
    moved[positions] = np.arange(len(positions))
    pairs = network.pairs
    rows = np.flatnonzero((moved[pairs.first] >= 0) & (moved[pairs.second] >= 0))
    taken = pairs.take(rows)
    kept_names = {network.names[at] for at in positions}
    return replace(
        network,
        names=tuple(network.names[at] for at in positions),
        kinds=tuple(network.kinds[at] for at in positions) if network.kinds else (),
        pairs=replace(taken, first=moved[taken.first], second=moved[taken.second]),
        shapes=_shapes(network.shapes, rows, moved),
        groups=tuple(group for group in network.groups if len(kept_names.intersection(group)) > 1),
        joint_findings=tuple(
            finding
            for finding in network.joint_findings
            if finding.variable in kept_names and kept_names.intersection(finding.others)
        ),
    )


def _shapes(
    shapes: Shapes | None, rows: NDArray[np.intp], moved: NDArray[np.intp] | None = None
) -> Shapes | None:
    if shapes is None:
        return None
    grids = [(at, grid) for at, row in enumerate(rows.tolist()) if (grid := shapes.of(row)) is not None]
    axes = shapes.axes
    if moved is not None:
        axes = {int(moved[at]): axis for at, axis in axes.items() if moved[at] >= 0}
    return Shapes(axes, np.array([at for at, _ in grids], dtype=np.intp), tuple(grid for _, grid in grids))


def with_cutoff(network: MarkovNetwork, q: float | None, strength: float | None) -> MarkovNetwork:
    """Return the network at another false-discovery rate, without the pairs below a strength."""
    pairs, cutoff, shapes = network.pairs, network.cutoff, network.shapes
    if strength is not None:
        if not strength >= 0:
            raise InputError(f"strength must be a number from 0 on; got {strength}")
        _need(pairs.strength, "strength")
        rows = np.flatnonzero(pairs.strength >= strength)
        pairs, shapes = pairs.take(rows), _shapes(shapes, rows)
    if q is not None:
        if not 0 <= q <= 1:
            raise InputError(f"q must be between 0 and 1; got {q}")
        _need(pairs.q_value, "q-value")
        is_edge = pairs.q_value <= q
        least = 0.0 if cutoff is None else cutoff.min_strength
        if cutoff is not None:
            figure = pairs.q_value if cutoff.of == "q" else pairs.p_value
            is_edge |= pairs.is_edge & (figure > cutoff.value)  # required, not found: no cutoff removes it
        pairs, cutoff = replace(pairs, is_edge=is_edge), Cutoff(float(q), "q", least)
    return replace(
        network, pairs=pairs, cutoff=cutoff, shapes=shapes, joint_findings=kept_findings(network, q, strength)
    )


def _need(values: NDArray[np.float64], what: str) -> None:
    if values.size and np.isnan(values).all():
        raise InputError(f"no pair of this network has a {what}, so it cannot be filtered by it")
