"""Models that a stopped fit had finished: they come back with how their solvers ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from gpmnet.files import Shelf

_ENDED = "ended"  # how the solvers of a finished model ended, beside its parameters


@dataclass(frozen=True)
class Ended:
    """How a solver ended.

    Attributes
    ----------
    steps : int
        Steps it took.
    worst : int or None
        None if it converged; else the variable that is worst off, in the order of the coordinates.
    """

    steps: int
    worst: int | None


def fitted(shelf: Shelf, name: str, module: nn.Module, fit: Callable[[], Sequence[Ended]]) -> list[Ended]:
    """Fit a module, or take it from a shelf; return how the solvers ended."""
    found = shelf.take(name)
    if found is not None:
        ended = found.pop(_ENDED)
        module.load_state_dict(found)
        return [Ended(steps, None if worst < 0 else worst) for steps, worst in ended.tolist()]
    solved = list(fit())
    rows = [[x.steps, -1 if x.worst is None else x.worst] for x in solved]
    ends = torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)
    shelf.keep(name, module.state_dict() | {_ENDED: ends})
    return solved
