r"""Variables that act only all together: products of their signs.

.. math:: L(h) = \sum_k \theta_k \prod_{i \in S_k} s_i(h), \qquad s_i = \tanh(\gamma_i z_i)

for a continuous variable; that of a discrete one with two levels is the difference of its two columns of h. A parity of
seven is one such product. Training from small weights does not find it: the gain of a loss is of seventh order in
them. But with d signs a row falls into one of :math:`2^d` orthants, and the mean products of *all* sets of signs are one
fast transform of the counts, :math:`d\, 2^d` operations (Walsh and Hadamard, for unequal shares). Sets whose mean is
beyond chance, and beyond the product of the means of any two parts, are worth a term.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gpmnet.energies.base import Coordinates, Energy

_MOST_SIGNS = 16  # 2^16 counts; the transform of more takes longer than what it could find is worth
_LOOKED_AT = 64  # sets that are compared with the products of their parts
_ALPHA = 0.01  # of the largest mean of all sets
_SHARP = 2.0  # gamma at the start


class TogetherEnergy(Energy):
    """Products of signs; their weights start at 0, so that L = 0.

    Parameters
    ----------
    coordinates : Coordinates
    sets : list of tuple of int
        Positions in the coordinates, of continuous variables or ones with two levels.
    """

    members: Tensor

    def __init__(self, coordinates: Coordinates, sets: list[tuple[int, ...]]) -> None:
        super().__init__(coordinates)
        d, wide = coordinates.n_variables, max(map(len, sets), default=0)
        padded = [[*members, *[d] * (wide - len(members))] for members in sets]
        self.register_buffer("members", torch.tensor(padded, dtype=torch.int64).reshape(len(sets), wide))
        self.sharp = nn.Parameter(torch.full((coordinates.n_continuous,), _SHARP))
        self.weight = nn.Parameter(torch.zeros(len(sets)))

    def forward(self, h: Tensor) -> Tensor:
        """Return L of rows (..., D): (...)."""
        return self._signs(h)[..., self.members].prod(dim=-1) @ self.weight

    def score(self, h: Tensor) -> Tensor:
        """Return dL/dz of rows (n, D): (n, dc)."""
        return self._slope(h) * self._others(h)[:, : self.coordinates.n_continuous]

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        dc = self.coordinates.n_continuous
        value = torch.tanh(self.sharp * h[:, :dc])
        return -2 * self.sharp * value * self._slope(h) * self._others(h)[:, :dc]

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        dc, slope = self.coordinates.n_continuous, self._slope(h)
        mixed = slope[:, :, None] * slope[:, None, :] * self._both(h)[:, :dc, :dc]
        return mixed + torch.diag_embed(self.curvature(h))

    def logits(self, h: Tensor) -> Tensor:
        """Return L with one discrete variable set to each of its levels, the others as observed: (n, S)."""
        at = self.owner + self.coordinates.n_continuous
        others = self._others(h)[:, at]
        return self.forward(h)[:, None] + (self._set(h) - self._signs(h)[:, at]) * others

    def pair_logits(self, h: Tensor) -> Tensor:
        """Return L with two discrete variables set to each pair of their levels: (n, S, S); 0 within a variable."""
        at = self.owner + self.coordinates.n_continuous
        move = self._set(h) - self._signs(h)[:, at]
        one = move * self._others(h)[:, at]
        two = move[:, :, None] * move[:, None, :] * self._both(h)[:, at][:, :, at]
        value = self.forward(h)[:, None, None] + one[:, :, None] + one[:, None, :] + two
        return value.masked_fill(self.owner[:, None] == self.owner, 0.0)

    def row_size(self) -> int:
        """Return how many elements the largest result or uncut temporary of these methods has for each row."""
        m, wide = self.members.shape
        return max(super().row_size(), m * wide**3)

    def _slope(self, h: Tensor) -> Tensor:
        return self.sharp * (1 - torch.tanh(self.sharp * h[:, : self.coordinates.n_continuous]).square())

    def _set(self, h: Tensor) -> Tensor:
        """Return the sign of each discrete variable at each of its levels, (S,)."""
        c = self.coordinates
        level = torch.arange(c.n_levels, device=h.device)
        size = torch.tensor(c.levels, dtype=torch.int64, device=h.device)[self.owner]
        share = self.share.to(h)
        last = self.first + size - 1
        return (level == last).to(h) - (level == self.first).to(h) - share[last] + share[self.first]

    def _others(self, h: Tensor) -> Tensor:
        """Return the derivative of L in the sign of each variable, for rows (n, D): (n, d + 1)."""
        value = self._signs(h)[:, self.members]
        alone = torch.eye(self.members.shape[1], dtype=torch.bool, device=h.device)
        term = self.weight[:, None] * torch.where(alone, 1.0, value[:, :, None, :]).prod(dim=3)
        found = h.new_zeros((len(h), self.coordinates.n_variables + 1))
        return found.index_add(1, self.members.flatten(), term.flatten(1))

    def _both(self, h: Tensor) -> Tensor:
        """Return the derivatives of L in the signs of two variables, for rows (n, D): (n, d + 1, d + 1); 0 with itself."""
        value = self._signs(h)[:, self.members]
        alone = torch.eye(self.members.shape[1], dtype=torch.bool, device=h.device)
        left = alone[:, None] | alone[None, :]
        term = self.weight[:, None, None] * torch.where(left, 1.0, value[:, :, None, None, :]).prod(dim=4)
        term = term.masked_fill(alone, 0.0).flatten(1)
        d = self.coordinates.n_variables + 1
        at = (self.members[:, :, None] * d + self.members[:, None, :]).flatten()
        return h.new_zeros((len(h), d * d)).index_add(1, at, term).reshape(-1, d, d)

    def _signs(self, h: Tensor) -> Tensor:
        """Return s of rows (..., D) and a column of ones: (..., d + 1)."""
        c = self.coordinates
        parts = [torch.tanh(self.sharp * h[..., : c.n_continuous])]
        # Variables with more levels are in no set.
        parts += [
            h[..., block.stop - 1 : block.stop] - h[..., block.start : block.start + 1] for block in c.blocks
        ]
        return torch.cat([*parts, torch.ones_like(h[..., :1])], dim=-1)


def acting_together(coordinates: Coordinates, h: Tensor, most: int) -> list[tuple[int, ...]]:
    """Return sets of three or more variables whose signs rows (n, D) show to act together, clearest first.

    At most `most`; none in tables of more than 16 variables that have a sign. Time O(n d + d 2^d + 2^s) for sets of s.
    """
    two = [coordinates.n_continuous + v for v, m in enumerate(coordinates.levels) if m == 2]
    which = [*range(coordinates.n_continuous), *two]
    if not most or not 3 <= len(which) <= _MOST_SIGNS:
        return []
    above = torch.stack([h[:, coordinates.columns(v)][:, -1] > 0 for v in which], dim=1)
    mean, rests = mean_products(above)
    bits = torch.arange(len(which), device=mean.device)
    order = (torch.arange(len(mean), device=mean.device)[:, None] >> bits & 1).sum(dim=1)
    least = -float(torch.special.ndtri(torch.tensor(_ALPHA / (2 * len(mean)), dtype=torch.float64)))
    t = torch.where((order >= 3) & rests, mean.abs() * math.sqrt(len(h)), 0.0)
    size, at = t.topk(min(_LOOKED_AT, len(t)))
    found = []
    for code in at[size > least].tolist():
        # What parts of a set do each for itself is no sign that they act together.
        parts = torch.tensor(_parts(code), device=mean.device)
        explained = float((mean[parts] * mean[code ^ parts]).abs().max())
        if (abs(float(mean[code])) - explained) * math.sqrt(len(h)) > least:
            found.append(tuple(v for bit, v in enumerate(which) if code >> bit & 1))
    return found[:most]


def mean_products(above: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean product of each set of standardised signs (n, d) of bool, (2^d,); and which rest on enough rows.

    The bits of a position say who is in the set. Under independence each has variance 1 / n, and a kurtosis that is the
    product of those of the signs: a set of kurtosis c rests on n / c rows, of which 60 are enough.

    >>> mean, _ = mean_products(torch.tensor([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]).bool())
    >>> mean.tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]
    """
    n, d = above.shape
    code = (above.long() << torch.arange(d, device=above.device)).sum(dim=1)
    found = torch.bincount(code, minlength=1 << d).double() / n
    share = above.double().mean(dim=0).clamp(1 / n, 1 - 1 / n)
    kurtosis = torch.ones_like(found)
    for bit, p in enumerate(share.tolist()):
        low, high = -math.sqrt(p / (1 - p)), math.sqrt((1 - p) / p)
        off, on = found.reshape(-1, 2, 1 << bit).unbind(dim=1)
        found = torch.stack([off + on, low * off + high * on], dim=1).flatten()
        own = (1 - p) * low**4 + p * high**4
        kurtosis = (kurtosis.reshape(-1, 2, 1 << bit) * kurtosis.new_tensor([1.0, own])[:, None]).flatten()
    return found, kurtosis <= n / 60


def _parts(code: int) -> list[int]:
    """Return the parts of a set, one of every two that make it up.

    >>> _parts(0b111)
    [6, 5, 4]
    """
    parts, part = [], (code - 1) & code
    while part > code ^ part:
        parts.append(part)
        part = (part - 1) & code
    return parts
