"""A saved network is read back as it was, and so are those of older formats."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.network.saved_files import change_arrays, change_json, refused

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
