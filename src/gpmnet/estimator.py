"""`GPM`: the scikit-learn estimator that glues tables, engines, decision and result; `fit`: the one-liner."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gpmnet.engines import ENGINES
from gpmnet.engines.base import Engine
from gpmnet.errors import CollinearWarning, GapWarning, InputError, quote
from gpmnet.files import Shelf
from gpmnet.fitting import fit_table
from gpmnet.memory import check_memory
from gpmnet.network import MarkovNetwork, Origin
from gpmnet.parallel import check_n_jobs, limited_threads
from gpmnet.parameters import (
    check_callables,
    check_device,
    check_origin,
    count_of_pairs,
    least_strength,
    name_pairs,
    name_tiers,
    seed_of,
    share,
    shelf_of,
    where_of,
)
from gpmnet.parts import Part, resolve
from gpmnet.planning import Plan
from gpmnet.progress import Progress, Spoken, silent
from gpmnet.scoring import held_out_gain
from gpmnet.selection import Cutoff
from gpmnet.table import MISSING, MissingPolicy, Table, load_table, spread_over

_PAIRS = ("forbid", "require", "arrows")
_PLACES = ("workers", "cluster", "verbose")
_PARTS = ("energy", "objective", "penalty", "decide", "options")


class GPM(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Markov network of a table, by the generalised precision matrix.

    Parameters
    ----------
    engine : {"local", "dag", "deep", "paper", "kernels"} or Engine
        How conditional dependence is estimated: by regressions around each pair, up to a million variables; by the directed
        graph with the best score, whose moral graph is the network, up to about a thousand; by one energy for all variables,
        which sees interactions of any order, for up to a few hundred; or as published. A key of `gpmnet.engines.ENGINES`.
    fdr : float
        False-discovery rate of the edges (Benjamini-Hochberg over all allowed pairs). It has no meaning for the dag engine,
        whose edges are chosen by the score.
    threshold : float or None
        A plain p-value threshold instead of `fdr`.
    min_strength : float
        The hypothesis that an edge must refute becomes "the strength is at most this", and p- and q-values are for
        it; 0 is no dependence at all. With many rows every pair depends a little: this keeps the graph sparse.
    missing : {"error", "drop", "impute", "available", "level"} or MissingPolicy
        What happens to missing values: they are refused, or rows with them left out; several complete draws are fitted and
        their answers pooled; every test uses the rows that have what it needs (local engine); or missing is a level of
        discrete columns. A key of `gpmnet.table.MISSING`; see "Missing values" in the documentation.
    groups : str, array of shape (n,), Block or None
        Of the local engine: which rows belong together and may depend on each other, the others being independent. The name
        of a column, which is then no variable; a value for each row; or ``Block(20)``, blocks of so many consecutive rows of
        a series. Standard errors and p-values are those of sums over groups; near-copies are not tested jointly.
    forbid, require : sequence of (name, name), optional
        Pairs that are never edges, and are never tested; pairs that always are.
    arrows : sequence of (cause, effect), optional
        Of the dag engine: directions that are known.
    tiers : sequence of collections of str, optional
        Of the dag engine: groups of variables, the earliest first; nothing in a later one is a cause of anything in an
        earlier one. A variable in no group may stand anywhere.
    device : str
        "cpu" or "cuda".
    n_jobs : int or None
        Threads at most, -1 for as many as there are processors; None for as many as torch has. A small table uses one: more
        are used where tests come in large blocks, one thread a block; with `workers` or a `cluster`, None is one. No setting
        of the caller is changed.
    memory : str, int or None
        How much memory the whole process may take, such as "4GB"; on a GPU how much of the GPU's. What is computed in blocks
        is then computed in smaller ones, which takes longer and changes nothing but rounding; what does not fit all the
        same is refused before it starts. None is as much as is free.
    random_state : int, RandomState, Generator or None
        Seed of the random parts: of Omega and the shapes of edges (ties, joint features), and of the deep engine's training.
        Edges, p-values and strengths of the local engine do not depend on it.
    energy, objective, penalty : str, part or None
        Of the deep engine: what is learned on top of pairwise terms (a key of `gpmnet.energies.ENERGIES`, or an object
        such as ``MLP(hidden=128)``), the loss (of `gpmnet.objectives.OBJECTIVES`), the penalty on Omega (of
        `gpmnet.penalties.PENALTIES`, or ``SCAD(a=3.7)``). None is the engine's own choice.
    decide : {"test", "omega"} or None
        Of the deep engine: whether tests choose the edges, or Omega alone, as published.
    options : LocalOptions, DagOptions, DeepOptions or None
        Settings of the engine.
    stability : int
        Pairs of half-samples in which edges are looked for again; 50 gives every edge its `stability`, the share of the 100
        halves in which it is one, and takes about 50 times as long as the fit. Halves are of groups where rows belong
        together. 0: none.
    workers : int or None
        Processes (joblib), each with one thread, for the half-samples and for the tasks of a large fit: screens, searches,
        tests and node models of the local and dag engines; of the deep engines also models of parts of the rows. None: tasks
        are done here, half-samples in `n_jobs` processes, or as `joblib.parallel_config` says. Of a cluster: workers to wait
        for.
    cluster : str or None
        Address of the scheduler of a Dask cluster that does both instead, as in "tcp://10.0.0.1:8786".
    verbose : bool
        Whether `fit` says on stderr, phase by phase, what is done and how long the rest will take.

    Attributes
    ----------
    network_ : MarkovNetwork
    omega_ : (d, d) ndarray, or scipy.sparse above `gpmnet.network.DENSE_UP_TO` variables
        Generalised precision matrix on the normal-score scale over `network_.names`; zero where there is no edge,
        unless Omega itself decides.
        A column that another one stands for (a duplicate) has that one's diagonal entry, NaN with it, and zero elsewhere.
    table_ : Table
        The table as it was understood.
    timings_ : dict
        Seconds per phase.
    n_iter_ : int
        Rounds of the slowest of the solvers that count them: of the local engine the search for neighbors, of the deep
        engine also its fits and its training.
    converged_ : bool
        Whether every solver ended at a solution; a `ConvergenceWarning` names the variables where one did not.
    dag_ : CPDAG
        Of the dag engine: the class of the directed graph, over the variables that were fitted.
    energy_ : Energy
        Of the deep engine: the energy of all rows.
    survived_ : dict of str to bool
        Of the deep engine: of each model, whether it kept what is trained on top of the base.
    lam_ : float
        Of the deep engine: lambda in units of a gradient's noise, before the penalty's own factor and 1/sqrt(n); for n
        rows the penalty has ``penalty.lam * lam_ / sqrt(n)``.
    feature_names_in_ : ndarray of str
    n_features_in_ : int
        Columns of the table, by name and number.

    Notes
    -----
    Every number of a part can be set by name, also from a grid search: ``set_params(options__alpha_enter=0.001)``,
    ``set_params(penalty__a=3.0)``; where the engine is an object, ``set_params(engine__penalty__a=3.0)``.

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
        engine: str | Engine = "local",
        *,
        fdr: float = 0.05,
        threshold: float | None = None,
        min_strength: float = 0.0,
        missing: Any = "error",
        groups: Any = None,
        forbid: Sequence[tuple[str, str]] | None = None,
        require: Sequence[tuple[str, str]] | None = None,
        arrows: Sequence[tuple[str, str]] | None = None,
        tiers: Sequence[Sequence[str]] | None = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        memory: str | int | None = None,
        random_state: Any = 0,
        energy: str | Part | None = None,
        objective: str | Part | None = None,
        penalty: str | Part | None = None,
        decide: str | None = None,
        options: Part | None = None,
        stability: int = 0,
        workers: int | None = None,
        cluster: str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.engine = engine
        self.fdr = fdr
        self.threshold = threshold
        self.min_strength = min_strength
        self.missing = missing
        self.groups = groups
        self.forbid = forbid
        self.require = require
        self.arrows = arrows
        self.tiers = tiers
        self.device = device
        self.n_jobs = n_jobs
        self.memory = memory
        self.random_state = random_state
        self.energy = energy
        self.objective = objective
        self.penalty = penalty
        self.decide = decide
        self.options = options
        self.stability = stability
        self.workers = workers
        self.cluster = cluster
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        kinds: dict[str, str] | None = None,
        progress: Progress | None = None,
        origin: Origin | None = None,
        on_edges: Callable[[MarkovNetwork], None] | None = None,
        resume: str | Path | Shelf | None = None,
    ) -> GPM:
        """Learn the network of a table.

        Parameters
        ----------
        X : path, ndarray, pandas, polars or pyarrow table, or Table
        y : ignored
        kinds : dict, optional
            Kinds of columns that overrule the inferred ones.
        progress : callable, optional
            Called in place of `verbose` with (phase, done, total, note); see `gpmnet.progress.Progress`. An error that it
            raises ends the fit.
        origin : Origin, optional
            Where the table comes from, for the network's facts.
        on_edges : callable, optional
            Called with the network as soon as its edges are chosen: Omega, which may take longer than all before it, is
            NaN there, and edges have no shapes.
        resume : path, Shelf or None
            Folder in which a fit that takes long keeps what it has finished. If it is stopped, a fit of the same table with
            the same parameters and versions goes on from there, to the same result; any other starts anew. Removed when
            the fit is done; a `gpmnet.files.Shelf` is left to whoever made it.
        """
        plan = self.plan()
        check_callables(progress=progress, on_edges=on_edges)
        check_origin(origin)
        begun = time.perf_counter()
        for name, is_given in (("kinds", bool(kinds)), ("groups", self.groups is not None)):
            if is_given and isinstance(X, Table):
                raise InputError(f"{name} are decided when a Table is loaded; give them to load_table")
        progress = progress or (Spoken() if self.verbose else silent)
        if not isinstance(X, Table):
            progress("read", 0, 1)
            with limited_threads(plan.n_jobs), spread_over(plan.where):
                X = load_table(X, kinds=kinds, missing=self.missing, groups=self.groups)
            progress("read", 1, 1)
        shelf = shelf_of(resume)
        outcome = fit_table(
            plan, X, begun=begun, origin=origin, progress=progress, on_edges=on_edges, shelf=shelf
        )
        # Only now: a fit that fails leaves what the one before has learned.
        self._store(
            outcome.learned,
            network_=outcome.network,
            omega_=outcome.omega,
            table_=X,
            timings_=outcome.timings,
            n_iter_=outcome.n_iter,
            converged_=not outcome.cautions,
        )
        if shelf is not None and shelf is not resume:
            shelf.remove()
        said = "; ".join(outcome.cautions), outcome.hidden, outcome.untested
        for text, kind in zip(said, (ConvergenceWarning, CollinearWarning, GapWarning), strict=True):
            if text:
                warnings.warn(text, kind, stacklevel=2)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return how well the edges foretell rows that were not fitted, in nats a row; larger is better, 0 is no edge.

        X has the columns of the fit. It is a held-out pseudo-likelihood, see `gpmnet.scoring`; with it a grid search can
        choose among settings that give different graphs.
        """
        check_is_fitted(self, "network_")
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            n = self.n_features_in_
            raise InputError(f"X has {shape[1]} features, but GPM is expecting {n} features as input")
        return held_out_gain(self.network_, self.table_, X)

    def check(self) -> GPM:
        """Raise where a parameter is wrong, or is one that the engine has no use for; `fit` does so before all else."""
        self.plan(), resolve("missing", self.missing, MISSING, MissingPolicy)
        return self

    def set_params(self, **params: Any) -> GPM:
        """Set parameters by name; ``part__parameter`` sets one number of a part, of the engine's own where there is none.

        >>> GPM().set_params(options__alpha_enter=0.001).options.alpha_enter
        0.001
        """
        inner: dict[str, dict[str, Any]] = {}
        for name in [name for name in params if "__" in name]:
            own, _, rest = name.partition("__")
            inner.setdefault(own, {})[rest] = params.pop(name)
        super().set_params(**params)
        for own, changes in inner.items():
            setattr(self, own, self._part(own, changes).with_params(**changes))
        return self

    def _part(self, own: str, changes: Iterable[str]) -> Part:
        """Return the part behind a parameter: what was given, what its word stands for, or the engine's own."""
        given = self.get_params(deep=False)
        if isinstance(given.get(own), Part):
            return cast(Part, given[own])
        if own == "missing":
            return resolve("missing", self.missing, MISSING, MissingPolicy)
        part = getattr(self._engine(), own, None) if own in given else None
        if not isinstance(part, Part):
            raise InputError(f"GPM has no part {quote(own)} with parameters of its own at this engine")
        if isinstance(self.engine, Engine):
            name = f"{own}__{min(changes)}"
            raise InputError(f"the engine is an object with parts of its own: set engine__{name}, not {name}")
        return part

    def plan(self) -> Plan:
        """Return what is asked of a fit; raise where a parameter is wrong, or is one that the engine has no use for."""
        cutoff, n_jobs, engine = self._cutoff(), check_n_jobs(self.n_jobs), self._engine()
        check_device(self.device)
        seed = seed_of(self.random_state)
        forbid, require, arrows = (name_pairs(name, getattr(self, name)) for name in _PAIRS)
        tiers = name_tiers(self.tiers)
        for name in ("arrows", "tiers"):
            if getattr(self, name) is not None and not engine.takes_directions:
                raise InputError(f"{name} are directions, which this engine does not have; use engine='dag'")
        if engine.own_rule and (self.threshold is not None or self.min_strength):
            raise InputError(f"threshold and min_strength choose edges by p-values; here {engine.own_rule}")
        settings = self._settings(engine) | {"random_state": seed}
        memory = check_memory(self.memory)
        halves = count_of_pairs(self.stability), where_of(self.workers, self.cluster)
        known = forbid, require, arrows, tiers
        return Plan(engine, cutoff, *known, self.device, n_jobs, memory, seed, settings, *halves)

    def _cutoff(self) -> Cutoff:
        rate = share("fdr", self.fdr)
        least = least_strength(self.min_strength)
        if self.threshold is None:
            return Cutoff(rate, "q", least)
        return Cutoff(share("threshold", self.threshold), "p", least)

    def _engine(self) -> Engine:
        """Return the engine with the parts it was given."""
        given = {name: value for name in _PARTS if (value := getattr(self, name)) is not None}
        if isinstance(self.engine, Engine):
            if given:
                raise InputError(f"give {', '.join(given)} to the engine object itself, not beside it")
            return self.engine
        if not isinstance(self.engine, str) or self.engine not in ENGINES:
            raise InputError(f"engine={quote(self.engine)} is not one of {', '.join(ENGINES)}")
        kind = ENGINES[self.engine]
        takes = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # every engine is a dataclass
        for name in given:
            if name not in takes:
                raise InputError(f"engine={quote(self.engine)} has no {name}; it has {', '.join(takes)}")
        return kind(**given)

    def _settings(self, engine: Engine) -> dict[str, Any]:
        """Return what repeats the fit: the parameters, and the parts as the engine has them."""
        # Groups may be as many values as rows, and the table says in words what they are; where half-samples are fitted
        # and what is said meanwhile changes nothing in the answer.
        left_out = (*_PARTS, *_PLACES, "groups")
        plain = {k: v for k, v in self.get_params(deep=False).items() if k not in left_out}
        return plain | (engine.get_params(deep=False) if isinstance(self.engine, str) else {})

    def _store(self, by_engine: Mapping[str, Any], **learned: Any) -> None:
        """Replace what the fit before has learned."""
        learned |= {f"{name}_": value for name, value in by_engine.items()}
        learned["n_features_in_"] = len(learned["table_"].schema)
        learned["feature_names_in_"] = np.array(learned["table_"].schema.names, dtype=object)
        for name in [name for name in self.__dict__ if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        self.__dict__.update(learned)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.string = True
        return tags


def fit(table: Any, **options: Any) -> MarkovNetwork:
    """Return the Markov network of a table; `options` are those of `GPM`, and `kinds`."""
    kinds = options.pop("kinds", None)
    network: MarkovNetwork = GPM(**options).fit(table, kinds=kinds).network_
    return network
