"""The methods that can be compared: every baseline, and the engines of this package.

A method is registered with one line and needs no more than ``build(random_state=..., **options)``, which
returns an object whose ``fit(table)`` sets ``network_`` (and ``weights_``, where it ranks all pairs).
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from gpmnet.baselines import BASELINES, Baseline
from gpmnet.errors import InputError, quote_all

NOT_BUILT = "not built"
NOT_INSTALLED = "not installed"


def always(_options: dict[str, Any]) -> str:
    """Say that nothing is missing."""
    return ""


@dataclass(frozen=True)
class Method:
    """A structure learner by name.

    Attributes
    ----------
    name, summary : str
    build : callable
        ``build(random_state=..., **options)``; at the top level of a module, since it is called in another
        process.
    options : dict
        Options and their values; all of them are part of a cell's definition.
    modules : tuple of str
        Imported before the clock starts, so that seconds are those of the method.
    missing : callable
        Takes the options; returns an empty string, or why the method cannot run here (beginning with "not
        built" or "not installed").
    """

    name: str
    summary: str
    build: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    missing: Callable[[dict[str, Any]], str] = always

    def with_fdr(self, fdr: float | None) -> dict[str, Any]:
        """Return the options at a level; methods that have no false-discovery rate keep theirs."""
        return self.options | ({} if fdr is None or "fdr" not in self.options else {"fdr": fdr})


@dataclass(frozen=True)
class _Packages:
    """Says which package of the extra `baselines` is not there; does not import it."""

    package: str
    module: str

    def __call__(self, _options: dict[str, Any]) -> str:
        if find_spec(self.module.partition(".")[0]) is not None:
            return ""
        return f"{NOT_INSTALLED}: {self.package}; run: pip install 'gpmnet[baselines]'"


_CAUSAL_LEARN = ("causal-learn", "causallearn.utils.cit")
_LIBRARIES = {
    "glasso": ("scikit-learn", "sklearn.covariance"),
    "glasso-ebic": ("scikit-learn", "sklearn.covariance"),
    "npn": ("scikit-learn", "sklearn.covariance"),
    "npn-ebic": ("scikit-learn", "sklearn.covariance"),
    "partial-corr": ("scipy", "scipy.stats"),
    "kci": _CAUSAL_LEARN,
    "rcit": _CAUSAL_LEARN,
    "pc-rcit": _CAUSAL_LEARN,
    "pc-rcot": _CAUSAL_LEARN,
    "gs": ("causal-learn", "causallearn.search.ScoreBased.GES"),
    "sing": ("TransportMaps", "TransportMaps.Algorithms.SparsityIdentification"),
    "hc": ("pgmpy", "pgmpy.causal_discovery"),
}


def _baseline(kind: type[Baseline]) -> Method:
    options = {f.name: f.default for f in dataclasses.fields(kind) if f.init and f.name != "random_state"}
    summary = (inspect.getdoc(kind) or "").partition("\n")[0]
    library = _LIBRARIES.get(kind.name)
    if library is None:
        return Method(kind.name, summary, kind, options)
    return Method(kind.name, summary, kind, options, (library[1],), _Packages(*library))


def build_engine(**options: Any) -> Any:
    """Return a `GPM` estimator with these options."""
    return importlib.import_module("gpmnet.estimator").GPM(**options)


def engine_missing(options: dict[str, Any]) -> str:
    """Return "not built" unless the estimator, its engine and every option exist."""
    try:
        estimator = importlib.import_module("gpmnet.estimator")
    except ImportError:
        return NOT_BUILT
    if options["engine"] not in estimator.ENGINES:
        return NOT_BUILT
    known = inspect.signature(estimator.GPM).parameters
    unknown = [name for name in options if name not in known]
    return f"{NOT_BUILT}: the estimator has no option {quote_all(unknown)}" if unknown else ""


def _engine(name: str, summary: str, **options: Any) -> Method:
    return Method(name, summary, build_engine, {"fdr": 0.05} | options, ("gpmnet.estimator",), engine_missing)


_ENGINES = (
    _engine("gpm", "The local engine: closed-form local score matching.", engine="local"),
    _engine("gpm-deep", "The deep engine with its default penalty.", engine="deep"),
    _engine("gpm-deep-l1", "The deep engine, l1 penalty.", engine="deep", penalty="l1"),
    _engine("gpm-deep-adaptive", "The deep engine, adaptive l1 penalty.", engine="deep", penalty="adaptive"),
    _engine("gpm-deep-scad", "The deep engine, SCAD penalty.", engine="deep", penalty="scad"),
    _engine("gpm-deep-mcp", "The deep engine, MCP penalty.", engine="deep", penalty="mcp"),
)

METHODS: dict[str, Method] = {
    method.name: method for method in (*_ENGINES, *(_baseline(kind) for kind in BASELINES.values()))
}


def find_method(name: str) -> Method:
    """Return a method, or raise naming those that exist."""
    if name not in METHODS:
        raise InputError(f"no method is called {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]
