"""Files of a saved network that are damaged, foreign or changed are refused, in one line."""

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.network.saved_files import change_arrays, change_json, refused

from gpmnet import MarkovNetwork
from gpmnet.errors import InputError


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("network.json", lambda b: b[:-9], "damaged"),
        ("network.json", lambda b: b[: len(b) // 2], "damaged"),
        ("network.json", lambda b: b"", "damaged"),
        ("network.json", lambda b: b"\xff\xfe" + b, "damaged"),
        ("network.json", lambda b: b"[" * 200_000, "damaged"),
        ("network.json", lambda b: b'{"format": ' + b"9" * 10_000 + b"}", "damaged"),
        ("network.json", lambda b: b.replace(b"gpmnet-network", b"other"), "not a gpmnet network"),
        ("network.json", lambda b: b.replace(b'"version": 7', b'"version": 99'), "format '99'"),
        ("network.json", lambda b: b.replace(b'"version": 7', b'"version": [3]'), "format"),
        ("network.json", lambda b: b'["a"]', "not a gpmnet network"),
        ("omega.safetensors", lambda b: b[:-4], "damaged"),
        ("omega.safetensors", lambda b: b[:5], "damaged"),
        ("omega.safetensors", lambda b: b + b"more", "damaged"),
        ("omega.safetensors", lambda b: b"\xff" * 8 + b[8:], "damaged"),
        ("omega.safetensors", lambda b: b"\x80\x04cos\nsystem\n(S'touch ran'\ntR.", "damaged"),
    ],
)
def test_truncated_and_foreign_files_are_refused(shaped, tmp_path, file, change, words):
    shaped.save(tmp_path)
    path = tmp_path / file
    path.write_bytes(change(path.read_bytes()))
    refused(tmp_path, words)
    assert not os.path.exists("ran")


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


AXES = [{"variable": at, "values": [], "labels": ["a"]} for at in range(4)]


@pytest.mark.parametrize(
    "changes",
    [
        {"names": ["a", "b", "c"]},
        {"names": ["a", "a", "b", "c"]},
        {"names": "abcd"},
        {"names": {"a": 1}},
        {"names": [1, 2, 3, 4]},
        {"names": None},
        {"kinds": ["continuous"]},
        {"kinds": [[], [], [], []]},
        {"n_rows": -1},
        {"n_rows": "many"},
        {"n_rows": True},
        {"n_rows": 1.5},
        {"groups": [[]]},
        {"groups": [["a"]]},
        {"cutoff": 0.05},
        {"cutoff": {"value": 7, "of": "q"}},
        {"cutoff": {"value": float("nan"), "of": "q"}},
        {"cutoff": {"value": [0.05], "of": "q"}},
        {"cutoff": {"value": 0.05, "of": "r"}},
        {"cutoff": {"value": 0.05, "of": ["q"]}},
        {"cutoff": {"value": 0.05}},
        {"cutoff": {"value": 0.05, "of": "q", "min_strength": 2}},
        {"cutoff": {"value": 0.05, "of": "q", "min_strength": None}},
        {"n_pairs": 5},
        {"n_pairs": [4]},
        {"n_pairs": None},
        {"n_edges": 1},
        {"n_edges": {}},
        {"facts": []},
        {"facts": {"settings": {"x": float("inf")}}},
        {"facts": {"settings": [1]}},
        {"facts": {"settings": {"x": nested(40)}}},
        {"facts": {"settings": {"x": nested(900)}}},
        {"facts": {"schema": 3}},
        {"facts": {"schema": nested(900)}},
        {"facts": {"schema": {"n_rows": 3, "columns": [{"name": "a", "kind": "other"}]}}},
        {"facts": {"seed": 1.5}},
        {"facts": {"seed": True}},
        {"facts": {"seconds": {"load": "long"}}},
        {"facts": {"seconds": {"load": float("nan")}}},
        {"facts": {"versions": {"numpy": 2}}},
        {"facts": {"python": 3}},
        {"facts": {"warnings": "many"}},
        {"facts": {"source": [1]}},
        {"facts": {"command": "rm -rf"}},
        {"facts": {"command": [["fit"]]}},
        {"facts": {"started": 0}},
        {"axes": None},
        {"axes": {}},
        {"axes": AXES},
        {"axes": ["x"]},
        {"axes": [{"variable": 9, "values": [], "labels": ["a"]}]},
        {"axes": [{"variable": True, "values": [], "labels": ["a"]}]},
        {"axes": [{"variable": 0, "values": ["1"], "labels": ["a"]}]},
        {"axes": [{"variable": 0, "values": [10**400], "labels": ["a"]}]},
        {"axes": [{"variable": 0, "values": [float("nan")], "labels": ["a"]}]},
        {"axes": [{"variable": 0, "values": [1, 2], "labels": ["a"]}]},
        {"axes": [{"variable": 0, "values": [], "labels": [None]}]},
    ],
    ids=lambda changes: str(changes)[:70],
)
def test_tampered_json_is_refused(shaped, tmp_path, changes):
    shaped.save(tmp_path)
    MarkovNetwork.load(tmp_path)
    change_json(tmp_path, **changes)
    refused(tmp_path, "holds a damaged network")


@pytest.mark.parametrize(
    "changes",
    [
        {"first": np.array([0, 0, 0, 2], dtype=np.int32)},
        {"first": np.array([0, 0, 0, 2], dtype=np.float64)},
        {"first": np.array([-1, 0, 0, 2])},
        {"first": np.array([2, 0, 0, 2])},
        {"second": np.array([1, 2, 4, 3])},
        {"second": np.array([1, 1, 3, 3])},
        {"second": np.array([[1, 2, 3, 3]])},
        {"is_edge": np.array([1, 1, 0, 1], dtype=np.int64)},
        {"p_value": np.array([0.0, 1.5, 0.0, 0.0])},
        {"p_value": np.zeros(4, dtype=np.float32)},
        {"q_value": np.array([0.0, -0.5, 0.0, 0.0])},
        {"sign": np.array([0.0, 7.0, 0.0, 0.0])},
        {"strength": np.array([0.0, -0.1, 0.0, 0.0])},
        {"strength": np.zeros(3)},
        {"strength_low": np.array([0.0, -0.1, 0.0, 0.0])},
        {"strength_low": np.full(4, 0.9), "strength_high": np.full(4, 0.8)},
        {"strength": np.full(4, np.inf)},
        {"strength": np.full(4, 1e308)},
        {"strength_high": np.full(4, np.inf)},
        {"n_rows": np.full(4, np.inf)},
        {"omega": np.full(4, -np.inf)},
        {"strength_high": None},
        {"omega": None},
        {"more": np.zeros(4)},
        {"shape_pair": np.array([0, 1, 9])},
        {"shape_pair": np.array([-1, 1, 3])},
        {"shape_pair": np.array([3, 1, 0])},
        {"shape_pair": np.array([0, 1])},
        {"shape_values": np.zeros(7, dtype=np.float32)},
        {"shape_values": np.full(105, np.nan, dtype=np.float32)},
        {"shape_values": np.zeros(105)},
        {"shape_values": None},
    ],
    ids=lambda change: "-".join(change),
)
def test_tampered_arrays_are_refused(shaped, tmp_path, changes):
    shaped.save(tmp_path)
    assert load_file(tmp_path / "omega.safetensors")["shape_values"].shape == (105,)
    change_arrays(tmp_path, **changes)
    refused(tmp_path, "holds a damaged network")


@pytest.mark.parametrize("count", [5, 10**12, 10**30])
def test_a_number_of_pairs_is_no_reason_to_ask_for_memory(shaped, tmp_path, count):
    shaped.save(tmp_path)
    change_arrays(tmp_path, marginal=None)  # an array that older networks do not have
    MarkovNetwork.load(tmp_path)
    change_json(tmp_path, n_pairs=count)
    refused(tmp_path, f"its {count} pairs")


@pytest.mark.parametrize("name", ["network.json", "omega.safetensors"])
def test_files_without_an_end_are_refused(shaped, tmp_path, name):
    shaped.save(tmp_path)
    path = tmp_path / name
    os.truncate(path, 1 << 43)  # terabytes of nothing, which takes no room on the disk
    refused(tmp_path, "more than the memory that is free")
    path.unlink()
    os.mkfifo(path)
    refused(tmp_path, "no ordinary file")
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(tmp_path, "no ordinary file")


def test_nothing_there(tmp_path, shaped):
    refused(tmp_path, "holds no saved network")
    shaped.save(tmp_path)
    (tmp_path / "omega.safetensors").unlink()
    refused(tmp_path, "omega.safetensors")


def test_any_changed_byte_of_the_arrays_is_noticed(shaped, tmp_path):
    shaped.save(tmp_path)
    path = tmp_path / "omega.safetensors"
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        refused(tmp_path, "holds a damaged network")
    path.write_bytes(whole)
    MarkovNetwork.load(tmp_path)


def test_shuffled_names_and_files_of_two_networks_are_noticed(shaped, hostile, tmp_path):
    shaped.save(tmp_path / "a")
    whole = json.loads((tmp_path / "a" / "network.json").read_text())
    names = whole["names"]
    for at in range(1, len(names)):
        turned = names[at:] + names[:at]
        (tmp_path / "a" / "network.json").write_text(json.dumps(whole | {"names": turned}))
        refused(tmp_path / "a", "not as they were written together")
    (tmp_path / "a" / "network.json").write_text(json.dumps(whole))  # other spaces say the same
    assert MarkovNetwork.load(tmp_path / "a").names == shaped.names
    del whole["digest"]
    (tmp_path / "a" / "network.json").write_text(json.dumps(whole))
    refused(tmp_path / "a", "digest differs")


@pytest.mark.parametrize("given", [None, 3, b"folder"])
def test_what_is_no_path_is_refused(shaped, given):
    for act in (MarkovNetwork.load, shaped.save):
        with pytest.raises(InputError, match="the folder of a network must be a path"):
            act(given)
