r"""Node models: the conditional density of one variable given its neighbors, and Omega from it.

For node i with neighbors N,

.. math:: \log \pi(x_i \mid x_N) = \log q_0(x_i) + \varphi_i(x_i)^\top \Theta\, F(x_N) + \mathrm{const}

with F of `neighbor_basis`: functions of each neighbor and, of two neighbors or more, joint features whose number grows
with the rows.

*Continuous i.* Functions :math:`z, z^2/2` and two bounded ones, so that Gaussian conditionals are exact, fitted by score
matching; see `continuous`. *Discrete i.* Logits :math:`\Theta F`, fitted by the pseudo-likelihood or by marginalisation;
see `discrete`. Terms beyond the linear ones have a ridge chosen from the data.

The local interaction f of a pair is the mixed derivative or difference of the log density (continuous: derivative in z;
discrete: difference against level 0), and :math:`\Omega_{ij} = (E \sum f^2)^{1/2}` over the rows, averaged over both ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from gpmnet.checks import check_choice, check_number, check_ridges
from gpmnet.columns.features import Features, gather
from gpmnet.columns.functions import OWN_FUNCTIONS, Scores, firsts, seconds
from gpmnet.files import Shelf
from gpmnet.jobs.crew import Crew
from gpmnet.memory import block_size
from gpmnet.nodes.continuous import core_terms, fit_scores
from gpmnet.nodes.discrete import LOSSES, LogitData, LogitSettings, fit_logits
from gpmnet.nodes.joint import JointDirections
from gpmnet.nodes.neighbor_basis import NeighborBasis, member_width
from gpmnet.parts import Part
from gpmnet.progress import Progress, silent

BUDGET = 1 << 24
"""Values that the designs of one batch may hold."""


@dataclass(frozen=True)
class NodeOptions(Part):
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
        super().__post_init__()
        check_choice(self, "discrete", tuple(LOSSES))
        check_number(self, "joint_share", 0.0, 1.0)
        check_number(self, "most_joint", 0, integer=True)
        check_number(self, "score_ridge", 0.0, open_low=True)
        check_number(self, "logistic_ridge", 0.0, open_low=True)
        check_ridges(self, "ridges")
        check_number(self, "newton_steps", 1, integer=True)

    def n_joint(self, n: int) -> int:
        """Return how many joint features a neighborhood of two or more has, with n rows."""
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
    converged : Tensor of bool, shape (b,)
        Whether the solver of each node ended at a minimum.
    """

    nodes: Tensor
    basis: NeighborBasis
    theta: Tensor
    penalty: Tensor
    levels: int
    converged: Tensor

    def take(self, rows: Tensor) -> NodeModels:
        """Return the models of some of the nodes."""
        return NodeModels(
            self.nodes[rows],
            self.basis.take(rows),
            self.theta[rows],
            self.penalty[rows],
            self.levels,
            self.converged[rows],
        )

    @property
    def z(self) -> Tensor:
        """Normal scores (b, n) of continuous nodes."""
        return node_scores(self.basis.features, self.nodes)

    def codes(self) -> Tensor:
        """Codes (b, n) of discrete nodes."""
        return node_codes(self.basis.features, self.nodes)

    def squared_omega(self) -> tuple[Tensor, Tensor]:
        """Return E f^2 of each node and member (b, s), and E (d^2 L / dz^2)^2 of continuous nodes (b,), else 0."""
        if self.levels:
            first, own = None, self.theta.new_zeros(len(self.nodes))
        else:
            s = Scores(self.z)
            first = firsts(OWN_FUNCTIONS, s)
            bend = (seconds(OWN_FUNCTIONS, s) * (self.basis.value @ self.theta.mT)).sum(dim=-1)
            own = (bend - 1).square().mean(dim=1)
        columns = [self._squared_omega(slot, first) for slot in range(self.basis.members.shape[1])]
        return torch.stack(columns, dim=1), own

    def _squared_omega(self, slot: int, first: Tensor | None) -> Tensor:
        total = self.theta.new_zeros(len(self.nodes))
        for change in self.basis.changes(slot, self.theta):
            f = change if first is None else (first * change).sum(dim=-1, keepdim=True)
            total += f.square().sum(dim=-1).mean(dim=1)
        return total


def node_scores(features: Features, nodes: Tensor) -> Tensor:
    """Return the normal scores (b, n) of continuous nodes (b,)."""
    return gather(features.scores, features.score_start[nodes][:, None])[..., 0]


def node_codes(features: Features, nodes: Tensor) -> Tensor:
    """Return the codes (b, n) of discrete nodes (b,)."""
    return features.codes[:, nodes].T.long()


@dataclass(frozen=True, eq=False)
class NodeFitter:
    """Fits node models to the rows of a table.

    Parameters
    ----------
    features : Features
    options : NodeOptions
    seed : int
        Of the directions of joint features.
    """

    features: Features
    options: NodeOptions
    seed: int = 0

    @cached_property
    def directions(self) -> JointDirections:
        """The directions of joint features."""
        return JointDirections.of(self.features, self.options.n_joint(self.features.n), self.seed)

    def fit(self, nodes: Tensor, members: Tensor) -> NodeModels:
        """Return the models of nodes (b,) of one kind given members (b, s) alike slot by slot."""
        o, features = self.options, self.features
        basis = NeighborBasis.of(features, members, self.directions if members.shape[1] > 1 else None)
        levels = int(features.levels[nodes[0]])
        if not levels:
            core = core_terms(basis.flexible)
            theta, penalty = fit_scores(
                node_scores(features, nodes), basis.value, core, o.score_ridge, o.ridges
            )
            solved = torch.ones(len(nodes), dtype=torch.bool, device=theta.device)
            return NodeModels(nodes, basis, theta, penalty, levels, solved)
        found, penalty = fit_logits(
            LogitData(node_codes(features, nodes), levels, basis.value, basis.flexible),
            LogitSettings(o.discrete, o.logistic_ridge, o.ridges, o.newton_steps),
        )
        return NodeModels(nodes, basis, found.theta, penalty.repeat(1, levels - 1), levels, found.converged)

    def batches(self, neighbors: Mapping[int, list[int]]) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all nodes (b,) that have neighbors, and these (b, s), those of one shape together."""
        levels = self.features.levels.tolist()
        groups: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
        for node, members in neighbors.items():
            if members:
                ordered = sorted(members, key=lambda j: (levels[j], j))
                groups.setdefault((levels[node], *(levels[j] for j in ordered)), []).append((node, ordered))
        for shape, items in groups.items():
            size = self.batch_size(shape[0], shape[1:])
            for start in range(0, len(items), size):
                part = items[start : start + size]
                nodes = torch.tensor([node for node, _ in part], device=self.features.device)
                around = torch.tensor([ordered for _, ordered in part], device=self.features.device)
                yield nodes, around

    def batch_size(self, levels: int, around: tuple[int, ...]) -> int:
        """Return how many nodes with some levels, and neighbors with some, fit one batch."""
        own = levels - 1 if levels else len(OWN_FUNCTIONS)
        joint = self.options.n_joint(self.features.n) if len(around) > 1 else 0
        columns = 1 + sum(member_width(m) for m in around) + joint
        return max(1, block_size(BUDGET) // (self.features.n * columns * own))


@dataclass(frozen=True, eq=False)
class EdgeOmegas:
    """Omega squared of a graph, from the node models of both ends.

    Attributes
    ----------
    squared : dict
        E f^2 by (node, neighbor), from the node's model.
    own : Tensor of shape (d,)
        E (d^2 L / dz^2)^2 of continuous nodes, 0 of discrete ones.
    stopped : list of int
        Nodes whose solver ended at its cap.
    """

    squared: dict[tuple[int, int], float]
    own: Tensor
    stopped: list[int]

    def of(self, a: int, b: int) -> float:
        """Return Omega of an edge: the root of the mean over both ends."""
        return float(((self.squared[a, b] + self.squared[b, a]) / 2) ** 0.5)


class Reader(ABC):
    """Reads something else from the same models, batch by batch."""

    @abstractmethod
    def said(self, models: NodeModels) -> dict[str, Tensor]:
        """Return what a batch of models says."""

    @abstractmethod
    def add(self, nodes: Tensor, members: Tensor, said: Mapping[str, Tensor]) -> None:
        """Take what a batch of nodes (b,) with members (b, s) said."""


def edge_omegas(
    fitter: NodeFitter,
    neighbors: list[list[int]],
    reader: Reader | None = None,
    crew: Crew | None = None,
    progress: Progress = silent,
) -> EdgeOmegas:
    """Return Omega squared of each directed pair (node, neighbor), and of each continuous node with itself.

    Parameters
    ----------
    neighbors : list of list of int
        The neighbors of every node.
    reader : Reader, optional
        For other uses of the same fits.
    crew : Crew, optional
        Fits the models; its shelf keeps what every batch said.
    progress : Progress
        Told of the nodes whose models are there.
    """
    features = fitter.features
    squared: dict[tuple[int, int], float] = {}
    own = torch.zeros(features.d, dtype=torch.float64)
    own[features.levels.cpu() == 0] = 1.0  # alone, a normal score has log density -z^2/2
    stopped: list[int] = []
    batches = list(fitter.batches(dict(enumerate(neighbors))))
    work = _Work(fitter.options, fitter.seed, batches, reader)
    done, total = 0, sum(map(bool, neighbors))
    progress("Omega", 0, total)
    for (nodes, around), said in zip(batches, _all_said(fitter, work, crew), strict=True):
        done += len(nodes)
        progress("Omega", done, total)
        if reader is not None:
            reader.add(nodes, around, said)
        own[nodes.cpu()] = said["own"].cpu()
        stopped += nodes.cpu()[~said["converged"].cpu()].tolist()
        rows = zip(nodes.tolist(), around.tolist(), said["squared"].tolist(), strict=True)
        for node, members, row in rows:
            squared |= {(node, j): value for j, value in zip(members, row, strict=True)}
    if total:
        progress("Omega", total, total)
    return EdgeOmegas(squared, own, sorted(stopped))


@dataclass(frozen=True, eq=False)
class _Work:
    """What is asked about nodes, batch by batch."""

    options: NodeOptions
    seed: int
    batches: list[tuple[Tensor, Tensor]]
    reader: Reader | None


def _all_said(fitter: NodeFitter, work: _Work, crew: Crew | None) -> Iterator[dict[str, Tensor]]:
    """Yield what the batches say; what is done here is kept as it comes."""
    if crew is not None and crew.is_elsewhere:
        yield from crew.each(node_task, work, len(work.batches), "omega")
        return
    shelf = Shelf() if crew is None else crew.shelf
    for at, (nodes, around) in enumerate(work.batches):
        yield shelf.kept(f"node models {at}", partial(_said, fitter, nodes, around, work.reader))


def node_task(ground: Any, work: _Work, number: int) -> dict[str, Tensor]:
    """Return what a batch says, elsewhere; the base of the crew has a test, and that the features of all variables."""
    fitter = NodeFitter(ground.test.designs.features, work.options, work.seed)
    return _said(fitter, *work.batches[number], work.reader)


def _said(fitter: NodeFitter, nodes: Tensor, around: Tensor, reader: Reader | None) -> dict[str, Tensor]:
    """Return all that is wanted of the models of a batch of nodes."""
    models = fitter.fit(nodes, around)
    also = {} if reader is None else reader.said(models)
    squared, own = models.squared_omega()
    return also | {"squared": squared, "own": own, "converged": models.converged}
