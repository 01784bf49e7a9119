r"""The deep kernel exponential family: a mixture of Gaussian kernels on softplus networks, at learned points.

.. math:: L(h) = \sum_m \alpha_m k(h, u_m), \qquad
          k(h, u) = \sum_r w_r \exp\Big(-\frac{\|\psi_r(h) - \psi_r(u)\|^2}{2\sigma_r^2}\Big), \qquad
          \psi_r(h) = U_r\,\tau(W_r h + b_r) + S_r h

with tau the softplus and a skip S_r. It sees a row through a = (W_r h + b_r, S_r h), r = 1, 2, ..., and so is a
`LowRankEnergy`: the rank of its Hessian is at most kernels x (hidden + features), 180 as published, whatever the
number of points.

With ``reads`` = 2 the energy is a sum of such families, one for every pair of variables, each with its own alpha and its own
kernels that see nothing but the pair; with 3 one for every triple, and so on. Then a pair has no part in what others do.

Given the kernel, the Hyvarinen loss of the continuous coordinates is quadratic in alpha; `fit_alpha` returns its
minimiser, where training starts if ``alpha="solved"``.

References
----------
Wenliang, Sutherland, Strathmann and Gretton (2019), "Learning deep kernels for exponential family densities".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from gpmnet.checks import check_choice, check_number
from gpmnet.energies.base import BUDGET, Coordinates, Energy, EnergyFamily, normal_parameter
from gpmnet.energies.low_rank import LowRankEnergy
from gpmnet.memory import block_size

ALPHAS = ("trained", "solved")


@dataclass(frozen=True)
class DeepKernel(EnergyFamily):
    """A deep kernel exponential family.

    Parameters
    ----------
    n_kernels : int
        Number R of kernels in the mixture, of every set of variables that are read together.
    hidden : int
        Units of each network, and dimensions of its output psi.
    n_points : int
        Number M of inducing points u_m in R^D, learned.
    spread : float
        Each kernel starts with a bandwidth this many times that of the one before, around the median distance.
    bandwidth : float
        The middle bandwidth at the start, in median distances.
    reads : int
        Variables that a kernel sees: 0 for all of them, as published, 2 for a family of every pair, 3 of every triple.
    alpha : {"trained", "solved"}
        Where the training of alpha starts: at 0, or, for tables without discrete variables, at its closed form.
    ridge : float
        Lambda of the closed form.
    """

    n_kernels: int = 3
    hidden: int = 30
    n_points: int = 200
    spread: float = 2.0
    bandwidth: float = 1.0
    reads: int = 0
    alpha: str = "trained"
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("n_kernels", 1), ("hidden", 1), ("n_points", 2)):
            check_number(self, name, least, integer=True)
        check_number(self, "spread", 1.0)
        check_number(self, "bandwidth", 0.0, open_low=True)
        check_number(self, "reads", 0, integer=True)
        check_choice(self, "alpha", ALPHAS)
        check_number(self, "ridge", 0.0, open_low=True)

    def build(
        self, coordinates: Coordinates, rows: Tensor, generator: torch.Generator | None
    ) -> DeepKernelEnergy:
        """Return the family with its points at some of the rows."""
        energy = DeepKernelEnergy(coordinates, self, generator).to(rows)
        energy.init_from(rows, generator)
        if energy.reads is not None:
            # Weights of variables that a kernel does not read start at 0, and without a gradient stay there.
            energy.weight.register_hook(energy.reads.to(rows).mul)  # type: ignore[no-untyped-call]
        return energy


class DeepKernelEnergy(LowRankEnergy):
    """The energy of a deep kernel exponential family; alpha starts at 0, so that L = 0.

    Parameters
    ----------
    coordinates : Coordinates
    family : DeepKernel
    generator : torch.Generator, optional
        Source of the starting weights.
    """

    def __init__(
        self, coordinates: Coordinates, family: DeepKernel, generator: torch.Generator | None = None
    ) -> None:
        super().__init__(coordinates)
        self.reads = _reads(coordinates, family)
        self.n_sets = 1 if self.reads is None else len(self.reads) // (family.n_kernels * 2 * family.hidden)
        kernels, hidden, width = family.n_kernels * self.n_sets, family.hidden, coordinates.width
        self.family, self.n_kernels, self.hidden = family, kernels, hidden
        scale = max(1, min(family.reads or width, width)) ** -0.5
        # For each r: W_r, then S_r.
        self.weight = normal_parameter(kernels * 2 * hidden, width, generator=generator, scale=scale)
        if self.reads is not None:
            self.weight.data *= self.reads
        self.shift = normal_parameter(kernels, hidden, generator=generator)
        self.mix = normal_parameter(kernels, hidden, hidden, generator=generator, scale=hidden**-0.5)
        self.points = normal_parameter(family.n_points, width, generator=generator)
        self.log_bandwidth = nn.Parameter(torch.zeros(kernels))
        self.log_mixture = nn.Parameter(torch.zeros(kernels))
        shape = (family.n_points,) if self.reads is None else (self.n_sets, family.n_points)
        self.alpha = nn.Parameter(torch.zeros(shape))

    @torch.no_grad()
    def init_from(self, rows: Tensor, generator: torch.Generator | None = None) -> None:
        """Place the points at rows (n, D) drawn at random, and set the bandwidths around the median distance.

        Rows are drawn without replacement as long as they last. The generator lives on the CPU.
        """
        draws = [
            torch.randperm(len(rows), generator=generator) for _ in range(-(-len(self.points) // len(rows)))
        ]
        self.points.copy_(rows[torch.cat(draws)[: len(self.points)].to(rows.device)])
        psi = self._centres()
        for r in range(self.n_kernels):
            median = torch.pdist(psi[r]).median().clamp(min=1e-3)
            step = r % self.family.n_kernels - (self.family.n_kernels - 1) / 2
            self.log_bandwidth[r] = torch.log(median * self.family.bandwidth * self.family.spread**step)

    @property
    def bias(self) -> Tensor:  # type: ignore[override]
        """The offset b of a = A h + b, 0 for the skips."""
        return torch.cat([self.shift, torch.zeros_like(self.shift)], dim=1).flatten()

    def solver(self, base: Energy) -> Callable[[Tensor], None] | None:
        """Return what sets alpha to its closed form on top of a base, if the family asks for it."""
        if self.family.alpha != "solved" or self.coordinates.n_discrete or self.reads is not None:
            return None

        @torch.no_grad()
        def solve(h: Tensor) -> None:
            self.alpha.copy_(self.fit_alpha(h, base.score(h)))

        return solve

    def head(self, a: Tensor) -> Tensor:
        """Return the mixture of kernels at a (..., H): (...)."""
        kernels = self._kernels(self._features(a), self._centres())
        return (kernels @ self._alphas()).sum(dim=(0, 2)).reshape(a.shape[:-1])

    def head_gradient(self, a: Tensor) -> Tensor:
        """Return the gradient of the head at a (..., H): (..., H)."""
        psi, centres = self._features(a), self._centres()
        down, _ = self._psi_gradient(psi, centres, self._kernels(psi, centres))
        parts = torch.cat([self._slope(a) * (down @ self.mix), down], dim=-1)
        return parts.transpose(0, 1).reshape(a.shape)

    def head_hessian(self, a: Tensor) -> Tensor:
        """Return the Hessian of the head at a (..., H), block diagonal in the kernels: (..., H, H)."""
        inner, bend, slope = self._second(a)
        jacobian = self.mix[:, None] * slope[..., None, :]
        left = jacobian.mT @ inner
        top = torch.cat([left @ jacobian + torch.diag_embed(bend), left], dim=-1)
        blocks = torch.cat([top, torch.cat([left.mT, inner], dim=-1)], dim=-2)
        width = 2 * self.hidden
        result = blocks.new_zeros((blocks.shape[1], self.n_kernels, width, self.n_kernels, width))
        for r in range(self.n_kernels):
            result[:, r, :, r, :] = blocks[r]
        return result.reshape(*a.shape, a.shape[-1])

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        jacobian, inner, bend, outer = self._slopes_of_psi(h)
        bent = bend.transpose(0, 1).flatten(1) @ outer.flatten(0, 1).square()
        return (jacobian * (inner @ jacobian)).sum(dim=(0, 2)) + bent

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        jacobian, inner, bend, outer = self._slopes_of_psi(h)
        left, right = (x.transpose(0, 1).flatten(1, 2) for x in (jacobian, inner @ jacobian))
        weights = outer.flatten(0, 1)
        return left.mT @ right + weights.mT @ (bend.transpose(0, 1).flatten(1)[..., None] * weights)

    def _slopes_of_psi(self, h: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return d psi / dz (R, n, p, dc), the Hessian in psi, the bends of the units, and W at continuous coordinates."""
        inner, bend, slope = self._second(self.project(h))
        outer, skip = self._maps()
        jacobian = (self.mix[:, None] * slope[..., None, :]) @ outer[:, None] + skip[:, None]
        return jacobian, inner, bend, outer

    def row_size(self) -> int:
        """Return how many elements the largest result or uncut temporary has for each row."""
        dc, s = self.coordinates.n_continuous, self.coordinates.n_levels
        inside = self.n_kernels * max(self.hidden**2, len(self.points))
        return max(dc**2, s**2, s * self.width, self.n_kernels * self.hidden * dc, inside)

    def fit_alpha(self, h: Tensor, base_score: Tensor | None = None, ridge: Tensor | None = None) -> Tensor:
        r"""Return the alpha that minimises the Hyvarinen loss of the continuous coordinates, given the kernel.

        .. math:: \alpha = -\Big(\frac1n \sum_{r,i} \partial_i k\, \partial_i k^\top + \lambda I\Big)^{-1}
                  \frac1n \sum_{r,i} \big(s^0_i\, \partial_i k + \partial_i^2 k\big)

        with k the vector of kernels k(h, u_m), over rows r and coordinates i; s0 is the score of what the energy is added
        to. Differentiable in the kernel's parameters. Needs a continuous variable.

        Parameters
        ----------
        h : Tensor of shape (n, D)
        base_score : Tensor of shape (n, dc), optional
            0 unless given.
        ridge : Tensor of shape (), optional
            Lambda; that of the family unless given.

        Returns
        -------
        Tensor of shape (M,)

        Notes
        -----
        Time O(n dc M^2 + M^3). Temporaries (n, c, M) are cut over coordinates to stay below `BUDGET` elements.
        """
        n, dc, m = len(h), self.coordinates.n_continuous, len(self.points)
        ridge = h.new_tensor(self.family.ridge) if ridge is None else ridge
        gram, target = h.new_zeros((m, m)), h.new_zeros(m)
        size = max(1, block_size(BUDGET) // (n * m))
        for start in range(0, dc, size):
            at = slice(start, min(start + size, dc))
            first, second = self._kernel_derivatives(h, at)
            flat = first.reshape(-1, m)
            gram = gram + flat.mT @ flat / n
            if base_score is not None:
                target = target + base_score[:, at].reshape(-1) @ flat / n
            target = target + second.sum(dim=0) / n
        factor = torch.linalg.cholesky(gram + ridge * torch.eye(m).to(h))
        return -torch.cholesky_solve(target[:, None], factor)[:, 0]

    def _kernel_derivatives(self, h: Tensor, at: slice) -> tuple[Tensor, Tensor]:
        """Return d k_m / dz_i (n, c, M) of some coordinates, and the sum over them of d2 k_m / dz_i2 (n, M)."""
        a = self.project(h)
        psi, centres, slope = self._features(a), self._centres(), self._slope(a)
        kernels = self._kernels(psi, centres)
        outer, skip = (part[..., at] for part in self._maps())
        first, second = h.new_zeros(()), h.new_zeros(())
        for r in range(self.n_kernels):
            precision = torch.exp(-2 * self.log_bandwidth[r])
            jacobian = (self.mix[r] * slope[r, :, None, :]) @ outer[r] + skip[r]  # (n, p, c)
            along = (jacobian * psi[r, :, :, None]).sum(dim=1)[..., None] - jacobian.mT @ centres[r].mT
            bent = (slope[r] * (1 - slope[r]) * outer[r].square().sum(dim=1)) @ self.mix[r].mT
            turn = (bent * psi[r]).sum(dim=1, keepdim=True) - bent @ centres[r].mT
            length = jacobian.square().sum(dim=(1, 2))[:, None]
            first = first - precision * kernels[r, :, None] * along
            second = second + kernels[r] * (
                precision.square() * along.square().sum(dim=1) - precision * (length + turn)
            )
        return first, second

    # Below, everything stands kernel first, and the leading dimensions of a are one: (R, N, ...).

    def _split(self, a: Tensor) -> Tensor:
        return a.reshape(-1, self.n_kernels, 2 * self.hidden).transpose(0, 1)

    def _features(self, a: Tensor) -> Tensor:
        """Return psi at a (..., H): (R, N, p)."""
        parts = self._split(a)
        units = F.softplus(parts[..., : self.hidden], threshold=40)
        return torch.baddbmm(parts[..., self.hidden :], units, self.mix.mT)

    def _slope(self, a: Tensor) -> Tensor:
        """Return the slopes of the hidden units at a (..., H): (R, N, hidden)."""
        return torch.sigmoid(self._split(a)[..., : self.hidden])

    def _centres(self) -> Tensor:
        """Return psi of the points: (R, M, p)."""
        return self._features(self.project(self.points))

    def _maps(self) -> tuple[Tensor, Tensor]:
        """Return W_r and S_r at the continuous coordinates, each (R, hidden, dc)."""
        maps = self.weight.reshape(self.n_kernels, 2, self.hidden, self.coordinates.width)
        return maps[:, 0, :, : self.coordinates.n_continuous], maps[:, 1, :, : self.coordinates.n_continuous]

    def _alphas(self) -> Tensor:
        """Return alpha of each kernel: (R, M, 1), or (M, 1) where one serves all."""
        if self.reads is None:
            return self.alpha[:, None]
        return self.alpha.repeat_interleave(self.family.n_kernels, dim=0)[..., None]

    def _precision(self) -> Tensor:
        return torch.exp(-2 * self.log_bandwidth)[:, None, None]

    def _kernels(self, psi: Tensor, centres: Tensor) -> Tensor:
        """Return w_r exp(-|psi - c|^2 / (2 sigma_r^2)): (R, N, M).

        The whole exponent is one matrix product of widened vectors, since passes over (R, N, M) are what costs.
        """
        middle, precision = centres.mean(dim=1, keepdim=True), self._precision()
        psi, centres = psi - middle, centres - middle  # the distances stay, rounding errors shrink
        log_mixture = self.log_mixture.reshape(self.n_sets, -1).log_softmax(dim=1).flatten()[:, None, None]
        norm, height = (-0.5 * precision * x.square().sum(dim=-1, keepdim=True) for x in (psi, centres))
        left = torch.cat([precision * psi, norm, torch.ones_like(norm)], dim=-1)
        right = torch.cat([centres, torch.ones_like(height), height + log_mixture], dim=-1)
        return torch.exp(left @ right.mT)

    def _psi_gradient(self, psi: Tensor, centres: Tensor, kernels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradient in psi (R, N, p), and the sum of alpha_m k_m (R, N, 1)."""
        alpha = self._alphas()
        moments = kernels @ torch.cat([alpha * centres, alpha.expand(self.n_kernels, -1, -1)], dim=-1)
        pull, total = moments[..., :-1], moments[..., -1:]
        return (pull - total * psi) * self._precision(), total

    def _second(self, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the Hessian in psi (R, N, p, p), the bends and the slopes of the hidden units (R, N, hidden)."""
        psi, centres, slope = self._features(a), self._centres(), self._slope(a)
        middle, precision = centres.mean(dim=1, keepdim=True), self._precision()
        psi, centres = psi - middle, centres - middle
        kernels = self._kernels(psi, centres)
        down, total = self._psi_gradient(psi, centres, kernels)
        squares = (self._alphas()[..., None] * centres[..., None] * centres[..., None, :]).flatten(2)
        outer = torch.unflatten(kernels @ squares, -1, (self.hidden, self.hidden))
        pull = down / precision + total * psi
        cross = psi[..., None] * pull[..., None, :]
        spread = outer - cross - cross.mT + total[..., None] * psi[..., None] * psi[..., None, :]
        scale = precision[..., None]
        inner = scale.square() * spread - scale * total[..., None] * torch.eye(self.hidden).to(psi)
        return inner, slope * (1 - slope) * (down @ self.mix), slope

    def _budget(self) -> int:
        """Return the elements of (n, c, H) at which the (R, n, c, M) of the kernels reach the limit."""
        return int(block_size(BUDGET) * min(1.0, 2 * self.hidden / len(self.points)))


def _reads(coordinates: Coordinates, family: DeepKernel) -> Tensor | None:
    """Return which columns of h each row of the weights sees, for every set of variables in turn; None if all see all."""
    if family.reads == 0:
        return None
    d, each = coordinates.n_variables, family.n_kernels * 2 * family.hidden
    sets = list(combinations(range(d), min(family.reads, d)))
    mask = torch.zeros((len(sets), coordinates.width))
    for row, members in zip(mask, sets, strict=True):
        for variable in members:
            row[coordinates.columns(variable)] = 1.0
    return mask.repeat_interleave(each, dim=0)
