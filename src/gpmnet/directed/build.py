"""The score of a table: features, moments, cells and scores put together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from gpmnet.checks import check_number, check_type
from gpmnet.columns.features import Features, build_features
from gpmnet.columns.functions import ColumnFunction, Cosine, Power
from gpmnet.directed.basis import Basis, Prices
from gpmnet.directed.cells import Cells
from gpmnet.directed.conditional_gaussian import CellPrior, ConditionalGaussianScore
from gpmnet.directed.gate import linear_variables
from gpmnet.directed.indicators import Indicators
from gpmnet.directed.location_scale import LocationScale
from gpmnet.directed.mixed import MixedScore
from gpmnet.directed.moments import Moments, Within
from gpmnet.directed.score import Floats
from gpmnet.directed.tables import TableScore
from gpmnet.parts import Part
from gpmnet.table import Encoded


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
    """Return about how many bytes a score needs: columns twice, scores and codes, and the moments of all columns."""
    columns = int(np.where(n_levels > 0, n_levels - 1, options.features).sum())
    return 8 * (n_rows * (2 * columns + 2 * len(n_levels)) + 2 * columns**2)


def build_score(encoded: Encoded, options: ScoreOptions) -> MixedScore:
    """Return the score of a table."""
    n, d, discrete = encoded.n_rows, len(encoded.names), encoded.is_discrete
    count = max(1, min(options.features, n - 2))  # no more than the rows can tell apart
    family: list[ColumnFunction] = [Power(1), *(Cosine(m) for m in range(2, count + 1))]
    features = build_features(encoded, family, "cpu", torch.float64)
    scores = features.mid_scores.numpy()[:, features.score_start.numpy()].astype(np.float64)
    linear = np.ones(d, dtype=bool)
    if options.gate:
        linear[~discrete] = linear_variables(scores[:, ~discrete])
    else:
        linear[~discrete] = False
    moments = _moments(features, linear)
    codes = features.codes.numpy()
    cells = Cells(
        [np.ascontiguousarray(codes[:, at]).astype(np.intp) for at in range(d)], features.levels.tolist()
    )
    basis = Basis(Within(moments, cells), discrete, options.prices)
    return MixedScore(
        discrete,
        TableScore(cells),
        Indicators(basis, cells),
        LocationScale(basis),
        ConditionalGaussianScore(scores, cells, options.cells),
        options.parent * float(np.log(d)),
    )


def _moments(features: Features, linear: NDArray[np.bool_]) -> Moments:
    """Return the columns that the basis score uses: of linear variables the first, of discrete ones whitened indicators."""
    phi, blocks, used = features.phi.numpy(), [], list[Floats]()
    start, width, discrete = (x.tolist() for x in (features.start, features.width, features.is_discrete))
    at = 0
    for v in range(features.d):
        block = phi[:, start[v] : start[v] + (width[v] if discrete[v] or not linear[v] else 1)]
        if discrete[v]:
            q, r = np.linalg.qr(block)
            block = q * np.sqrt(len(phi)) * np.sign(np.diag(r))
        used.append(block)
        blocks.append(np.arange(at, at + block.shape[1]))
        at += block.shape[1]
    # column after column: scores gather a few of them at a time
    return Moments(np.asfortranarray(np.column_stack([*used, np.zeros(len(phi))])), tuple(blocks))
