"""Searches for directions as methods to compare: inside the network that the local engine finds, and without one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from gpmnet.table import Table

if TYPE_CHECKING:
    from gpmnet.causal import Discovery
    from gpmnet.causal.skeleton import PValues
    from gpmnet.network import MarkovNetwork


@dataclass(kw_only=True, eq=False)
class Directions(ABC):
    """A search for directions; its network is the moral graph of the class that it finds.

    Attributes
    ----------
    discovery_ : Discovery
        The class of graphs, and what it took.
    network_ : MarkovNetwork
    """

    name: ClassVar[str]
    package: ClassVar[str] = ""
    module: ClassVar[str] = "gpmnet.causal"
    random_state: int = 0
    discovery_: Discovery = field(init=False, repr=False)
    network_: MarkovNetwork = field(init=False, repr=False)

    def fit(self, table: Table) -> Self:
        """Search; the time of a network that is needed counts."""
        from gpmnet.network import MarkovNetwork

        self.discovery_ = self._search(table)
        graph = self.discovery_.graph
        self.network_ = MarkovNetwork.from_adjacency(graph.names, graph.moral())
        return self

    @abstractmethod
    def _search(self, table: Table) -> Discovery: ...


@dataclass(kw_only=True, eq=False)
class PcInside(Directions):
    """PC with our test inside the local engine's network."""

    name: ClassVar[str] = "pc-inside"
    fdr: float = 0.05
    alpha: float = 0.05
    colliders: str = "largest"

    def _search(self, table: Table) -> Discovery:
        from gpmnet.causal import PCOptions, pc
        from gpmnet.estimator import fit

        return pc(table, fit(table, fdr=self.fdr), options=PCOptions(self.alpha, None, self.colliders))


@dataclass(kw_only=True, eq=False)
class PcInsideSeparator(PcInside):
    """PC with our test inside the local engine's network, colliders by separating sets only."""

    name: ClassVar[str] = "pc-inside-separator"
    colliders: str = "separator"


@dataclass(kw_only=True, eq=False)
class PcAll(Directions):
    """PC with our test on all pairs, colliders by separating sets: the plain algorithm."""

    name: ClassVar[str] = "pc-all"
    alpha: float = 0.05
    colliders: str = "separator"

    def _search(self, table: Table) -> Discovery:
        from gpmnet.causal import PCOptions, pc

        return pc(table, options=PCOptions(self.alpha, None, self.colliders))


@dataclass(kw_only=True, eq=False)
class PcKci(PcAll):
    """The plain algorithm with the kernel test KCI in place of ours."""

    name: ClassVar[str] = "pc-kci"
    package: ClassVar[str] = "causal-learn"
    module: ClassVar[str] = "causallearn.utils.cit"

    def _search(self, table: Table) -> Discovery:
        from gpmnet.baselines.ci_tests import kci_test
        from gpmnet.baselines.pc import one_by_one
        from gpmnet.causal import Knowledge, PCOptions
        from gpmnet.causal.constraint import search
        from gpmnet.testing.ci import CITest

        test: PValues = one_by_one(kci_test(table.values()))
        options = PCOptions(
            self.alpha, CITest(table).most_members, self.colliders
        )  # the sets that ours may have
        return search(test, table.names, options, None, Knowledge(table.names))


@dataclass(kw_only=True, eq=False)
class GesInside(Directions):
    """GES with the Gaussian score inside the local engine's network."""

    name: ClassVar[str] = "ges-inside"
    fdr: float = 0.05
    score: str = "gaussian"

    def supports(self, table: Table) -> tuple[bool, str]:
        """Say whether the score is made for these kinds of columns."""
        if self.score == "gaussian" and table.is_discrete.any():
            return False, "the Gaussian score is for continuous columns"
        return True, ""

    def _search(self, table: Table) -> Discovery:
        from gpmnet.causal import ges
        from gpmnet.estimator import fit

        return ges(table, fit(table, fdr=self.fdr), score=self.score)


@dataclass(kw_only=True, eq=False)
class GesAll(GesInside):
    """GES with the Gaussian score, every edge allowed."""

    name: ClassVar[str] = "ges-all"

    def _search(self, table: Table) -> Discovery:
        from gpmnet.causal import ges

        return ges(table, score=self.score)


@dataclass(kw_only=True, eq=False)
class GesGsInside(GesInside):
    """GES with the generalised score inside the local engine's network."""

    name: ClassVar[str] = "ges-gs-inside"
    score: str = "generalised"


DIRECTIONS: tuple[type[Directions], ...] = (
    PcInside,
    PcInsideSeparator,
    PcAll,
    PcKci,
    GesInside,
    GesAll,
    GesGsInside,
)
