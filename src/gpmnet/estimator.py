"""`GPM`: the scikit-learn estimator that glues tables, engines, decision and result; `fit`: the one-liner."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from gpmnet import __version__
from gpmnet.columns.functions import GRID
from gpmnet.engines.deep import DeepEngine, DeepResult
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalEngine, LocalOptions, LocalResult
from gpmnet.errors import InputError, quote
from gpmnet.memory import available_bytes, check_memory
from gpmnet.network import DENSE_UP_TO, Axis, MarkovNetwork, Pairs, Shapes
from gpmnet.selection import benjamini_hochberg
from gpmnet.table import Table, load_table

ENGINES = ("local", "deep")
MOST_SHAPES = 2000
"""The strongest edges, at most this many, get a shape; none above `gpmnet.network.DENSE_UP_TO` variables."""
Progress = Callable[..., None]


class GPM(BaseEstimator):
    """Markov network of a table, by the generalised precision matrix.

    Parameters
    ----------
    engine : {"local", "deep"}
        How conditional dependence is estimated: by regressions around each pair, up to 100,000 variables; or by one energy
        for all variables, which sees interactions of any order, for up to a few hundred.
    fdr : float
        False-discovery rate of the edges (Benjamini-Hochberg over all allowed pairs).
    threshold : float or None
        A plain p-value threshold instead of `fdr`.
    missing : {"error", "drop"}
        What happens to rows with missing values.
    forbid, require : sequence of (name, name), optional
        Pairs that are never edges, and are never tested; pairs that always are.
    device : str
        "cpu" or "cuda".
    n_jobs : int or None
        Threads; None leaves the setting of torch alone.
    random_state : int, RandomState or None
        Seed of the random parts: of Omega and the shapes of edges (ties, joint features), and of the deep engine's training.
        Edges, p-values and strengths of the local engine do not depend on it.
    energy, objective, penalty : str
        Of the deep engine: what is learned on top of pairwise terms (a key of `gpmnet.energies.ENERGIES`), the loss (of
        `gpmnet.objectives.OBJECTIVES`), the penalty on Omega (of `gpmnet.penalties.PENALTIES`).
    options : LocalOptions, DeepOptions or None
        Settings of the engine.

    Attributes
    ----------
    network_ : MarkovNetwork
    omega_ : (d, d) ndarray, or scipy.sparse above `gpmnet.network.DENSE_UP_TO` variables
        Generalised precision matrix on the normal-score scale over `network_.names`; zero where there is no edge.
        A column that another one stands for (a duplicate) has that one's diagonal entry, NaN with it, and zero elsewhere.
    table_ : Table
        The table as it was understood.
    timings_ : dict
        Seconds per phase.
    feature_names_in_ : ndarray of str
    n_features_in_ : int
        Columns of the table, by name and number.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=500)
    >>> b = a + rng.normal(size=500)
    >>> c = b + rng.normal(size=500)
    >>> model = GPM().fit(np.column_stack([a, b, c]))
    >>> model.network_.neighbors("x2")
    ('x1', 'x3')
    >>> model.network_.separates("x1", "x3", given=["x2"])
    True
    """

    def __init__(
        self,
        engine: str = "local",
        *,
        fdr: float = 0.05,
        threshold: float | None = None,
        missing: str = "error",
        forbid: Sequence[tuple[str, str]] | None = None,
        require: Sequence[tuple[str, str]] | None = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = 0,
        energy: str = "mlp",
        objective: str = "mixed",
        penalty: str = "scad",
        options: LocalOptions | DeepOptions | None = None,
    ) -> None:
        self.engine = engine
        self.fdr = fdr
        self.threshold = threshold
        self.missing = missing
        self.forbid = forbid
        self.require = require
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.energy = energy
        self.objective = objective
        self.penalty = penalty
        self.options = options

    def fit(
        self, X: Any, y: Any = None, *, kinds: dict[str, str] | None = None, progress: Progress | None = None
    ) -> GPM:
        """Learn the network of a table.

        Parameters
        ----------
        X : path, ndarray, pandas, polars or pyarrow table, or Table
        y : ignored
        kinds : dict, optional
            Kinds of columns that overrule the inferred ones.
        progress : callable, optional
            Called with (phase, done, total), and by the deep engine with a fourth argument, the losses in words.
        """
        self._check_parameters()
        start = time.perf_counter()
        if isinstance(X, Table) and kinds:
            raise InputError("kinds are decided when a Table is loaded; give them to load_table")
        table = X if isinstance(X, Table) else load_table(X, kinds=kinds, missing=self.missing)
        self.table_ = table
        self.n_features_in_ = len(table.schema)
        self.feature_names_in_ = np.array(table.schema.names, dtype=object)
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31))
        self._check_memory(table)
        forbidden, required = self._pairs(table, self.forbid), self._pairs(table, self.require)
        both = {*map(tuple, forbidden.tolist())} & {*map(tuple, required.tolist())}
        if both:
            a, b = (table.names[at] for at in min(both))
            raise InputError(f"the pair {quote(a)}, {quote(b)} is both forbidden and required")
        loaded = time.perf_counter()
        with _threads(self.n_jobs):
            engine = self._engine(int(seed))
            found = engine.fit(table.encode(int(seed)), forbidden, required, progress, self.threshold or 0.0)
            tested = time.perf_counter()
            network = self._decide(table, found, forbidden, required)
        self.timings_ = {
            "load": loaded - start,
            "test": tested - loaded,
            "omega": time.perf_counter() - tested,
        }
        self.network_ = replace(network, about=self._about(int(seed)))
        return self

    def _about(self, seed: int) -> dict[str, Any]:
        """Return what is needed to repeat the fit, as plain data for the report."""
        only_deep = ("energy", "objective", "penalty") if self.engine == "local" else ()
        settings = {k: v for k, v in self.get_params(deep=False).items() if k not in ("options", *only_deep)}
        packages = ("numpy", "scipy", "torch", "pandas", "scikit-learn")
        return {
            "settings": settings | {"random_state": seed},
            "seed": seed,
            "schema": self.table_.schema.to_dict(),
            "versions": {"gpmnet": __version__, **{name: version(name) for name in packages}},
            "python": platform.python_version(),
            "seconds": {phase: round(value, 3) for phase, value in self.timings_.items()},
        }

    def _check_parameters(self) -> None:
        if self.engine not in ENGINES:
            raise InputError(f"engine={quote(self.engine)} is not one of {', '.join(ENGINES)}")
        for name in ("fdr", "threshold"):
            value = getattr(self, name)
            if name == "threshold" and value is None:
                continue
            if not isinstance(value, int | float | np.number) or not 0 < value < 1:
                raise InputError(f"{name} must be between 0 and 1; got {value}")
        wanted = LocalOptions if self.engine == "local" else DeepOptions
        if self.options is not None and not isinstance(self.options, wanted):
            raise InputError(
                f"options of engine={quote(self.engine)} must be {wanted.__name__}, not {type(self.options).__name__}"
            )
        if not isinstance(self.device, str) or self.device.split(":")[0] not in ("cpu", "cuda"):
            raise InputError(f"device={quote(self.device)} is not cpu or cuda")
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise InputError(f"device={quote(self.device)}, but torch finds no CUDA device; use device='cpu'")

    def _engine(self, seed: int) -> LocalEngine | DeepEngine:
        if self.engine == "local":
            return LocalEngine(self._local_options(), seed, self.device)
        options = self.options if isinstance(self.options, DeepOptions) else DeepOptions()
        return DeepEngine(options, self.energy, self.objective, self.penalty, seed, self.device)

    def _local_options(self) -> LocalOptions:
        if isinstance(self.options, DeepOptions):
            return self.options.local
        return self.options or LocalOptions()

    def _check_memory(self, table: Table) -> None:
        """Refuse what does not fit: features three times over, scores, what ties need, and the blocks in flight."""
        options = self._local_options()
        columns = np.where(table.is_discrete, table.n_levels - 1, options.n_features)
        large = len(columns) > options.all_pairs_up_to
        size = 4 if large else 8
        ties = (size + 4) * int(np.count_nonzero(~table.is_discrete))
        features = table.n_rows * (size * 3 * (int(columns.sum()) + len(columns)) + ties)
        blocks = int(2e9 if large else 5e8)
        needed = features + blocks
        fits = int(len(columns) * max(0, available_bytes(self.device) - blocks) / features)
        check_memory(needed, self.device, f"about {fits:,} of these {len(columns):,} variables would fit")

    def _pairs(self, table: Table, pairs: Sequence[tuple[str, str]] | None) -> NDArray[np.intp]:
        position = {name: at for at, name in enumerate(table.names)}
        twin = table.schema.duplicates
        found = []
        for a, b in pairs or ():
            for name in (a, b):
                if name in twin:
                    raise InputError(
                        f"{quote(name)} is a duplicate of {quote(twin[name])} and is not fitted; "
                        f"forbid or require the edge with {quote(twin[name])}"
                    )
                if name not in position:
                    raise InputError(f"no variable {quote(name)} to forbid or require an edge with")
            if a == b:
                raise InputError(f"{quote(a)} cannot have an edge with itself")
            found.append(sorted((position[a], position[b])))
        return np.unique(np.array(found, dtype=np.intp).reshape(-1, 2), axis=0)

    def _decide(
        self,
        table: Table,
        found: LocalResult | DeepResult,
        forbidden: NDArray[np.intp],
        required: NDArray[np.intp],
    ) -> MarkovNetwork:
        """Choose the edges, describe them, set `omega_` and return the network."""
        d = len(table.names)
        n_tests = d * (d - 1) // 2 - len(forbidden)
        q_value = benjamini_hochberg(found.p_value, n_tests)
        is_edge = q_value <= self.fdr if self.threshold is None else found.p_value <= self.threshold
        code = found.first * d + found.second
        is_edge |= np.isin(code, required[:, 0] * d + required[:, 1])
        edges = np.flatnonzero(is_edge)
        strongest = np.lexsort((found.p_value[edges], -found.strength[edges]))[:MOST_SHAPES]
        shown = np.sort(edges[strongest]) if d <= DENSE_UP_TO else edges[:0]
        about = found.describe(is_edge, shown)
        pairs = Pairs.of(
            found.first,
            found.second,
            is_edge,
            omega=about.omega,
            strength=found.strength,
            sign=found.sign,
            p_value=found.p_value,
            q_value=q_value,
        )
        used = [column for column in table.schema if column.kind != "ignored"]
        place = {column.name: at for at, column in enumerate(used)}
        joined = _with_duplicates(table, pairs, place)
        self.omega_ = _omega_matrix(joined, _diagonal(table, about.own, place))
        return MarkovNetwork(
            tuple(place),
            joined,
            tuple(column.kind for column in used),
            table.n_rows,
            self.fdr if self.threshold is None else None,
            shapes=Shapes(_axes(table, pairs.take(shown), place), shown, tuple(about.shapes)),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.string = True
        return tags


def fit(table: Any, **options: Any) -> MarkovNetwork:
    """Return the Markov network of a table; `options` are those of `GPM`, and `kinds`."""
    kinds = options.pop("kinds", None)
    return GPM(**options).fit(table, kinds=kinds).network_


def _omega_matrix(pairs: Pairs, own: NDArray[np.float64]) -> Any:
    edges = pairs.take(np.flatnonzero(pairs.is_edge))
    at, d = np.arange(len(own)), len(own)
    row, column = np.r_[edges.first, edges.second, at], np.r_[edges.second, edges.first, at]
    matrix = csr_array((np.r_[edges.omega, edges.omega, own], (row, column)), shape=(d, d))
    return matrix.toarray() if d <= DENSE_UP_TO else matrix


def _diagonal(table: Table, own: NDArray[np.float64], place: dict[str, int]) -> NDArray[np.float64]:
    """Return Omega's diagonal over all used columns; a duplicate has that of the column that stands for it."""
    value = dict(zip(table.names, own.tolist(), strict=True))
    twin = table.schema.duplicates
    return np.array([value[twin.get(name, name)] for name in place])


def _with_duplicates(table: Table, pairs: Pairs, place: dict[str, int]) -> Pairs:
    """Return the pairs over all used columns, the given ones first; a duplicate is joined to its twin."""
    moved = np.array([place[name] for name in table.names], dtype=np.intp)
    twins = [(place[first], place[name]) for name, first in table.schema.duplicates.items()]
    extra = np.array(twins, dtype=np.intp).reshape(-1, 2)
    columns = {}
    for name in ("omega", "strength", "sign", "p_value", "q_value"):
        certain = {"omega": np.nan, "strength": 1.0, "sign": 0.0}.get(name, 0.0)
        columns[name] = np.r_[getattr(pairs, name), np.full(len(extra), certain)]
    return Pairs.of(
        np.r_[moved[pairs.first], extra.min(axis=1, initial=len(place))],
        np.r_[moved[pairs.second], extra.max(axis=1, initial=0)],
        np.r_[pairs.is_edge, np.ones(len(extra), dtype=bool)],
        **columns,
    )


def _axes(table: Table, pairs: Pairs, place: dict[str, int]) -> dict[int, Axis]:
    """Return the grids of the variables of some pairs, by their positions among the network's names."""
    ends = np.unique(np.r_[pairs.first, pairs.second]).tolist()
    return {place[table.names[at]]: _axis(table, at) for at in ends}


def _axis(table: Table, at: int) -> Axis:
    column = table.variables[at]
    if table.is_discrete[at]:
        return Axis((), column.levels)
    values = table.decode(column.name, GRID)
    if column.levels:  # a long ordered category: its labels have no scale
        return Axis((), tuple(values.tolist()))
    if column.dates:
        labels = np.array(np.floor(values), dtype="datetime64[D]").astype(str).tolist()
    else:
        labels = [f"{value:.4g}" for value in values]
    return Axis(tuple(values.tolist()), tuple(labels))


@contextmanager
def _threads(n_jobs: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    if n_jobs is not None:
        if n_jobs == 0 or n_jobs < -1:
            raise InputError(f"n_jobs must be a positive number of threads, or -1 for all; got {n_jobs}")
        import os

        torch.set_num_threads(n_jobs if n_jobs > 0 else os.cpu_count() or 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
