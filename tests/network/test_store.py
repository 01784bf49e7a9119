import json
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tests.network.saved_files import change_arrays, change_json

from gpmnet import MarkovNetwork
from gpmnet.errors import InputError
from gpmnet.network import Axis, Facts, Origin, Pairs, Resampling, Shapes
from gpmnet.network.pairs import RESAMPLED
from gpmnet.selection import Cutoff
from gpmnet.table import Column, Schema

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)
NUMBERS = st.floats(-1e300, 1e300)
SHARE = st.floats(0, 1)


def assert_same(net, back):
    assert (back.names, back.kinds, back.n_rows) == (net.names, net.kinds, net.n_rows)
    assert (back.cutoff, back.facts, back.resampling) == (net.cutoff, net.facts, net.resampling)
    for name in net.pairs.__dataclass_fields__:
        a, b = getattr(net.pairs, name), getattr(back.pairs, name)
        assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes())
    assert (net.shapes is None) == (back.shapes is None)
    if net.shapes is not None:
        assert net.shapes.pair.tobytes() == back.shapes.pair.tobytes()
        for a, b in zip(net.shapes.values, back.shapes.values, strict=True):
            assert (a.shape, a.tobytes()) == (b.shape, b.tobytes())
        for at, axis in net.shapes.axes.items():
            assert (back.shapes.axes[at].values, back.shapes.axes[at].labels) == (axis.values, axis.labels)


def all_facts(names):
    """Facts of any kind about columns of some names."""
    column = st.builds(
        Column, st.just(""), st.sampled_from(["continuous", "ordinal", "discrete", "ignored"]), ANY_TEXT,
        st.sampled_from(["scores", "codes", "none"]), st.integers(0, 99), st.integers(0, 99),
        st.lists(ANY_TEXT, max_size=2).map(tuple), st.none() | NUMBERS, st.none() | NUMBERS,
        notes=st.lists(ANY_TEXT, max_size=1).map(tuple), dates=st.booleans(),
    )  # fmt: skip
    columns = st.tuples(*(column.map(lambda c, name=name: replace(c, name=name)) for name in names))
    schema = st.builds(Schema, columns, st.integers(0, 99), st.lists(ANY_TEXT, max_size=1).map(tuple))
    value = st.recursive(
        st.none() | st.booleans() | st.integers() | NUMBERS | ANY_TEXT,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ANY_TEXT, inner, max_size=2),
        max_leaves=4,
    )
    return st.builds(
        Facts, st.none() | schema, st.dictionaries(ANY_TEXT, value, max_size=3), st.none() | st.integers(),
        st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=2), ANY_TEXT, st.dictionaries(ANY_TEXT, NUMBERS, max_size=2),
        st.lists(ANY_TEXT, max_size=2).map(tuple),
        st.none() | st.builds(Origin, ANY_TEXT, st.lists(ANY_TEXT).map(tuple), ANY_TEXT),
    )  # fmt: skip


@st.composite
def networks(draw):
    names = tuple(draw(st.lists(ANY_TEXT, min_size=2, max_size=6, unique=True)))
    ends = st.tuples(st.integers(0, len(names) - 1), st.integers(0, len(names) - 1)).filter(
        lambda e: e[0] < e[1]
    )
    pairs = sorted(draw(st.sets(ends, max_size=8)))

    def column(values):
        return draw(st.lists(values, min_size=len(pairs), max_size=len(pairs)))

    unknown = st.just(np.nan)
    ends_of = [sorted(both) for both in column(st.tuples(SHARE, SHARE))]
    stats = Pairs.of(
        [a for a, _ in pairs],
        [b for _, b in pairs],
        column(st.booleans()),
        omega=column(NUMBERS | unknown),
        strength=column(SHARE | unknown),
        strength_low=[low for low, _ in ends_of],
        strength_high=[high for _, high in ends_of],
        sign=column(st.sampled_from([-1, 0, 1, np.nan])),
        p_value=column(SHARE | unknown),
        q_value=column(SHARE | unknown),
    )
    axes = {}
    for at in range(len(names)):
        labels = tuple(draw(st.lists(ANY_TEXT, min_size=1, max_size=3)))
        values = sorted(draw(st.lists(NUMBERS, min_size=len(labels), max_size=len(labels))))
        axes[at] = Axis(tuple(values) if draw(st.booleans()) else (), labels)
    chosen = sorted(draw(st.sets(st.integers(0, len(pairs) - 1)))) if pairs else []
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    grids = tuple(rng.normal(size=(len(axes[pairs[at][0]]), len(axes[pairs[at][1]]))) for at in chosen)
    shapes = Shapes(axes, np.array(chosen, dtype=int), grids) if draw(st.booleans()) else None
    facts = draw(all_facts(names))
    kinds = draw(st.sampled_from([(), ("continuous",) * len(names)]))
    n_rows = draw(st.none() | st.integers(0, 10**9))
    cutoff = draw(st.none() | st.builds(Cutoff, SHARE, st.sampled_from("qp"), SHARE))
    return MarkovNetwork(names, stats, kinds, n_rows, cutoff, shapes, facts)


@settings(max_examples=80, deadline=None)
@given(networks())
def test_round_trip_is_exact_for_any_names(tmp_path_factory, net):
    folder = tmp_path_factory.mktemp("net") / "out"
    net.save(folder)
    assert_same(net, MarkovNetwork.load(folder))


def test_round_trip_of_shapes_and_hostile_names(shaped, hostile, tmp_path):
    for net in (shaped, hostile):
        net.save(tmp_path / "out")
        assert_same(net, MarkovNetwork.load(tmp_path / "out"))
        assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["network.json", "omega.safetensors"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]


def test_saving_again_replaces_and_leaves_other_files_alone(shaped, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    shaped.save(tmp_path)
    first = (tmp_path / "network.json").read_bytes(), (tmp_path / "omega.safetensors").read_bytes()
    shaped.save(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.txt", "network.json", "omega.safetensors"]
    assert first == ((tmp_path / "network.json").read_bytes(), (tmp_path / "omega.safetensors").read_bytes())


def test_the_first_format_is_still_read(shaped, tmp_path):
    net = replace(shaped, shapes=None, facts=Facts())
    net.save(tmp_path)
    change_json(tmp_path, version=1, fdr=0.05)
    change_arrays(tmp_path, **NO_INTERVALS)
    whole = json.loads((tmp_path / "network.json").read_text())
    (tmp_path / "network.json").write_text(
        json.dumps({k: v for k, v in whole.items() if k not in ("axes", "facts", "cutoff", "digest")})
    )
    assert_same(net, load_old(tmp_path))


@pytest.mark.parametrize("cutoff", [Cutoff(0.1), Cutoff(0.01, "p"), None])
def test_the_second_format_is_still_read(shaped, tmp_path, cutoff):
    threshold = cutoff.value if cutoff is not None and cutoff.of == "p" else None
    facts = Facts(
        Schema((Column("density", "continuous", "numbers", low=0.5, high=2.0),), 1599, ("a warning",)),
        {"fdr": 0.1, "threshold": threshold, "forbid": [["density", "grade"]]}, 7, {"numpy": "2.0"}, "3.11",
        {"load": 0.5}, origin=Origin("wine.csv", ("fit", "wine.csv"), "2024-01-01T10:00:00+0100"),
    )  # fmt: skip
    net = replace(shaped, facts=facts, cutoff=cutoff)
    net.save(tmp_path)
    about = {
        "settings": {"fdr": 0.1, "threshold": threshold, "forbid": [["density", "grade"]]},
        "seed": 7,
        "schema": facts.schema.to_dict(),
        "versions": {"numpy": "2.0"},
        "python": "3.11",
        "seconds": {"load": 0.5},
        "source": "wine.csv",
        "command": ["fit", "wine.csv"],
        "started": "2024-01-01T10:00:00+0100",
        "mine": {"of": ["anything"]},
    }
    whole = json.loads((tmp_path / "network.json").read_text())
    del whole["facts"], whole["cutoff"]
    (tmp_path / "network.json").write_text(json.dumps(whole | {"version": 2, "fdr": net.fdr, "about": about}))
    change_arrays(tmp_path, **NO_INTERVALS)
    assert_same(net, load_old(tmp_path))


def test_the_third_format_is_still_read(shaped, tmp_path):
    known = replace(shaped.pairs, strength_low=np.zeros(4), strength_high=np.ones(4))
    replace(shaped, pairs=known).save(tmp_path)
    whole = json.loads((tmp_path / "network.json").read_text())
    del whole["cutoff"]["min_strength"]
    (tmp_path / "network.json").write_text(json.dumps(whole | {"version": 3}))
    refused(tmp_path, "its arrays are not those of a network")  # what it has not must not be there
    change_arrays(tmp_path, **NO_INTERVALS)
    assert_same(shaped, load_old(tmp_path))


def test_the_sixth_format_is_still_read(shaped, tmp_path):
    shaped.save(tmp_path)
    change_json(tmp_path, version=6)
    refused(tmp_path, "its arrays are not those of a network")
    change_arrays(tmp_path, **NEW_IN_7)
    assert_same(shaped, MarkovNetwork.load(tmp_path))


def test_half_samples_are_saved(shaped, tmp_path):
    pairs = replace(shaped.pairs, stability=np.array([1.0, 0.9, 0.2, 0.5]))
    net = replace(shaped, pairs=pairs, resampling=Resampling(50, 799, 2.5, 6))
    net.save(tmp_path)
    assert_same(net, MarkovNetwork.load(tmp_path))
    for wrong in (3, {"n_pairs": 0, "n_rows": 1, "n_tests": 1, "mean_edges": 1.0}, {"n_pairs": 2}):
        change_json(tmp_path, resampling=wrong)
        refused(tmp_path, "holds a damaged network")
    net.save(tmp_path)
    change_arrays(tmp_path, stability=np.array([1.0, 1.1, 0.2, 0.5]))
    refused(tmp_path, "stability holds a value outside 0 to 1")


def test_shares_of_categories_are_saved_and_checked(shaped, tmp_path):
    axes = dict(shaped.shapes.axes) | {2: Axis((), ("red", "white"), (0.25, 0.75))}
    replace(shaped, shapes=replace(shaped.shapes, axes=axes)).save(tmp_path)
    found = MarkovNetwork.load(tmp_path).shapes.axes
    assert (found[2].shares, found[3].shares) == ((0.25, 0.75), ())
    for shares in ((0.5,), (0.5, 0.6), (-0.5, 1.5), (float("nan"), 0.5)):
        with pytest.raises(InputError, match="the shares of an axis"):
            Axis((), ("red", "white"), shares)


def test_rows_of_pairs_are_saved(shaped, tmp_path):
    known = replace(shaped.pairs, n_rows=np.arange(4) + 10.0)
    replace(shaped, pairs=known).save(tmp_path)
    assert_same(replace(shaped, pairs=known), MarkovNetwork.load(tmp_path))


def test_damage_in_older_formats_is_refused(shaped, tmp_path):
    for changes in ({"fdr": 7}, {"fdr": [0.05]}, {"about": []}, {"about": {"schema": 3}}):
        shaped.save(tmp_path)
        change_json(tmp_path, version=2, **changes)
        refused(tmp_path, "holds a damaged network")


def load_old(folder):
    with pytest.warns(UserWarning, match="without a digest"):
        return MarkovNetwork.load(folder)


NEW_IN_7 = {"n_rows": None, **dict.fromkeys(RESAMPLED)}
NO_INTERVALS = {"strength_low": None, "strength_high": None, **NEW_IN_7}


def refused(folder, words):
    with pytest.raises(InputError, match=words) as caught:
        MarkovNetwork.load(folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


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
