"""What the package may not do: run what a file says, start programs, reach out, write elsewhere than it was told."""

import ast
import itertools
import json
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gpmnet
from gpmnet import MarkovNetwork, fit
from gpmnet.errors import InputError

ROOT = Path(gpmnet.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# Modules that run code, start programs or reach the network, and who may use one, for what.
CLOSED = {
    "pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "code", "codeop", "runpy", "subprocess", "pty", "ctypes",
    "socket", "ssl", "http", "urllib", "urllib3", "requests", "httpx", "aiohttp", "ftplib", "smtplib", "telnetlib", "xmlrpc",
    "socketserver", "asyncio", "webbrowser", "multiprocessing", "tarfile", "yaml", "distutils", "imp", "importlib", "cffi",
    "dask", "distributed",
}  # fmt: skip
ALLOWED = {
    (
        "__init__.py",
        "importlib",
    ): "public names are imported when they are first used; no name comes from outside",
    ("causal/__init__.py", "importlib"): "the same",
    ("baselines/base.py", "importlib"): "optional libraries, by names that stand in our source",
    (
        "baselines/isolate.py",
        "multiprocessing",
    ): "a baseline runs in a process of its own; what passes is made by both ends here",
    ("bench/cell.py", "importlib"): "modules of methods, by names that stand in our source",
    ("bench/runner.py", "multiprocessing"): "cells side by side",
    ("cli/report.py", "webbrowser"): "--open shows the report that was just written",
    (
        "jobs/run.py",
        "joblib",
    ): "processes side by side; what passes is made by both ends here, and nothing is read from files",
    ("jobs/cluster.py", "distributed"): "the Dask scheduler whose address a user names",
    ("files/leftovers.py", "socket"): "the name of this computer, in the names of unfinished files",
    ("files/whole.py", "ctypes"): "renameat2 of Linux, which exchanges two folders",
    ("bench/methods.py", "importlib"): "whether an optional library is there",
    ("bench/runner.py", "importlib"): "versions of packages",
    ("planning.py", "importlib"): "versions of packages",
    ("network/report/render.py", "importlib"): "our own templates",
}
CALLS = {"eval", "exec", "compile", "__import__", "breakpoint"}
ATTRIBUTES = {
    "system", "popen", "execv", "execve", "execvp", "spawnl", "spawnv", "startfile", "fork", "forkpty", "posix_spawn",
    "load_module", "read_pickle", "to_pickle", "allow_pickle",
}  # fmt: skip


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def calls(tree):
    """Yield what is called by a bare name or as an attribute, keywords that are True, and loads of torch and NumPy."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node.func, ast.Attribute):
            yield node.func.attr
            if node.func.attr == "load" and isinstance(node.func.value, ast.Name):
                yield f"{node.func.value.id}.load"
        for keyword in node.keywords:
            if keyword.arg in ("shell", "allow_pickle") and getattr(keyword.value, "value", None):
                yield keyword.arg


def test_nothing_runs_code_starts_programs_or_reaches_out():
    used = set()
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used |= {(name_of(path), module) for module in imported(tree) if module in CLOSED}
        called = set(calls(tree))
        bare = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not bare & CALLS, name_of(path)
        assert not called & (ATTRIBUTES | {"torch.load", "np.load", "numpy.load", "shell"}), name_of(path)
    assert used - set(ALLOWED) == set()
    assert set(ALLOWED) - used == set(), "an exception is no longer needed"


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from urllib.request import urlopen",
        "eval('1')",
        "import os\nos.system('a')",
        "torch.load(x)",
    ],
)
def test_the_walk_sees_what_it_looks_for(source):
    tree = ast.parse(source)
    found = (set(imported(tree)) & CLOSED) | (set(calls(tree)) & (CALLS | ATTRIBUTES | {"torch.load"}))
    assert found


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    fit(pd.DataFrame({"a": a, "b": a + rng.normal(size=80), "c": rng.normal(size=80)})).save(tmp_path / "net")
    return tmp_path / "net"


class Runs:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("name", ["network.json", "omega.safetensors"])
def test_loading_runs_nothing(saved, tmp_path, name):
    """A pickle in the place of a file of a network is refused, not run."""
    (saved / name).write_bytes(pickle.dumps(Runs(tmp_path / "ran")))
    with pytest.raises(InputError, match="damaged"):
        MarkovNetwork.load(saved)
    assert not (tmp_path / "ran").exists()
    pickle.loads(pickle.dumps(Runs(tmp_path / "ran")))  # noqa: S301
    assert (tmp_path / "ran").exists()  # it would have


def test_reading_a_table_runs_nothing(tmp_path, write):
    from gpmnet.table import load_table

    for suffix in (".csv", ".parquet", ".xlsx", ".csv.gz", ".txt"):
        path = write(f"t{suffix}", pickle.dumps(Runs(tmp_path / "ran")))
        with pytest.raises(InputError):
            load_table(path)
    assert not (tmp_path / "ran").exists()


def test_a_length_in_a_file_allocates_nothing(saved):
    """A header that promises 2^60 bytes of numbers is refused before any memory is asked for."""
    header = json.dumps({"first": {"dtype": "I64", "shape": [2**57], "data_offsets": [0, 2**60]}}).encode()
    (saved / "omega.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(InputError, match="damaged"):
        MarkovNetwork.load(saved)
    (saved / "omega.safetensors").write_bytes(struct.pack("<Q", 2**60) + header)
    with pytest.raises(InputError, match="damaged"):
        MarkovNetwork.load(saved)


def test_names_in_files_are_no_paths(saved, tmp_path, gpmnet):
    """Names of columns that climb out of a folder are names, and what the report and the exports write stays inside."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    names = ["../../escaped", "/tmp/escaped", "..\\escaped", "a/../../b"]
    frame = pd.DataFrame({name: a + rng.normal(size=60) for name in names})
    inside = tmp_path / "work"
    inside.mkdir()
    frame.to_csv(inside / "t.csv", index=False)
    before = {path for path in tmp_path.rglob("*") if inside not in path.parents}
    code, *_ = gpmnet("fit", inside / "t.csv", "-o", inside / "out")
    assert code == 0
    assert {path for path in tmp_path.rglob("*") if inside not in path.parents} == before
    assert sorted(path.name for path in (inside / "out").iterdir()) == [
        "edges.csv", "network.graphml", "network.json", "omega.safetensors", "report.html", "run.json",
    ]  # fmt: skip
    assert set(MarkovNetwork.load(inside / "out").names) == set(names)


ENTITIES = '<!DOCTYPE x [<!ENTITY a "{first}">{more}]>'


@pytest.mark.parametrize("kind", ["laughs", "external"])
def test_entities_of_a_workbook_are_neither_unfolded_nor_fetched(tmp_path, kind):
    """Ten entities that name the one before ten times each are 10 GB of text; an external one would read a file."""
    import zipfile

    from gpmnet.table import load_table

    secret = tmp_path / "secret.txt"
    secret.write_text("1234567")
    pd.DataFrame({"a": ["x", "y"] * 20, "b": np.random.default_rng(0).normal(size=40)}).to_excel(
        tmp_path / "t.xlsx", index=False
    )
    if kind == "laughs":
        letters = "abcdefghij"
        more = "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in itertools.pairwise(letters))
        entities, used = ENTITIES.format(first="0123456789", more=more), "&j;"
    else:
        entities, used = f'<!DOCTYPE x [<!ENTITY a SYSTEM "{secret.as_uri()}">]>', "&a;"
    with zipfile.ZipFile(tmp_path / "t.xlsx") as old, zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as new:
        for part in old.namelist():
            text = old.read(part)
            if part == "xl/worksheets/sheet1.xml":
                whole = text.decode()
                start = whole.index("<worksheet")
                whole = whole[:start] + entities + whole[start:].replace("<t>x</t>", f"<t>{used}</t>")
                text = whole.encode()
                assert f"<t>{used}</t>" in whole
            new.writestr(part, text)
    with pytest.raises(InputError, match="not a readable Excel file"):
        load_table(tmp_path / "bad.xlsx")
