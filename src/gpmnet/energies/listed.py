r"""The pairwise exponential family with a list of pairs: all others have no interaction.

.. math:: L(x) = \sum_i \mathrm{own}_i(x_i) + \sum_{(i, j) \in \text{list}} \varphi_i(x_i)^\top \Theta_{ij}\, \varphi_j(x_j)

The same density as `PairwiseEnergy` with zeros elsewhere, at a cost that grows with the list and not with the number of all
pairs. Blocks of different sizes are padded with zeros to the widest variable's.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gpmnet.columns.functions import Scores, firsts
from gpmnet.energies.base import BUDGET, Coordinates
from gpmnet.energies.pairwise import Pairwise, PairwiseEnergy, RowFunctions
from gpmnet.memory import block_size


class ListedPairwiseEnergy(PairwiseEnergy):
    """A pairwise exponential family of listed pairs, none to start with.

    Parameters
    ----------
    coordinates : Coordinates
    family : Pairwise

    Attributes
    ----------
    pairs : Tensor of int, shape (m, 2)
        The list, each pair once.
    theta : Parameter of shape (m, W, W)
        Interactions, those of the first variable's functions along rows; W is how many functions the widest variable has.
    slots : Tensor of int, shape (d, W)
        Which of the P functions are a variable's; P pads.
    """

    pairs: Tensor
    slots: Tensor
    back: Tensor

    def __init__(self, coordinates: Coordinates, family: Pairwise) -> None:
        super().__init__(coordinates, family)
        count = torch.bincount(self.variable, minlength=coordinates.n_variables)
        width, p = max(1, int(count.max()) if len(count) else 1), len(self.variable)
        slots = torch.full((coordinates.n_variables, width), p, dtype=torch.long)
        inside = torch.arange(p) - (count.cumsum(0) - count)[self.variable]
        slots[self.variable, inside] = torch.arange(p)
        self.register_buffer("slots", slots, persistent=False)
        self.register_buffer("back", self.variable * width + inside, persistent=False)
        self.register_buffer("pairs", torch.zeros((0, 2), dtype=torch.long), persistent=False)
        self.relist(self.pairs, torch.zeros((0, width, width)))
        self._shift: Tensor | None = None
        self._remembered: RowFunctions | None = None

    def remember(self, h: Tensor | None) -> None:
        """Keep the functions of rows (n, D), which must not change, for the calls with this very tensor; None forgets."""
        self._remembered = None if h is None else RowFunctions(self, h)

    def rows(self, h: Tensor) -> RowFunctions:
        """Return the functions of rows (n, D) and their derivatives."""
        kept = self._remembered
        return kept if kept is not None and kept.h is h else super().rows(h)

    def _theta_shape(self) -> tuple[int, ...]:
        return 0, 1, 1  # until the list is known

    @property
    def widths(self) -> Tensor:
        """The number of functions of each variable, (d,)."""
        return (self.slots < len(self.variable)).sum(dim=1)

    def relist(self, pairs: Tensor, theta: Tensor) -> None:
        """Take another list of pairs (m, 2), no pair twice, with its interactions (m, W, W)."""
        self.pairs = pairs
        self.theta = nn.Parameter(theta)

    def by_variable(self, x: Tensor) -> Tensor:
        """Return (n, P) values of the functions variable by variable, padded with zeros: (d, W, n)."""
        return torch.cat([x.mT, x.new_zeros((1, len(x)))])[self.slots]

    def pull(self, phi: Tensor, at: slice = slice(None)) -> Tensor:
        """Return functions of rows (..., P) times some columns of the interactions: (..., p)."""
        flat = phi.reshape(-1, phi.shape[-1])
        rows = self.by_variable(flat)
        one, two = self.pairs.unbind(dim=1)
        total = torch.zeros_like(rows)
        total = total.index_add(0, one, self.theta @ rows[two]).index_add(0, two, self.theta.mT @ rows[one])
        found = total.flatten(0, 1)[self.back].mT
        if self._shift is not None:
            found = found + self._shift
        return found[:, at].reshape(*phi.shape[:-1], -1)

    def logits(self, h: Tensor) -> Tensor:
        """Return L with one discrete variable set to each of its levels, from one product with the interactions: (n, S)."""
        dc, k, rows = self.coordinates.n_continuous, self.n_functions, self.rows(h)
        field = self.pull(rows.phi)
        on_levels = field[:, dc * k :] + self.own_levels
        per_level = h.new_zeros((len(h), self.coordinates.n_levels)).index_copy(1, self.column, on_levels)
        own = (rows.phi[:, : dc * k] @ self.own[:, :-1].flatten()) + 0.5 * rows.s.z.square() @ self.own[:, -1]
        value = own + rows.phi[:, dc * k :] @ self.own_levels + 0.5 * (field * rows.phi).sum(dim=-1)
        seen = self._by_variable(self.indicators(h) * per_level)
        return value[:, None] + per_level - seen[:, self.owner]

    def slopes(self, losses: Callable[[], Tensor], n: int) -> Tensor:
        """Return by how much each of n rows' losses changes with what its functions are multiplied by: (n, P).

        With A that matrix, the gradient of the summed losses in any pair's interactions is ``A_i' phi_j + phi_i' A_j``,
        listed or not, for objectives that see interactions through scores, curvatures and logits alone.
        """
        self._shift = shift = torch.zeros((n, len(self.variable))).to(self.own).requires_grad_()
        try:
            with torch.enable_grad():
                (found,) = torch.autograd.grad(losses().sum(), shift)
        finally:
            self._shift = None
        return found

    def interactions(self) -> Tensor:
        """Return the symmetric matrix of interactions of all pairs, (P, P)."""
        p = len(self.variable)
        rows, columns = (self.slots[end] for end in self.pairs.unbind(dim=1))
        flat = (rows[:, :, None] * (p + 1) + columns[:, None, :]).flatten()
        square = self.theta.new_zeros((p + 1) ** 2).index_add(0, flat, self.theta.flatten())
        square = square.reshape(p + 1, p + 1)[:p, :p]
        return square + square.mT

    def columns_of(self, variable: int) -> Tensor:
        """Return the columns of the interactions that belong to a variable: (P, K)."""
        k = int(self.widths[variable])
        found = self.theta.new_zeros((len(self.variable) + 1, k))
        one, two = self.pairs.unbind(dim=1)
        for here, there, blocks in ((one, two, self.theta.mT), (two, one, self.theta)):
            at = here == variable
            found = found.index_add(0, self.slots[there[at]].flatten(), blocks[at][..., :k].flatten(0, 1))
        return found[:-1]

    @torch.no_grad()
    def mean_products(self, other: ListedPairwiseEnergy, pairs: Tensor, h: Tensor) -> Tensor:
        """Return E sum f g of pairs (m, 2), f and g being the local interactions of two energies, over rows (n, D): (m,).

        Pairs that either does not list have 0. With itself it is Omega squared. The contrast of two levels is an entry of
        theta, not a difference of values, so that nothing cancels.
        """
        dc, found = self.coordinates.n_continuous, h.new_zeros(len(pairs), dtype=torch.float64)
        mine, theirs = (energy.blocks(pairs) for energy in (self, other))
        slope = self._slopes_of(h)  # (dc, n, K)
        size = max(1, block_size(BUDGET) // max(1, len(h) * self.slots.shape[1]))
        for at in torch.split(torch.arange(len(pairs), device=h.device), size):
            i, j = pairs[at].unbind(dim=1)
            f, g = mine[at], theirs[at]
            for left, right in ((True, True), (True, False), (False, False)):  # continuous ones come first
                which = ((i < dc) == left) & ((j < dc) == right)
                one, two = f[which], g[which]
                if left:
                    one, two = slope[i[which]] @ one, slope[i[which]] @ two
                if right:
                    one, two = ((x * slope[j[which]]).sum(dim=2, keepdim=True) for x in (one, two))
                found[at[which]] = (one * two).sum(dim=(1, 2)).double() / (len(h) if left else 1)
        return found

    def blocks(self, pairs: Tensor) -> Tensor:
        """Return the interactions of pairs (k, 2), ordered as in the list; zeros if not listed: (k, W, W)."""
        d = self.coordinates.n_variables
        mine, asked = (x[:, 0] * d + x[:, 1] for x in (self.pairs, pairs))
        found = self.theta.new_zeros((len(pairs), *self.theta.shape[1:]))
        if not len(mine):
            return found
        order = torch.argsort(mine)
        at = torch.searchsorted(mine[order], asked).clamp(max=len(mine) - 1)
        there = mine[order][at] == asked
        found[there] = self.theta.detach()[order[at[there]]]
        return found

    def _slopes_of(self, h: Tensor) -> Tensor:
        """Return the derivatives of the continuous variables' functions, padded to W: (dc, n, W)."""
        dc, k = self.coordinates.n_continuous, self.n_functions
        first = firsts(self.functions, Scores(h[:, :dc])).transpose(0, 1)
        return torch.nn.functional.pad(first, (0, self.slots.shape[1] - k))
