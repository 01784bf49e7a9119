"""KCI + IAMB, and its fast arm with RCIT."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from gpmnet.baselines.base import Baseline, Estimate, TableLike
from gpmnet.baselines.ci_tests import kci_test, rcit_test
from gpmnet.baselines.iamb import CITest, iamb
from gpmnet.checks import check_choice, check_number


@dataclass(kw_only=True, eq=False)
class _Iamb(Baseline):
    """IAMB with some test of conditional independence.

    Parameters
    ----------
    alpha : float
        A p-value below it speaks for a dependence.
    rule : "and" or "or"
        When the two blankets of a pair disagree, see `gpmnet.baselines.iamb.iamb`.
    """

    package: ClassVar[str] = "causal-learn"
    module: ClassVar[str] = "causallearn.utils.cit"
    alpha: float = 0.05
    rule: Literal["and", "or"] = "and"

    def _check_options(self) -> None:
        check_number(self, "alpha", 0, 1, open_low=True, open_high=True)
        check_choice(self, "rule", ("and", "or"))

    @abstractmethod
    def _test(self, table: TableLike) -> CITest: ...

    def _graph(self, table: TableLike) -> Estimate:
        return iamb(len(table.names), self._test(table), self.alpha, self.rule)


@dataclass(kw_only=True, eq=False)
class KciIamb(_Iamb):
    """The kernel conditional independence test inside IAMB, as in the paper; options as in `_Iamb`, and one.

    Deterministic; cubic in the number of rows.

    Parameters
    ----------
    fast : bool
        Same test by a shorter computation (`gpmnet.baselines.ci_tests.kci_test`); False is causal-learn as it
        is, several times slower, for its running time.
    """

    name: ClassVar[str] = "kci"
    fast: bool = True

    def _test(self, table: TableLike) -> CITest:
        return kci_test(table.values(), fast=self.fast)


@dataclass(kw_only=True, eq=False)
class RcitIamb(_Iamb):
    """The randomised test (RCIT) inside IAMB: KCI's fast arm; hundredths of a second per test."""

    name: ClassVar[str] = "rcit"

    def _test(self, table: TableLike) -> CITest:
        return rcit_test(table.values(), self.random_state)
