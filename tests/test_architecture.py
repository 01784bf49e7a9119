"""Imports inside the package point one way, files and functions stay short, and starting up is cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gpmnet

ROOT = Path(gpmnet.__file__).parent
# A part may import itself and the parts before it; those on one line stand beside each other.
ORDER = [
    {"errors"},
    {"checks", "frozen", "graphs", "json_data", "memory", "parallel", "parts", "progress"},
    {"files"},
    {"jobs"},
    {"table"},
    {"columns"},
    {"imputing"},
    {"energies"},
    {"objectives", "penalties"},
    {"omega"},
    {"solvers"},
    {"testing"},
    {"searching"},
    {"selection"},
    {"nodes"},
    {"directed"},
    {"engines"},
    {"network"},
    {"parameters"},
    {"planning"},
    {"fitting", "scoring"},
    {"estimator"},
    {"comparing"},
    {"causal"},
    {"simulate", "metrics"},
    {"baselines"},
    {"bench"},
    {"cli"},
]
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}
FREE = {"__init__", "__main__"}


def test_every_part_of_the_order_exists():
    there = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert set(RANK) == there - FREE


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            modules = [node.module]
            if node.module == "gpmnet":
                modules = [f"gpmnet.{alias.name}" for alias in node.names if not alias.name.startswith("__")]
        for module in modules:
            if module.startswith("gpmnet."):
                yield module.split(".")[1]


FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    part = part_of(path)
    if part in FREE:
        return
    assert part in RANK, f"{part} has no place in ORDER"
    for other in imported_parts(path):
        if other != part and other not in FREE:
            assert RANK[other] < RANK[part], f"{part} must not import {other}"


MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_BODY = 60  # without the docstring
MOST_PARAMETERS = 7  # without self and cls
# Commands of the program have as many parameters as options, and an estimator as many as settings.
MANY_PARAMETERS = {
    "cli/bench.py: run",
    "cli/causal.py: causal",
    "cli/compare.py: compare",
    "cli/fit.py: fit",
    "cli/simulate.py: simulate",
    "estimator.py: GPM.__init__",
}


def functions(tree, inside=""):
    """Yield (name, node) of every function, those of classes and of other functions included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}{node.name}"
            if not isinstance(node, ast.ClassDef):
                yield name, node
            yield from functions(node, f"{name}.")
        else:
            yield from functions(node, inside)


def body_lines(node):
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def parameters(node):
    given = node.args
    named = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return (
        len(named)
        - (named[:1] in (["self"], ["cls"]))
        + (given.vararg is not None)
        + (given.kwarg is not None)
    )


def measured(measure):
    """Return a measure of every function of the package by its file and name."""
    return {
        f"{path.relative_to(ROOT).as_posix()}: {name}": measure(node)
        for path in FILES
        for name, node in functions(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_files_stay_short():
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES
    }
    assert {name: count for name, count in lines.items() if count > MOST_LINES_OF_A_FILE} == {}


def test_functions_stay_short():
    lines = measured(body_lines)
    assert {name: count for name, count in lines.items() if count > MOST_LINES_OF_A_BODY} == {}


def test_functions_have_few_parameters():
    counts = measured(parameters)
    many = {name: count for name, count in counts.items() if count > MOST_PARAMETERS}
    assert many.keys() >= MANY_PARAMETERS, "an exception is no longer needed"
    assert {name: count for name, count in many.items() if name not in MANY_PARAMETERS} == {}


def test_import_and_help_load_nothing_heavy():
    code = (
        "import sys, gpmnet, gpmnet.cli.app;"
        "heavy = {'numpy', 'pandas', 'torch', 'scipy', 'sklearn', 'narwhals', 'matplotlib'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
