"""The published estimator, line by line."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gpmnet.energies import DeepKernel, EnergyFamily, Normal
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.objectives import Marginalisation, Mixed, Objective
from gpmnet.penalties import SCAD, Penalty


@dataclass(frozen=True)
class PaperEngine(DeepEngine):
    """The deep engine with the parts of the paper: the graph is the support of Omega.

    A deep kernel exponential family on a normal base measure, score matching with the marginalisation operator for discrete
    coordinates (neither cap nor ridge), SCAD on Omega, Adam. Every number of it can be set by name.

    Examples
    --------
    >>> PaperEngine().with_params(energy__n_points=50, options__steps=300).energy.n_points
    50
    """

    options: DeepOptions = field(default_factory=lambda: DeepOptions(base=Normal(), most_together=0))
    energy: EnergyFamily = field(default_factory=DeepKernel)
    objective: Objective = field(
        default_factory=lambda: Mixed(discrete=Marginalisation(cap=math.inf, ridge=0.0))
    )
    penalty: Penalty = field(default_factory=SCAD)
    decide: str = "omega"
