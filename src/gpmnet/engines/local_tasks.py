"""The tasks of one fit of the local engine: what they use, and tests of pairs that are done elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gpmnet.columns.features import Features, build_features
from gpmnet.engines.base import Problem, Stop
from gpmnet.errors import InputError
from gpmnet.jobs import Workplace
from gpmnet.jobs.crew import Crew
from gpmnet.searching.candidates import Apart, Ground
from gpmnet.selection.apart import Asked
from gpmnet.selection.pair_rule import Limits, PairRule
from gpmnet.table import Encoded
from gpmnet.testing.available import bound
from gpmnet.testing.base import BoundTest, ConditionalTest, PairTests
from gpmnet.testing.clusters import Clusters
from gpmnet.testing.design import Designs

if TYPE_CHECKING:
    from gpmnet.engines.local import LocalOptions


@dataclass(frozen=True, eq=False)
class Searched:
    """What the search hands to the tests.

    Attributes
    ----------
    crew : Crew
        Has the test, and does tasks.
    members : Tensor of shape (d, s)
        Neighbors of each node, -1 pads.
    candidates : Tensor of shape (d, C)
        Whom each node was searched among, -1 pads.
    first, second : Tensor of shape (m,)
        Pairs that came close, first < second.
    limits : Limits
        Of the pair rule.
    n_rounds : int
        Of the search.
    stops : tuple of Stop
    """

    crew: Crew
    members: Tensor
    candidates: Tensor
    first: Tensor
    second: Tensor
    limits: Limits
    n_rounds: int
    stops: tuple[Stop, ...]
    apart: Apart | None = None

    @property
    def test(self) -> BoundTest:
        """The test of the rows."""
        test: BoundTest = self.crew.base.test
        return test


@dataclass(frozen=True, eq=False)
class _Work:
    """Pairs to be tested, part by part; what was searched is without its crew."""

    searched: Searched
    parts: Sequence[Tensor]
    rule: PairRule


def tested_elsewhere(searched: Searched, parts: Sequence[Tensor], rule: PairRule) -> Iterator[PairTests]:
    """Yield the tests of parts of the pairs, which the crew does."""
    # Candidates are many, and tests do not ask for them.
    work = _Work(replace(searched, crew=Crew(None), candidates=searched.candidates[:0]), parts, rule)
    for said in searched.crew.each(_test_task, work, len(parts), "test"):
        yield PairTests(**said)


def _test_task(ground: Ground, work: _Work, number: int) -> dict[str, Tensor]:
    part, searched = work.parts[number], work.searched
    found = tested(ground.test, searched, work.rule, searched.first[part], searched.second[part])
    return {field.name: getattr(found, field.name) for field in fields(found)}


def tested(test: BoundTest, searched: Searched, rule: PairRule, first: Tensor, second: Tensor) -> PairTests:
    """Return the tests of pairs by a rule."""
    found = rule(test, searched.members, first, second, searched.limits)
    if searched.apart is None:
        return found
    return Asked(test, searched.members, searched.apart, searched.limits).again(found, first, second)


def crew_of(options: LocalOptions, problem: Problem) -> Crew:
    """Return who does the tasks of a fit; on a GPU it is not shared."""
    place = problem.place if problem.device == "cpu" else Workplace()
    how = options, problem.without_rows()
    ground = prepared(problem.encoded, how)
    return Crew(ground, prepared, problem.encoded, how, place, problem.shelf, problem.progress)


def prepared(encoded: Encoded, how: tuple[LocalOptions, Problem]) -> Ground:
    """Return what the tasks of a fit of a table use: the functions of all columns, and the test."""
    o, asked = how
    n, d = encoded.n_rows, len(encoded.names)
    functions = o.functions[: max(1, n - 2)]  # no more than the rows can tell apart
    dtype = torch.float64 if o.takes_all_pairs(d) else torch.float32
    features = build_features(encoded, functions, asked.device, dtype)
    clusters = _clusters(o.test, features, asked, encoded)
    designs = Designs(features, o.design, clusters=clusters).tabulated()
    return Ground(bound(o.test, designs, encoded, functions, asked.clusters))


def _clusters(
    test: ConditionalTest, features: Features, problem: Problem, encoded: Encoded
) -> Clusters | None:
    """Return the clusters of the rows, if they are in any."""
    if problem.clusters is None:
        return None
    if not test.takes_clusters:
        raise InputError(f"groups: {type(test).__name__} has no p-values for rows that depend on each other")
    return Clusters.of(features, problem.clusters, encoded.rows)
