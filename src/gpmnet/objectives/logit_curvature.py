r"""The Hessian of the pseudo-likelihood with many levels, which is never written down.

With M levels and p columns of F it has :math:`((M - 1) p)^2` entries,

.. math:: H = \tfrac1n \sum_r (\operatorname{diag} \pi_r - \pi_r \pi_r^\top) \otimes F_r F_r^\top + I \otimes P ,

:math:`\pi_r` the probabilities of levels 1, 2, ... in row r and P the diagonal of penalties. Its product with a direction
costs as much as a gradient. Near it is the matrix with the product of the two factors' means in the place of the mean of
their product,

.. math:: K = C \otimes G + I \otimes P ,\qquad C = \tfrac1n \sum_r (\operatorname{diag} \pi_r - \pi_r \pi_r^\top) ,\quad
          G = \tfrac1n \sum_r F_r F_r^\top ,

which has an explicit inverse from two small eigenproblems: :math:`C = V \operatorname{diag}(c) V^\top`, and W with
:math:`W^\top (G + P) W = I`, :math:`W^\top P W = \operatorname{diag}(s)` make it diagonal with entries
:math:`c_k (1 - s_j) + s_j`. (With :math:`C = \tfrac12 (I - 1 1^\top / M)` it would be the upper bound of Böhning and
Lindsay 1988; the mean follows rare levels, which that bound does not.)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class SharedColumns:
    """What all levels share: a basis W of the columns' coefficients in which G and P are diagonal.

    Attributes
    ----------
    penalty : Tensor of shape (b, p)
        The diagonal of P.
    rotation : Tensor of shape (b, p, p)
        W, with W' (G + P) W = I.
    penalised : Tensor of shape (b, p)
        s, the diagonal of W' P W: which share of each direction's curvature is the penalty's.
    """

    penalty: Tensor
    rotation: Tensor
    penalised: Tensor

    @classmethod
    def of(cls, gram: Tensor, penalty: Tensor) -> SharedColumns:
        """Return it for G (b, p, p) and penalties (b, p), which together must be positive definite."""
        both = gram + torch.diag_embed(penalty + 1e-9)
        factor = torch.linalg.cholesky(both)
        half = torch.linalg.solve_triangular(factor, torch.diag_embed(penalty.sqrt()), upper=False)
        value, vector = torch.linalg.eigh(half @ half.mT)
        rotation = torch.linalg.solve_triangular(factor.mT, vector, upper=True)
        return cls(penalty, rotation, value.clamp(0.0, 1.0))


@dataclass(frozen=True, eq=False)
class LogitCurvature:
    """The pseudo-likelihood at some coefficients.

    Attributes
    ----------
    basis : Tensor of shape (b, n, p)
        F, in single precision: a step that is known to three digits needs no more of the Hessian.
    share : Tensor of shape (b, n, m)
        Probabilities of levels 1, 2, ... in each row, in single precision.
    columns : SharedColumns
    gradient : Tensor of shape (b, m, p)
    levels : Tensor of shape (b, m, m)
        V.
    spread : Tensor of shape (b, m)
        c, the eigenvalues of C.
    """

    basis: Tensor
    share: Tensor
    columns: SharedColumns
    gradient: Tensor
    levels: Tensor
    spread: Tensor

    @classmethod
    def of(cls, basis: Tensor, share: Tensor, columns: SharedColumns, gradient: Tensor) -> LogitCurvature:
        """Return it with the eigenvectors of C, for probabilities in double precision."""
        mean = torch.diag_embed(share.mean(dim=1)) - share.mT @ share / share.shape[1]
        spread, levels = torch.linalg.eigh(mean)
        return cls(basis, share.float(), columns, gradient, levels, spread.clamp(min=0.0))

    def times(self, direction: Tensor) -> Tensor:
        """Return H times directions (b, m, p)."""
        change = self.basis @ direction.mT.float()
        change = self.share * (change - (self.share * change).sum(dim=-1, keepdim=True))
        # The same jitter as where the Hessian is written down.
        ridge = self.columns.penalty[:, None, :] + 1e-9
        return (change.mT @ self.basis).double() / self.basis.shape[1] + ridge * direction

    def solve_near(self, right: Tensor) -> Tensor:
        """Return K^-1 times right-hand sides (b, m, p)."""
        turned = self.levels.mT @ right @ self.columns.rotation
        return self.levels @ (turned / self._diagonal) @ self.columns.rotation.mT

    def freedom(self) -> Tensor:
        """Return about how many coefficients are free (b,): the trace of (K - I (x) P) K^-1."""
        return (1 - self.columns.penalised[:, None, :] / self._diagonal).sum(dim=(1, 2))

    @property
    def _diagonal(self) -> Tensor:
        """K in the basis of V and W, (b, m, p)."""
        s = self.columns.penalised[:, None, :]
        return self.spread[:, :, None] * (1 - s) + s.clamp(min=1e-12)
