"""What an engine is: the contract between the estimator and whatever finds the edges.

To add an engine, write one file with a subclass of `Engine` and one of `Found`, and add a line to
`gpmnet.engines.ENGINES`. Nothing else knows which engines there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.directions import Directions
from gpmnet.errors import InputError
from gpmnet.files import Shelf
from gpmnet.jobs import Workplace
from gpmnet.memory import MOST_HALVINGS, available_bytes, smaller_blocks
from gpmnet.parts import Part
from gpmnet.progress import Progress, silent
from gpmnet.selection.joint import JointTest
from gpmnet.table import Encoded, Table

_FEWEST_ROWS = 100  # that are worth a word where all do not fit


def no_pairs() -> NDArray[np.intp]:
    """Return an empty list of pairs, shape (0, 2)."""
    return np.empty((0, 2), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Problem:
    """What an engine is given.

    Attributes
    ----------
    encoded : Encoded
        The table.
    forbidden, required : ndarray of int, shape (m, 2)
        Pairs, the smaller position first, that are never edges and never tested, and pairs that always are.
    arrows : ndarray of int, shape (m, 2)
        Cause and effect of arrows that are known, for engines that take directions.
    tiers : tuple of int or None, optional
        Tier of each variable, for those engines: nothing in a later one is a cause of anything in an earlier one.
    alpha : float
        P-value up to which a pair may become an edge whatever the others are: such pairs need the full test.
    clusters : ndarray of int, shape (n,), optional
        Cluster of each row: rows of one may depend on each other. For engines that take them.
    seed : int
    device : str
    progress : Progress
    shelf : Shelf
        Where what is finished is kept, for the case that the fit is stopped.
    place : Workplace
        Where its tasks are done, of an engine that has such.
    others : tuple of Problem
        The same with other complete draws of the table, of an engine that leaves gaps out of its tests: a neighborhood is
        what all show.
    """

    encoded: Encoded
    forbidden: NDArray[np.intp] = field(default_factory=no_pairs)
    required: NDArray[np.intp] = field(default_factory=no_pairs)
    arrows: NDArray[np.intp] = field(default_factory=no_pairs)
    tiers: tuple[int | None, ...] | None = None
    alpha: float = 0.0
    clusters: NDArray[np.integer] | None = None
    seed: int = 0
    device: str = "cpu"
    progress: Progress = silent
    shelf: Shelf = field(default_factory=Shelf)
    place: Workplace = field(default_factory=Workplace)
    others: tuple[Problem, ...] = ()

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.encoded.n_rows

    @property
    def d(self) -> int:
        """Number of variables."""
        return len(self.encoded.names)

    def alone(self) -> Problem:
        """Return the same without those who follow it: what can travel."""
        clear = Problem(self.encoded)
        return replace(self, progress=clear.progress, shelf=clear.shelf, place=clear.place)

    def without_rows(self) -> Problem:
        """Return what travels beside the table to where tasks are done: all else that is asked, and no rows."""
        return replace(self.alone(), encoded=self.encoded.without_rows(), others=())


@dataclass(frozen=True)
class Stop:
    """A solver that ended at its cap, not at a solution.

    Attributes
    ----------
    solver : str
        Which one, in words, with its cap.
    variable : int
        Position of the variable that it was about, the worst where it was about several.
    """

    solver: str
    variable: int


@dataclass(frozen=True, eq=False)
class Description:
    """What an engine says about the edges once they are chosen.

    Attributes
    ----------
    omega : ndarray of shape (m,)
        Omega of each pair that was found, NaN where the engine has none.
    own : ndarray of shape (d,)
        Its diagonal.
    surfaces : list of ndarray
        Interaction of the log density on the grids of the two variables, of each pair that is to be shown.
    stops : tuple of Stop
    n_iter : int
        Rounds of the slowest solver behind this; 0 where there was none, or none that counts them.
    """

    omega: NDArray[np.float64]
    own: NDArray[np.float64]
    surfaces: list[NDArray[np.float32]]
    stops: tuple[Stop, ...] = ()
    n_iter: int = 0

    @classmethod
    def nothing(cls, m: int, d: int) -> Description:
        """Return what is known of m pairs of d variables before anything is computed."""
        return cls(np.full(m, np.nan), np.full(d, np.nan), [])


@dataclass(frozen=True)
class Joint:
    """Groups of near-copies, and the variables that were tested against them.

    Attributes
    ----------
    groups : tuple of tuple of int
        Positions of the members, the centre of each group first; no variable is in two.
    tests : tuple of JointTest
        Of variables without an edge into a group.
    n_tests : int
        Number of all hypotheses, a variable and a group that it is not in, tested or not.
    """

    groups: tuple[tuple[int, ...], ...] = ()
    tests: tuple[JointTest, ...] = ()
    n_tests: int = 0


@dataclass(frozen=True, eq=False)
class Found(ABC):
    """What an engine returns: the pairs that are or came close to edges, first < second, arrays of shape (m,).

    Attributes
    ----------
    log_p : ndarray
        Log p-values.
    strength : ndarray
        In [0, 1]; ``|partial correlation|`` for Gaussian data.
    strength_error : ndarray
        Standard error of atanh(strength), behind its interval; NaN where an engine has none.
    strength_excess : ndarray
        How much of atanh(strength) may be that it is the largest of several; 0 where it is not.
    sign : ndarray
        -1, 0 (no single sign) or 1.
    n_rows : ndarray
        How many rows each rests on.
    n_iter : int
        Rounds of the slowest of the engine's solvers that count them.
    stops : tuple of Stop
        Solvers that ended at their cap; none if all converged.
    learned : mapping
        Whatever else was learned and is worth having, by name: ``{"lam": 1.3}`` becomes `GPM.lam_`.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    log_p: NDArray[np.float64]
    strength: NDArray[np.float64]
    strength_error: NDArray[np.float64]
    strength_excess: NDArray[np.float64]
    sign: NDArray[np.float64]
    n_rows: NDArray[np.float64]
    n_iter: int
    stops: tuple[Stop, ...]
    learned: Mapping[str, Any]

    @abstractmethod
    def describe(self, is_edge: NDArray[np.bool_], shown: NDArray[np.intp]) -> Description:
        """Return Omega and surfaces of the graph of the edges.

        Parameters
        ----------
        is_edge : ndarray of bool, shape (m,)
            Which of the pairs are edges.
        shown : ndarray of int
            Positions of those edges whose surface is wanted, increasing.
        """

    def decided(self) -> NDArray[np.bool_] | None:
        """Return which pairs are edges, (m,), where an engine says so itself; None where p-values do."""
        return None

    @property
    def has_whole_omega(self) -> bool:
        """Whether Omega of pairs that are no edges means something too: it is then part of `GPM.omega_`."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the network should know of how it was learned, one sentence each."""
        return ()

    def directions(self) -> Directions | None:
        """Return the directed graph behind the edges; an engine that has none returns None."""
        return None

    def determined(self, is_edge: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
        """Return variables that their neighbors all but determine, each followed by these; none where that is not known."""
        return ()

    def joint(self, is_edge: NDArray[np.bool_]) -> Joint:
        """Return the groups of near-copies and the tests against them; an engine that has none returns an empty one."""
        return Joint()


class Engine(Part, ABC):
    """Finds the pairs of a table that are edges.

    A frozen dataclass. The estimator fills a field from its own parameter of the same name (`options`, `energy`,
    `objective`, `penalty`) unless that is None; an engine has the fields it needs and no others.
    """

    takes_directions: ClassVar[bool] = False
    """Whether known arrows and tiers mean something to it."""
    leaves_out_gaps: ClassVar[bool] = False
    """Whether each of its tests can do without the rows in which a value was not observed (`Encoded.observed`)."""

    takes_clusters: ClassVar[bool] = False
    """Whether it knows what to do with rows that depend on each other."""

    @property
    def own_rule(self) -> str | None:
        """How it chooses edges, in a sentence, if not by p-values: a false-discovery rate then means nothing."""
        return None

    @property
    def most_rows(self) -> int | None:
        """How many rows it looks at, None for all; of longer tables it is given a random sample."""
        return None

    @abstractmethod
    def memory(self, n_rows: int, n_levels: NDArray[np.intp]) -> int:
        """Return about how many bytes a fit needs beyond the table.

        Parameters
        ----------
        n_levels : ndarray of int, shape (d,)
            Levels of each variable, 0 for continuous ones.
        """

    @abstractmethod
    def fit(self, problem: Problem) -> Found:
        """Return the pairs that are or came close to edges."""


def blocks_that_fit(engine: Engine, table: Table, device: str, budget: int | None = None) -> int:
    """Return how often blocks must be halved for a fit of a table to fit into what is free, and into a budget.

    Raise if it fits with no blocks, saying how many of its variables, or of its rows, would. Of a table that is completed
    several times, all fits are held at once.
    """
    n, levels = table.n_rows, table.n_levels
    times = table.filling.n_fits if table.filling is not None and table.has_gaps else 1
    free = available_bytes(device, budget)
    for halvings in range(MOST_HALVINGS + 1):
        with smaller_blocks(halvings):
            needed = times * engine.memory(n, levels)
            if needed <= free:
                return halvings
    with smaller_blocks(MOST_HALVINGS):
        fits = _most(len(levels), lambda some: times * engine.memory(n, levels[:some]) <= free)
        rows = _most(n, lambda some: times * engine.memory(some, levels) <= free)
    figure = 10 ** (len(str(rows)) - 1)
    left = "are free" if budget is None else f"of memory={budget / 1e9:.2f} GB are left"
    raise InputError(
        f"this needs about {needed / 1e9:.2f} GB of memory on {device} and {free / 1e9:.2f} GB {left}; "
        f"about {fits:,} of these {len(levels):,} variables would fit"
        + (f", or {rows // figure * figure:,} of the {n:,} rows" if rows >= _FEWEST_ROWS else "")
    )


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, where `count` does not; 0 if none does."""
    found, too_many = 0, count
    while too_many - found > 1:
        middle = (found + too_many) // 2
        found, too_many = (middle, too_many) if fits(middle) else (found, middle)
    return found


def looked_at(table: Table, engine: Engine, seed: int) -> tuple[Encoded, tuple[str, ...]]:
    """Return the rows that an engine looks at, and a note if these are not all."""
    n, most = table.n_rows, engine.most_rows
    encoded = table.encode(seed, most)
    if most is None or n <= most:
        return encoded, ()
    note = f"edges rest on {most:,} of {n:,} rows, drawn at random; options__most_rows=None (--most-rows 0) takes all"
    return encoded, (note,)


def check_gaps(engine: Engine, table: Table) -> None:
    """Raise if a table's gaps are to be left out test by test, and an engine cannot do that."""
    if (
        table.has_gaps
        and table.filling is not None
        and table.filling.needs == "set"
        and not engine.leaves_out_gaps
    ):
        name = type(engine).__name__
        raise InputError(
            f'missing="available" needs tests that leave out single rows, which {name} does not have; '
            'missing="impute" (--missing impute) works with every engine'
        )
