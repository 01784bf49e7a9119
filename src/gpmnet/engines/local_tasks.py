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
from gpmnet.files import Shelf
from gpmnet.jobs import Where
from gpmnet.jobs.crew import Crew
from gpmnet.progress import silent
from gpmnet.searching.candidates import Apart, Ground
from gpmnet.selection.apart import Asked
from gpmnet.selection.pair_rule import Limits, PairRule
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
    work = _Work(replace(searched, crew=Crew(None)), parts, rule)
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
    where = problem.where if problem.device == "cpu" else Where()
    sent = replace(problem, progress=silent, shelf=Shelf(), where=Where())
    ground = prepared((options, problem))
    return Crew(ground, prepared, (options, sent), where, problem.shelf, problem.progress)


def prepared(given: tuple[LocalOptions, Problem]) -> Ground:
    """Return what the tasks of a fit use: the functions of all columns, and the test."""
    o, problem = given
    functions = o.functions[: max(1, problem.n - 2)]  # no more than the rows can tell apart
    dtype = torch.float64 if o.takes_all_pairs(problem.d) else torch.float32
    features = build_features(problem.encoded, functions, problem.device, dtype)
    clusters = _clusters(o.test, features, problem)
    designs = Designs(features, o.design, clusters=clusters).tabulated()
    return Ground(bound(o.test, designs, problem.encoded, functions, problem.clusters))


def _clusters(test: ConditionalTest, features: Features, problem: Problem) -> Clusters | None:
    """Return the clusters of the rows, if they are in any."""
    if problem.clusters is None:
        return None
    if not test.takes_clusters:
        raise InputError(f"groups: {type(test).__name__} has no p-values for rows that depend on each other")
    return Clusters.of(features, problem.clusters, problem.encoded.rows)
