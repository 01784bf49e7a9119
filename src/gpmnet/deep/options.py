"""Settings of the deep engine."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

from gpmnet.errors import InputError
from gpmnet.local.engine import LocalOptions

BASES = ("pairwise", "normal")


@dataclass(frozen=True)
class DeepOptions:
    """Settings of the deep engine; one set of values serves all data.

    Attributes
    ----------
    base : {"pairwise", "normal"}
        What the deep energy is added to: a sparse pairwise family, so that it only has to learn what pairs cannot
        say, or independent variables alone, as published.
    lam : float or None
        Penalty level in units of a gradient's noise, at which a pair of independent variables has about one chance in
        two to enter at 1; None chooses it from a warm-started path by held-out loss.
    n_functions : int
        Functions of each continuous variable in the pairwise family.
    n_folds : int
        Parts of the rows; each is tested with a model that was fitted to the others.
    steps, batch, learning_rate, patience : int, int, float, int
        Training of the deep energy by Adam: most steps, rows a step, rate, and steps without a better held-out
        loss before it stops.
    held_out : float
        Share of the rows that decides when to stop and which penalty is best.
    omega_rows : int
        Rows of a step over which the penalised Omega is averaged.
    most_pairs : int
        Pairs tested in a learned direction, those with the largest Omega first.
    local : LocalOptions
        The search for neighbourhoods and the test that both engines share.
    checkpoint : str or None
        Folder in which finished and unfinished models are kept; a run with the same data and settings goes on from it.
    """

    base: str = "pairwise"
    lam: float | None = None
    n_functions: int = 3
    n_folds: int = 2
    steps: int = 1500
    batch: int = 256
    learning_rate: float = 0.01
    patience: int = 500
    held_out: float = 0.2
    omega_rows: int = 32
    most_pairs: int = 2000
    local: LocalOptions = field(default_factory=LocalOptions)
    checkpoint: str | Path | None = None

    def __post_init__(self) -> None:
        if self.base not in BASES:
            raise InputError(f"base must be one of {', '.join(BASES)}; got {self.base!r}")
        if self.n_folds < 2:
            raise InputError(f"n_folds must be at least 2; got {self.n_folds}")
        if not 0 < self.held_out < 1:
            raise InputError(f"held_out must be between 0 and 1; got {self.held_out}")
        if self.lam is not None and not self.lam >= 0:
            raise InputError(f"lam must be a number from 0 up; got {self.lam}")
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type in ("int", "float") and not value > 0 and each.name != "steps":
                raise InputError(f"{each.name} must be positive; got {value}")
