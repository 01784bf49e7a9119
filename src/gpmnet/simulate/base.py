"""What a simulator is, what it returns, and the few helpers that every simulator uses."""

from __future__ import annotations

import inspect
import operator
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from gpmnet.errors import InputError, quote
from gpmnet.parts import Part

if TYPE_CHECKING:
    import pandas as pd

    from gpmnet.graphs import Graph

    Matrix: TypeAlias = csr_array[np.float64, tuple[int, int]]

Values: TypeAlias = NDArray[Any]
LogDensity: TypeAlias = Callable[[Values], NDArray[np.float64]]
FloatType: TypeAlias = type[np.float32] | type[np.float64]

DTYPES = ("float32", "float64")
ALL_KINDS = ("continuous", "discrete", "mixed")


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
        Where the sample was drawn along a directed graph: ``dag[i, j]`` says i -> j.
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


class Simulator(Part, ABC):
    """A family of laws whose Markov network is known: a frozen dataclass whose fields are its options.

    A simulator is one short file with one such class, documented with its equations, and a line in
    `gpmnet.simulate.SIMULATORS`; `_draw` does the work.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ("continuous",)
    """What `draw` can be asked for, the default first."""
    smallest: ClassVar[int] = 2
    """The least d."""
    step: ClassVar[int] = 1
    """d must be a multiple of it."""

    def draw(self, d: int, n: int, seed: int = 0, kind: str | None = None) -> Simulation:
        """Draw a sample.

        Parameters
        ----------
        d, n : int
            Columns and rows.
        seed : int
            The same seed gives the same bytes.
        kind : str, optional
            One of `kinds`, the first by default.

        Raises
        ------
        InputError
            Where d, n, the seed or the kind cannot be used.
        """
        chosen = self.kinds[0] if kind is None else kind
        if chosen not in self.kinds:
            raise InputError(f"{self.name}: kind must be one of {', '.join(self.kinds)}, got {quote(chosen)}")
        for what, given, least in (("d", d, self.smallest), ("n", n, 1), ("seed", seed, 0)):
            if isinstance(given, bool) or not hasattr(given, "__index__") or operator.index(given) < least:
                raise InputError(
                    f"{self.name}: {what} must be a whole number of at least {least}, got {quote(given)}"
                )
        self._check_multiple(d, self.step)
        return self._draw(d, n, seed, chosen)

    @abstractmethod
    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        """Draw a sample; everything asked for has been checked."""

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return (inspect.getdoc(type(self)) or "").partition("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, with their values."""
        return self.get_params(deep=False)

    def _parameters(self, d: int, n: int, seed: int, kind: str, **found: Any) -> dict[str, Any]:
        """Return `Simulation.parameters`: what was asked for, the options, and what else there is to say."""
        return {"kind": kind, "d": d, "n": n, "seed": seed, **self.options, **found}

    def _check_multiple(self, d: int, of: int) -> None:
        if d % of:
            raise InputError(f"{self.name}: d must be a multiple of {of}, got {d}")


def column_names(d: int) -> tuple[str, ...]:
    """Return x1, ..., xd."""
    return tuple(f"x{i}" for i in range(1, d + 1))


def kinds_of(levels: NDArray[np.intp]) -> tuple[str, ...]:
    """Return the kinds of variables with these numbers of levels, 0 for a continuous one."""
    return tuple(np.where(levels > 0, "discrete", "continuous").tolist())


def generators(seed: int, count: int, name: str = "") -> list[np.random.Generator]:
    """Return independent generators, so that the law of a seed does not depend on how many rows are drawn.

    Those of different names are independent too.
    """
    key = [seed, zlib.crc32(name.encode())] if name else seed
    return [np.random.default_rng(child) for child in np.random.SeedSequence(key).spawn(count)]


def float_type(dtype: str) -> FloatType:
    """Return the NumPy type called "float32" or "float64"."""
    return np.float32 if dtype == "float32" else np.float64
