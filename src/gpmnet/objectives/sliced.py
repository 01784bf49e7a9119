"""Score matching along random directions, for many coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.checks import check_number, check_type
from gpmnet.energies.base import Energy
from gpmnet.objectives.base import Objective


@dataclass(frozen=True)
class Sliced(Objective):
    r"""Sliced score matching of the continuous coordinates, unbiased for `Hyvarinen`.

    With s the score, H the Hessian and v a vector of random signs, drawn anew for every row,

    .. math:: \tfrac12 (v^\top s)^2 + v^\top H v, \qquad \text{or with less variance} \qquad \tfrac12 \|s\|^2 + v^\top H v.

    Parameters
    ----------
    variance_reduced : bool
        Which of the two.
    n_slices : int
        Vectors v a row, averaged.

    Notes
    -----
    One Hessian-vector product a slice: the derivative of v's, so the cost does not grow with the number of
    coordinates beyond that of the score.

    References
    ----------
    Song, Garg, Shi and Ermon (2020), "Sliced score matching".
    """

    variance_reduced: bool = True
    n_slices: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self, "variance_reduced", bool)
        check_number(self, "n_slices", 1, integer=True)

    def __call__(self, energy: Energy, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the losses (n,) of rows (n, D)."""
        dc, keep = energy.coordinates.n_continuous, torch.is_grad_enabled()
        if dc == 0:
            return h.new_zeros(len(h))
        loss = h.new_zeros(len(h))
        with torch.enable_grad():
            leaf = h.detach().requires_grad_()
            score = energy.score(leaf)
            for _ in range(self.n_slices):
                signs = _signs(score, generator)
                along = (signs * score).sum(dim=1)
                slope = torch.autograd.grad(along.sum(), leaf, create_graph=keep, retain_graph=True)[0]
                size = score.square().sum(dim=1) if self.variance_reduced else along.square()
                loss = loss + (0.5 * size + (signs * slope[:, :dc]).sum(dim=1)) / self.n_slices
        return loss if keep else loss.detach()


def _signs(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return random signs; the generator may live on another device."""
    device = like.device if generator is None else generator.device
    draws = torch.randint(0, 2, like.shape, generator=generator, device=device)
    return (2 * draws - 1).to(like)
