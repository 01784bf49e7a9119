"""How much memory the models of the deep engine need."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from gpmnet.energies import Coordinates
from gpmnet.energies.base import BUDGET
from gpmnet.engines.deep_recipe import Recipe
from gpmnet.memory import block_size
from gpmnet.testing.learned import POINTS, ROWS

_SINGLE = 4  # bytes of a number
# How many tensors of a kind are held at the same time, counted on fits.
_MATRICES, _FUNCTIONS, _OMEGA, _PASSES = 18, 18, 5, 6
_GATHERED = 8  # of listed pairs, for a few pairs a variable


def model_bytes(recipe: Recipe, n_rows: int, n_levels: NDArray[np.intp]) -> int:
    """Return about how many bytes the rows, the models and what fits and tests them need.

    Parameters
    ----------
    n_levels : ndarray of int, shape (d,)
        Levels of each variable, 0 for continuous ones.
    """
    levels = tuple(int(m) for m in n_levels if m > 0)
    coordinates = Coordinates(int(np.count_nonzero(n_levels == 0)), levels)
    rows = 4 * n_rows * coordinates.width  # all of them, those of a fold, and those of a training cut in two
    widest = max(3, *n_levels) ** 2 if len(n_levels) else 0
    if recipe.lists_pairs(len(n_levels)):
        return _SINGLE * int(rows + _listed(recipe, coordinates, n_rows) + block_size(BUDGET))
    numbers = rows + _pairwise(recipe, coordinates, n_rows) + _energy(recipe, coordinates, n_rows)
    # The conditional covariances of the test in learned directions, and what torch has on the way.
    return _SINGLE * int(numbers + 8 * n_rows * widest + block_size(BUDGET))


def _listed(recipe: Recipe, coordinates: Coordinates, n: int) -> int:
    """Return the numbers of listed pairs: functions of every variable and of the pairs' ends, masks of all pairs."""
    d, widest = coordinates.n_variables, max([recipe.base.pairs.n_functions, *coordinates.levels])
    return (_FUNCTIONS + _GATHERED) * n * d * widest + d**2


def _pairwise(recipe: Recipe, coordinates: Coordinates, n: int) -> int:
    """Return the numbers of the pairwise family: matrices of interactions, and functions with derivatives at the rows."""
    k = recipe.base.pairs.n_functions
    functions = k * coordinates.n_continuous + coordinates.n_levels - coordinates.n_discrete
    kept = recipe.options.n_folds + 1 if recipe.base.has_pairs else 1
    return (kept + _MATRICES) * functions**2 + _FUNCTIONS * n * (functions + coordinates.n_levels)


def _energy(recipe: Recipe, coordinates: Coordinates, n: int) -> int:
    """Return the numbers of Omega's temporaries, of what is trained, of Adam, and of the passes over a batch."""
    family, options = recipe.energy, recipe.options
    row = max(1, coordinates.n_continuous, coordinates.n_levels) ** 2
    if not family.is_trained:
        return _OMEGA * min(block_size(BUDGET), n * row)
    blank = torch.zeros((2, coordinates.width))
    energy = family.build(coordinates, blank, torch.Generator().manual_seed(0))
    parameters = sum(parameter.numel() for parameter in energy.parameters())
    units = parameters // max(1, coordinates.width) + 1
    moved = max(min(options.batch, n), int(options.held_out * n)) * units * coordinates.n_levels
    seen = min(n, ROWS) * POINTS**2 * units  # by the test in learned directions
    # The energies, their gradients, two moments of Adam, and the best ones so far.
    return (
        (options.n_folds + 5) * parameters
        + _OMEGA * min(block_size(BUDGET), max(n * energy.row_size(), seen))
        + _PASSES * moved
    )
