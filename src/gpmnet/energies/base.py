r"""What an energy is: the log density L(x) up to a constant, and the derivatives and differences that follow from it.

An energy is a smooth function on R^D, the encoded rows of a `Coordinates`. Derivatives are taken in the continuous
coordinates; a discrete variable is moved by replacing its whole block. Below dc is the number of continuous
variables, S the number of levels of all discrete variables together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gpmnet.energies.coordinates import Coordinates
from gpmnet.parts import Part

if TYPE_CHECKING:
    from gpmnet.energies.pairwise import Pairwise

__all__ = ["BUDGET", "BaseFamily", "Coordinates", "Energy", "EnergyFamily", "in_chunks"]

BUDGET = 1 << 24  # elements of the largest temporary: 64 MiB in float32


def in_chunks(function: Callable[[slice], Tensor], total: int, size: int) -> Tensor:
    """Return function(0..total) put together along dimension 1 from slices of at most `size`.

    While gradients are recorded and there is more than one slice, each is computed again in the backward pass
    rather than kept, so that the temporaries of one slice are all that is ever held.
    """
    size = max(1, size)
    if total <= size:
        return function(slice(0, total))
    slices = [slice(start, min(start + size, total)) for start in range(0, total, size)]
    if torch.is_grad_enabled():
        return torch.cat([checkpoint(function, part, use_reentrant=False) for part in slices], dim=1)
    return torch.cat([function(part) for part in slices], dim=1)


class Energy(nn.Module, ABC):
    """The log density L(h), up to a constant, of encoded rows.

    Only `forward` is required. The methods of this class use autograd and replace blocks one by one: right for any
    energy and slow, they are the oracle of the closed forms in the families. All are differentiable in the
    parameters, and `score` also in h.

    Parameters
    ----------
    coordinates : Coordinates
    """

    owner: Tensor
    first: Tensor
    share: Tensor

    def __init__(self, coordinates: Coordinates) -> None:
        super().__init__()
        self.coordinates = coordinates
        self.register_buffer("owner", coordinates.owners(), persistent=False)
        self.register_buffer("first", coordinates.firsts(), persistent=False)
        share = torch.tensor(coordinates.shares, dtype=torch.float64)  # exact also after .double()
        self.register_buffer("share", share, persistent=False)

    @abstractmethod
    def forward(self, h: Tensor) -> Tensor:
        """Return L of rows (..., D): (...)."""

    def score(self, h: Tensor) -> Tensor:
        """Return dL/dz of rows (n, D): (n, dc)."""
        return self._gradient(self._leaf(h))

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        return self._derivatives(h).diagonal(dim1=1, dim2=2)

    def score_and_curvature(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return both at once, which is cheaper where they share their work."""
        return self.score(h), self.curvature(h)

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        return self._derivatives(h)

    def logits(self, h: Tensor) -> Tensor:
        """Return L with one discrete variable set to each of its levels, the others as observed: (n, S)."""
        moved = [self(self.coordinates.replace(h, v, k)) for v, k in self._levels()]
        return torch.stack(moved, dim=1) if moved else h.new_zeros((len(h), 0))

    def level_scores(self, h: Tensor) -> Tensor:
        """Return the scores with one discrete variable set to each of its levels: (n, S, dc)."""
        moved = [self.score(self.coordinates.replace(h, v, k)) for v, k in self._levels()]
        return torch.stack(moved, dim=1) if moved else h.new_zeros((len(h), 0, self.coordinates.n_continuous))

    def pair_logits(self, h: Tensor) -> Tensor:
        """Return L with two discrete variables set to each pair of their levels: (n, S, S).

        The entries of a variable with itself are 0.
        """
        levels = list(self._levels())
        blank = h.new_zeros(len(h))
        rows = [
            torch.stack(
                [
                    self(self.coordinates.replace(self.coordinates.replace(h, v, k), w, m))
                    if v != w
                    else blank
                    for w, m in levels
                ],
                dim=1,
            )
            for v, k in levels
        ]
        return torch.stack(rows, dim=1) if rows else h.new_zeros((len(h), 0, 0))

    def pair_values(self, h: Tensor, first: int, here: Tensor, second: int, there: Tensor) -> Tensor:
        """Return L, up to a constant of each row, with two variables moved over a grid of values: (n, a, b).

        Parameters
        ----------
        h : Tensor of shape (n, D)
        first, second : int
            Positions of two different variables in the coordinates.
        here, there : Tensors of shape (n, a, w) and (n, b, w')
            What replaces their columns of h.
        """
        moved = h[:, None, None, :].repeat(1, here.shape[1], there.shape[1], 1)
        moved[..., self.coordinates.columns(first)] = here[:, :, None, :]
        moved[..., self.coordinates.columns(second)] = there[:, None, :, :]
        return self.forward(moved)

    def solver(self, base: Energy) -> Callable[[Tensor], None] | None:
        """Return what sets parameters from rows (n, D) in closed form, on top of a base; None if nothing does.

        Training takes it for its first step.
        """
        return None

    def row_size(self) -> int:
        """Return how many elements the largest result or uncut temporary of these methods has for each row."""
        return max(1, self.coordinates.n_continuous, self.coordinates.n_levels) ** 2

    def indicators(self, h: Tensor) -> Tensor:
        """Return the indicators of the levels, not centred: (..., S)."""
        return h[..., self.coordinates.n_continuous :] + self.share.to(h.dtype)

    def _levels(self) -> list[tuple[int, int]]:
        return [(v, k) for v, m in enumerate(self.coordinates.levels) for k in range(m)]

    @staticmethod
    def _leaf(h: Tensor) -> Tensor:
        return h if h.requires_grad else h.detach().requires_grad_()

    def _gradient(self, leaf: Tensor) -> Tensor:
        keep = torch.is_grad_enabled()
        with torch.enable_grad():
            value = self(leaf).sum()
            gradient = torch.autograd.grad(value, leaf, create_graph=keep)[0]
        return gradient[:, : self.coordinates.n_continuous]

    def _derivatives(self, h: Tensor) -> Tensor:
        keep, dc = torch.is_grad_enabled(), self.coordinates.n_continuous
        if dc == 0:
            return h.new_zeros((len(h), 0, 0))
        with torch.enable_grad():
            leaf = self._leaf(h)
            score = self._gradient(leaf)
            rows = []
            for i in range(dc):
                more = keep or i + 1 < dc
                row = torch.autograd.grad(score[:, i].sum(), leaf, create_graph=keep, retain_graph=more)[0]
                rows.append(row[:, :dc])
        return torch.stack(rows, dim=1)


class BaseFamily(Part, ABC):
    """What a trained energy is added to. A frozen dataclass."""

    has_pairs: ClassVar[bool]
    """Whether the pairwise family is in the model, fitted with exact zeros; if not, it is only there for its units."""
    trains_own: ClassVar[bool] = False
    """Whether each variable has terms of its own that are trained, unpenalised, with the energy on top."""

    @property
    @abstractmethod
    def pairs(self) -> Pairwise:
        """The pairwise family, whose gradients' noise is the unit of the penalty."""


class EnergyFamily(Part, ABC):
    """The numbers of an energy, from which it is built for a table. A frozen dataclass."""

    is_trained: ClassVar[bool] = True
    """Whether it is trained on top of a base; if not, it is its own base with nothing on top."""

    def base(self, given: BaseFamily) -> BaseFamily:
        """Return what is fitted first: the given base, or what this energy is itself."""
        return given

    @abstractmethod
    def build(self, coordinates: Coordinates, rows: Tensor, generator: torch.Generator | None) -> Energy:
        """Return an energy that is 0 everywhere, ready to be trained, with the type and the device of the rows.

        Parameters
        ----------
        coordinates : Coordinates
        rows : Tensor of shape (n, D)
            Rows it will be trained on, for what must start in the right place.
        generator : torch.Generator or None
            On the CPU; source of the starting weights.
        """


def normal_parameter(
    *shape: int, generator: torch.Generator | None = None, scale: float = 1.0
) -> nn.Parameter:
    """Return starting weights: independent, normal, of a given spread."""
    return nn.Parameter(torch.randn(*shape, generator=generator) * scale)
