"""What every baseline has in common: a table goes in, a Markov network comes out.

A baseline is one short file with one dataclass: its fields are the options (only stored; `fit` validates
them), `package` says what it needs, `supports` whether it can run on a table and why not, and `_graph`
computes the answer. A line in `gpmnet.baselines.BASELINES` is all it takes to be a method of the benchmark.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, MissingExtraError, quote

if TYPE_CHECKING:
    from gpmnet.network import MarkovNetwork

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
Estimate = tuple[BoolArray, FloatArray | None]
"""The (d, d) symmetric adjacency of an estimated graph, and weights that rank its pairs or None."""

MIN_ROWS = 10


class TableLike(Protocol):
    """The part of a table that baselines read: n rows, d variables, no missing values."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the d variables."""

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""

    @property
    def is_discrete(self) -> BoolArray:
        """(d,) which variables are discrete."""

    @property
    def n_levels(self) -> NDArray[np.integer]:
        """(d,) number of levels of each discrete variable, 0 for a continuous one."""

    def values(self) -> FloatArray:
        """(n, d) numbers: continuous values as they are, discrete ones as codes 0..M-1."""


@dataclass(kw_only=True, eq=False)
class Baseline(ABC):
    """A structure learner to compare with; options are the dataclass fields.

    Parameters
    ----------
    random_state : int
        Seed of whatever is random. The deterministic methods accept it too, so that all are called alike.

    Attributes
    ----------
    network_ : MarkovNetwork
        The estimated network.
    weights_ : ndarray (d, d) or None
        Symmetric, zero diagonal, larger means stronger evidence for an edge; for ranking pairs (average
        precision). None where the method has no such order.
    """

    name: ClassVar[str]
    package: ClassVar[str] = ""
    """The package that does the work, as pip calls it; empty where no other is needed."""
    module: ClassVar[str] = ""
    """The module of it to import before a fit is timed."""
    random_state: int = 0
    network_: MarkovNetwork = field(init=False, repr=False)
    weights_: FloatArray | None = field(init=False, repr=False)

    def fit(self, table: TableLike) -> Self:
        """Estimate the Markov network of a table.

        Raises
        ------
        InputError
            The options are wrong, or the method cannot run on such a table.
        MissingExtraError
            The method needs a package of the extra `baselines`.
        """
        self._check_options()
        able, reason = self.supports(table)
        if not able:
            raise InputError(f"The baseline {quote(self.name)} cannot use this table: {reason}.")
        adjacency, weights = self._graph(table)
        from gpmnet.network import MarkovNetwork

        self.weights_ = weights
        self.network_ = MarkovNetwork.from_adjacency(table.names, adjacency, weights=weights)
        return self

    def supports(self, table: TableLike) -> tuple[bool, str]:
        """Say whether the method can run on a table, and if not, why (else an empty string)."""
        values = table.values()
        if values.shape[1] < 2:
            return False, f"it has {values.shape[1]} variable(s), at least 2 are needed"
        if values.shape[0] < MIN_ROWS:
            return False, f"it has {values.shape[0]} rows, at least {MIN_ROWS} are needed"
        broken = (~np.isfinite(values)).any(axis=0)
        constant = np.ptp(values, axis=0) == 0
        for columns, what in ((broken, "has missing or infinite values"), (constant, "is constant")):
            if columns.any():
                return False, f"column {quote(table.names[int(np.argmax(columns))])} {what}"
        return True, ""

    def _check_options(self) -> None:  # noqa: B027 (most methods have nothing to check)
        """Raise InputError where an option is wrong; nothing to check by default."""

    @abstractmethod
    def _graph(self, table: TableLike) -> Estimate:
        """Return the (d, d) symmetric boolean adjacency and the weights or None."""


def require(module: str, package: str) -> ModuleType:
    """Import a module of an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(package, "baselines") from error


def standardised(values: FloatArray) -> FloatArray:
    """Return the columns (n, d) with mean 0 and standard deviation 1."""
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def log_evidence(p_values: FloatArray) -> FloatArray:
    """Turn p-values (d, d) into weights ``-log10 p``, symmetric where p is, with a zero diagonal."""
    weights = -np.log10(np.clip(p_values, 1e-300, 1.0)) + 0.0
    np.fill_diagonal(weights, 0.0)
    return np.asarray(weights)
