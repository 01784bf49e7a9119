r"""`compare`: two networks side by side and, with their tables, a permutation test of their difference.

Under the hypothesis that the rows of both tables come from one distribution, independently, they can be dealt out anew: both
tables are fitted again after each deal (whole groups are dealt out where rows belong together; gaps of rows, which are
completed once for both tables together, go with them), and

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

from gpmnet.engines.base import blocks_that_fit
from gpmnet.engines.resampled import rows_of, units_of
from gpmnet.errors import InputError, UnknownColumnError, quote_all
from gpmnet.estimator import GPM
from gpmnet.fitting import fit_rows
from gpmnet.memory import refusals_told, smaller_blocks
from gpmnet.network.compare import Comparison, DifferenceTest, by_difference
from gpmnet.network.compare import compare as side_by_side
from gpmnet.parallel import limited_threads
from gpmnet.progress import Progress, silent
from gpmnet.table import Table, load_table
from gpmnet.table.dependence import Block

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
    groups: str | Block | None = None,
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
    groups : str or Block, optional
        Which rows of both tables belong together, as `GPM.fit` takes it: a column, or blocks of a series. Whole groups are
        dealt out then. A `Table` has said so when it was loaded.
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
    missing = missing if isinstance(missing, str) else "error"
    loaded, kinds = _common((here, there), tables, missing, groups)
    frames = _frame(loaded[0], list(kinds)), _frame(loaded[1], list(kinds))
    whole = _together(loaded, frames, kinds, missing)
    test = difference_test(whole, len(frames[0]), model, permutations, seed, progress)
    return replace(found, test=test)


def difference_test(
    table: Table,
    n_here: int,
    model: GPM,
    permutations: int,
    seed: int,
    progress: Progress = silent,
) -> DifferenceTest:
    """Return the permutation test of two tables, one under the other; the first has `n_here` rows.

    Both are encoded once, together: ranks, levels and what was drawn for gaps are the same in every deal. Of more rows than
    the engine looks at, a sample is dealt out.
    """
    plan = model.plan()
    problems, _ = plan.problems(table)
    units = np.sort(units_of(problems))
    unit = np.arange(table.n_rows) if table.groups is None else table.groups.codes
    is_here = np.isin(units, unit[:n_here])

    def differences(chosen: NDArray[np.bool_]) -> dict[Edge, float]:
        parts = (fit_rows(plan, problems, rows_of(problems, units[side])) for side in (chosen, ~chosen))
        return {row.edge: abs(row.difference) for row in by_difference(side_by_side(*parts))}

    blocks = blocks_that_fit(plan.engine, table, plan.device, plan.memory)
    rng = np.random.default_rng(seed)
    with refusals_told(), limited_threads(plan.n_jobs), smaller_blocks(blocks):
        observed = differences(is_here)
        total = sum(observed.values())
        n_larger, larger = 0, dict.fromkeys(observed, 0)
        for at in range(permutations):
            progress("permutations", at, permutations)
            chosen = np.zeros(len(is_here), dtype=bool)
            chosen[rng.permutation(len(is_here))[: np.count_nonzero(is_here)]] = True
            drawn = differences(chosen)
            n_larger += sum(drawn.values()) >= total - _ROUNDING
            for edge, value in observed.items():
                larger[edge] += drawn.get(edge, 0.0) >= value - _ROUNDING
    progress("permutations", permutations, permutations)
    p_values = {edge: (1 + count) / (1 + permutations) for edge, count in larger.items()}
    what = "rows" if table.groups is None else "groups of rows"
    return DifferenceTest(total, (1 + n_larger) / (1 + permutations), observed, p_values, permutations, what)


def _together(
    tables: tuple[Table, Table],
    frames: tuple[pd.DataFrame, pd.DataFrame],
    kinds: Mapping[str, str],
    missing: str,
) -> Table:
    """Return two tables one under the other; a group is of one of them, whatever groups of the other are called."""
    import pandas as pd

    here, there = (table.groups for table in tables)
    if (here is None) != (there is None):
        raise InputError(
            "one table says which of its rows belong together, the other does not; a test needs both to"
        )
    codes = None
    if here is not None and there is not None:
        codes = np.r_[here.codes, there.codes + here.codes.max() + 1]
    return load_table(pd.concat(frames, ignore_index=True), kinds=dict(kinds), groups=codes, missing=missing)


def _common(
    networks: tuple[MarkovNetwork, MarkovNetwork],
    tables: tuple[Any, Any],
    missing: str,
    groups: str | Block | None,
) -> tuple[tuple[Table, Table], dict[str, str]]:
    """Return both tables, and the kinds of the variables that both networks have."""
    kinds_here, kinds_there = (_kinds(network) for network in networks)
    kinds = {name: kind for name, kind in kinds_here.items() if kinds_there.get(name) == kind}
    unlike = [name for name, kind in kinds_here.items() if kinds_there.get(name, kind) != kind]
    if unlike:
        raise InputError(
            f"the networks take {quote_all(unlike)} for different kinds; a test needs both fitted with the same ones"
        )
    here, there = (_loaded(table, own, missing, groups) for own, table in zip(networks, tables, strict=True))
    if len(kinds) < 2:
        raise InputError("the networks have fewer than two variables in common: there is nothing to compare")
    return (here, there), kinds


def _loaded(table: Any, network: MarkovNetwork, missing: str, groups: str | Block | None) -> Table:
    """Return a table with the variables of its network and groups where that had some, or raise."""
    kinds = _kinds(network)
    try:
        read = (
            table
            if isinstance(table, Table)
            else load_table(table, kinds=kinds, missing=missing, groups=groups)
        )
    except UnknownColumnError as error:
        raise InputError(f"a table does not belong to its network: {error}") from error
    if lacking := [name for name in kinds if name not in read.names]:
        raise InputError(f"a table does not belong to its network: it has no column {quote_all(lacking)}")
    said = network.facts.settings.get("groups")
    if said is not None and read.groups is None:
        raise InputError(
            f"a network was learned from rows in groups, by {said}: say here too which belong together "
            "(groups=, --groups, --block-rows)"
        )
    return read


def _kinds(network: MarkovNetwork) -> dict[str, str]:
    """Return the kinds of the variables that were fitted: a column that repeats another is none."""
    twins = network.facts.schema.duplicates if network.facts.schema is not None else {}
    return {name: kind for name, kind in zip(network.names, network.kinds, strict=True) if name not in twins}


def _frame(table: Table, names: list[str]) -> pd.DataFrame:
    """Return some variables of a table, the rows that have a value of any of them."""
    import pandas as pd

    values = dict(zip(table.names, table.values().T, strict=True))
    columns = {}
    for name in names:
        at = table.names.index(name)
        levels = np.array(
            [*table.variables[at].levels, None], dtype=object
        )  # a gap has the code -1: the last
        columns[name] = levels[values[name].astype(np.intp)] if table.is_discrete[at] else values[name]
    return pd.DataFrame(columns).dropna(how="all")
