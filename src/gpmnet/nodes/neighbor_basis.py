r"""F(x_N): what a node model knows of the neighbors, and how it changes with each of them.

.. math:: F(x_N) = [\,1,\ (z_k, \cos \pi u_k, \cos 2 \pi u_k)_{k\ \text{continuous}},\
          (\text{indicators})_{k\ \text{discrete}},\ (\tanh(w_r^\top x_N + b_r) - m_r)_{r = 1..R}\,]

with random directions w, and the means m of the joint features over the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gpmnet.columns.features import Features, gather, level_spread
from gpmnet.columns.functions import Scores, design_functions, firsts, values
from gpmnet.nodes.joint import JointDirections

MEMBER_FUNCTIONS = design_functions(2)
"""Functions of a continuous neighbor; Omega is a mean over rows and needs less detail than a test."""

_ALL = slice(None)


def member_width(levels: int) -> int:
    """Return the columns that a member with some levels (0: continuous) has of its own."""
    return levels - 1 if levels else len(MEMBER_FUNCTIONS)


@dataclass(frozen=True, eq=False)
class NeighborBasis:
    """F(x_N) of a batch of nodes whose neighborhoods have the same kinds and levels slot by slot.

    Attributes
    ----------
    directions : JointDirections or None
        Of the joint features, where there are any.
    members : Tensor of shape (b, s)
    value : Tensor of shape (b, n, p)
        First column 1, then the members' own columns slot by slot, then the joint ones.
    inner : Tensor of shape (b, n, R)
        Arguments of the joint features; R may be 0.
    """

    features: Features
    directions: JointDirections | None
    members: Tensor
    value: Tensor
    inner: Tensor

    @classmethod
    def of(cls, features: Features, members: Tensor, directions: JointDirections | None) -> NeighborBasis:
        """Return the basis of a batch of neighborhoods (b, s), all of the same kinds and levels slot by slot."""
        b, s = members.shape
        parts = [torch.ones((b, features.n, 1), dtype=torch.float64, device=members.device)]
        for slot in range(s):
            member = members[:, slot]
            if int(features.levels[member[0]]):
                parts.append(features.of(member))
            else:
                z = gather(features.scores, features.score_start[member][:, None])[..., 0]
                parts.append(values(MEMBER_FUNCTIONS, Scores(z)))
        inner = parts[0].new_zeros((b, features.n, 0))
        if directions is not None and directions.count:
            inner = directions.arguments(features, members)
            joint = torch.tanh(inner)
            parts.append(joint - joint.mean(dim=1, keepdim=True))
        return cls(features, directions, members, torch.cat(parts, dim=2), inner)

    def take(self, rows: Tensor) -> NeighborBasis:
        """Return the basis of some of the neighborhoods."""
        return NeighborBasis(
            self.features, self.directions, self.members[rows], self.value[rows], self.inner[rows]
        )

    @cached_property
    def levels(self) -> list[int]:
        """Number of levels of the member in each slot, 0 if continuous."""
        return [] if not len(self.members) else self.features.levels[self.members[0]].tolist()

    @cached_property
    def flexible(self) -> Tensor:
        """Which columns are neither the constant, a score nor an indicator: (p,) of bool."""
        result = torch.zeros(self.value.shape[2], dtype=torch.bool, device=self.value.device)
        for slot, levels in enumerate(self.levels):
            if not levels:
                result[self.own(slot).start + 1 : self.own(slot).stop] = True
        result[self._joint] = True
        return result

    @cached_property
    def _centre(self) -> Tensor:
        return torch.tanh(self.inner).mean(dim=1, keepdim=True)

    def own(self, slot: int) -> slice:
        """Return where the own columns of a member are."""
        start = 1 + sum(member_width(m) for m in self.levels[:slot])
        return slice(start, start + member_width(self.levels[slot]))

    def changes(self, slot: int, theta: Tensor) -> Iterator[Tensor]:
        """Yield how Theta F changes with the member in a slot, (b, n, k) or (b, 1, k) where it is the same in all rows.

        Of a continuous member its derivative in z; of a discrete one its differences, level by level, from level 0. Only the
        columns that the member moves are looked at, its own and the joint ones.

        Parameters
        ----------
        theta : Tensor of shape (b, k, p)
        """
        own, joint = theta[:, :, self.own(slot)].mT, theta[:, :, self._joint].mT
        if self.levels[slot] == 0:
            change = firsts(MEMBER_FUNCTIONS, Scores(self._coordinates(slot)[..., 0])) @ own
            if self.inner.shape[2]:
                slope = 1 - torch.tanh(self.inner).square()
                change = change + slope @ (self._directions(slot).mT * joint)
            yield change
            return
        values, moved = self._at(slot, torch.arange(self.levels[slot], device=theta.device))
        steps = (values[:, 1:] - values[:, :1]) @ own
        if not self.inner.shape[2]:
            yield from steps[:, :, None, :].unbind(dim=1)
            return
        others = self._without(slot)
        base = torch.tanh(others + moved[:, :1]) @ joint
        for k in range(1, self.levels[slot]):
            yield torch.tanh(others + moved[:, k, None]) @ joint - base + steps[:, k - 1, None]

    def averages(self, slot: int, points: Tensor, most_rows: int) -> Tensor:
        """Return the mean over rows of F with one member set to each of some points: (b, G, p).

        Parameters
        ----------
        points : Tensor of shape (G,)
            Normal scores of a continuous member, levels of a discrete one.
        most_rows : int
            Joint features are averaged over this many rows, spread evenly, if there are more.
        """
        own, moved = self._at(slot, points)
        result = self.value.mean(dim=1)[:, None, :].repeat(1, len(points), 1)
        result[:, :, self.own(slot)] = own
        if self.inner.shape[2]:
            n = self.inner.shape[1]
            rows = torch.linspace(0, n - 1, min(n, most_rows), device=points.device).round().long()
            others = self._without(slot, rows)
            for g in range(len(points)):
                mean = torch.tanh(others + moved[:, g, None]).mean(dim=1)
                result[:, g, self._joint] = mean - self._centre[:, 0]
        return result

    @property
    def _joint(self) -> slice:
        return slice(self.value.shape[2] - self.inner.shape[2], None)

    def _coordinates(self, slot: int, rows: Tensor | slice = _ALL) -> Tensor:
        """Return the member's part of what the joint features see: (b, n, c)."""
        return gather(self.features.scores[rows], self.features.score_columns(self.members[:, slot]))

    def _directions(self, slot: int) -> Tensor:
        """Return how the arguments of the joint features change with the member's coordinates: (b, c, R)."""
        columns = self.features.score_columns(self.members[:, slot])
        if self.directions is None:
            return self.inner.new_zeros((*columns.shape, 0))
        weights = self.directions.weights[columns].double()
        return weights / math.pow(self.members.shape[1], 0.25)

    def _without(self, slot: int, rows: Tensor | slice = _ALL) -> Tensor:
        """Return the arguments of the joint features less the member's part: (b, n, R), of all rows or some."""
        return self.inner[:, rows] - self._coordinates(slot, rows) @ self._directions(slot)

    def _at(self, slot: int, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return a member's own columns at some points (b, G, w), and its part of the arguments (b, G, R)."""
        if self.levels[slot] == 0:
            z = points.double().expand(len(self.members), -1)
            return values(MEMBER_FUNCTIONS, Scores(z)), z[..., None] @ self._directions(slot)
        share = level_shares(self.features, self.members[:, slot])[:, 1:]
        level = torch.arange(1, self.levels[slot], device=points.device)
        own = (points[:, None] == level).double() - share[:, None, :]
        return own, (own / level_spread(share)[:, None, :]) @ self._directions(slot)


def level_shares(features: Features, variables: Tensor) -> Tensor:
    """Return the shares of the rows in each level of discrete variables with equally many: (b, M)."""
    codes = features.codes[:, variables].T.long()
    n_levels = int(features.levels[variables[0]])
    return torch.stack([(codes == k).double().mean(dim=1) for k in range(n_levels)], dim=1)
