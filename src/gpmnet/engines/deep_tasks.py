"""The tasks of one fit of the deep engine: what they use, and models of parts of the rows that are fitted elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import Tensor

from gpmnet.engines.base import Problem
from gpmnet.engines.deep_models import Part, Start
from gpmnet.errors import InputError
from gpmnet.files import Shelf
from gpmnet.jobs import Workplace
from gpmnet.jobs.crew import Crew
from gpmnet.jobs.team import team
from gpmnet.table import Encoded

if TYPE_CHECKING:
    from gpmnet.engines.deep import DeepEngine


def crew_of(engine: DeepEngine, problem: Problem) -> Crew:
    """Return who does the tasks of a fit; on a GPU it is not shared."""
    if team().size > 1 and problem.place.where.is_elsewhere:
        raise InputError(
            "processes that train together have no tasks for others: leave out workers and cluster"
        )
    place = problem.place if problem.device == "cpu" else Workplace()
    how = engine, problem.without_rows()
    return Crew(engine.start(problem), started, problem.encoded, how, place, problem.shelf, problem.progress)


def started(encoded: Encoded, how: tuple[DeepEngine, Problem]) -> Start:
    """Return what the tasks of a fit of a table use."""
    engine, asked = how
    return engine.start(replace(asked, encoded=encoded))


def fit_elsewhere(crew: Crew, parts: Sequence[Part], lam: float) -> None:
    """Let the crew fit the models of parts of the rows; those who ask for one find it on the shelf. Here it does nothing.

    How far a model is, is not kept elsewhere, only that it is finished.
    """
    if not crew.is_elsewhere:
        return
    start: Start = crew.base
    work = _Work(parts, lam)
    for said in crew.each(model_task, work, len(parts), "models"):
        items: dict[str, dict[str, Tensor]] = {}
        for name, value in said.items():
            item, _, field = name.partition("/")
            items.setdefault(item, {})[field] = value
        for item, held in items.items():
            start.models.problem.shelf.put(item, held)


@dataclass(frozen=True, eq=False)
class _Work:
    """Which models are fitted, and their lambda."""

    parts: Sequence[Part]
    lam: float


class _Tray(Shelf):
    """Holds what a fit finishes, for who asked for it."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, Tensor] = {}

    def keep(self, item: str, tensors: Mapping[str, Tensor], at_once: bool = False) -> None:
        """Hold a thing that is finished."""
        self.held |= {f"{item}/{field}": value.detach() for field, value in tensors.items()}


def model_task(start: Start, work: _Work, number: int) -> dict[str, Tensor]:
    """Return what a shelf would keep of a model."""
    part, tray = work.parts[number], _Tray()
    models = replace(start.models.anew(), problem=replace(start.models.problem, shelf=tray))
    models.energy(start.h[part.rows], work.lam, part.name)
    return tray.held
