"""The benchmark: tasks with a known graph times methods, one tidy row per cell, figures from rows only.

``select`` (suite and filters to cells) -> ``run_cells`` (rows on disk) -> ``load_rows`` -> ``write_report``.
"""

from gpmnet.bench.cell import Cell, Limits
from gpmnet.bench.folder import TableTask, find_tables
from gpmnet.bench.methods import METHODS, Method
from gpmnet.bench.report import write_report
from gpmnet.bench.rows import load_rows
from gpmnet.bench.runner import run_cells
from gpmnet.bench.select import Filters, select
from gpmnet.bench.suites import SUITES, Grid, Suite
from gpmnet.bench.task import Problem, SimulatedTask, Task

__all__ = [
    "METHODS",
    "SUITES",
    "Cell",
    "Filters",
    "Grid",
    "Limits",
    "Method",
    "Problem",
    "SimulatedTask",
    "Suite",
    "TableTask",
    "Task",
    "find_tables",
    "load_rows",
    "run_cells",
    "select",
    "write_report",
]
