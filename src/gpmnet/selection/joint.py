r"""The p-value of a variable and a group of near-copies after the search.

Given are the variable's neighbors outside the group, S. If the search found all of them, they separate the variable
from a group that it does not depend on. What the search missed, or gave up for a member of the group, says at least
as much about the variable as the group does (data-processing inequality): every candidate k with half of the group's
evidence given S is a rival. Two answers come of it. The *narrow* one is that the variable depends on the group,

.. math:: p = \max \{\, p_S,\ p_{S \cup \{k\}},\ p_{S \cup \text{rivals}} \,\},

where a larger set that leaves less than a tenth of the information that S leaves has no say, as in `two_ended`. The
*wide* one is that it depends on the group or on its rivals, :math:`p_S`: either S holds all of the variable's
neighbors and the p-value is uniform, or what it lacks is in the group or a rival.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.testing.base import BoundTest
from gpmnet.testing.groups import GroupTest, against_group

_RIVAL = 1 / 2  # of the group's evidence, that a candidate needs to be tried
_INFORMED = 0.1  # share of the information that a larger set must leave
MOST_RIVALS = 6
"""The strongest rivals, at most this many, are tried."""


@dataclass(frozen=True)
class JointTest:
    """A variable and a group, tested together.

    Attributes
    ----------
    variable, group : int
        Position of the variable, and of the group among the groups.
    log_p, log_p_wide : float
        Log p-values of the narrow and the wide answer.
    rivals : tuple of int
        Positions of the rivals, the strongest first.
    strength : float
        Given S; see `gpmnet.testing.groups.GroupTest`.
    """

    variable: int
    group: int
    log_p: float
    log_p_wide: float
    rivals: tuple[int, ...]
    strength: float


@dataclass(frozen=True, eq=False)
class JointRule:
    """Tests variables against groups, given what the search found.

    Attributes
    ----------
    test : BoundTest
    groups : tuple of tuple of int
    members, candidates : Tensor of shape (d, s), (d, C)
        Neighbors of each variable, and whom it was searched among; -1 pads.
    alpha : float
        Rivals of a group are looked for as long as the p-value is below this.
    most_members : int
        Largest conditioning set beside one rival.
    """

    test: BoundTest
    groups: tuple[tuple[int, ...], ...]
    members: Tensor
    candidates: Tensor
    alpha: float
    most_members: int

    def __call__(self, variable: int, group: int) -> JointTest:
        """Return the test of a variable and a group; time of at most 2 + `MOST_RIVALS` tests given a set."""
        inside = torch.tensor(self.groups[group], device=self.members.device)
        own = _outside(self.members[variable], inside, variable)
        found = self._given(variable, inside, own)
        if found.log_p > math.log(self.alpha):
            return JointTest(variable, group, found.log_p, found.log_p, (), found.strength)
        rivals = self._rivals(variable, inside, own, found.log_p)
        sets = [torch.cat([own, rival[None]]) for rival in rivals]
        if len(rivals) > 1 and len(own) + len(rivals) <= self.most_members:
            sets.append(torch.cat([own, rivals]))
        others = [self._given(variable, inside, larger) for larger in sets]
        informed = [x.log_p for x in others if x.information >= _INFORMED * found.information]
        log_p = max([found.log_p, *informed])
        return JointTest(variable, group, log_p, found.log_p, tuple(rivals.tolist()), found.strength)

    def _given(self, variable: int, group: Tensor, given: Tensor) -> GroupTest:
        # Of a table with gaps only some rows have all of these, and a variable may be constant in them.
        designs, ends, inside = self.test.about(torch.cat([group.new_tensor([variable]), group]), given)
        own, members = ends[0], ends[1:][ends[1:] >= 0]
        if own < 0 or not len(members):
            return GroupTest(0.0, 0.0, 0.0)
        return against_group(designs, int(own), members, inside[inside >= 0])

    def _rivals(self, variable: int, group: Tensor, own: Tensor, log_p: float) -> Tensor:
        """Return the candidates outside the group that could be what the search missed, the strongest first."""
        outside = _outside(self.candidates[variable], torch.cat([group, own]), variable)
        if not len(outside):
            return outside
        node = torch.tensor([variable], device=outside.device)
        evidence = self.test.rank(node, outside[None], own[None])[0]
        order = evidence.argsort(stable=True)[:MOST_RIVALS]
        return outside[order[evidence[order] <= _RIVAL * log_p]]


def _outside(variables: Tensor, closed: Tensor, own: int) -> Tensor:
    return variables[(variables >= 0) & (variables != own) & ~torch.isin(variables, closed)]


def joint_hypotheses(
    groups: tuple[tuple[int, ...], ...],
    close: Iterable[tuple[int, int]],
    edges: Iterable[tuple[int, int]],
    forbidden: Iterable[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Return which variable is worth a test against which group, as (variable, position of the group).

    Parameters
    ----------
    close : iterable of (int, int)
        Those that came close in the search, the closest first: only a variable with a member among them may depend on
        a group.
    edges : iterable of (int, int)
        A variable that has an edge into a group, or a near-copy of which has one, is not tested against it,
    forbidden : iterable of (int, int)
        nor one that may not have an edge with a member.

    Examples
    --------
    >>> joint_hypotheses(((0, 1), (2, 3)), [(0, 4), (2, 4), (0, 2)], [(2, 4)], [])
    [(4, 0), (0, 1), (2, 0)]
    """
    where = {member: at for at, group in enumerate(groups) for member in group}

    def directed(pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], None]:
        both = (ends for a, b in pairs for ends in ((a, b), (b, a)))
        found = ((a, where[b]) for a, b in both if b in where)
        return dict.fromkeys((a, group) for a, group in found if where.get(a) != group)

    joined = {(groups[where[a]][0] if a in where else a, group) for a, group in directed(edges)}
    barred = directed(forbidden)
    return [
        (a, group)
        for a, group in directed(close)
        if (a, group) not in barred and (groups[where[a]][0] if a in where else a, group) not in joined
    ]
