"""Saving and loading a network: JSON for what people read, safetensors for numbers; never pickle.

`network.json` holds names, kinds, axes and what is said about the network; `omega.safetensors` holds the arrays of the
pairs and, since format 2, the grids of the shapes one after another. What is loaded is checked before it is used.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, one_line, quote
from gpmnet.files import whole_folder
from gpmnet.network.network import MarkovNetwork
from gpmnet.network.pairs import STATISTICS, Pairs
from gpmnet.network.shapes import Axis, Shapes

FORMAT, VERSION, READS = "gpmnet-network", 2, (1, 2)
FILES = ("network.json", "omega.safetensors")
_DTYPES: dict[str, type[np.generic]] = {
    "first": np.int64,
    "second": np.int64,
    "is_edge": np.bool_,
    **dict.fromkeys(STATISTICS, np.float64),
}
_SHAPE_DTYPES: dict[str, type[np.generic]] = {"shape_pair": np.int64, "shape_values": np.float32}
_RANGES = {"strength": (0, np.inf), "sign": (-1, 1), "p_value": (0, 1), "q_value": (0, 1)}


def save_network(network: MarkovNetwork, folder: str | Path) -> None:
    """Write `network.json` and `omega.safetensors` into a folder."""
    with whole_folder(Path(folder), FILES) as beside:
        write_network(network, beside)


def write_network(network: MarkovNetwork, folder: Path) -> None:
    """Write the two files of a network into a folder that exists."""
    from safetensors.numpy import save

    pairs, shapes = network.pairs, network.shapes
    arrays = {name: np.ascontiguousarray(getattr(pairs, name), dtype=kind) for name, kind in _DTYPES.items()}
    if shapes is not None:
        arrays["shape_pair"] = shapes.pair.astype(np.int64)
        flat = [np.ascontiguousarray(grid).ravel() for grid in shapes.values]
        arrays["shape_values"] = np.concatenate([np.empty(0, dtype=np.float32), *flat])
    (folder / FILES[1]).write_bytes(save(arrays))
    axes = None if shapes is None else [
        {"variable": at, "values": list(axis.values), "labels": list(axis.labels)}
        for at, axis in sorted(shapes.axes.items())
    ]  # fmt: skip
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "names": list(network.names),
        "kinds": list(network.kinds),
        "n_rows": network.n_rows,
        "fdr": network.fdr,
        "n_pairs": len(pairs),
        "n_edges": network.n_edges,
        "axes": axes,
        "about": dict(network.about),
    }
    (folder / FILES[0]).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def load_network(folder: str | Path) -> MarkovNetwork:
    """Return the network saved in a folder, or raise if its files are not what they should be."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    folder = Path(folder)
    try:
        whole: Any = json.loads((folder / FILES[0]).read_text(encoding="utf-8"))
        arrays: dict[str, NDArray[Any]] = load((folder / FILES[1]).read_bytes())
    except FileNotFoundError as error:
        raise InputError(
            f"{quote(folder)} holds no saved network: {quote(Path(error.filename).name)} is missing"
        ) from error
    except OSError as error:
        raise InputError(f"{quote(folder)} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError, KeyError, SafetensorError) as error:
        raise InputError(f"{quote(folder)} holds a damaged network: {quote(one_line(error), 200)}") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise InputError(f"{quote(folder / FILES[0])} is not a gpmnet network")
    if whole.get("version") not in READS:
        version = quote(whole.get("version"))
        raise InputError(f"{quote(folder)} was saved in format {version}; this version reads {READS}")
    try:
        return _checked(whole, arrays)
    except InputError as error:
        raise InputError(f"{quote(folder)} holds a damaged network: {error}") from error


def _checked(whole: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> MarkovNetwork:
    """Return the network of parts that are all of the right type and fit each other."""
    names, kinds = _texts(whole, "names"), _texts(whole, "kinds")
    n_rows, fdr = whole.get("n_rows"), whole.get("fdr")
    if n_rows is not None and not (_is_whole(n_rows) and n_rows >= 0):
        raise InputError(f"n_rows is {quote(n_rows)}")
    if fdr is not None and not (isinstance(fdr, int | float) and not isinstance(fdr, bool) and 0 <= fdr <= 1):
        raise InputError(f"fdr is {quote(fdr)}")
    about = whole.get("about", {})
    if not isinstance(about, dict):
        raise InputError("what it says about itself is not a table of facts")
    expected = _DTYPES | (_SHAPE_DTYPES if whole.get("axes") is not None else {})
    if set(arrays) != set(expected):
        raise InputError("its arrays are not those of a network")
    for name, kind in expected.items():
        if arrays[name].dtype != kind or arrays[name].ndim != 1:
            raise InputError(f"the array {name} is not a row of {np.dtype(kind)}")
    n_pairs, n_edges = whole.get("n_pairs"), whole.get("n_edges")
    if not (_is_whole(n_pairs) and _is_whole(n_edges)):
        raise InputError("it does not say how many pairs and edges it has")
    if any(len(arrays[name]) != n_pairs for name in _DTYPES):
        raise InputError(f"its arrays are not all of its {n_pairs} pairs")
    pairs = _pairs(arrays, len(names))
    if int(pairs.is_edge.sum()) != n_edges:
        raise InputError("it does not have the number of edges it names")
    shapes = None if whole.get("axes") is None else _shapes(whole["axes"], arrays, pairs, len(names))
    return MarkovNetwork(names, pairs, kinds, n_rows, fdr, shapes, about)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(whole: dict[str, Any], key: str) -> tuple[str, ...]:
    texts = whole.get(key)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"its {key} are not a list of texts")
    return tuple(texts)


def _pairs(arrays: dict[str, NDArray[Any]], d: int) -> Pairs:
    first, second = arrays["first"], arrays["second"]
    if first.size and not (first.min() >= 0 and second.max() < d):
        raise InputError("its arrays do not fit its names")
    if len(np.unique(first * d + second)) < len(first):
        raise InputError("a pair is there twice")
    for name, (low, high) in _RANGES.items():
        known = arrays[name][~np.isnan(arrays[name])]
        if not ((known >= low).all() and (known <= high).all()):
            raise InputError(f"the array {name} holds a value outside {low} to {high}")
    return Pairs(**{name: arrays[name].astype(_native(name)) for name in _DTYPES})


def _native(name: str) -> type[np.generic]:
    return np.intp if name in ("first", "second") else _DTYPES[name]


def _shapes(axes: Any, arrays: dict[str, NDArray[Any]], pairs: Pairs, d: int) -> Shapes:
    if not isinstance(axes, list):
        raise InputError("its axes are not a list")
    found: dict[int, Axis] = {}
    for axis in axes:
        at: Any = axis.get("variable") if isinstance(axis, dict) else None
        if not _is_whole(at) or not 0 <= at < d:
            raise InputError("an axis belongs to no variable")
        values = axis.get("values")
        if not isinstance(values, list) or not all(
            isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308
            for value in values
        ):
            raise InputError("the values of an axis are not numbers")
        found[at] = Axis(tuple(values), _texts(axis, "labels"))
    pair, flat = arrays["shape_pair"], arrays["shape_values"]
    if pair.size and not (pair.min() >= 0 and pair.max() < len(pairs)):
        raise InputError("a shape belongs to no pair")
    ends = [(int(pairs.first[at]), int(pairs.second[at])) for at in pair]
    if not all(a in found and b in found for a, b in ends):
        raise InputError("a shape has no axis")
    sizes = [(len(found[a]), len(found[b])) for a, b in ends]
    stops = np.cumsum([a * b for a, b in sizes], dtype=np.int64)
    if (stops[-1] if len(stops) else 0) != len(flat):
        raise InputError("its shapes do not fit their axes")
    grids = np.split(flat, stops[:-1]) if len(stops) else []
    return Shapes(found, pair, tuple(grid.reshape(size) for grid, size in zip(grids, sizes, strict=True)))
