"""A cell of the grid, and how it is measured in a process of its own."""

from __future__ import annotations

import hashlib
import importlib
import json
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpmnet.bench.methods import NOT_INSTALLED, Method
from gpmnet.bench.pairs import PairTask, measure_pair
from gpmnet.bench.score import score
from gpmnet.bench.task import Task
from gpmnet.errors import InputError, MissingExtraError


@dataclass(frozen=True)
class Limits:
    """What one cell may take: seconds and memory of its process, drawing the data included."""

    max_seconds: float = 600.0
    max_memory_gb: float = 8.0

    def __post_init__(self) -> None:
        for name in ("max_seconds", "max_memory_gb"):
            if not getattr(self, name) > 0:
                option = "--" + name.replace("_", "-")
                raise InputError(f"{option} must be more than 0, got {getattr(self, name):g}")


@dataclass(frozen=True)
class Cell:
    """One method with its options on one task of a suite."""

    suite: str
    task: Task
    method: Method
    options: dict[str, Any]

    @property
    def key(self) -> str:
        """The same for the same suite, task, method and options in every run and on every machine."""
        definition = {
            "suite": self.suite,
            "task": self.task.definition(),
            "method": self.method.name,
            "options": self.options,
        }
        text = json.dumps(definition, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def measure(task: Task, method: Method, options: dict[str, Any]) -> dict[str, Any]:
    """Fit a method to a task; return status, reason, seconds of the fit, and how near the truth it came.

    Of a null pair it is the p-values of the pair instead.

    Runs in the cell's own process; errors are left to the caller, which turns them into reasons.
    """
    try:
        if method.module:
            importlib.import_module(method.module)
        if isinstance(task, PairTask):
            return measure_pair(task, partial(method.build, **options))
        problem = task.problem()
        model = method.build(random_state=task.seed, **options)
        able, why = model.supports(problem.table) if hasattr(model, "supports") else (True, "")
        if not able:
            return {"status": "skipped", "reason": why}
        began = time.perf_counter()
        model.fit(problem.table)
        seconds = time.perf_counter() - began
    except MissingExtraError as error:
        return {"status": "skipped", "reason": f"{NOT_INSTALLED}: {error}"}
    return {"status": "ok", "reason": "", "seconds": seconds, **score(problem, model)}
