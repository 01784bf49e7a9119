"""What is fuzzed: bytes in, nothing out but the project's own errors.

Each target takes bytes and returns whether they were accepted; any error that is no `GpmnetError` leaves it and is a fault.
Warnings are none: they are for people, and a file may well deserve some.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from gpmnet import MarkovNetwork, fit
from gpmnet.errors import GpmnetError
from gpmnet.network.report import report_html
from gpmnet.network.store import _digest
from gpmnet.table import load_table

_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz")
_SMALL_GB = 0.05


def refused(error: GpmnetError) -> bool:
    """Return False; raise where a message is not one line."""
    if "\n" in str(error):
        raise ValueError(f"a message of several lines: {error}")
    return False


def read_table(data: bytes, suffix: str | None = None) -> bool:
    """Read a file with these bytes as a table, by a format that the first byte chooses unless it is given."""
    if suffix is None:
        suffix, data = _SUFFIXES[data[0] % len(_SUFFIXES) if data else 0], data[1:]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"t{suffix}"
        path.write_bytes(data)
        try:
            load_table(path, missing="drop", max_gb=_SMALL_GB, max_columns=2000).encode()
        except GpmnetError as error:
            return refused(error)
    return True


@cache
def saved_network() -> tuple[str, bytes]:
    """Return the two files of a small network with edges, shapes, levels and notes."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=80), "total": a * 2.0 + 1})
    frame["x"] = np.where(a > 0, "up", "down")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(frame).save(folder)
        return (Path(folder) / "network.json").read_text(), (Path(folder) / "omega.safetensors").read_bytes()


def read_network(text: bytes, arrays: bytes, signed: bool = True) -> bool:
    """Load a network of two files and show it; `signed` gives it the digest that it would have, so that all checks run."""
    if signed:
        text = sign(text, arrays)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (Path(folder) / "network.json").write_bytes(text)
        (Path(folder) / "omega.safetensors").write_bytes(arrays)
        try:
            network = MarkovNetwork.load(folder)
            report_html(network)
            for suffix in (".graphml", ".dot", ".csv", ".json"):
                network.export(Path(folder) / f"out{suffix}")
        except GpmnetError as error:
            return refused(error)
    return True


def sign(text: bytes, arrays: bytes) -> bytes:
    """Return the first file of a network with the digest of both, as it is where it is no JSON object."""
    try:
        whole = json.loads(text)
        if not isinstance(whole, dict):
            return text
        whole["digest"] = _digest(whole, arrays)
        return json.dumps(whole).encode()
    except (ValueError, RecursionError):
        return text


def network_from(data: bytes) -> bool:
    """Load a network of bytes: the first says whether the rest is the text or the arrays."""
    text, arrays = saved_network()
    if not data:
        return False
    if data[0] % 4:
        return read_network(data[1:], arrays)
    return read_network(text.encode(), data[1:])
