"""Saving and loading a network: JSON for what people read, safetensors for numbers; never pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gpmnet.errors import InputError, quote
from gpmnet.files import whole_folder
from gpmnet.network.network import STATISTICS, MarkovNetwork, Pairs

FORMAT, VERSION = "gpmnet-network", 1
FILES = ("network.json", "omega.safetensors")


def save_network(network: MarkovNetwork, folder: str | Path) -> None:
    """Write `network.json` and `omega.safetensors` into a folder."""
    with whole_folder(Path(folder), FILES) as beside:
        write_network(network, beside)


def write_network(network: MarkovNetwork, folder: Path) -> None:
    """Write the two files of a network into a folder that exists."""
    from safetensors.numpy import save

    pairs = network.pairs
    arrays = {name: np.ascontiguousarray(getattr(pairs, name)) for name in STATISTICS}
    arrays["first"], arrays["second"] = (
        np.ascontiguousarray(x, dtype=np.int64) for x in (pairs.first, pairs.second)
    )
    arrays["is_edge"] = np.ascontiguousarray(pairs.is_edge)
    (folder / FILES[1]).write_bytes(save(arrays))
    about = {
        "format": FORMAT,
        "version": VERSION,
        "names": list(network.names),
        "kinds": list(network.kinds),
        "n_rows": network.n_rows,
        "fdr": network.fdr,
        "n_pairs": len(pairs),
        "n_edges": network.n_edges,
    }
    (folder / FILES[0]).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def load_network(folder: str | Path) -> MarkovNetwork:
    """Return the network saved in a folder, or raise if its files are not what they should be."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = Path(folder)
    try:
        about: dict[str, Any] = json.loads((folder / FILES[0]).read_text(encoding="utf-8"))
        arrays = load_file(folder / FILES[1])
    except FileNotFoundError as error:
        raise InputError(
            f"{quote(folder)} holds no saved network: {quote(error.filename)} is missing"
        ) from error
    except OSError as error:
        raise InputError(f"{quote(folder)} cannot be read: {error.strerror}") from error
    except (json.JSONDecodeError, UnicodeDecodeError, SafetensorError) as error:
        raise InputError(f"{quote(folder)} holds a damaged network: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{quote(folder / FILES[0])} is not a gpmnet network")
    if about.get("version") != VERSION:
        raise InputError(
            f"{quote(folder)} was saved in format {about.get('version')}; this version reads {VERSION}"
        )
    return _checked(about, arrays, folder)


def _checked(about: dict[str, Any], arrays: dict[str, Any], folder: Path) -> MarkovNetwork:
    names = about.get("names")
    expected = {*STATISTICS, "first", "second", "is_edge"}
    if not isinstance(names, list) or set(arrays) != expected or not {"kinds", "n_rows", "fdr"} <= set(about):
        raise InputError(f"{quote(folder)} holds a damaged network: its parts are not those of a network")
    shapes = {array.shape for array in arrays.values()}
    ends = np.concatenate([arrays["first"], arrays["second"]])
    if shapes != {(about.get("n_pairs"),)} or (
        ends.size and not (ends.min() >= 0 and ends.max() < len(names))
    ):
        raise InputError(f"{quote(folder)} holds a damaged network: its arrays do not fit its names")
    pairs = Pairs(
        arrays["first"].astype(np.intp),
        arrays["second"].astype(np.intp),
        arrays["is_edge"].astype(bool),
        **{name: arrays[name].astype(np.float64) for name in STATISTICS},
    )
    return MarkovNetwork(tuple(map(str, names)), pairs, tuple(about["kinds"]), about["n_rows"], about["fdr"])
