"""The parts of a deep model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpmnet.checks import check_choice, check_type
from gpmnet.energies import BASES, ENERGIES, BaseFamily, EnergyFamily
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.objectives import (
    OBJECTIVES,
    Hyvarinen,
    Marginalisation,
    Mixed,
    Objective,
    PseudoLikelihood,
)
from gpmnet.parts import Part, resolve
from gpmnet.penalties import PENALTIES, Adaptive, Penalty

DECIDE = ("test", "omega")


@dataclass(frozen=True)
class Recipe(Part):
    """What a deep model is made of; a part may be given by its word and is held as an object.

    Attributes
    ----------
    options : DeepOptions
    energy : EnergyFamily
    objective : Objective
    penalty : Penalty
    decide : {"test", "omega"}
        What chooses the edges: tests of pairs, or the support of Omega (`gpmnet.selection.halves`).
    """

    options: DeepOptions = field(default_factory=DeepOptions)
    energy: EnergyFamily = ENERGIES["mlp"]
    objective: Objective = OBJECTIVES["mixed"]
    penalty: Penalty = PENALTIES["scad"]
    decide: str = "test"

    if TYPE_CHECKING:  # words are as good as parts

        def __init__(
            self,
            options: DeepOptions = ...,
            energy: str | EnergyFamily = ...,
            objective: str | Objective = ...,
            penalty: str | Penalty = ...,
            decide: str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self, "options", DeepOptions)
        check_choice(self, "decide", DECIDE)
        for name, known, kind in (
            ("energy", ENERGIES, EnergyFamily),
            ("objective", OBJECTIVES, Objective),
            ("penalty", PENALTIES, Penalty),
        ):  # so that their numbers can be reached by name
            object.__setattr__(self, name, resolve(name, getattr(self, name), known, kind))

    @property
    def base(self) -> BaseFamily:
        """What is fitted first: the options' base, or the energy where nothing is trained on top of it."""
        return self.energy.base(resolve("base", self.options.base, BASES, BaseFamily))

    def lists_pairs(self, d: int) -> bool:
        """Whether Omega decides from lists of pairs: variables are many, and gradients tell which pairs have no interaction.

        A network sees all variables at once; an adaptive penalty needs a first estimate of every pair; a sliced objective
        sees interactions through derivatives of the functions that the gradients of a list do not have.
        """
        objective = self.objective
        return (
            self.decide == "omega"
            and d > self.options.all_pairs_up_to
            and not self.energy.is_trained
            and not isinstance(self.penalty, Adaptive)
            and isinstance(objective, Mixed)
            and isinstance(objective.continuous, Hyvarinen)
            and isinstance(objective.discrete, PseudoLikelihood | Marginalisation)
        )
