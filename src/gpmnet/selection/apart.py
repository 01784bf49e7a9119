"""A second opinion on pairs that say most about each other, given what the search finds where it must do without one end.

Where several causes act jointly on both ends of a pair, each end may say so much about the other that the search ends there
and the causes go unseen: a false edge. So the neighborhood of a node is also searched without the neighbor that says most
about it (`gpmnet.searching.candidates.search_apart`), and the pair of the two is tested given that set too. The larger
p-value counts, if the set has a say (`say`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.searching.candidates import Apart
from gpmnet.selection.pair_rule import Limits, ends, same, union
from gpmnet.selection.say import Base, has_say
from gpmnet.testing.base import BoundTest, PairTests, widened

_LEAST = 0.1  # share of the information


@dataclass(frozen=True, eq=False)
class Asked:
    """What a second opinion needs: a test, the neighborhoods (d, s; -1 pads), those without a partner, and limits."""

    test: BoundTest
    members: Tensor
    apart: Apart
    limits: Limits

    def again(self, tests: PairTests, first: Tensor, second: Tensor) -> PairTests:
        """Return the tests of pairs (B,), with the larger p-value where one end is what the other was searched without.

        Time: one more test for each end of which that is so and whose set is not one of the pair's own two or their union,
        among pairs with a p-value below the limits' alpha.
        """
        alpha, most = math.log(self.limits.alpha), self.limits.most_members
        tests = tests.copy()
        for node, partner in ((first, second), (second, first)):
            at = ((self.apart.partner[node] == partner) & (tests.log_p < alpha)).nonzero()[:, 0]
            sets = self.apart.members[node[at]]
            fits = self.test.designs.few_cells(sets) & ((sets >= 0).sum(dim=1) <= most)
            keep = fits & ~self._known(node[at], partner[at], sets)
            at, sets = at[keep], sets[keep]
            if not len(at):
                continue
            again, before = self.test.pairs(node[at], partner[at], sets), tests.take(at)
            higher = again.log_p > before.log_p
            least = torch.where(higher, _LEAST * before.information, 0.0)
            own = ends(self.members, node[at], partner[at])[0]
            say = has_say(self.test, Base(node[at], partner[at], own, least), sets, again)
            tests.log_p[at] = torch.where(higher & say, again.log_p, before.log_p)
        return tests

    def _known(self, node: Tensor, partner: Tensor, sets: Tensor) -> Tensor:
        """Return whether a set (B, s) is that of an end without the other, or the union of both."""
        a, b = ends(self.members, node, partner)
        width = max(sets.shape[1], 2 * a.shape[1])
        one, *others = (widened(x, width) for x in (sets, a, b, union(a, b)))
        return torch.stack([same(one, other) for other in others]).any(dim=0)
