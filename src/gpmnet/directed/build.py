"""The score of a table: features, moments, cells and scores put together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import check_number, check_type
from gpmnet.columns.features import FeatureLookup
from gpmnet.columns.functions import ColumnFunction, Cosine, Power
from gpmnet.directed.basis import Basis, Prices
from gpmnet.directed.cells import Cells
from gpmnet.directed.conditional_gaussian import CellPrior, ConditionalGaussianScore
from gpmnet.directed.gate import linear_variables
from gpmnet.directed.indicators import Indicators
from gpmnet.directed.location_scale import LocationScale
from gpmnet.directed.mixed import MixedScore
from gpmnet.directed.moments import Moments, Within
from gpmnet.directed.rows import NUMBERS, PIECE
from gpmnet.directed.score import Floats
from gpmnet.directed.tables import TableScore
from gpmnet.parts import Part
from gpmnet.table import Encoded
from gpmnet.table.space import IN_MEMORY_BYTES, column_space, release

_ROW = 250
"""Bytes a row of a lookup while columns are made, and of a family while it is scored."""
_KEPT_ROW, _MOST_KEPT = 2000, 1 << 30
"""Bytes a row, and in all, of cells and residuals that are kept for families to come."""


@dataclass(frozen=True)
class ScoreOptions(Part):
    """Settings of the score.

    Attributes
    ----------
    features : int
        Functions of a continuous variable: z and cosines of its rank of degree 2, 3, ...
    parent : float
        Times log d: price of every parent, since it was chosen among d variables.
    gate : bool
        Whether a variable whose dependences are all linear has its first feature only.
    prices : Prices
    cells : CellPrior
    """

    features: int = 7
    parent: float = 0.5
    gate: bool = True
    prices: Prices = field(default_factory=Prices)
    cells: CellPrior = field(default_factory=CellPrior)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "features", 1, integer=True)
        check_number(self, "parent", 0.0)
        check_type(self, "prices", Prices)
        check_type(self, "cells", CellPrior)


def score_memory(n_rows: int, n_levels: NDArray[np.intp], options: ScoreOptions) -> int:
    """Return about how many bytes a score needs: columns, scores and codes, what is kept, and the moments of all columns.

    Columns and scores that take more than `gpmnet.table.space.IN_MEMORY_BYTES` are on the disk.
    """
    columns = int(np.where(n_levels > 0, n_levels - 1, options.features).sum())
    held = columns + int(np.count_nonzero(n_levels == 0))
    held *= 12 * min(n_rows, PIECE) + 4 * max(0, n_rows - PIECE)  # the latter in single precision alone
    kept = min(_KEPT_ROW * n_rows, _MOST_KEPT)
    rows = n_rows * (2 * int(np.count_nonzero(n_levels)) + _ROW)
    piece = 8 * min(n_rows * columns, 2 * NUMBERS)
    return min(held, 2 * IN_MEMORY_BYTES) + kept + rows + piece + 16 * columns**2


def build_score(encoded: Encoded, options: ScoreOptions) -> MixedScore:
    """Return the score of a table; memory as `score_memory` says, time O(n) and n times the columns squared for moments."""
    n, d, discrete = encoded.n_rows, len(encoded.names), encoded.is_discrete
    levels = np.zeros(d, dtype=np.intp)
    levels[discrete] = encoded.n_levels
    count = max(1, min(options.features, n - 2))  # no more than the rows can tell apart
    family: list[ColumnFunction] = [Power(1), *(Cosine(m) for m in range(2, count + 1))]
    lookup = FeatureLookup(n, family)
    scores = _scores(encoded, lookup)
    linear = np.ones(d, dtype=bool)
    linear[~discrete] = linear_variables(scores) if options.gate else False
    moments = _moments(encoded, lookup, linear)
    del lookup
    place = np.cumsum(discrete) - 1
    none = np.empty(0, dtype=np.int16)
    codes = [np.ascontiguousarray(encoded.codes[:, place[v]]) if discrete[v] else none for v in range(d)]
    cells = Cells(codes, levels.tolist())
    basis = Basis(Within(moments, cells), discrete, options.prices)
    return MixedScore(
        discrete,
        TableScore(cells),
        Indicators(basis, cells),
        LocationScale(basis),
        ConditionalGaussianScore(scores, np.cumsum(~discrete) - 1, cells, options.cells),
        options.parent * float(np.log(d)),
    )


def _columns(n: int, count: int) -> NDArray[np.floating]:
    """Return space for columns, in single precision where it is large: it is read often, and sums average rounding out."""
    double = n <= PIECE and 8 * n * count <= IN_MEMORY_BYTES
    return column_space(n, count, np.float64 if double else np.float32)


def _scores(encoded: Encoded, lookup: FeatureLookup) -> NDArray[np.floating]:
    """Return the normal scores of the continuous variables, the mean one where rows share a value: (n, c)."""
    n, count = encoded.n_rows, encoded.ranks.shape[1]
    found = _columns(n, count)
    for k in range(count):
        found[:, k] = lookup.of(encoded, k, 0)[:, 0]
        _give_back(encoded, found)
    return found


def _moments(encoded: Encoded, lookup: FeatureLookup, linear: NDArray[np.bool_]) -> Moments:
    """Return the columns that the basis score uses: of linear variables the first, of discrete ones whitened indicators."""
    n, discrete = encoded.n_rows, encoded.is_discrete
    place = np.where(discrete, np.cumsum(discrete), np.cumsum(~discrete)) - 1
    width = np.where(linear, 1, len(lookup.family))
    width[discrete] = encoded.n_levels - 1
    starts = np.cumsum(width) - width
    # column after column: scores gather a few of them at a time
    phi = _columns(n, int(width.sum()) + 1)
    for v, (start, count) in enumerate(zip(starts.tolist(), width.tolist(), strict=True)):
        if discrete[v]:
            codes = encoded.codes[:, place[v]]
            table = _whitened(np.bincount(codes, minlength=count + 1))
            for k in range(count):
                phi[:, start + k] = table[:, k][codes]
        else:
            phi[:, start : start + count] = lookup.of(encoded, place[v], count)[:, 1:]
        _give_back(encoded, phi)
    phi[:, -1] = 0.0
    return Moments(phi, tuple(np.arange(at, at + count) for at, count in zip(starts, width, strict=True)))


def _give_back(encoded: Encoded, written: NDArray[np.floating]) -> None:
    """Give back the memory of what was read and written of arrays on the disk."""
    for array in (encoded.ranks, encoded.groups, written):
        release(array)


def _whitened(counts: NDArray[np.intp]) -> Floats:
    """Return centred indicators of the levels 1, 2, ... of a variable, each given those before it: (levels, levels - 1).

    Over rows with these counts they have unit variance and no correlation; an indicator that says nothing more is zero.
    """
    share = counts / counts.sum()
    weight = np.sqrt(share)[:, None]
    q, r = np.linalg.qr(weight * (np.eye(len(counts))[:, 1:] - share[1:]))
    q *= np.sign(np.where(np.abs(np.diag(r)) > 1e-9, np.diag(r), 0.0))
    return np.asarray(np.divide(q, weight, out=np.zeros_like(q), where=weight > 0))
