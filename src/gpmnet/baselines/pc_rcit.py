"""PC with the randomised kernel tests RCIT and RCoT, moralised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpmnet.baselines.base import Baseline, Estimate, TableLike
from gpmnet.baselines.ci_tests import rcit_test
from gpmnet.baselines.pc import pc_moral
from gpmnet.checks import check_number


@dataclass(kw_only=True, eq=False)
class PcRcit(Baseline):
    """PC-stable with RCIT; the CPDAG is moralised (`gpmnet.baselines.pc.pc_moral`).

    Parameters
    ----------
    alpha : float
        A p-value below it speaks for a dependence.
    max_conditioning : int or None
        Largest conditioning set, None for no limit.
    """

    name: ClassVar[str] = "pc-rcit"
    package: ClassVar[str] = "causal-learn"
    module: ClassVar[str] = "causallearn.utils.cit"
    cross: ClassVar[bool] = True
    alpha: float = 0.05
    max_conditioning: int | None = None

    def _check_options(self) -> None:
        check_number(self, "alpha", 0, 1, open_low=True, open_high=True)
        if self.max_conditioning is not None:
            check_number(self, "max_conditioning", 0, integer=True)

    def _graph(self, table: TableLike) -> Estimate:
        test = rcit_test(table.values(), self.random_state, cross=self.cross)
        return pc_moral(len(table.names), test, self.alpha, self.max_conditioning)


@dataclass(kw_only=True, eq=False)
class PcRcot(PcRcit):
    """PC-stable with RCoT; see `PcRcit`."""

    name: ClassVar[str] = "pc-rcot"
    cross: ClassVar[bool] = False
