r"""Models of a continuous node by score matching.

The score is :math:`s = -z + \varphi'(z)^\top \Theta F(x_N)` with the functions :math:`\varphi` of
`gpmnet.columns.functions.OWN_FUNCTIONS`; the loss is quadratic in Theta (`gpmnet.objectives.linear_score`).

**Core and flexible terms.** The core (z and z²/2 with the constant, z with each neighbor's score or indicators) is the
Gaussian model with shifted means and has hardly any penalty. All else has a ridge that is chosen per node by
cross-validation of the loss: without it, noise in the many small terms adds up in :math:`E f^2`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpmnet.columns.functions import OWN_FUNCTIONS, Scores, firsts, seconds
from gpmnet.objectives.linear_score import Quadratic, score_quadratic

_FOLDS = 4


def core_terms(flexible: Tensor) -> Tensor:
    """Return which of the k p coefficients are core, from which of the p columns of F are flexible."""
    core = torch.zeros((len(OWN_FUNCTIONS), len(flexible)), dtype=torch.bool, device=flexible.device)
    core[0] = ~flexible
    core[1, 0] = True
    return core.reshape(-1)


def fit_scores(
    z: Tensor, basis: Tensor, core: Tensor, ridge: float, ridges: tuple[float, ...]
) -> tuple[Tensor, Tensor]:
    """Fit the score models of nodes with scores z (b, n) on F (b, n, p).

    Parameters
    ----------
    core : Tensor of bool, shape (k p,)
    ridge : float
        Penalty on the core terms, relative to the diagonal of A.
    ridges : tuple of float
        Penalties on the other terms to choose from.

    Returns
    -------
    theta : Tensor of shape (b, k, p)
    penalty : Tensor of shape (b, k p)
        What was added to the diagonal of A.
    """
    b, n, p = basis.shape
    s = Scores(z)
    first, second = firsts(OWN_FUNCTIONS, s), seconds(OWN_FUNCTIONS, s)
    n_folds = _FOLDS if len(ridges) > 1 and n >= 2 * _FOLDS and not bool(core.all()) else 1
    folds = []
    for fold in range(n_folds):
        rows = slice(fold, None, n_folds)
        folds.append(score_quadratic(z[:, rows], first[:, rows], second[:, rows], basis[:, rows]))
    whole = sum(folds[1:], start=folds[0])
    scale = whole.gram.diagonal(dim1=1, dim2=2) / n
    scale = torch.where(scale > 0, scale, 1.0)
    options = torch.tensor(ridges, dtype=basis.dtype, device=basis.device)

    def penalties(flexible: Tensor) -> Tensor:
        return torch.where(core, ridge, flexible[:, None]) * scale

    best = torch.zeros(b, dtype=torch.int64, device=basis.device)
    if n_folds > 1:
        best = _least_held_out(whole, folds, [penalties(value.expand(b)) for value in options])
    penalty = penalties(options[best])
    return whole.minimiser(penalty)[..., 0].reshape(b, len(OWN_FUNCTIONS), p), penalty


def _least_held_out(whole: Quadratic, folds: list[Quadratic], penalties: list[Tensor]) -> Tensor:
    """Return which of the penalties (b, q) has the least cross-validated loss, (b,)."""
    loss = whole.target.new_zeros((len(penalties), len(whole.target)))
    for fold in folds:
        for at, penalty in enumerate(penalties):
            loss[at] += fold.loss((whole - fold).minimiser(penalty))
    return loss.argmin(dim=0)
