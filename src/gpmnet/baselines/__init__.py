"""Methods to compare with, all behind one contract: ``fit(table)`` sets ``network_``.

`BASELINES` maps the names used on the command line to classes; `run_isolated` runs any of them with a limit
on time and memory. Most need the extra ``baselines``; heavy packages are imported when a method is fitted.
"""

from gpmnet.baselines.base import Baseline, TableLike
from gpmnet.baselines.ges_gs import GesGs
from gpmnet.baselines.glasso import Glasso, GlassoEbic
from gpmnet.baselines.hill_climb import HillClimb
from gpmnet.baselines.isolate import Outcome, run_isolated
from gpmnet.baselines.kci_iamb import KciIamb, RcitIamb
from gpmnet.baselines.nonparanormal import Nonparanormal, NonparanormalEbic
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
    "Baseline",
    "GesGs",
    "Glasso",
    "GlassoEbic",
    "HillClimb",
    "KciIamb",
    "Nonparanormal",
    "NonparanormalEbic",
    "Outcome",
    "PartialCorrelations",
    "PcRcit",
    "PcRcot",
    "RcitIamb",
    "Sing",
    "TableLike",
    "run_isolated",
]
