"""The tasks of one fit, done here or elsewhere.

What all tasks of a fit use, such as the functions of all columns, is large and is made of little: elsewhere it is made anew,
once by each process, and kept there for the tasks that follow. Tasks are the same pieces of work wherever they are done, so
that the answer is, too.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from gpmnet.files import Shelf
from gpmnet.jobs.run import Arrays, Where, run_tasks
from gpmnet.memory import present_halvings, smaller_blocks
from gpmnet.progress import Progress, silent

if TYPE_CHECKING:
    from torch import Tensor

    Tensors: TypeAlias = dict[str, Tensor]

Task: TypeAlias = Callable[[Any, Any, int], "Tensors"]

_ready: dict[str, Any] = {}
_making = threading.Lock()


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
        this, which travels.
    where : Where
        Where tasks are done: here, if it names neither workers nor a cluster.
    shelf : Shelf
        Keeps the results that come from elsewhere.
    progress : Progress
    """

    base: Any
    prepare: Callable[[Any], Any] = lambda given: given
    given: Any = None
    where: Where = field(default_factory=Where)
    shelf: Shelf = field(default_factory=Shelf)
    progress: Progress = silent
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    def each(self, task: Task, work: Any, count: int, phase: str) -> Iterator[Tensors]:
        """Yield what a task says of 0, ..., count - 1, in their order.

        Parameters
        ----------
        task : callable
            Takes the base, the work and a number; of an importable module.
        work : object
            What the tasks of this phase share besides; travels.
        """
        if not self.where.is_elsewhere:
            for number in range(count):
                yield task(self.base, work, number)
            return
        import torch

        sent = _Sent(self.token, self.prepare, self.given, task, work, present_halvings())
        _ready[self.token] = self.base  # for tasks that joblib does in this process
        try:
            shelf = self.shelf.section(phase)
            found = run_tasks(_elsewhere, sent, count, self.where, shelf, self.progress, phase)
        finally:
            _ready.pop(self.token, None)
        for arrays in found:
            yield {name: torch.as_tensor(value) for name, value in arrays.items()}


@dataclass(frozen=True, eq=False)
class _Sent:
    """What travels to wherever tasks are done."""

    token: str
    prepare: Callable[[Any], Any]
    given: Any
    task: Task
    work: Any
    halvings: int


def _elsewhere(sent: _Sent, number: int) -> Arrays:
    with smaller_blocks(sent.halvings):
        with _making:  # a worker may have several threads
            if sent.token not in _ready:
                _ready.clear()  # of fits before
                _ready[sent.token] = sent.prepare(sent.given)
            base = _ready[sent.token]
        return {name: value.cpu().numpy() for name, value in sent.task(base, sent.work, number).items()}
