"""How much memory the models of the deep engine need."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from gpmnet.energies import Coordinates, Pairwise
from gpmnet.energies.base import BUDGET
from gpmnet.engines.deep_models import Recipe

_SINGLE = 4  # bytes of a number


def model_bytes(recipe: Recipe, n_rows: int, n_levels: NDArray[np.intp]) -> int:
    """Return about how many bytes the rows, the models and what fits and tests them need.

    Parameters
    ----------
    n_levels : ndarray of int, shape (d,)
        Levels of each variable, 0 for continuous ones.
    """
    levels = tuple(int(m) for m in n_levels if m > 0)
    coordinates = Coordinates(int(np.count_nonzero(n_levels == 0)), levels)
    numbers = _rows(coordinates, n_rows) + _pairwise(recipe, coordinates, n_rows)
    numbers += _deep(recipe, coordinates, n_rows)
    return _SINGLE * numbers


def _rows(coordinates: Coordinates, n: int) -> int:
    """Return the numbers of the rows: all of them, those of a fold, and those of a training cut in two."""
    return 4 * n * coordinates.width


def _pairwise(recipe: Recipe, coordinates: Coordinates, n: int) -> int:
    """Return the numbers of the pairwise family: matrices of interactions, and functions with derivatives at the rows."""
    k = (recipe.pairs or Pairwise()).n_functions
    functions = k * coordinates.n_continuous + coordinates.n_levels - coordinates.n_discrete
    kept = recipe.options.n_folds + 1 if recipe.pairs is not None else 1
    return (kept + 14) * functions**2 + 8 * n * (functions + coordinates.n_levels)


def _deep(recipe: Recipe, coordinates: Coordinates, n: int) -> int:
    """Return the numbers of Omega's temporaries, of what is trained, of Adam, and of the passes over a batch."""
    family, options = recipe.energy, recipe.options
    row = max(1, coordinates.n_continuous, coordinates.n_levels) ** 2
    if family.pairs is not None:
        return 5 * min(BUDGET, n * row)
    blank = torch.zeros((2, coordinates.width))
    energy = family.build(coordinates, blank, torch.Generator().manual_seed(0))
    parameters = sum(parameter.numel() for parameter in energy.parameters())
    row = max(row, energy.row_size())
    training = min(options.batch, n) + 2 * min(options.omega_rows, n)
    return (options.n_folds + 6) * parameters + 5 * min(BUDGET, n * row) + 8 * training * row
