r"""The surface of an edge: the interaction of two variables in the log density, on a grid.

From the model of node i with neighbor j,

.. math:: g(a, b) = \varphi_i(a)^\top \Theta\, \bar F(b), \qquad \bar F(b) = \mathrm{mean}_{rows}\, F(x_N \mid x_j = b),

averaged with the one from j's model and double-centred, so that only what belongs to both variables is left. For
Gaussian data it is :math:`-K_{ij} z_i z_j` with the precision matrix K of the scores; the mixed
differences of two discrete variables' surface are their log odds ratios.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.columns.functions import GRID, OWN_FUNCTIONS, Scores, values
from gpmnet.nodes.models import NodeModels, Reader
from gpmnet.nodes.neighbor_basis import level_shares

_MOST_ROWS = 256  # for the average of the joint features: enough for a picture, and cheap


class SurfaceCollector(Reader):
    """Collects the surfaces of pairs from batches of node models, those of both ends.

    Parameters
    ----------
    pairs : ndarray of shape (m, 2)
        Edges of the graph that the models are of.
    """

    def __init__(self, pairs: NDArray[np.intp]) -> None:
        self.pairs: list[tuple[int, int]] = [(int(a), int(b)) for a, b in pairs]
        self._wanted = {*self.pairs, *((b, a) for a, b in self.pairs)}
        self._found: dict[tuple[int, int], NDArray[np.float64]] = {}

    def said(self, models: NodeModels) -> dict[str, Tensor]:
        """Return what a batch of models says about the pairs: the surfaces of a slot's, as far as they are wanted."""
        found = {}
        for slot in range(models.basis.members.shape[1]):
            rows = self._rows(models.nodes, models.basis.members[:, slot])
            if rows:
                part = models.take(torch.tensor(rows, device=models.nodes.device))
                found[f"surfaces {slot}"] = _surfaces(part, slot)
        return found

    def add(self, nodes: Tensor, members: Tensor, said: Mapping[str, Tensor]) -> None:
        """Take what a batch of models said about the pairs."""
        for slot in range(members.shape[1]):
            rows = self._rows(nodes, members[:, slot])
            if rows:
                ends = [(int(nodes[at]), int(members[at, slot])) for at in rows]
                self._found |= dict(zip(ends, said[f"surfaces {slot}"].cpu().numpy(), strict=True))

    def _rows(self, nodes: Tensor, members: Tensor) -> list[int]:
        """Return the positions of nodes (b,) whose pairs with members (b,) are wanted."""
        ends = zip(nodes.tolist(), members.tolist(), strict=True)
        return [at for at, pair in enumerate(ends) if pair in self._wanted]

    def surfaces(self) -> list[NDArray[np.float32]]:
        """Return one array a pair, rows for the grid of its first variable, columns for that of its second."""
        return [((self._found[a, b] + self._found[b, a].T) / 2).astype(np.float32) for a, b in self.pairs]


def _surfaces(models: NodeModels, slot: int) -> Tensor:
    """Return the double-centred g of a batch of nodes with the member in a slot: (b, G_i, G_j)."""
    features, device = models.basis.features, models.theta.device
    grid = torch.tensor(GRID, device=device)
    level_0_apart = torch.eye(max(models.levels, 1), dtype=torch.float64, device=device)[:, 1:]
    own = level_0_apart if models.levels else values(OWN_FUNCTIONS, Scores(grid))
    n_levels = models.basis.levels[slot]
    points = torch.arange(n_levels, device=device) if n_levels else grid
    surface = own @ models.theta @ models.basis.averages(slot, points, _MOST_ROWS).mT
    rows = _grid_weights(features, models.nodes)[:, :, None]
    columns = _grid_weights(features, models.basis.members[:, slot])[:, None, :]
    surface = surface - (rows * surface).sum(dim=1, keepdim=True)
    return surface - (columns * surface).sum(dim=2, keepdim=True)


def _grid_weights(features: Features, variables: Tensor) -> Tensor:
    """Return the weights of grid points: the levels' shares of the rows, or equal ones; (b, G)."""
    if int(features.levels[variables[0]]):
        return level_shares(features, variables)
    return torch.full(
        (len(variables), len(GRID)), 1.0 / len(GRID), dtype=torch.float64, device=features.device
    )
