r"""Node models: the conditional density of one variable given its neighbors, and Omega from it.

For node i with neighbors N,

.. math:: \log \pi(x_i \mid x_N) = \log q_0(x_i) + \varphi_i(x_i)^\top \Theta\, F(x_N) + \mathrm{const}

with F of `basis`: functions of each neighbor and, of two neighbors or more, joint features whose number grows with
the rows.

*Continuous i.* Features :math:`z, z^2/2` and two bounded functions, so that Gaussian conditionals are exact, fitted by score
matching; see `scores`. *Discrete i.* Logits :math:`\Theta F`, fitted by the pseudo-likelihood or by marginalisation; see
`logits`. Terms beyond the linear ones have a ridge chosen from the data.

The local interaction f of a pair is the mixed derivative or difference of the log density (continuous: derivative in z;
discrete: difference against level 0), and :math:`\Omega_{ij} = (E \sum f^2)^{1/2}` over the rows, averaged over both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.checks import check_choice, check_number, check_ridges
from gpmnet.columns.features import Features, gather
from gpmnet.nodes.continuous import OWN_FEATURES, core_terms, fit_scores, score_functions
from gpmnet.nodes.discrete import fit_marginalisation, select_pseudo_likelihood
from gpmnet.nodes.neighbor_basis import NeighborBasis, member_width, neighbor_basis

DISCRETE = ("pseudo-likelihood", "marginalisation")
BUDGET = 1 << 24
"""Values that the designs of one batch may hold."""


@dataclass(frozen=True)
class NodeOptions:
    """How node models are fitted.

    Attributes
    ----------
    discrete : {"pseudo-likelihood", "marginalisation"}
        Loss of discrete nodes.
    joint_share : float
        Joint features of two neighbors or more, as a share of the rows ...
    most_joint : int
        ... and at most this many.
    score_ridge, logistic_ridge : float
        Ridge penalties on the linear terms, relative to the scale of the Hessian and of F.
    ridges : tuple of float
        Penalties on all other terms to choose from, per node.
    newton_steps : int
        At most this many for discrete nodes.
    """

    discrete: str = "pseudo-likelihood"
    joint_share: float = 0.02
    most_joint: int = 20
    score_ridge: float = 1e-4
    logistic_ridge: float = 1e-3
    ridges: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    newton_steps: int = 50

    def __post_init__(self) -> None:
        check_choice(self, "discrete", DISCRETE)
        check_number(self, "joint_share", 0.0, 1.0)
        check_number(self, "most_joint", 0, integer=True)
        check_number(self, "score_ridge", 0.0, open_low=True)
        check_number(self, "logistic_ridge", 0.0, open_low=True)
        check_ridges(self, "ridges")
        check_number(self, "newton_steps", 1, integer=True)

    def n_joint(self, features: Features, n_members: int) -> int:
        """Return how many joint features a neighborhood of some size has."""
        return self.most(features.n) if n_members > 1 else 0

    def most(self, n: int) -> int:
        """Return how many joint features a neighborhood has at most, with n rows."""
        return min(self.most_joint, int(self.joint_share * n))


@dataclass(frozen=True, eq=False)
class NodeModels:
    """Fitted models of a batch of nodes of one kind, with neighborhoods alike slot by slot.

    Attributes
    ----------
    nodes : Tensor of shape (b,)
    basis : NeighborBasis
    theta : Tensor of shape (b, k, p)
    penalty : Tensor of shape (b, k p)
        Ridge on each coefficient.
    levels : int
        Of each node, 0 if continuous.
    """

    nodes: Tensor
    basis: NeighborBasis
    theta: Tensor
    penalty: Tensor
    levels: int

    def take(self, rows: Tensor) -> NodeModels:
        """Return the models of some of the nodes."""
        old = self.basis
        basis = NeighborBasis(old.features, old.members[rows], old.value[rows], old.inner[rows])
        return NodeModels(self.nodes[rows], basis, self.theta[rows], self.penalty[rows], self.levels)

    @property
    def z(self) -> Tensor:
        """Normal scores (b, n) of continuous nodes."""
        f = self.basis.features
        return gather(f.linear, f.linear_start[self.nodes][:, None])[..., 0]

    def codes(self) -> Tensor:
        """Codes (b, n) of discrete nodes."""
        return self.basis.features.codes[:, self.nodes].T.long()

    def squared(self) -> tuple[Tensor, Tensor]:
        """Return E f^2 of each node and member (b, s), and E (d^2 L / dz^2)^2 of continuous nodes (b,), else 0."""
        if self.levels:
            first, own = None, self.theta.new_zeros(len(self.nodes))
        else:
            first, second = score_functions(self.z)
            own = ((second * (self.basis.value @ self.theta.mT)).sum(dim=-1) - 1).square().mean(dim=1)
        columns = [self._squared(slot, first) for slot in range(self.basis.members.shape[1])]
        return torch.stack(columns, dim=1), own

    def _squared(self, slot: int, first: Tensor | None) -> Tensor:
        def moved(design: Tensor) -> Tensor:
            change = design @ self.theta.mT
            return change if first is None else (first * change).sum(dim=-1, keepdim=True)

        n_levels = self.basis.levels[slot]
        if n_levels == 0:
            return moved(self.basis.derivative(slot)).square().sum(dim=-1).mean(dim=1)
        base = self.basis.at_level(slot, 0)
        f = [moved(self.basis.at_level(slot, k) - base).square().sum(dim=-1) for k in range(1, n_levels)]
        return torch.stack(f).sum(dim=0).mean(dim=1)


def fit_nodes(features: Features, nodes: Tensor, members: Tensor, options: NodeOptions) -> NodeModels:
    """Return the models of nodes (b,) of one kind given members (b, s) alike slot by slot."""
    basis = neighbor_basis(features, members, options.n_joint(features, members.shape[1]))
    levels = int(features.levels[nodes[0]])
    if not levels:
        z = gather(features.linear, features.linear_start[nodes][:, None])[..., 0]
        core = core_terms(basis.flexible)
        theta, penalty = fit_scores(z, basis.value, core, options.score_ridge, options.ridges)
        return NodeModels(nodes, basis, theta, penalty, levels)
    codes, steps = features.codes[:, nodes].T.long(), options.newton_steps
    theta, penalty = select_pseudo_likelihood(
        codes, levels, basis.value, basis.flexible, options.logistic_ridge, options.ridges, steps
    )
    if options.discrete == "marginalisation":
        theta = fit_marginalisation(codes, basis.value, penalty, theta, steps)
    return NodeModels(nodes, basis, theta, penalty.repeat(1, levels - 1), levels)


def node_models(
    features: Features, neighbors: Mapping[int, list[int]], options: NodeOptions
) -> Iterator[NodeModels]:
    """Yield the models of all nodes that have neighbors, those of one shape together."""
    levels = features.levels.tolist()
    groups: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
    for node, members in neighbors.items():
        if members:
            ordered = sorted(members, key=lambda j: (levels[j], j))
            groups.setdefault((levels[node], *(levels[j] for j in ordered)), []).append((node, ordered))
    for shape, items in groups.items():
        size = batch_size(features, shape[0], shape[1:], options)
        for start in range(0, len(items), size):
            part = items[start : start + size]
            nodes = torch.tensor([node for node, _ in part], device=features.device)
            around = torch.tensor([ordered for _, ordered in part], device=features.device)
            yield fit_nodes(features, nodes, around, options)


def batch_size(features: Features, levels: int, around: tuple[int, ...], options: NodeOptions) -> int:
    """Return how many nodes with some levels, and neighbors with some, fit one batch."""
    own = levels - 1 if levels else OWN_FEATURES
    columns = 1 + sum(member_width(m) for m in around) + options.n_joint(features, len(around))
    return max(1, BUDGET // (features.n * columns * own))


def edge_omegas(
    features: Features,
    neighbors: list[list[int]],
    options: NodeOptions,
    also: Callable[[NodeModels], None] | None = None,
) -> tuple[dict[tuple[int, int], float], Tensor]:
    """Return Omega squared of each directed pair (node, neighbor), and of each continuous node with itself.

    Parameters
    ----------
    neighbors : list of list of int
        The neighbors of every node.
    also : callable, optional
        Called with every batch of models, for other uses of the same fits.

    Returns
    -------
    squared : dict
        E f^2 by (node, neighbor), from the node's model.
    own : Tensor of shape (d,)
        E (d^2 L / dz^2)^2 of continuous nodes, 0 of discrete ones.
    """
    squared: dict[tuple[int, int], float] = {}
    own = torch.zeros(features.d, dtype=torch.float64)
    own[features.levels.cpu() == 0] = 1.0  # alone, a normal score has log density -z^2/2
    for models in node_models(features, dict(enumerate(neighbors)), options):
        if also is not None:
            also(models)
        values, diagonal = models.squared()
        own[models.nodes.cpu()] = diagonal.cpu()
        rows = zip(models.nodes.tolist(), models.basis.members.tolist(), values.tolist(), strict=True)
        for node, members, row in rows:
            squared |= {(node, j): value for j, value in zip(members, row, strict=True)}
    return squared, own
