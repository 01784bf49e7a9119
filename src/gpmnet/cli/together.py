"""`torchrun -m gpmnet fit`: several processes train the model of one table, and the first one writes what was learned."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from gpmnet.errors import InputError

if TYPE_CHECKING:
    from gpmnet.table import Table


def check_together(engine: str, stability: int, resume: bool, elsewhere: bool) -> None:
    """Raise if torchrun has started this process for what processes do not do together."""
    from gpmnet.jobs.team import is_started_together

    if not is_started_together():
        return
    if engine == "local" or engine == "dag":
        raise InputError(f"torchrun is for engines that train a model; --engine {engine} does not")
    if stability:
        raise InputError("torchrun is for one fit; half-samples run beside each other with --workers")
    if elsewhere:
        raise InputError("torchrun shares the training of each model: leave out --workers and --cluster")
    if resume:
        raise InputError("--resume: processes that torchrun has started keep nothing; leave it out")


def help_train(table: Table, settings: dict[str, Any]) -> None:
    """Fit a table in a process that is not the first, and leave its answer to that one."""
    from gpmnet.estimator import GPM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first process says the same
        GPM().set_params(**settings).fit(table)
