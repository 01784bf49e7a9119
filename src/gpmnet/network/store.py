"""Saving and loading a network: JSON for what people read, safetensors for numbers; never pickle.

`network.json` holds names, kinds, cutoff, axes, groups of near-copies with what was found of them (where the version that
wrote it knew of them), and the facts of the run; `omega.safetensors` holds the arrays of the pairs and, since format 2, the
grids of the shapes one after another. What is loaded is checked before it is used.

The digest in `network.json` is the SHA-256 of all else in it (as JSON with sorted keys and without spaces) followed by the
bytes of `omega.safetensors`. It shows damage, and files of two networks in one folder; it does not say who wrote them.

Up to format 6 pairs had no number of rows, and there were no half-samples. Up to format 5 there was no digest: such a
network is loaded with a warning that a change would not show. Up to format 4 there were no directions, up to format 3 pairs
had no interval of their strength, and a cutoff no least strength. Up to format 2 there was `fdr` for the cutoff and `about`
for the facts, a table of anything:
what `Facts` has no place for is left out.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import as_path
from gpmnet.directed.directions import Directions
from gpmnet.errors import InputError, one_line, quote
from gpmnet.files import read_plain, settled, whole_folder
from gpmnet.json_data import as_count, as_list, as_number, as_table, as_texts
from gpmnet.network.facts import Facts
from gpmnet.network.joint import JointFinding, groups_from
from gpmnet.network.network import MarkovNetwork
from gpmnet.network.pairs import DTYPES, RESAMPLED, Pairs
from gpmnet.network.resampling import Resampling
from gpmnet.network.shapes import Axis, Shapes
from gpmnet.selection import Cutoff

FORMAT, VERSION, READS = "gpmnet-network", 7, (1, 2, 3, 4, 5, 6, 7)
FILES = ("network.json", "omega.safetensors")
_DTYPES = DTYPES | {"first": np.int64, "second": np.int64}  # the same on every machine
_SHAPE_DTYPES: dict[str, type[np.generic]] = {"shape_pair": np.int64, "shape_values": np.float32}
_OPTIONAL = ("marginal",)
"""Arrays that networks saved before they were there do not have."""
_SINCE = {
    "strength_low": 4,
    "strength_high": 4,
    "n_rows": 7,
    **dict.fromkeys(RESAMPLED, 7),
}  # the format that first had it
_LARGEST = float(np.finfo(np.float64).max)
_MOST = 1e100  # no strength is so large, and sums of what is allowed are numbers still
_RANGES = {
    "omega": (-_LARGEST, _LARGEST),
    **dict.fromkeys(("strength", "strength_low", "strength_high"), (0, _MOST)),
    **dict.fromkeys(("sign", "marginal"), (-1, 1)),
    **dict.fromkeys(("p_value", "q_value", *RESAMPLED), (0, 1)),
    "n_rows": (0, _MOST),
}


def save_network(network: MarkovNetwork, folder: str | Path) -> None:
    """Write `network.json` and `omega.safetensors` into a folder."""
    with whole_folder(as_path(folder, "the folder of a network"), FILES) as beside:
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
    axes = None if shapes is None else [
        {"variable": at, "values": list(axis.values), "labels": list(axis.labels), "shares": list(axis.shares)}
        for at, axis in sorted(shapes.axes.items())
    ]  # fmt: skip
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "names": list(network.names),
        "kinds": list(network.kinds),
        "n_rows": network.n_rows,
        "cutoff": None if network.cutoff is None else asdict(network.cutoff),
        "n_pairs": len(pairs),
        "n_edges": network.n_edges,
        "axes": axes,
        "groups": [list(group) for group in network.groups],
        "joint_findings": [finding.to_dict() for finding in network.joint_findings],
        "directions": None if network.directions is None else network.directions.to_dict(),
        "resampling": None if network.resampling is None else network.resampling.to_dict(),
        "facts": network.facts.to_dict(),
    }
    content = save(arrays)
    whole["digest"] = _digest(whole, content)
    (folder / FILES[1]).write_bytes(content)
    (folder / FILES[0]).write_text(json.dumps(whole, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _digest(whole: dict[str, Any], arrays: bytes) -> str:
    """Return the SHA-256 of both files of a network, whatever the spaces in the first."""
    rest = {name: value for name, value in whole.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode("ascii")
    found = hashlib.sha256(text)
    found.update(arrays)
    return found.hexdigest()


def load_network(folder: str | Path) -> MarkovNetwork:
    """Return the network saved in a folder, or raise if its files are not what they should be."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    folder = as_path(folder, "the folder of a network")
    try:
        settled(folder)
        whole: Any = json.loads(read_plain(folder / FILES[0]).decode("utf-8"))
        content = read_plain(folder / FILES[1])
        arrays: dict[str, NDArray[Any]] = load(content)
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
        _check_digest(whole, content, folder)
        return _checked(whole, arrays)
    except InputError as error:
        raise InputError(f"{quote(folder)} holds a damaged network: {error}") from error
    except RecursionError as error:
        raise InputError(f"{quote(folder)} holds a damaged network: it is nested too deeply") from error


def _check_digest(whole: dict[str, Any], content: bytes, folder: Path) -> None:
    if whole["version"] < 6:
        warnings.warn(
            f"{quote(folder)} was saved in format {whole['version']}, without a digest: whether its files are as they were "
            "written cannot be told; save the network again to have one",
            stacklevel=4,
        )
    elif whole.get("digest") != _digest(whole, content):
        raise InputError(
            f"{FILES[0]} and {FILES[1]} are not as they were written together (their digest differs)"
        )


def _checked(whole: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> MarkovNetwork:
    """Return the network of parts that are all of the right type and fit each other."""
    names, kinds = as_texts(whole.get("names"), "names"), as_texts(whole.get("kinds"), "kinds")
    n_rows = None if whole.get("n_rows") is None else as_count(whole["n_rows"], "n_rows")
    facts = Facts.from_dict(whole.get("facts" if whole["version"] > 2 else "about", {}))
    old = [name for name, since in _SINCE.items() if whole["version"] < since]
    old += [name for name in _OPTIONAL if name not in arrays]
    expected = {name: kind for name, kind in _DTYPES.items() if name not in old}
    expected |= _SHAPE_DTYPES if whole.get("axes") is not None else {}
    if set(arrays) != set(expected):
        raise InputError("its arrays are not those of a network")
    for name, kind in expected.items():
        if arrays[name].dtype != kind or arrays[name].ndim != 1:
            raise InputError(f"the array {name} is not a row of {np.dtype(kind)}")
    n_pairs, n_edges = as_count(whole.get("n_pairs"), "n_pairs"), as_count(whole.get("n_edges"), "n_edges")
    if any(len(arrays[name]) != n_pairs for name in _DTYPES if name not in old):
        raise InputError(f"its arrays are not all of its {n_pairs} pairs")
    arrays |= {name: np.full(n_pairs, np.nan) for name in old}
    pairs = _pairs(arrays, len(names))
    if int(pairs.is_edge.sum()) != n_edges:
        raise InputError("it does not have the number of edges it names")
    shapes = None if whole.get("axes") is None else _shapes(whole["axes"], arrays, pairs, len(names))
    groups = groups_from(whole.get("groups", []))
    findings = [
        JointFinding.from_dict(said) for said in as_list(whole.get("joint_findings", []), "the findings")
    ]
    said = whole.get("directions")
    directions = None if said is None else Directions.from_dict(said)
    drawn = whole.get("resampling")
    resampling = None if drawn is None else Resampling.from_dict(drawn)
    rest = _cutoff(whole, facts), shapes, facts, groups, tuple(findings), directions, resampling
    return MarkovNetwork(names, pairs, kinds, n_rows, *rest)


def _cutoff(whole: dict[str, Any], facts: Facts) -> Cutoff | None:
    if whole["version"] <= 2:
        # A p-value that chose the edges was known to the settings only.
        threshold = facts.settings.get("threshold")
        if whole.get("fdr") is not None:
            return Cutoff(_share(whole["fdr"], "fdr"))
        return Cutoff(float(threshold), "p") if isinstance(threshold, float) and 0 < threshold < 1 else None
    if whole.get("cutoff") is None:
        return None
    said = as_table(whole["cutoff"], "the cutoff")
    value, of = _share(said.get("value"), "the cutoff"), said.get("of")
    if of not in ("q", "p"):
        raise InputError(f"the cutoff is one of {quote(of)}, neither of q nor of p")
    least = _share(said.get("min_strength", 0.0), "the least strength of the cutoff")
    return Cutoff(value, "q" if of == "q" else "p", least)


def _share(value: Any, what: str) -> float:
    share = as_number(value, what)
    if not 0 <= share <= 1:
        raise InputError(f"{what} is {share:g}, which is not between 0 and 1")
    return share


def _pairs(arrays: dict[str, NDArray[Any]], d: int) -> Pairs:
    first, second = arrays["first"], arrays["second"]
    if first.size and not (first.min() >= 0 and second.max() < d):
        raise InputError("its arrays do not fit its names")
    if len(np.unique(first * d + second)) < len(first):
        raise InputError("a pair is there twice")
    for name, (low, high) in _RANGES.items():
        known = arrays[name][~np.isnan(arrays[name])]
        if not ((known >= low).all() and (known <= high).all()):
            raise InputError(f"the array {name} holds a value outside {low:g} to {high:g}")
    if (arrays["strength_low"] > arrays["strength_high"]).any():
        raise InputError("the interval of a strength ends before it begins")
    return Pairs(**{name: arrays[name] for name in _DTYPES})


def _shapes(axes: Any, arrays: dict[str, NDArray[Any]], pairs: Pairs, d: int) -> Shapes:
    found: dict[int, Axis] = {}
    for said in as_list(axes, "the axes"):
        axis = as_table(said, "an axis")
        at = as_count(axis.get("variable"), "the variable of an axis")
        if at >= d:
            raise InputError("an axis belongs to no variable")
        values = [as_number(value, "an axis") for value in as_list(axis.get("values"), "an axis")]
        # Networks of earlier versions do not know the shares of their categories.
        shares = [as_number(value, "an axis") for value in as_list(axis.get("shares", []), "an axis")]
        found[at] = Axis(tuple(values), as_texts(axis.get("labels"), "the labels of an axis"), tuple(shares))
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
