"""How the deep engine chooses edges by Omega alone: from models of all pairs, or of lists of pairs where these are many."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.energies import Energy
from gpmnet.engines.deep_models import Models, Other
from gpmnet.omega import generalised_precision
from gpmnet.selection.halves import Halves, alike, common_support

_ROUNDING = 1e-7  # an Omega below this is no interaction


@dataclass(frozen=True, eq=False)
class Support:
    """Omega of pairs, and which of them are edges; in the order of the coordinates.

    Attributes
    ----------
    pairs : Tensor of int, shape (m, 2)
        The smaller position first; all others have Omega 0.
    omega : Tensor of shape (m,)
    own : Tensor of shape (d,)
        The diagonal.
    is_edge : Tensor of bool, shape (m,)
    energy : Energy
        That of all rows.
    """

    pairs: Tensor
    omega: Tensor
    own: Tensor
    is_edge: Tensor
    energy: Energy


def by_all_pairs(models: Models, h: Tensor, lam: float) -> Support:
    """Return the support of Omega from energies that hold all pairs."""
    recipe = models.recipe
    splits = [models.halves(h, lam, split) for split in range(recipe.options.n_splits)]
    others = [
        Other(half.name, energy, half.rows)
        for split, pair in enumerate(splits)
        for half, energy in zip(models.split(h, split), pair, strict=True)
    ]
    energy = models.told(models.energy(h, lam, "all rows"), others, h)
    omega = exact_omega(energy, h)
    exact = _exact(energy, h)
    halves = [
        Halves.of(deepcopy(one).to(exact), deepcopy(other).to(exact), h.to(exact)) for one, other in splits
    ]
    n = len(h) / 2
    least = recipe.penalty.lam * lam * models.noise / n**0.5 if recipe.energy.is_trained else 0.0
    support = common_support(halves, least) & (omega > 0)
    d = len(omega)
    pairs = torch.triu_indices(d, d, 1, device=h.device).mT
    i, j = pairs.unbind(dim=1)
    return Support(pairs, omega[i, j], omega.diagonal(), support[i, j], energy)


def exact_omega(energy: Energy, h: Tensor) -> Tensor:
    """Return Omega over rows (n, D), 0 where it is rounding: (d, d)."""
    exact = _exact(energy, h)
    omega = generalised_precision(deepcopy(energy).to(exact), h.to(exact)).double()
    return omega.masked_fill(omega < _ROUNDING, 0.0)


def _exact(energy: Energy, h: Tensor) -> torch.dtype:
    """Return the precision in which contrasts of levels, differences of four values, are 0 where they should be."""
    return torch.float64 if energy.coordinates.n_discrete else h.dtype


def by_lists(models: Models, h: Tensor, lam: float) -> Support:
    """Return the support of Omega from pairwise energies with lists of pairs; no step takes all pairs at once."""
    energy, pairwise = models.listed(h, lam, "all rows")
    pairs = pairwise.pairs
    splits = []
    for split in range(models.recipe.options.n_splits):
        one, other = (models.listed(h[half.rows], lam, half.name)[1] for half in models.split(h, split))
        splits.append(
            Halves(*(a.mean_products(b, pairs, h) for a, b in ((one, other), (one, one), (other, other))))
        )
    omega = pairwise.mean_products(pairwise, pairs, h).sqrt()
    own = h.new_zeros(models.coordinates.n_variables, dtype=torch.float64)
    own[: models.coordinates.n_continuous] = energy.curvature(h).double().square().mean(dim=0).sqrt()
    return Support(pairs, omega, own, alike(splits) & (omega > 0), energy)
