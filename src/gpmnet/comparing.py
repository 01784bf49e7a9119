r"""`compare`: two networks side by side and, with their tables, a permutation test of their difference.

Under the hypothesis that the rows of both tables come from one distribution, independently, they can be dealt out anew: both
tables are fitted again after each deal, and

.. math:: p = \frac{1 + \#\{\text{deals with a statistic at least as large}\}}{1 + \#\{\text{deals}\}}

is at most :math:`\alpha` with a probability of at most :math:`\alpha`, whatever the statistic. Here it is the sum over the
edges of either network of the absolute difference of their strengths, with their signs where both have one; and for each
edge its own difference (those p-values are not corrected for their number).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, UnknownColumnError, quote, quote_all
from gpmnet.estimator import GPM
from gpmnet.fitting import fit_edges
from gpmnet.network.compare import Comparison, DifferenceTest, by_difference
from gpmnet.network.compare import compare as side_by_side
from gpmnet.progress import Progress, silent
from gpmnet.table import MISSING, Table, load_table

if TYPE_CHECKING:
    import pandas as pd

    from gpmnet.network import MarkovNetwork

Edge = tuple[str, str]
_SETTINGS = ("engine", "fdr", "threshold", "min_strength")
"""Settings of a network that its refits have too."""
_ROUNDING = 1e-12
"""Differences this close are equal."""


def compare(
    here: MarkovNetwork,
    there: MarkovNetwork,
    *,
    tables: tuple[Any, Any] | None = None,
    permutations: int = 99,
    seed: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Return what two networks share and where they differ; with both tables also whether that could be chance.

    Parameters
    ----------
    tables : pair of tables, optional
        What the networks were learned from, as `GPM.fit` takes them. Columns that both have and that both networks use are
        tested; the refits have the engine and the cutoff of the first network, and else the defaults.
    permutations : int
        How often the rows are dealt out anew; the smallest p-value is 1 / (permutations + 1).
    """
    found = side_by_side(here, there)
    if tables is None:
        return found
    if isinstance(permutations, bool) or not isinstance(permutations, int) or permutations < 1:
        raise InputError(f"permutations={permutations!r} is not a whole number of at least 1")
    settings: dict[str, Any] = {
        name: here.facts.settings[name] for name in _SETTINGS if name in here.facts.settings
    }
    if not isinstance(settings.get("engine", "local"), str):
        raise InputError("a network of an engine object cannot be fitted again from its settings alone")
    model = GPM(**settings).check()
    missing = here.facts.settings.get("missing", "error")
    if missing in MISSING and MISSING[str(missing)].filling is not None:
        raise InputError(f"a test needs complete rows; the network was learned with missing={quote(missing)}")
    frames, kinds = _common(here, there, tables, missing if isinstance(missing, str) else "error")
    test = difference_test(frames, kinds, model, permutations, seed, progress)
    return replace(found, test=test)


def difference_test(
    frames: tuple[pd.DataFrame, pd.DataFrame],
    kinds: Mapping[str, str],
    model: GPM,
    permutations: int,
    seed: int,
    progress: Progress = silent,
) -> DifferenceTest:
    """Return the permutation test of two tables with the same columns."""
    import pandas as pd

    whole = pd.concat(frames, ignore_index=True)
    n_here, n = len(frames[0]), len(whole)
    plan = model.plan()

    def fitted(rows: NDArray[np.intp]) -> MarkovNetwork:
        part = whole.iloc[rows]
        # A category that the other part has all rows of leaves a column of one value here.
        used = {name: kind if part[name].nunique() > 1 else "ignored" for name, kind in kinds.items()}
        return fit_edges(plan, load_table(part, kinds=used))

    def differences(rows: NDArray[np.intp]) -> dict[Edge, float]:
        found = side_by_side(fitted(rows[:n_here]), fitted(rows[n_here:]))
        return {row.edge: abs(row.difference) for row in by_difference(found)}

    observed = differences(np.arange(n))
    total = sum(observed.values())
    rng = np.random.default_rng(seed)
    n_larger, larger = 0, dict.fromkeys(observed, 0)
    for at in range(permutations):
        progress("permutations", at, permutations, "")
        drawn = differences(rng.permutation(n))
        n_larger += sum(drawn.values()) >= total - _ROUNDING
        for edge, value in observed.items():
            larger[edge] += drawn.get(edge, 0.0) >= value - _ROUNDING
    progress("permutations", permutations, permutations, "")
    p_values = {edge: (1 + count) / (1 + permutations) for edge, count in larger.items()}
    return DifferenceTest(total, (1 + n_larger) / (1 + permutations), observed, p_values, permutations)


def _common(
    here: MarkovNetwork, there: MarkovNetwork, tables: tuple[Any, Any], missing: str
) -> tuple[tuple[pd.DataFrame, pd.DataFrame], dict[str, str]]:
    """Return both tables over the variables that both networks have, and the kinds of those."""
    kinds_here = _kinds(here)
    kinds_there = _kinds(there)
    kinds = {name: kind for name, kind in kinds_here.items() if kinds_there.get(name) == kind}
    unlike = [name for name, kind in kinds_here.items() if kinds_there.get(name, kind) != kind]
    if unlike:
        raise InputError(
            f"the networks take {quote_all(unlike)} for different kinds; a test needs both fitted with the same ones"
        )
    loaded = []
    for network, table in zip((here, there), tables, strict=True):
        loaded.append(_frame(_loaded(table, _kinds(network), missing), list(kinds)))
    if len(kinds) < 2:
        raise InputError("the networks have fewer than two variables in common: there is nothing to compare")
    return (loaded[0], loaded[1]), kinds


def _loaded(table: Any, kinds: dict[str, str], missing: str) -> Table:
    """Return a table with the variables of its network, or raise."""
    try:
        read = table if isinstance(table, Table) else load_table(table, kinds=kinds, missing=missing)
    except UnknownColumnError as error:
        raise InputError(f"a table does not belong to its network: {error}") from error
    if lacking := [name for name in kinds if name not in read.names]:
        raise InputError(f"a table does not belong to its network: it has no column {quote_all(lacking)}")
    return read


def _kinds(network: MarkovNetwork) -> dict[str, str]:
    """Return the kinds of the variables that were fitted: a column that repeats another is none."""
    twins = network.facts.schema.duplicates if network.facts.schema is not None else {}
    return {name: kind for name, kind in zip(network.names, network.kinds, strict=True) if name not in twins}


def _frame(table: Table, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    values = dict(zip(table.names, table.values().T, strict=True))
    columns = {}
    for name in names:
        at = table.names.index(name)
        levels = np.array(table.variables[at].levels, dtype=object)
        columns[name] = levels[values[name].astype(np.intp)] if table.is_discrete[at] else values[name]
    return pd.DataFrame(columns)
