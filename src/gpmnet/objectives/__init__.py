"""Losses that need only an unnormalised log density, one a file."""

from gpmnet.objectives.base import Objective
from gpmnet.objectives.hyvarinen import Hyvarinen
from gpmnet.objectives.marginalisation import Marginalisation
from gpmnet.objectives.mixed import Mixed
from gpmnet.objectives.noisy import Noisy
from gpmnet.objectives.pseudolikelihood import PseudoLikelihood
from gpmnet.objectives.sliced import Sliced

# By their words, with their default numbers; each serves continuous, discrete and mixed tables alike.
OBJECTIVES: dict[str, Objective] = {
    "mixed": Mixed(),
    "published": Mixed(discrete=Marginalisation()),
    "noisy": Noisy(),
    "sliced": Mixed(continuous=Sliced()),
    "sliced_plain": Mixed(continuous=Sliced(variance_reduced=False)),
}

__all__ = [
    "OBJECTIVES",
    "Hyvarinen",
    "Marginalisation",
    "Mixed",
    "Noisy",
    "Objective",
    "PseudoLikelihood",
    "Sliced",
]
