"""Processes that train one model together, as `torchrun` starts them: each takes some rows of a batch, sums are over all.

Every process has the whole table and the same seed, so that all else is the same in all of them; the answer is that of one
process up to the order in which sums are made. What passes between them are gradients and sums.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpmnet.errors import ComputationError, one_line

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


@dataclass(frozen=True)
class Team:
    """Which of how many processes this is.

    Attributes
    ----------
    rank, size : int
    """

    rank: int = 0
    size: int = 1

    def part(self, rows: Tensor) -> Tensor:
        """Return the rows that are this process's."""
        n = len(rows)
        return rows[self.rank * n // self.size : (self.rank + 1) * n // self.size]

    def own(self, generator: torch.Generator) -> torch.Generator:
        """Return a source of this process's own draws; that of all processes stays the same in all of them."""
        import torch

        if self.size == 1:
            return generator
        # Of a copy: the batches that follow are to be those of one process.
        copy = torch.Generator().set_state(generator.get_state())
        seed = int(torch.randint(2**62, (), generator=copy))
        return torch.Generator().manual_seed(seed + self.rank)

    def summed(self, value: Tensor) -> Tensor:
        """Return the sum of the processes' values, to the same bits in all; its gradient is that of this process's value."""
        if self.size == 1:
            return value
        # The difference is 0, and has the gradient.
        return self._total(value.detach()) + (value - value.detach())

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Put the sum of the processes' gradients in the place of each one's."""
        import torch

        if self.size == 1:
            return
        learned = list(parameters)
        held = [torch.zeros_like(x) if x.grad is None else x.grad for x in learned]
        total = self._total(torch.cat([gradient.flatten() for gradient in held]))
        for parameter, part in zip(learned, torch.split(total, [x.numel() for x in learned]), strict=True):
            parameter.grad = part.view_as(parameter).clone()

    def agree(self, module: nn.Module) -> None:
        """Give a module the numbers that it has in the first process."""
        from torch import distributed

        if self.size == 1:
            return
        for value in module.state_dict().values():
            there = value.detach().cpu().contiguous()
            distributed.broadcast(there, 0)
            value.copy_(there)

    def _total(self, value: Tensor) -> Tensor:
        from torch import distributed

        total = value.cpu().clone()
        distributed.reduce(total, 0)
        distributed.broadcast(total, 0)  # in place of a sum in each, whose last bits might differ
        return total.to(value.device)


ALONE = Team()
_now: ContextVar[Team] = ContextVar("team", default=ALONE)


def team() -> Team:
    """Return the processes that train together now; this one alone outside of `joined`."""
    return _now.get()


def is_started_together() -> bool:
    """Whether torchrun started this process and others."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


@contextmanager
def joined() -> Iterator[Team]:
    """Let fits of the deep engine in the body train together with those in the other processes that torchrun has started.

    All of them must fit the same table with the same settings. Where torchrun has not started this process, it is alone.

    Examples
    --------
    >>> with joined() as others:
    ...     others.size
    1
    """
    if not is_started_together():
        yield ALONE
        return
    from torch import distributed

    try:
        distributed.init_process_group("gloo")
    except (RuntimeError, ValueError) as error:
        raise ComputationError(
            f"the processes that torchrun started do not find each other: {one_line(error)}"
        ) from error
    before = _now.set(Team(distributed.get_rank(), distributed.get_world_size()))
    try:
        yield team()
        distributed.barrier()  # none leaves while another still hears of what it sent
    finally:
        _now.reset(before)
        distributed.destroy_process_group()
