"""Methods to compare with, all behind one contract: ``fit(table)`` sets ``network_``.

`BASELINES` maps the names used on the command line to classes; `run_isolated` runs any of them with a limit
on time and memory. `PAIR_TESTS` maps names to tests of one pair given a set, which find no graph. Most need the
extra ``baselines``; heavy packages are imported when a method is fitted.
"""

from gpmnet.baselines.base import Baseline, TableLike
from gpmnet.baselines.ges_gs import GesGs
from gpmnet.baselines.glasso import Glasso, GlassoEbic
from gpmnet.baselines.hill_climb import HillClimb
from gpmnet.baselines.isolate import Outcome, run_isolated
from gpmnet.baselines.kci_iamb import KciIamb, RcitIamb
from gpmnet.baselines.nonparanormal import Nonparanormal, NonparanormalEbic
from gpmnet.baselines.pair_tests import PAIR_TESTS, GcmTest, KciTest, PairTest, RcitTest
from gpmnet.baselines.partial_corr import PartialCorrelations
from gpmnet.baselines.pc_rcit import PcRcit, PcRcot
from gpmnet.baselines.sing import Sing

BASELINES: dict[str, type[Baseline]] = {
    baseline.name: baseline
    for baseline in (
        Glasso,
        GlassoEbic,
        Nonparanormal,
        NonparanormalEbic,
        KciIamb,
        RcitIamb,
        PcRcit,
        PcRcot,
        GesGs,
        Sing,
        HillClimb,
        PartialCorrelations,
    )
}

__all__ = [
    "BASELINES",
    "PAIR_TESTS",
    "Baseline",
    "GcmTest",
    "GesGs",
    "Glasso",
    "GlassoEbic",
    "HillClimb",
    "KciIamb",
    "KciTest",
    "Nonparanormal",
    "NonparanormalEbic",
    "Outcome",
    "PairTest",
    "PartialCorrelations",
    "PcRcit",
    "PcRcot",
    "RcitIamb",
    "RcitTest",
    "Sing",
    "TableLike",
    "run_isolated",
]
