"""The tasks of one fit, done here or elsewhere.

What all tasks of a fit use, such as the functions of all columns, is large and is made of little: elsewhere it is made anew,
once by each process, and kept there for the tasks that follow. Tasks are the same pieces of work wherever they are done, so
that the answer is, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from gpmnet.files import Shelf
from gpmnet.jobs.given import Given
from gpmnet.jobs.run import Arrays, Tasks, Workplace, run_tasks
from gpmnet.memory import present_halvings, smaller_blocks
from gpmnet.progress import Progress, silent

if TYPE_CHECKING:
    from torch import Tensor

    Tensors: TypeAlias = dict[str, Tensor]

Task: TypeAlias = Callable[[Any, Any, int], "Tensors"]


@dataclass(frozen=True, eq=False)
class Crew:
    """Those who do the tasks of a fit.

    Attributes
    ----------
    base : object
        What all tasks use, here.
    prepare : callable
        Makes the same elsewhere, of an importable module, from
    given : object
        this, which travels once a fit: the table, and
    how : object
        this, which is small.
    place : Workplace
        Where tasks are done: here, if it names neither workers nor a cluster.
    shelf : Shelf
        Keeps the results that come from elsewhere.
    progress : Progress
    """

    base: Any
    prepare: Callable[[Any, Any], Any] = lambda given, how: given
    given: Any = None
    how: Any = None
    place: Workplace = field(default_factory=Workplace)
    shelf: Shelf = field(default_factory=Shelf)
    progress: Progress = silent
    name: str = field(default_factory=lambda: secrets.token_hex(8), init=False)

    @property
    def is_elsewhere(self) -> bool:
        """Whether tasks are done in other processes."""
        return self.place.where.is_elsewhere

    def each(
        self, task: Task, work: Any, count: int, phase: str, kept_as: str | None = None
    ) -> Iterator[Tensors]:
        """Yield what a task says of 0, ..., count - 1, in their order.

        Parameters
        ----------
        task : callable
            Takes the base, the work and a number; of an importable module.
        work : object
            What the tasks of this phase share besides; travels.
        phase : str
            What is told of it.
        kept_as : str, optional
            The part of the shelf that has the results, if not that of the phase.
        """
        if not self.is_elsewhere:
            for number in range(count):
                yield task(self.base, work, number)
            return
        import torch

        # For tasks that joblib does in this process.
        self.place.given(self.given).made(self.name, lambda given: self.base)
        sent = _Sent(self.name, self.prepare, self.how, task, work, present_halvings())
        shelf = self.shelf.section(phase if kept_as is None else kept_as)
        tasks = Tasks(_elsewhere, self.given, sent)
        for arrays in run_tasks(tasks, count, self.place, shelf, self.progress, phase):
            yield {name: torch.as_tensor(value) for name, value in arrays.items()}


@dataclass(frozen=True, eq=False)
class _Sent:
    """What travels beside what is given."""

    name: str
    prepare: Callable[[Any, Any], Any]
    how: Any
    task: Task
    work: Any
    halvings: int


def _elsewhere(given: Given, sent: _Sent, number: int) -> Arrays:
    with smaller_blocks(sent.halvings):
        base = given.made(sent.name, sent.prepare, sent.how)
        return {name: value.cpu().numpy() for name, value in sent.task(base, sent.work, number).items()}
