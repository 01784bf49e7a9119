"""The table that maps the paper to functions and tests names only what exists."""

import pkgutil
import re
from pathlib import Path

import gpmnet

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "deep.md").read_text(encoding="utf-8")
PARTS = "|".join(sorted(p.stem for p in Path(gpmnet.__file__).parent.iterdir() if not p.stem.startswith("_")))


def test_every_test_of_the_table_exists():
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 20
    for file, name in named:
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), f"{file} has no {name}"


def test_every_function_of_the_table_exists():
    named = set(re.findall(rf"`((?:{PARTS})\.[A-Za-z_][\w.]*)`", PAGE)) - {"omega.py"}
    assert {"omega.squared_omega", "energies.DeepKernelEnergy.fit_alpha"} <= named
    for dotted in named:
        pkgutil.resolve_name(f"gpmnet.{dotted}")
