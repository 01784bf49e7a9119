"""How a row of a table lies in the vector that energies see."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

from gpmnet.errors import InputError


@dataclass(frozen=True)
class Coordinates:
    r"""The coordinates of an encoded row h in R^D, D = n_continuous + sum(levels).

    First the normal scores z of the continuous variables, then one block for each discrete variable: a column for
    each level that holds :math:`1[x = k] - \mathrm{share}_k`. A learned embedding of the categories followed by a
    linear layer is a linear map of the indicators, so a linear first layer on h already is an embedding; it needs no
    part of its own.

    Attributes
    ----------
    n_continuous : int
        Number of continuous variables, dc.
    levels : tuple of int
        Number of levels of each discrete variable, at least one each; S is their sum.
    shares : tuple of float
        The S shares that centre the indicators, variable after variable; equal shares unless given.

    Examples
    --------
    >>> coordinates = Coordinates(1, (2, 3))
    >>> coordinates.blocks
    (slice(1, 3, None), slice(3, 6, None))
    >>> h = coordinates.encode(torch.tensor([[0.5]]), torch.tensor([[1, 0]]))
    >>> coordinates.codes(coordinates.replace(h, 1, 2))
    tensor([[1, 2]])
    """

    n_continuous: int
    levels: tuple[int, ...] = ()
    shares: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.n_continuous < 0 or any(m < 1 for m in self.levels):
            raise InputError(
                "Coordinates need at least 0 continuous variables and at least 1 level a discrete one; "
                f"got {self.n_continuous} and {self.levels}."
            )
        if not self.shares:
            object.__setattr__(self, "shares", tuple(1 / m for m in self.levels for _ in range(m)))
        if len(self.shares) != sum(self.levels):
            raise InputError(f"Expected {sum(self.levels)} shares of levels, got {len(self.shares)}.")

    @classmethod
    def from_codes(cls, n_continuous: int, levels: tuple[int, ...], codes: Tensor) -> Coordinates:
        """Return the coordinates whose shares are those of the rows of codes (n, number of discrete variables)."""
        shares = [(codes[:, v] == k).double().mean().item() for v, m in enumerate(levels) for k in range(m)]
        return cls(n_continuous, levels, tuple(shares))

    @property
    def n_discrete(self) -> int:
        """Number of discrete variables, V."""
        return len(self.levels)

    @property
    def n_variables(self) -> int:
        """Number of variables, d = dc + V."""
        return self.n_continuous + len(self.levels)

    @property
    def n_levels(self) -> int:
        """Number of levels of all discrete variables together, S."""
        return sum(self.levels)

    @property
    def width(self) -> int:
        """Number of coordinates, D = dc + S."""
        return self.n_continuous + self.n_levels

    @property
    def starts(self) -> tuple[int, ...]:
        """Where each discrete variable begins among the S levels."""
        return tuple(accumulate(self.levels, initial=0))[:-1]

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The columns of h of each discrete variable."""
        dc = self.n_continuous
        return tuple(slice(dc + s, dc + s + m) for s, m in zip(self.starts, self.levels, strict=True))

    def columns(self, variable: int) -> slice:
        """Return the columns of h of a variable, continuous ones first."""
        dc = self.n_continuous
        return slice(variable, variable + 1) if variable < dc else self.blocks[variable - dc]

    def owners(self) -> Tensor:
        """Return the discrete variable of each of the S levels, shape (S,)."""
        return torch.repeat_interleave(
            torch.arange(self.n_discrete), torch.tensor(self.levels, dtype=torch.long)
        )

    def firsts(self) -> Tensor:
        """Return the position among the S levels of level 0 of each level's variable, shape (S,)."""
        return torch.tensor(self.starts, dtype=torch.long)[self.owners()]

    @cached_property
    def by_size(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """The discrete variables grouped by their number m of levels: which ones, (v,), and where among the S, (v, m)."""
        sizes, starts = (
            torch.tensor(self.levels, dtype=torch.long),
            torch.tensor(self.starts, dtype=torch.long),
        )
        groups = []
        for m in sorted(set(self.levels)):
            at = (sizes == m).nonzero()[:, 0]
            groups.append((at, starts[at, None] + torch.arange(m)))
        return tuple(groups)

    def encode(self, z: Tensor, codes: Tensor) -> Tensor:
        """Return rows h (n, D), of the type of z, from scores z (n, dc) and codes (n, V) that count from 0."""
        parts = [z]
        for v, (start, m) in enumerate(zip(self.starts, self.levels, strict=True)):
            hot = torch.nn.functional.one_hot(codes[:, v].long(), m).to(z)
            parts.append(hot - z.new_tensor(self.shares[start : start + m]))
        return torch.cat(parts, dim=1)

    def codes(self, h: Tensor) -> Tensor:
        """Return the codes (..., V) of encoded rows."""
        hot = h[..., self.n_continuous :] + h.new_tensor(self.shares)
        found = h.new_zeros((*h.shape[:-1], self.n_discrete), dtype=torch.long)
        for at, where in self.by_size:
            found[..., at.to(h.device)] = hot[..., where.to(h.device)].argmax(dim=-1)
        return found

    def replace(self, h: Tensor, variable: int, level: int) -> Tensor:
        """Return rows with one discrete variable set to a level."""
        block, start, m = self.blocks[variable], self.starts[variable], self.levels[variable]
        row = -h.new_tensor(self.shares[start : start + m])
        row[level] += 1
        return torch.cat([h[..., : block.start], row.expand(*h.shape[:-1], m), h[..., block.stop :]], dim=-1)
