"""PC with the randomised kernel tests RCIT and RCoT, moralised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpmnet.baselines.base import Baseline, Graph, TableLike, check_fraction
from gpmnet.baselines.ci_tests import rcit_test
from gpmnet.baselines.pc import pc_moral
from gpmnet.errors import InputError


@dataclass(kw_only=True, eq=False)
class PcRcit(Baseline):
    """PC-stable with RCIT; the CPDAG is moralised (`gpmnet.baselines.pc.pc_moral`).

    Parameters
    ----------
    alpha : float
        Level of every test.
    max_conditioning : int or None
        Largest conditioning set, None for no limit.
    """

    name: ClassVar[str] = "pc-rcit"
    cross: ClassVar[bool] = True
    alpha: float = 0.05
    max_conditioning: int | None = None

    def _check_options(self) -> None:
        check_fraction(type(self).__name__, "alpha", self.alpha)
        if self.max_conditioning is not None and self.max_conditioning < 0:
            raise InputError(
                f"The 'max_conditioning' option of {type(self).__name__} must be None or at least 0. "
                f"Got {self.max_conditioning} instead."
            )

    def _graph(self, table: TableLike) -> Graph:
        test = rcit_test(table.values(), self.random_state, cross=self.cross)
        return pc_moral(len(table.names), test, self.alpha, self.max_conditioning)


@dataclass(kw_only=True, eq=False)
class PcRcot(PcRcit):
    """PC-stable with RCoT; see `PcRcit`."""

    name: ClassVar[str] = "pc-rcot"
    cross: ClassVar[bool] = False
