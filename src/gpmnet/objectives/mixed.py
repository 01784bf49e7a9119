"""The objective of a table with both kinds of variable: the sum of one for each kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gpmnet.checks import check_type
from gpmnet.energies.base import Energy
from gpmnet.objectives.base import Objective
from gpmnet.objectives.hyvarinen import Hyvarinen
from gpmnet.objectives.pseudolikelihood import PseudoLikelihood


@dataclass(frozen=True)
class Mixed(Objective):
    """The sum of an objective of the continuous and one of the discrete variables; each is 0 without its kind.

    Parameters
    ----------
    continuous, discrete : Objective

    Examples
    --------
    The published form, which has no minimum where a state is missing from the rows:

    >>> from math import inf
    >>> from gpmnet.objectives import Marginalisation
    >>> Mixed(discrete=Marginalisation(cap=inf, ridge=0)).discrete
    Marginalisation(cap=inf, ridge=0)
    """

    continuous: Objective = field(default_factory=Hyvarinen)
    discrete: Objective = field(default_factory=PseudoLikelihood)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("continuous", "discrete"):
            check_type(self, name, Objective)

    def __call__(self, energy: Energy, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the losses (n,) of rows (n, D)."""
        return self.continuous(energy, h, generator) + self.discrete(energy, h, generator)
