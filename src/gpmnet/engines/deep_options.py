"""Settings of the deep engine."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpmnet.checks import check_choice, check_number, check_type
from gpmnet.energies import BASES, BaseFamily
from gpmnet.engines.local import LocalOptions
from gpmnet.parts import resolve
from gpmnet.solvers.adam import Training
from gpmnet.solvers.proximal import MOST_STEPS


@dataclass(frozen=True)
class DeepOptions(Training):
    """Settings of the deep engine; one set of values serves all data.

    Attributes
    ----------
    steps, batch, learning_rate, patience : int, int, float, int
        Training of the deep energy by Adam: most steps, rows a step, rate, and steps without a better held-out
        loss before it stops.
    held_out : float
        Share of the rows, at most 0.9, that decides when to stop and which penalty is best.
    base : {"pairwise", "normal"} or BaseFamily
        What the deep energy is added to, a word of ``gpmnet.energies.BASES`` or a part: a sparse pairwise family, so that
        it only has to learn what pairs cannot say, or independent variables alone, as published.
    lam : float, "stars" or None
        Lambda in units of a gradient's noise, at which a pair of independent variables has about one chance in
        two to enter at 1; None chooses it from a warm-started path by held-out loss, or is 1 where Omega decides; "stars"
        takes the weakest at which subsamples of the rows agree on the pairs (``gpmnet.selection.path.stars_lam``).
    n_folds : int
        Parts of the rows; each is tested with a model that was fitted to the others.
    n_splits : int
        Where Omega decides: ways to split the rows into two halves, on all of which a pair must be seen.
    all_pairs_up_to : int
        Where Omega decides with a pairwise energy: variables up to which every pair is fitted; beyond it those that the
        gradient asks for (``gpmnet.solvers.listed``), the same solution at a cost that grows with their number.
    most_together : int
        Products of the signs of three or more variables that join the energy where the rows show that these act together
        (``gpmnet.energies.together``); 0 leaves them out.
    omega_rows : int
        Rows of a step over which the penalised Omega is averaged.
    proximal_steps : int
        At most this many steps of each fit of the sparse pairwise family; a third for first estimates of adaptive weights.
    most_pairs : int
        Pairs tested in a learned direction, those with the largest Omega first.
    local : LocalOptions
        The search for neighborhoods and the test that both engines share.

    Examples
    --------
    >>> DeepOptions().with_params(steps=300, base__n_functions=4).base
    Pairwise(n_functions=4)
    """

    base: str | BaseFamily = "pairwise"
    lam: float | str | None = None
    n_folds: int = 2
    n_splits: int = 2
    all_pairs_up_to: int = 40
    most_together: int = 8
    omega_rows: int = 32
    proximal_steps: int = MOST_STEPS
    most_pairs: int = 2000
    local: LocalOptions = field(default_factory=LocalOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        # So that its numbers can be reached by name.
        object.__setattr__(self, "base", resolve("base", self.base, BASES, BaseFamily))
        if isinstance(self.lam, str):
            check_choice(self, "lam", ("stars",))
        elif self.lam is not None:
            check_number(self, "lam", 0.0)
        for name, least in (
            ("n_folds", 2),
            ("n_splits", 1),
            ("all_pairs_up_to", 0),
            ("most_together", 0),
            ("omega_rows", 1),
            ("proximal_steps", 1),
            ("most_pairs", 1),
        ):
            check_number(self, name, least, integer=True)
        check_type(self, "local", LocalOptions)
