"""Hill climbing over DAGs with a decomposable score, moralised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gpmnet.baselines.base import Baseline, BoolArray, Estimate, TableLike, require, standardised
from gpmnet.baselines.ci_tests import quiet
from gpmnet.baselines.cond_gauss import local_bic
from gpmnet.checks import check_choice, check_number
from gpmnet.graphs import moralise

if TYPE_CHECKING:
    import pandas as pd


@dataclass(kw_only=True, eq=False)
class HillClimb(Baseline):
    """pgmpy's hill climbing from the empty graph; the DAG is moralised.

    Add, drop or flip the arrow that improves the score most until none does. No tabu list: pgmpy's default
    of 100 forbids to undo the last hundred steps, also those that turn out wrong. Deterministic: equal gains
    are broken by the order of the columns. No weights.

    Parameters
    ----------
    score : "bic", "bdeu" or "bic-andrews"
        "bic" is the BIC of discrete, Gaussian or (mixed data) conditional-Gaussian networks, `local_bic`: in
        those no arrow goes from a continuous to a discrete variable. "bdeu" (equivalent sample size 10) is
        for discrete data only. "bic-andrews", for mixed data only, is pgmpy's conditional-Gaussian score,
        which lets arrows go either way.
    max_parents : int or None
        None for no limit.

    References
    ----------
    Koller, Friedman, "Probabilistic Graphical Models" (2009), section 18.4.3; Andrews, Ramsey, Cooper,
    "Scoring Bayesian networks of mixed variables", International Journal of Data Science and Analytics 6
    (2018).
    """

    name: ClassVar[str] = "hc"
    package: ClassVar[str] = "pgmpy"
    module: ClassVar[str] = "pgmpy.causal_discovery"
    score: Literal["bic", "bdeu", "bic-andrews"] = "bic"
    max_parents: int | None = None

    def _check_options(self) -> None:
        check_choice(self, "score", ("bic", "bdeu", "bic-andrews"))
        if self.max_parents is not None:
            check_number(self, "max_parents", 1, integer=True)

    def supports(self, table: TableLike) -> tuple[bool, str]:
        """Say whether the score is made for these kinds of columns (plus what every baseline needs)."""
        if self.score == "bdeu" and not table.is_discrete.all():
            return False, "BDeu is for discrete columns only"
        if self.score == "bic-andrews" and table.is_discrete.all() == table.is_discrete.any():
            return False, "bic-andrews is for tables with discrete and continuous columns"
        return super().supports(table)

    def _graph(self, table: TableLike) -> Estimate:
        return moralise(self._dag(table)).toarray(), None

    def _dag(self, table: TableLike) -> BoolArray:
        """Return the directed graph, ``[i, j]`` for i -> j."""
        frame = coded_frame(table)
        with quiet():
            search = _ordered_search(
                scoring_method=_scorer(self.score, frame, table.is_discrete),
                max_indegree=self.max_parents,
                tabu_length=0,
                return_type="dag",  # the default, a PDAG, is not what the score was maximised over
                show_progress=False,
            ).fit(frame)
        position = {name: index for index, name in enumerate(frame.columns)}
        dag = np.zeros((len(position), len(position)), dtype=bool)
        for parent, child in search.causal_graph_.edges():
            dag[position[parent], position[child]] = True
        return dag


def coded_frame(table: TableLike) -> pd.DataFrame:
    """Return the table as a data frame: categories for discrete columns, names safe in a formula."""
    import pandas as pd

    # pgmpy floors Gaussian densities at 1e-8, which is harmless only where columns have unit scale.
    values = np.where(table.is_discrete, table.values(), standardised(table.values()))
    columns: dict[str, Any] = {}
    for index, discrete in enumerate(table.is_discrete):
        column = values[:, index]
        # Zero-padded, so that the order of the names is the order of the columns.
        columns[f"x{index:06d}"] = pd.Categorical(column.astype(int)) if discrete else column
    return pd.DataFrame(columns)


def _ordered_search(**options: Any) -> Any:
    """Return pgmpy's search, visiting its moves in a fixed order (it keeps them in a set of strings)."""
    library = require("pgmpy.causal_discovery", "pgmpy")

    class OrderedSearch(library.HillClimbSearch):  # type: ignore[name-defined,misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)

        def _legal_operations_dag(self, *args: Any, **kwargs: Any) -> Any:
            yield from sorted(super()._legal_operations_dag(*args, **kwargs), key=lambda move: move[0])

    return OrderedSearch(**options)


def _scorer(score: str, frame: pd.DataFrame, is_discrete: BoolArray) -> Any:
    """Return pgmpy's name of a score, or `local_bic` as an object that its search accepts."""
    if score != "bic":
        return {"bdeu": "bdeu", "bic-andrews": "bic-cg"}[score]
    library = require("pgmpy.structure_score", "pgmpy")
    position = {name: index for index, name in enumerate(frame.columns)}
    values = frame.astype(float).to_numpy()

    class LocalBic(library.BaseStructureScore):  # type: ignore[name-defined,misc]
        def _local_score(self, variable: str, parents: tuple[str, ...]) -> float:
            return local_bic(values, is_discrete, position[variable], [position[name] for name in parents])

    return LocalBic(frame)
