r"""Whether the neighbors of one end of a pair could be what the search around the other end missed.

If the set M explains why i depends on j given :math:`N(i)`, it says at least as much about i as j does (data-processing
inequality). What they say is measured in two ways, and either is enough:

- by the features of the variables, from moments: :math:`T_j = (n - df) \sum \rho^2` over the canonical correlations of what
  :math:`N(i)` leaves of i's and of j's features, less its mean :math:`d_j = K_i K_j` without dependence, is the evidence
  :math:`e_j`; likewise :math:`e_M`, of all members of M together. M could be it if :math:`e_M + z s \ge e_j`, with the
  standard deviation :math:`s^2 = 2 d_M + 4 e_M^+ + 2 d_j + 4 e_j^+` of their difference;
- by flexible regressions, since three features do not see a fast wave or a product: given :math:`N(i) \cup M` no more is
  left of i than given :math:`N(i) \cup \{j\}`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.columns.tabulated import feature_rows
from gpmnet.columns.whitening import whitener
from gpmnet.selection.say import left_of
from gpmnet.testing.base import BoundTest, packed
from gpmnet.testing.blocks import budget
from gpmnet.testing.design import Designs
from gpmnet.testing.residuals import floor

_AT_ONCE = {"cpu": 1 << 7, "cuda": 1 << 13}  # sets: the moments of more do not stay in a processor's caches


@dataclass(frozen=True, eq=False)
class Evidence:
    """What other variables say about nodes given their sets: evidence less its mean without dependence, and that mean, (B,).

    In double precision.
    """

    excess: Tensor
    mean: Tensor

    def could_match(self, other: Evidence, z: float) -> Tensor:
        """Return whether this is at least the other one up to z standard deviations of the difference, (B,) of bool."""
        variance = sum(2 * x.mean + 4 * x.excess.clamp(min=0.0) for x in (self, other))
        return self.excess + z * torch.as_tensor(variance).sqrt() >= other.excess


def evidence(
    test: BoundTest, nodes: Tensor, partners: Tensor, given: Tensor, group: Tensor
) -> tuple[Evidence, Evidence]:
    """Return what partners (B,) say about nodes (B,) given their sets (B, s; -1 pads), and what groups (B, m; -1 pads) do.

    Time O(B (p^2 M K + M^3)) for p columns of a design and M features of a group; memory `_AT_ONCE` times M (M + p).
    """

    def block(at: slice) -> Tensor:
        return _evidence(test.designs, nodes[at], partners[at], packed(given[at]), packed(group[at]))

    found = torch.cat(test.in_blocks(block, len(nodes)), dim=1)
    return Evidence(found[0], found[1]), Evidence(found[2], found[3])


def explains_as_much(test: BoundTest, nodes: Tensor, partners: Tensor, given: Tensor, sets: Tensor) -> Tensor:
    """Return whether sets (B, s) leave no more of nodes (B,) than their own sets with the partner do, (B,) of bool."""
    with_partner = torch.cat([given, partners[:, None]], dim=1)
    united, pair = (left_of(test, (nodes,), x)[0] for x in (sets, with_partner))
    return united <= pair


def _evidence(designs: Designs, nodes: Tensor, partners: Tensor, given: Tensor, group: Tensor) -> Tensor:
    """Return excess and mean of the partners, then of the groups: (4, B)."""
    f = designs.features
    found = torch.zeros((4, len(nodes)), dtype=torch.float64, device=nodes.device)
    everyone = torch.cat([nodes[:, None], partners[:, None], group], dim=1)
    width = torch.where(everyone >= 0, f.width[everyone.clamp(min=0)], 0).double()
    for batch in designs.batches(given, budget(nodes.device), products=False):
        for part in torch.split(batch, _AT_ONCE[nodes.device.type]):
            table = designs.table(given[part], everyone[part])
            regression = designs.regress(given[part], [nodes[part]], table, products=False)
            rows = feature_rows(f, table, everyone[part])
            k, flat = rows.shape[2], rows.flatten(1)
            moments = regression.feature_moments(table, flat)
            weights = regression.solve(moments)
            raw = table.products(flat, flat)
            left = raw - moments.mT @ weights - regression.ridge * (weights.mT @ weights)
            spread = floor(raw.diagonal(dim1=1, dim2=2))
            own, *others = slice(0, k), slice(k, 2 * k), slice(2 * k, None)
            free = regression.n - regression.df
            for slot, other in enumerate(others):
                first, second = (whitener(left[:, at, at], spread[:, at]) for at in (own, other))
                square = (first.mT @ left[:, own, other] @ second).square().sum(dim=(1, 2))
                mean = width[part, 0] * (width[part, 1] if slot == 0 else width[part, 2:].sum(dim=1))
                found[2 * slot, part], found[2 * slot + 1, part] = free * square - mean, mean
    return found
