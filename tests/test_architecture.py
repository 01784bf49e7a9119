"""Imports inside the package point one way, and starting up is cheap."""

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
    {"checks", "files", "json_data", "memory", "parts", "progress"},
    {"table"},
    {"columns"},
    {"energies"},
    {"objectives", "penalties"},
    {"omega"},
    {"solvers"},
    {"testing"},
    {"searching"},
    {"selection"},
    {"nodes"},
    {"engines"},
    {"network"},
    {"estimator"},
    {"simulate", "metrics"},
    {"baselines", "causal"},
    {"bench"},
    {"cli"},
]
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}
FREE = {"__init__", "__main__"}


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
    assert part in RANK, f"{part} has no place in the layout"
    for other in imported_parts(path):
        if other != part and other not in FREE:
            assert RANK[other] < RANK[part], f"{part} must not import {other}"


def test_files_stay_short():
    assert {path.name: lines for path in FILES if (lines := len(path.read_text().splitlines())) > 400} == {}


def test_import_and_help_load_nothing_heavy():
    code = (
        "import sys, gpmnet, gpmnet.cli.main;"
        "heavy = {'numpy', 'pandas', 'torch', 'scipy', 'sklearn', 'narwhals', 'matplotlib'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
