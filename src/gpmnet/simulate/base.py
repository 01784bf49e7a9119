"""What a simulator returns, and the few helpers that every simulator uses."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from gpmnet.errors import InputError, quote

if TYPE_CHECKING:
    import pandas as pd

    Graph: TypeAlias = csr_array[np.bool_, tuple[int, int]]
    Matrix: TypeAlias = csr_array[np.float64, tuple[int, int]]

Values: TypeAlias = NDArray[Any]
LogDensity: TypeAlias = Callable[[Values], NDArray[np.float64]]

LARGEST_TABLE = 2**20  # cells of the full joint table that `Simulation.probabilities` is willing to enumerate


@dataclass(frozen=True, eq=False)
class Simulation:
    """A sample together with the true Markov network of the law it was drawn from.

    Two variables are joined in `truth` if and only if they are dependent given all the others.

    Attributes
    ----------
    name : str
        Registry name of the simulator.
    names : tuple of str
        Variable names.
    values : ndarray of shape (n, d)
        The sample, float32 or float64; a discrete variable holds integer codes 0..M-1.
    kinds : tuple of str
        "continuous" or "discrete", per variable.
    truth : csr_array of shape (d, d), bool
        The true graph: symmetric, empty diagonal.
    parameters : dict
        What the sample was drawn with (plain numbers and text), the seed included.
    levels : tuple of int
        Number of levels of each discrete variable, 0 for a continuous one.
    dag : csr_array of shape (d, d) or None
        Where the sample was drawn along a perfect directed graph: ``dag[i, j]`` says i -> j.
    precision : csr_array of shape (d, d) or None
        The exact inverse covariance of a Gaussian law (of the latent one, for monotone maps of it).
    log_density : callable or None
        The exact log joint density (mass for the discrete coordinates), (m, d) -> (m,). None where a column
        has both atoms and a density.
    """

    name: str
    names: tuple[str, ...]
    values: Values
    kinds: tuple[str, ...]
    truth: Graph
    parameters: dict[str, Any]
    levels: tuple[int, ...] = ()
    dag: Graph | None = None
    precision: Matrix | None = None
    log_density: LogDensity | None = None

    def __post_init__(self) -> None:
        d = self.values.shape[1]
        if not (len(self.names) == len(self.kinds) == d and self.truth.shape == (d, d)):
            raise InputError(
                f"a simulation of {d} columns came with {len(self.names)} names, {len(self.kinds)} kinds "
                f"and a graph of shape {self.truth.shape}"
            )

    def frame(self) -> pd.DataFrame:
        """Return the sample as a pandas data frame; discrete variables are integer columns."""
        import pandas as pd

        names = list(self.names)
        discrete = np.array([kind == "discrete" for kind in self.kinds])
        if not discrete.any():
            return pd.DataFrame(self.values, columns=names)
        codes = self.values[:, discrete].astype(np.int64)
        if discrete.all():
            return pd.DataFrame(codes, columns=names)
        at = np.array(names, dtype=object)
        floats = pd.DataFrame(self.values[:, ~discrete], columns=list(at[~discrete]))
        integers = pd.DataFrame(codes, columns=list(at[discrete]))
        return pd.concat([floats, integers], axis=1)[names]

    def edges(self) -> pd.DataFrame:
        """Return the true edges as a data frame (source, target), source before target in column order."""
        import pandas as pd

        upper = triu(self.truth, 1, format="coo")
        order = np.lexsort((upper.col, upper.row))
        names = np.array(self.names, dtype=object)
        return pd.DataFrame({"source": names[upper.row[order]], "target": names[upper.col[order]]}, dtype=str)

    def probabilities(self) -> NDArray[np.float64]:
        """Return the joint mass table, shape `levels`, by enumerating every state of an all-discrete law."""
        if self.log_density is None or not self.levels or 0 in self.levels:
            raise InputError(f"{self.name} has no joint table: only small all-discrete laws have one")
        cells = int(np.prod([float(level) for level in self.levels]))
        if cells > LARGEST_TABLE:
            raise InputError(
                f"the joint table would have {cells:,} cells; at most {LARGEST_TABLE:,} are enumerated"
            )
        states = np.indices(self.levels).reshape(len(self.levels), -1).T
        return np.exp(self.log_density(states)).reshape(self.levels)


def column_names(d: int) -> tuple[str, ...]:
    """Return x1, ..., xd."""
    return tuple(f"x{i}" for i in range(1, d + 1))


def undirected(d: int, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Graph:
    """Return the symmetric graph on d nodes whose edges are the given pairs, each listed once."""
    both = (np.concatenate([rows, columns]), np.concatenate([columns, rows]))
    return csr_array((np.ones(2 * len(rows), dtype=np.bool_), both), shape=(d, d))


def complete_blocks(d: int, block: int) -> Graph:
    """Return the graph whose components are the complete graphs on consecutive runs of `block` nodes."""
    rows, columns = np.triu_indices(block, 1)
    start = np.arange(0, d, block)[:, None]
    return undirected(d, (start + rows).ravel(), (start + columns).ravel())


def generators(seed: int, count: int) -> list[np.random.Generator]:
    """Return independent generators, so that the law of a seed does not depend on how many rows are drawn."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


def check_size(name: str, d: int, n: int, seed: int, *, smallest: int = 2, multiple: int = 1) -> None:
    """Raise `InputError` unless d, n and the seed can be used."""
    for what, given, least in (("d", d, smallest), ("n", n, 1), ("seed", seed, 0)):
        if isinstance(given, bool) or not hasattr(given, "__index__") or operator.index(given) < least:
            raise InputError(f"{name}: {what} must be a whole number of at least {least}, got {quote(given)}")
    if d % multiple:
        raise InputError(f"{name}: d must be a multiple of {multiple}, got {d}")


def check_choice(name: str, option: str, given: str, choices: Sequence[str]) -> None:
    """Raise `InputError` unless the option has one of the listed values."""
    if given not in choices:
        raise InputError(f"{name}: {option} must be one of {', '.join(choices)}, got {quote(given)}")


def check_range(name: str, option: str, given: float, low: float, high: float) -> None:
    """Raise `InputError` unless low <= given <= high."""
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not low <= given <= high:
        raise InputError(f"{name}: {option} must be a number from {low:g} to {high:g}, got {quote(given)}")


def float_type(name: str, dtype: str) -> type[np.float32] | type[np.float64]:
    """Return the NumPy type called "float32" or "float64"."""
    check_choice(name, "dtype", dtype, ("float32", "float64"))
    return np.float32 if dtype == "float32" else np.float64
