"""Settings of the deep engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gpmnet.checks import check_choice, check_number, check_type
from gpmnet.engines.local import LocalOptions

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
        Share of the rows, at most 0.9, that decides when to stop and which penalty is best.
    omega_rows : int
        Rows of a step over which the penalised Omega is averaged.
    most_pairs : int
        Pairs tested in a learned direction, those with the largest Omega first.
    local : LocalOptions
        The search for neighborhoods and the test that both engines share.
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
        check_choice(self, "base", BASES)
        if self.lam is not None:
            check_number(self, "lam", 0.0)
        for name, least in (("n_functions", 1), ("n_folds", 2), ("steps", 0), ("batch", 1), ("patience", 1)):
            check_number(self, name, least, integer=True)
        for name in ("omega_rows", "most_pairs"):
            check_number(self, name, 1, integer=True)
        check_number(self, "learning_rate", 0.0, open_low=True)
        check_number(self, "held_out", 0.0, 0.9, open_low=True)
        check_type(self, "local", LocalOptions)
