"""The published estimator, changed where it does not work: deep kernels of pairs, own terms, blurred rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpmnet.energies import ENERGIES, EnergyFamily, Own
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.objectives import Noisy, Objective


def _options() -> DeepOptions:
    return DeepOptions(base=Own(), steps=300, batch=128, learning_rate=0.02, patience=100)


@dataclass(frozen=True)
class KernelEngine(DeepEngine):
    """The deep engine with a deep kernel family of every pair; the graph is the support of Omega.

    What differs from `PaperEngine`: every pair of variables has a family of its own (``energy.reads``), every variable has
    free terms of its own, rows are blurred (`Noisy`) and discrete coordinates have the pseudo-likelihood; training is short.
    For up to about 20 variables.

    Examples
    --------
    >>> KernelEngine().with_params(objective__sigma=0.1).objective.sigma
    0.1
    """

    options: DeepOptions = field(default_factory=_options)
    energy: EnergyFamily = ENERGIES["kernel_pairs"]
    objective: Objective = field(default_factory=Noisy)
    decide: str = "omega"
