r"""The surface of an edge under an energy: its interaction on a grid, averaged over rows and double-centred."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.columns.functions import GRID
from gpmnet.energies.base import Coordinates, Energy

_MOST_ROWS = 64  # enough for a picture


@torch.no_grad()
def edge_surfaces(
    energy: Energy, h: Tensor, first: NDArray[np.intp], second: NDArray[np.intp]
) -> list[NDArray[np.float32]]:
    r"""Return, for pairs of the coordinates, the mean over rows of L with the two set to each point of their grids.

    Double-centred, so that only what belongs to both is left; continuous variables have the points of `GRID`, discrete
    ones all levels. Time O(64 x 441 H) a pair of continuous variables.

    Parameters
    ----------
    h : Tensor of shape (n, D)
    first, second : ndarray of int, shape (m,)

    Returns
    -------
    list of m arrays of shape (G_i, G_j)
    """
    some = h[:: max(1, len(h) // _MOST_ROWS)][:_MOST_ROWS]
    found = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        one, two = _grid(energy, some, i), _grid(energy, some, j)
        here, there = (values.expand(len(some), -1, -1) for values, _ in (one, two))
        surface = energy.pair_values(some, i, here, j, there).double().mean(dim=0)
        surface = surface - (one[1][:, None] * surface).sum(dim=0, keepdim=True)
        surface = surface - (two[1] * surface).sum(dim=1, keepdim=True)
        found.append(surface.float().cpu().numpy())
    return found


def _grid(energy: Energy, h: Tensor, variable: int) -> tuple[Tensor, Tensor]:
    """Return what a variable's columns are set to, (g, w), and the share of each point, (g,)."""
    coordinates = energy.coordinates
    if variable < coordinates.n_continuous:
        values = torch.as_tensor(GRID).to(h)[:, None]
        return values, torch.full((len(values),), 1 / len(values), dtype=torch.float64, device=h.device)
    values, shares = level_grid(coordinates, variable)
    return values.to(h), shares.to(h.device)


def level_grid(coordinates: Coordinates, variable: int) -> tuple[Tensor, Tensor]:
    """Return what a discrete variable's columns of h are at each of its m levels, (m, m), and their shares, (m,)."""
    columns = coordinates.columns(variable)
    start, stop = (at - coordinates.n_continuous for at in (columns.start, columns.stop))
    shares = torch.tensor(coordinates.shares[start:stop], dtype=torch.float64)
    return torch.eye(stop - start, dtype=torch.float64) - shares, shares
