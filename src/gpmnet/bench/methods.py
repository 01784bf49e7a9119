"""The methods that can be compared: every baseline, the engines of this package, and tests of one pair.

A baseline is a method by being in `BASELINES`. Any other is registered with one line and needs no more than
``build(random_state=..., **options)``, which returns an object whose ``fit(table)`` sets ``network_`` (and
``weights_``, where it ranks all pairs). Tests of one pair (`PAIR_TESTS`) are methods for suites of null pairs only.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from gpmnet.baselines import BASELINES, PAIR_TESTS, Baseline, PairTest
from gpmnet.bench.directions import DIRECTIONS, Directions
from gpmnet.errors import InputError

NOT_INSTALLED = "not installed"


@dataclass(frozen=True)
class Method:
    """A structure learner by name.

    Attributes
    ----------
    name, summary : str
    build : callable
        ``build(random_state=..., **options)``; a name of an importable module, since it is called in another
        process.
    options : dict
        Options and their values; all of them are part of a cell's definition.
    module : str
        Imported before the clock starts, so that seconds are those of the method.
    package : str
        What brings that module; empty where it is always there.
    finds_graph, has_p_values : bool
        Whether it learns a graph, and whether it has a p-value for a pair that is no edge.
    """

    name: str
    summary: str
    build: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    module: str = ""
    package: str = ""
    finds_graph: bool = True
    has_p_values: bool = False

    def with_fdr(self, fdr: float | None) -> dict[str, Any]:
        """Return the options with this false-discovery rate; methods that have none keep theirs."""
        return self.options | ({} if fdr is None or "fdr" not in self.options else {"fdr": fdr})

    def missing(self) -> str:
        """Return an empty string, or why the method cannot run here: which package is not installed."""
        if not self.package or find_spec(self.module.partition(".")[0]) is not None:
            return ""
        return f"{NOT_INSTALLED}: {self.package}; run: pip install 'gpmnet[baselines]'"


def _registered(kind: type[Baseline] | type[PairTest]) -> Method:
    options = {f.name: f.default for f in dataclasses.fields(kind) if f.init and f.name != "random_state"}
    summary = (inspect.getdoc(kind) or "").partition("\n")[0]
    one_pair = issubclass(kind, PairTest)
    return Method(kind.name, summary, kind, options, kind.module, kind.package, not one_pair, one_pair)


def build_engine(**options: Any) -> Any:
    """Return a `GPM` estimator with these options."""
    from gpmnet.estimator import GPM  # slow to import, and most of what reads the registry builds nothing

    return GPM(**options)


def build_dag_engine(random_state: int, **options: Any) -> Any:
    """Return a `GPM` estimator with the dag engine; its options are those of `DagOptions`."""
    from gpmnet.engines.dag import DagOptions
    from gpmnet.estimator import GPM

    return GPM(engine="dag", options=DagOptions(**options), random_state=random_state)


def _engine(name: str, summary: str, **options: Any) -> Method:
    return Method(name, summary, build_engine, {"fdr": 0.05} | options, "gpmnet.estimator", has_p_values=True)


def _omega(name: str, summary: str, **options: Any) -> Method:
    return Method(name, summary, build_engine, options, "gpmnet.estimator")


def _omega_pairs(name: str, summary: str, **options: Any) -> Method:
    return _omega(name, summary, engine="deep", decide="omega", energy="pairwise", **options)


def _dag_engine(name: str, summary: str, **options: Any) -> Method:
    """Return a method without a false-discovery rate, which means nothing to a score, nor p-values of other pairs."""
    return Method(name, summary, build_dag_engine, options, "gpmnet.engines.dag")


def _directions(kind: type[Directions]) -> Method:
    options = {f.name: f.default for f in dataclasses.fields(kind) if f.init and f.name != "random_state"}
    summary = (inspect.getdoc(kind) or "").partition("\n")[0]
    return Method(kind.name, summary, kind, options, kind.module, kind.package)


_ENGINES = (
    _engine("gpm", "The local engine: closed-form local score matching.", engine="local"),
    _engine("gpm-deep", "The deep engine with its default penalty.", engine="deep"),
    _omega("gpm-omega", "The deep engine, edges by Omega alone.", engine="deep", decide="omega"),
    _omega_pairs("gpm-omega-pairs", "Its pairwise family, edges by Omega alone."),
    _omega_pairs("gpm-omega-l1", "The same, l1 penalty.", penalty="l1"),
    _omega_pairs("gpm-omega-adaptive", "The same, adaptive l1 penalty.", penalty="adaptive"),
    _omega_pairs("gpm-omega-mcp", "The same, MCP penalty.", penalty="mcp"),
    _omega("gpm-paper", "The published estimator, line by line.", engine="paper"),
    _omega("gpm-kernels", "The published estimator, mended: kernels of pairs.", engine="kernels"),
    _engine("gpm-deep-l1", "The deep engine, l1 penalty.", engine="deep", penalty="l1"),
    _engine("gpm-deep-adaptive", "The deep engine, adaptive l1 penalty.", engine="deep", penalty="adaptive"),
    _engine("gpm-deep-scad", "The deep engine, SCAD penalty.", engine="deep", penalty="scad"),
    _engine("gpm-deep-mcp", "The deep engine, MCP penalty.", engine="deep", penalty="mcp"),
    _dag_engine("gpm-dag", "The dag engine: the moral graph of the best directed graph.", drop_fill_in=False),
    _dag_engine("gpm-dag-tested", "The dag engine without edges that the test rejects.", drop_fill_in=True),
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *_ENGINES,
        *map(_directions, DIRECTIONS),
        *map(_registered, BASELINES.values()),
        *map(_registered, PAIR_TESTS.values()),
    )
}


def find_method(name: str) -> Method:
    """Return a method, or raise naming those that exist."""
    if name not in METHODS:
        raise InputError(f"no method is called {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]
