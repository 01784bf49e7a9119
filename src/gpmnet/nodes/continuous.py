r"""Models of a continuous node by score matching.

With the score :math:`s = -z + \varphi'(z)^\top \Theta F(x_N)` the loss :math:`\tfrac12 s^2 + \partial s / \partial z`
(Hyvärinen 2005) is quadratic in Theta:

.. math:: \tfrac12 \theta^\top A \theta - t^\top \theta + \mathrm{const}, \qquad
          A = E[g g^\top],\ t = E[z g - \varphi''(z) \otimes F],\ g = \varphi'(z) \otimes F .

**Core and flexible terms.** The core (z and z²/2 with the constant, z with each neighbor's score or indicators) is the
Gaussian model with shifted means and has hardly any penalty. All else has a ridge that is chosen per node by
cross-validation of the loss: without it, noise in the many small terms adds up in :math:`E f^2`.
"""

from __future__ import annotations

import torch
from torch import Tensor

OWN_FEATURES = 4
"""Own features of a continuous node: z, z²/2, tanh z, e^{-z²/2}."""
_FOLDS = 4


def own_features(z: Tensor) -> Tensor:
    """Return a continuous node's own features z, z²/2, tanh z, e^{-z²/2}: (..., 4)."""
    return torch.stack([z, z.square() / 2, torch.tanh(z), torch.exp(-0.5 * z.square())], dim=-1)


def score_functions(z: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first and second derivatives of `own_features`, each (..., 4)."""
    tanh, bell = torch.tanh(z), torch.exp(-0.5 * z.square())
    sech = 1 - tanh.square()
    first = torch.stack([torch.ones_like(z), z, sech, -z * bell], dim=-1)
    second = torch.stack(
        [torch.zeros_like(z), torch.ones_like(z), -2 * tanh * sech, (z.square() - 1) * bell], dim=-1
    )
    return first, second


def core_terms(flexible: Tensor) -> Tensor:
    """Return which of the 4 p coefficients are core, from which of the p columns of F are flexible."""
    core = torch.zeros((OWN_FEATURES, len(flexible)), dtype=torch.bool, device=flexible.device)
    core[0] = ~flexible
    core[1, 0] = True
    return core.reshape(-1)


def fit_scores(
    z: Tensor, basis: Tensor, core: Tensor, ridge: float, ridges: tuple[float, ...]
) -> tuple[Tensor, Tensor]:
    """Fit the score models of nodes with scores z (b, n) on F (b, n, p).

    Parameters
    ----------
    core : Tensor of bool, shape (4 p,)
    ridge : float
        Penalty on the core terms, relative to the diagonal of A.
    ridges : tuple of float
        Penalties on the other terms to choose from.

    Returns
    -------
    theta : Tensor of shape (b, 4, p)
    penalty : Tensor of shape (b, 4 p)
        What was added to the diagonal of A.
    """
    b, n, p = basis.shape
    first, second = score_functions(z)
    grams, targets = [], []
    n_folds = _FOLDS if len(ridges) > 1 and n >= 2 * _FOLDS and not bool(core.all()) else 1
    for fold in range(n_folds):
        rows = slice(fold, None, n_folds)
        part = basis[:, rows]
        g = (first[:, rows, :, None] * part[..., None, :]).reshape(b, -1, OWN_FEATURES * p)
        grams.append(g.mT @ g)
        slope = (second[:, rows].mT @ part).reshape(b, OWN_FEATURES * p)
        targets.append((z[:, rows, None] * g).sum(dim=1) - slope)
    gram, target = torch.stack(grams).sum(dim=0), torch.stack(targets).sum(dim=0)
    options = torch.tensor(ridges, dtype=basis.dtype, device=basis.device)
    scale = gram.diagonal(dim1=1, dim2=2) / n
    scale = torch.where(scale > 0, scale, 1.0)

    def penalties(flexible: Tensor) -> Tensor:
        return torch.where(core, ridge, flexible[:, None]) * scale

    def solved(a: Tensor, t: Tensor, rows: int, penalty: Tensor) -> Tensor:
        """Return the minimiser for sums over some rows."""
        factor = torch.linalg.cholesky(a + torch.diag_embed(rows * penalty))
        return torch.cholesky_solve(t[..., None], factor)

    penalty = penalties(options[:1].expand(b))
    if n_folds > 1:
        loss = basis.new_zeros((len(ridges), b))
        for fold, (a, t) in enumerate(zip(grams, targets, strict=True)):
            others = n - len(range(fold, n, n_folds))
            for at in range(len(ridges)):
                theta = solved(gram - a, target - t, others, penalties(options[at].expand(b)))
                loss[at] += (theta.mT @ (0.5 * (a @ theta) - t[..., None]))[:, 0, 0]
        penalty = penalties(options[loss.argmin(dim=0)])
    return solved(gram, target, n, penalty)[..., 0].reshape(b, OWN_FEATURES, p), penalty
