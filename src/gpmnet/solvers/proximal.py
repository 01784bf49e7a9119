r"""Regularised score matching of the pairwise family, with exact zeros.

.. math:: \min_{\Theta, \mathrm{own}} \; \frac1n \sum_r \ell(x_r) + \sum_{i<j} c_{ij}^2\,
          \rho_\lambda\big(\|\tilde\Theta_{ij}\| / c_{ij}\big)

The interactions are written in functions whose derivatives (differences, for discrete variables) are orthonormal, so
that the Frobenius norm of a block is Omega of the pair where the two are independent. The unit c of a pair is the
size of its gradient's noise when it has no interaction: at :math:`\lambda = \tau/\sqrt n` one tau means the same for
all kinds of pair, whatever the number of levels. Accelerated proximal gradient steps (Beck and Teboulle 2009) with
restarts, one step length for each block; a prox that is exact for any step makes the concave penalties safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gpmnet.columns.functions import Scores, firsts
from gpmnet.columns.whitening import whitener
from gpmnet.energies import Energy, PairwiseEnergy, SumEnergy
from gpmnet.errors import ComputationError
from gpmnet.objectives import Objective
from gpmnet.penalties import L1, Penalty

MOST_STEPS = 300
"""Steps after which a fit ends, converged or not."""
_STEP = "step of the fit"
_DRAWS = 8  # random signs that estimate the noise of a gradient
_TOLERANCE = 2e-3  # of a coefficient, in units of its curvature


@dataclass(eq=False)
class Scales:
    """What does not change along a path.

    Attributes
    ----------
    root : Tensor of shape (P, P)
        Block diagonal; the functions ``phi @ root`` have orthonormal derivatives.
    own_root : Tensor of shape (K + 1, K + 1)
    curvature : Tensor of shape (d, d)
        Bound of the loss's second derivative in each block, up to a factor that the step takes care of.
    level_curvature : Tensor of shape (sum(levels - 1),)
    noise : Tensor of shape (d, d)
        c: root mean square over rows of the gradient of each block in the model without interactions.
    """

    root: Tensor
    own_root: Tensor
    curvature: Tensor
    level_curvature: Tensor
    noise: Tensor


@dataclass(frozen=True, eq=False)
class PairMasks:
    """Which pairs are special, symmetric tensors of bool, shape (d, d).

    Attributes
    ----------
    closed : Tensor
        Pairs without an interaction.
    free : Tensor
        Pairs that are not penalised.
    """

    closed: Tensor
    free: Tensor


@dataclass(frozen=True, eq=False)
class Solved:
    """How a fit ended.

    Attributes
    ----------
    steps : int
        Steps it took.
    converged : bool
        Whether it ended because nothing moved any more, not because of the most steps.
    gap : Tensor of shape (d, d)
        How far each pair's block is from being stationary: the distance of 0 from the subdifferential, in standard
        errors of the block's gradient. Without interactions the diagonal has the slopes of each variable's own terms.
        Where pairs are listed, one column with the norm over each variable's pairs.
    """

    steps: int
    converged: bool
    gap: Tensor

    @property
    def worst(self) -> int:
        """The variable whose terms are farthest from being stationary."""
        return int(self.gap.square().sum(dim=1).argmax())


class SparsePairwise:
    """Fits the pairwise part of an energy to rows.

    Parameters
    ----------
    base : Energy
        What the pairwise family is added to.
    pairwise : PairwiseEnergy
    h : Tensor of shape (n, D)
    objective : Objective
    masks : PairMasks
    generator : torch.Generator
        On the CPU.
    most_steps : int
        Steps after which a fit ends, converged or not.

    Attributes
    ----------
    alone : Solved
        How the fit without interactions ended, at which the units of the pairs are taken.
    first : Solved or None
        How the fit behind `initial` ended; None if there was none.

    Notes
    -----
    An objective that draws gets the same draws every time, so that losses before and after a step can be compared.
    """

    copies: ClassVar[float] = 2.0
    """How often each pair stands in the interactions."""

    def __init__(
        self,
        base: Energy,
        pairwise: PairwiseEnergy,
        h: Tensor,
        objective: Objective,
        masks: PairMasks,
        generator: torch.Generator,
        most_steps: int = MOST_STEPS,
    ) -> None:
        self.pairwise, self.energy = pairwise, SumEnergy(base, pairwise)
        self.h, self.objective, self.generator, self.most_steps = h, objective, generator, most_steps
        self.closed, self.free = masks.closed, masks.free
        self.seed = int(torch.randint(2**31, (), generator=generator))
        self.step = 1.0
        self.first: Solved | None = None
        self._initial: Tensor | None = None
        self.scales = self._scales()
        self.alone = self.fit(None)
        self.scales.noise = self._noise().clamp(min=1e-6)

    def fit(self, penalty: Penalty | None, most_steps: int | None = None) -> Solved:
        """Minimise from where the parameters are; None allows no interactions, only each variable's own terms.

        `most_steps` is that of all fits unless given.
        """
        most_steps = self.most_steps if most_steps is None else most_steps
        x = self._read()
        y, momentum = [part.clone() for part in x], 1.0
        steps, converged = 0, False
        while steps < most_steps and not converged:
            loss, gradient = self._loss_and_gradient(y)
            new = self._descend(y, loss, gradient, penalty)
            moved = self._moved(new, x)
            grown = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            uphill = sum(float(((b - a) * (a - c)).sum()) for a, b, c in zip(new, y, x, strict=True)) > 0
            if uphill:  # momentum points the wrong way: start it again
                y, momentum = new, 1.0
            else:
                y = [a + (momentum - 1) / grown * (a - c) for a, c in zip(new, x, strict=True)]
                momentum = grown
            x = new
            steps, converged = steps + 1, moved < _TOLERANCE
        self._write(x)
        return Solved(steps, converged, self._gaps(x, penalty))

    @torch.no_grad()
    def held_out(self, h: Tensor) -> float:
        """Return the mean loss of rows."""
        return float(_mean(self._losses(h)))

    def initial(self) -> Tensor:
        """Return the norms of a fit that is hardly penalised, for adaptive weights: (d, d).

        It is made once, with a third of the steps: it is a start.
        """
        if self._initial is None:
            before, step = self._read(), self.step
            self.first = self.fit(L1(0.3 * len(self.h) ** -0.5), max(1, self.most_steps // 3))
            self._initial = self.norms()
            self._write(before)
            self.step = step
        return self._initial

    def state(self) -> dict[str, Tensor]:
        """Return where the fit is: with it another one of the same rows goes on to the same bits."""
        return self.pairwise.state_dict() | {_STEP: torch.tensor(self.step, dtype=torch.float64)}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from where another fit of the same rows was."""
        self.step = float(state[_STEP])
        self.pairwise.load_state_dict({name: value for name, value in state.items() if name != _STEP})

    @torch.no_grad()
    def norms(self) -> Tensor:
        """Return the norm of each block, Omega of the pair under independence: (d, d)."""
        return self._norms(self._read()[0])

    def _gaps(self, x: list[Tensor], penalty: Penalty | None) -> Tensor:
        """Return `Solved.gap` at x."""
        pairs, own, own_levels = self._loss_and_gradient(x)[1]
        if penalty is None:
            return self._own_gaps(self._own_norms(own, own_levels) * len(self.h) ** 0.5)
        theta, slope = x[0], self.copies * pairs
        norms, noise = self._norms(theta), self.scales.noise
        rate: Tensor = (noise * penalty.derivative(norms / noise)).masked_fill(self.free, 0.0)
        pull = self._norms(slope + theta * self._spread(rate / norms.clamp(min=1e-12)))
        left = torch.where(norms > 0, pull, (self._norms(slope) - rate).clamp(min=0))
        return self._pair_gaps(left.masked_fill(self.closed, 0.0) / noise * len(self.h) ** 0.5)

    def _own_gaps(self, gaps: Tensor) -> Tensor:
        return torch.diag(gaps)

    def _pair_gaps(self, gaps: Tensor) -> Tensor:
        return gaps

    def _descend(
        self, y: list[Tensor], loss: Tensor, gradient: list[Tensor], penalty: Penalty | None
    ) -> list[Tensor]:
        s = self.scales
        pair_curvature = self._spread(s.curvature)
        self.step *= 1.2  # shrinks again below where that was too much
        while True:
            theta = self._different(y[0] - self.step * self.copies * gradient[0] / pair_curvature)
            theta = self._prox(self._symmetric(theta), penalty)
            new = [theta, y[1] - self.step * gradient[1], y[2] - self.step * gradient[2] / s.level_curvature]
            change = [a - b for a, b in zip(new, y, strict=True)]
            linear = sum(float((c * g).sum()) for c, g in zip(change, gradient, strict=True))
            square = (
                float((change[0].square() * pair_curvature).sum()) / self.copies
                + float(change[1].square().sum())
                + float((change[2].square() * s.level_curvature).sum())
            )
            with torch.no_grad():
                self._write(new)
                reached = float(_mean(self._losses(self.h)))
            slack = 10 * torch.finfo(self.h.dtype).eps * (1 + abs(float(loss)))  # rounding
            if reached <= float(loss) + linear + square / (2 * self.step) + slack or self.step < 1e-8:
                return new
            self.step *= 0.6

    def _prox(self, theta: Tensor, penalty: Penalty | None) -> Tensor:
        if penalty is None:
            return torch.zeros_like(theta)
        norms, noise = self._norms(theta), self.scales.noise
        kept = noise * penalty.prox(norms / noise, self.step / self.scales.curvature)
        kept = torch.where(self.free, norms, kept).masked_fill(self.closed, 0.0)
        return theta * self._spread(kept / norms.clamp(min=1e-12))

    def _loss_and_gradient(self, x: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        self._write(x)
        loss = _mean(self._losses(self.h))
        if not bool(torch.isfinite(loss)):
            raise ComputationError(
                f"the fit of the pairwise family stopped: its objective is {float(loss.detach())}; try another objective"
            )
        return loss.detach(), self._gradient(loss)

    def _losses(self, h: Tensor) -> Tensor:
        return self.objective(self.energy, h, torch.Generator().manual_seed(self.seed))

    def _scales(self) -> Scales:
        return _scales(self.pairwise, self.h)

    def _slopes(self, loss: Tensor) -> list[Tensor]:
        """Return the gradients in the energy's parameters."""
        parameters = [self.pairwise.theta, self.pairwise.own, self.pairwise.own_levels]
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        return [torch.zeros_like(q) if g is None else g for g, q in zip(found, parameters, strict=True)]

    def _gradient(self, loss: Tensor) -> list[Tensor]:
        (theta, own, levels), s = self._slopes(loss), self.scales
        return [self._different(s.root.mT @ theta @ s.root), own @ s.own_root, levels]

    def _noise(self) -> Tensor:
        """Return the root mean square gradient of each block, from sums of the rows' losses with random signs."""
        total = self.h.new_zeros(self.closed.shape)
        for _ in range(_DRAWS):
            signs = torch.randint(0, 2, (len(self.h),), generator=self.generator).to(self.h) * 2 - 1
            loss = (signs * self._losses(self.h)).sum()
            total += self._norms(2 * self._gradient(loss)[0]).square() / len(self.h)
        return (total / _DRAWS).sqrt()

    @torch.no_grad()
    def _read(self) -> list[Tensor]:
        p, s = self.pairwise, self.scales
        half = torch.linalg.solve_triangular(s.root, p.interactions(), upper=True)
        theta = torch.linalg.solve_triangular(s.root, half.mT, upper=True)
        own = torch.linalg.solve_triangular(s.own_root, p.own.mT, upper=True).mT
        return [self._different((theta + theta.mT) / 2), own.clone(), p.own_levels.clone()]

    @torch.no_grad()
    def _write(self, x: list[Tensor]) -> None:
        p, s = self.pairwise, self.scales
        p.theta.copy_(s.root @ x[0] @ s.root.mT)
        p.own.copy_(x[1] @ s.own_root.mT)
        p.own_levels.copy_(x[2])

    def _moved(self, new: list[Tensor], old: list[Tensor]) -> float:
        s = self.scales
        scale = (self._spread(s.curvature).sqrt(), torch.ones_like(new[1]), s.level_curvature.sqrt())
        parts = [((a - b).abs() * c) for a, b, c in zip(new, old, scale, strict=True)]
        return max(float(part.max()) for part in parts if part.numel())

    def _norms(self, theta: Tensor) -> Tensor:
        return (
            _block_sums(theta.square(), self.pairwise.variable, self.pairwise.coordinates.n_variables)
            .clamp(min=0)
            .sqrt()
        )

    def _own_norms(self, own: Tensor, levels: Tensor) -> Tensor:
        """Return the norms (d,) of each variable's own coefficients, (dc, K + 1) and (sum(levels - 1),)."""
        variable = self.pairwise.variable[len(self.pairwise.variable) - len(levels) :]
        squares = own.new_zeros(self.pairwise.coordinates.n_variables).index_add(0, variable, levels.square())
        squares[: len(own)] = own.square().sum(dim=1)
        return squares.sqrt()

    def _spread(self, blocks: Tensor) -> Tensor:
        """Return a (d, d) matrix with each entry repeated over its block: (P, P)."""
        return blocks[self.pairwise.variable][:, self.pairwise.variable]

    def _symmetric(self, theta: Tensor) -> Tensor:
        """Return both copies of each pair alike: the loss sees no difference, which a concave penalty would blow up."""
        return (theta + theta.mT) / 2

    def _different(self, theta: Tensor) -> Tensor:
        v = self.pairwise.variable
        return theta * (v[:, None] != v[None, :])


def _mean(losses: Tensor) -> Tensor:
    """Return the mean in double precision: a line search looks at small differences of it."""
    return losses.double().mean()


def _block_sums(matrix: Tensor, variable: Tensor, d: int) -> Tensor:
    rows = matrix.new_zeros((d, matrix.shape[1])).index_add(0, variable, matrix)
    return rows.new_zeros((d, d)).index_add(1, variable, rows)


@torch.no_grad()
def _scales(pairwise: PairwiseEnergy, h: Tensor) -> Scales:
    coordinates, n = pairwise.coordinates, len(h)
    dc, k = coordinates.n_continuous, pairwise.n_functions
    phi, d = pairwise.phi(h), coordinates.n_variables
    root = torch.eye(phi.shape[1]).to(h)
    own_root = torch.eye(k + 1).to(h)
    if dc:
        own_root, one = function_roots(pairwise, h)
        root[: dc * k, : dc * k] = torch.kron(torch.eye(dc).to(h), one)
    white = phi @ root
    value, slope = h.new_ones(d), h.new_ones(d)
    for v in range(d):
        block = white[:, pairwise.variable == v]
        value[v] = torch.linalg.eigvalsh(block.mT @ block / n)[-1]
        if v >= dc:
            block = block - block.mean(dim=0)
            slope[v] = torch.linalg.eigvalsh(block.mT @ block / n)[-1].clamp(min=1e-3)
    # A level that no row has leaves no curvature.
    curvature = (torch.outer(value, slope) + torch.outer(slope, value)).clamp(min=1e-3)
    return Scales(root, own_root, curvature, slope[pairwise.variable[dc * k :]], torch.ones_like(curvature))


def function_roots(pairwise: PairwiseEnergy, h: Tensor) -> tuple[Tensor, Tensor]:
    """Return what makes the derivatives of own functions (K + 1, K + 1) and of the functions (K, K) orthonormal.

    All continuous variables are normal scores: one matrix serves them.
    """
    k, z = pairwise.n_functions, h[:, : pairwise.coordinates.n_continuous].flatten()
    slopes = torch.cat([firsts(pairwise.functions, Scores(z)), z[:, None]], dim=1)
    return _whitener(slopes.mT @ slopes / len(z)), _whitener(slopes[:, :k].mT @ slopes[:, :k] / len(z))


def _whitener(gram: Tensor) -> Tensor:
    """Return upper triangular W with W' G W = I, but for what has no variance."""
    return whitener(gram, 1e-6 * gram.diagonal().mean().expand(len(gram)))
