"""From a suite and what the user asked for to the cells that will run."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from gpmnet.bench.cell import Cell
from gpmnet.bench.folder import find_tables
from gpmnet.bench.methods import METHODS, Method, find_method
from gpmnet.bench.pairs import PairTask
from gpmnet.bench.suites import SUITES, Grid, Suite
from gpmnet.bench.task import SimulatedTask, Task
from gpmnet.errors import InputError, quote
from gpmnet.simulate import SIMULATORS
from gpmnet.simulate.base import ALL_KINDS


@dataclass(frozen=True)
class Filters:
    """What was asked for; empty or None means what the suite says.

    On simulated tasks `d`, `n` and `seeds` replace the suite's values; on tables, which are as they are, `d`
    and `n` choose among them. `kinds` and `tasks` (patterns such as ``bn_*``) always choose.
    """

    methods: tuple[str, ...] = ()
    d: tuple[int, ...] = ()
    n: tuple[int, ...] = ()
    seeds: int | None = None
    first_seed: int = 0
    kinds: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    fdr: float | None = None

    def __post_init__(self) -> None:
        for name in self.methods:
            find_method(name)
        for kind in self.kinds:
            if kind not in ALL_KINDS:
                raise InputError(f"--kinds must be among {', '.join(ALL_KINDS)}, got {quote(kind)}")
        for option, values in (("--d", self.d), ("--n", self.n)):
            if any(value < 1 for value in values):
                raise InputError(f"{option} must be positive, got {min(values)}")
        if self.seeds is not None and self.seeds < 1:
            raise InputError(f"--seeds is how many, at least 1; got {self.seeds}")
        if self.first_seed < 0:
            raise InputError(f"--first-seed must be 0 or more; got {self.first_seed}")
        if self.fdr is not None and not 0 < self.fdr < 1:
            raise InputError(f"--fdr must be between 0 and 1, got {self.fdr:g}")


def select(
    name: str, filters: Filters | None = None, tables: Path | None = None
) -> tuple[list[Cell], list[str]]:
    """Return the cells of a suite (or of a folder with tables), and remarks on what was left out.

    Parameters
    ----------
    name : str
        A key of `SUITES`, or a folder: one with a table and its truth, or a folder of such folders.
    filters : Filters, optional
    tables : Path, optional
        The folder of the suite "tables".

    Raises
    ------
    InputError
        There is no such suite or folder, or nothing is left to run.
    """
    filters = filters or Filters()
    if name not in SUITES:
        if not Path(name).is_dir():
            raise InputError(f"no suite or folder is called {quote(name)}; suites are {', '.join(SUITES)}")
        name, tables = "tables", Path(name)
    suite = SUITES[name]
    tasks, remarks = _tasks(name, suite, filters, tables)
    if filters.tasks:
        tasks = [task for task in tasks if any(fnmatch(task.name, pattern) for pattern in filters.tasks)]
    if not tasks:
        raise InputError(f"nothing to run: no task of {name} fits what was asked for")
    methods = _methods(name, suite, filters)
    fdr = suite.fdr if filters.fdr is None else filters.fdr
    fewer = {} if filters.seeds is not None else suite.fewer_seeds
    last = {method: filters.first_seed + count for method, count in fewer.items()}
    cells = [
        Cell(name, task, method, method.with_fdr(fdr))
        for task in tasks
        for method in methods
        if task.seed < last.get(method.name, task.seed + 1)
    ]
    remarks += [
        f"{method.name} runs on {fewer[method.name]} draws of each task; --seeds K runs all methods on K"
        for method in methods
        if method.name in fewer
    ]
    return list({cell.key: cell for cell in cells}.values()), remarks


def _methods(name: str, suite: Suite, filters: Filters) -> list[Method]:
    """Return the methods that were asked for, or the suite's; refuse those that cannot be measured in it."""
    able = {
        method.name: method.has_p_values if suite.of_pairs else method.finds_graph
        for method in METHODS.values()
    }
    for asked in filters.methods:
        if not able[asked]:
            what = (
                "gives no p-values of pairs" if suite.of_pairs else "tests one given pair and finds no graph"
            )
            there = ", ".join(method for method in able if able[method])
            raise InputError(f"{asked} {what}, so it cannot run in the suite {name}; these can: {there}")
    return [find_method(method) for method in filters.methods or suite.methods or able if able[method]]


def _tasks(name: str, suite: Suite, filters: Filters, tables: Path | None) -> tuple[list[Task], list[str]]:
    if suite.grids:
        if tables is not None:
            raise InputError(f"--tables belongs to the suite tables, not to {name}")
        return [task for grid in suite.grids for task in grid_tasks(grid, filters)], []
    if tables is None:
        raise InputError(f"the suite {name} needs --tables DIR, a folder of folders with tables")
    if filters.seeds is not None or filters.first_seed:
        raise InputError("--seeds is for simulated tasks; a table has no seed")
    found, remarks = find_tables(tables)
    kept: list[Task] = [
        task
        for task in found
        if (not filters.d or task.d in filters.d)
        and (not filters.n or task.n in filters.n)
        and (not filters.kinds or task.kind in filters.kinds)
    ]
    return kept, remarks


def grid_tasks(grid: Grid, filters: Filters) -> list[Task]:
    """Return the tasks of a grid: kinds x n x d x seeds."""
    step = SIMULATORS[grid.simulator].step
    for d in filters.d:
        if d % step:
            raise InputError(f"--d: {grid.simulator} needs a multiple of {step}, got {d}")
        if grid.pair and d < min(grid.d) - 1:
            raise InputError(f"--d: {grid.name} has {min(grid.d) - 1} columns and free ones, got {d}")
    end = filters.first_seed + (filters.seeds or grid.seeds)
    return [
        _task(grid, kind, d, n, range(seed, min(seed + grid.draws, end)))
        for kind in grid.kinds
        if not filters.kinds or kind in filters.kinds
        for n in filters.n or grid.n
        for d in filters.d or grid.d
        for seed in range(filters.first_seed, end, grid.draws)
    ]


def _task(grid: Grid, kind: str, d: int, n: int, seeds: range) -> Task:
    name = grid.name or f"{grid.simulator}-{kind}"
    if grid.pair:
        return PairTask(
            name=name, simulator=grid.simulator, kind=kind, d=d, n=n, seed=seeds[0], options=grid.options,
            pair=grid.pair, draws=len(seeds),
        )  # fmt: skip
    return SimulatedTask(
        name=name, simulator=grid.simulator, kind=kind, d=d, n=n, seed=seeds[0], options=grid.options
    )
