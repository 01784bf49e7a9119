"""What is asked of a fit, every parameter checked: what the engine is given of a table, and a name for all of it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np

from gpmnet import __version__
from gpmnet.directed.knowledge import position_pairs, position_tiers
from gpmnet.engines.base import Engine, Problem, looked_at
from gpmnet.errors import InputError, quote
from gpmnet.files.digest import digest
from gpmnet.imputing import complete_tables
from gpmnet.jobs import Where
from gpmnet.network import Facts, Origin
from gpmnet.progress import Progress, silent
from gpmnet.selection import Cutoff
from gpmnet.table import Table
from gpmnet.table.space import blocks_of

_PACKAGES = ("numpy", "scipy", "torch", "pandas", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Plan:
    """What was asked of a fit, every parameter checked.

    Attributes
    ----------
    engine : Engine
    cutoff : Cutoff
    forbid, require, arrows : sequence of (name, name)
    tiers : sequence of collections of str
    device : str
    n_jobs : int or None
    memory : int or None
        Bytes that the process may take.
    seed : int
    settings : mapping
        What repeats the fit, for the network's facts.
    stability : int
        Pairs of half-samples; 0 for none.
    where : Where
        Where half-samples are fitted, and the tasks of a fit done.
    """

    engine: Engine
    cutoff: Cutoff
    forbid: list[tuple[str, str]]
    require: list[tuple[str, str]]
    arrows: list[tuple[str, str]]
    tiers: list[list[str]]
    device: str
    n_jobs: int | None
    memory: int | None
    seed: int
    settings: Mapping[str, Any]
    stability: int = 0
    where: Where = field(default_factory=Where)

    @property
    def threads(self) -> int | None:
        """Threads of this process at most; None is what torch has.

        One where tasks are done elsewhere, unless the user says otherwise: a sum that threads share has other last bits,
        and the answer is not to depend on the machine from which a cluster is asked.
        """
        return 1 if self.n_jobs is None and self.where.is_elsewhere else self.n_jobs

    def problems(
        self, table: Table, progress: Progress = silent
    ) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
        """Return what the engine is given, once for each complete draw that it fits, and a note if not all rows are."""
        draws = complete_tables(table, self.seed, progress)
        found, notes = zip(*(self.problem(draw, progress) for draw in draws), strict=True)
        if draws[0].needs == "set" and len(found) > 1:
            found = (replace(found[0], others=tuple(one.alone() for one in found[1:])),)
        return found, notes[0]

    def problem(self, table: Table, progress: Progress = silent) -> tuple[Problem, tuple[str, ...]]:
        """Return what the engine is given of a table without gaps, and a note if these are not all rows."""
        names, twins = table.names, table.schema.duplicates
        known = [
            np.array(position_pairs(names, given, twins), dtype=np.intp).reshape(-1, 2)
            for given in (self.forbid, self.require, self.arrows)
        ]
        forbidden, required = (np.unique(np.sort(pairs, axis=1), axis=0) for pairs in known[:2])
        both = {*map(tuple, forbidden.tolist())} & {*map(tuple, required.tolist())}
        if both:
            a, b = (table.names[at] for at in min(both))
            raise InputError(f"the pair {quote(a)}, {quote(b)} is both forbidden and required")
        encoded, skipped = looked_at(table, self.engine, self.seed)
        clusters = None
        if table.groups is not None:
            if not self.engine.takes_clusters:
                raise InputError("groups of rows mean something to the local engine only; use engine='local'")
            clusters = table.groups.codes[encoded.rows]
            skipped = (*skipped, table.groups.note)
        tiers = position_tiers(names, self.tiers, twins)
        alpha = self.cutoff.value if self.cutoff.of == "p" else 0.0
        return Problem(
            encoded,
            forbidden,
            required,
            known[2],
            tiers,
            alpha,
            clusters,
            self.seed,
            self.device,
            progress,
        ), skipped

    def key(self, table: Table, halvings: int = 0) -> str:
        """Return a name of the table's content, of everything asked, of the versions and of the size of blocks.

        Work of no other fit has it.
        """
        asked = [
            (field.name, getattr(self, field.name))
            for field in fields(self)
            if field.name not in ("settings", "stability", "where")
        ]
        said = [_versions(), platform.python_version(), platform.machine(), asked, halvings, table.schema]
        said += [None if table.filling is None else repr(table.filling)]
        clusters = [] if table.groups is None else [table.groups.codes]
        return digest(said, chain(blocks_of(table.numbers), (table.codes, table.fine_codes, *clusters)))

    def facts(self, table: Table, origin: Origin | None) -> Facts:
        """Return what is known of a run before it begins."""
        said = {} if table.groups is None else {"groups": table.groups.said}
        return Facts(
            schema=table.schema,
            settings=dict(self.settings) | said,
            seed=self.seed,
            versions=_versions(),
            python=platform.python_version(),
            origin=origin,
        )


def _versions() -> dict[str, str]:
    return {"gpmnet": __version__, **{name: version(name) for name in _PACKAGES}}
