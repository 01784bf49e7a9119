"""Whatever comes in, nothing but the project's own errors comes out: of readers, estimator and loader."""

import json
import math
import random
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_targets as targets
import fuzzing as run

from gpmnet import GPM, Block
from gpmnet.errors import GpmnetError

FOUND = Path(__file__).parent / "found"
CASES = sorted(path for path in FOUND.rglob("*") if path.is_file())

odd_texts = st.sampled_from(
    [
        "",
        " ",
        "NA",
        "nan",
        "-",
        "1e300",
        "-1e999",
        "1,5",
        "1.234,5",
        "007",
        "0x1f",
        "=1+1",
        "@a",
        "\x00",
        "\x1b[0m",
        '"',
        '""',
        "true",
        "No",
        "2020-02-30",
        "01/02/03",
        "99999-01-01",
        "--4",
        "½",
        "١٢",
        "\ufeff",
        "\u202e",
        "a\nb",
        "5%",
        "$3",
        "é" * 70,
    ]
)
cells = st.one_of(odd_texts, st.text(max_size=6), st.integers().map(str), st.floats().map(repr))


@st.composite
def written(draw):
    """Return the bytes of a text table: any cells, separators, quotes, lengths of rows and encodings."""
    width = draw(st.integers(1, 5))
    ragged = draw(st.booleans())
    rows = draw(st.lists(st.lists(cells, min_size=0 if ragged else width, max_size=width), max_size=12))
    separator = draw(st.sampled_from([",", ";", "\t", "|", " "]))
    quoted = draw(st.booleans())
    lines = [
        separator.join(f'"{cell}"' if quoted else cell for cell in row)
        for row in rows * draw(st.integers(1, 3))
    ]
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(lines)
    encoding = draw(st.sampled_from(["utf-8", "utf-16", "latin-1", "utf-8-sig", "cp1252"]))
    return text.encode(encoding, "replace")


@given(written(), st.sampled_from([".csv", ".tsv", ".txt", ""]))
@settings(max_examples=120)
def test_any_text_is_read_or_refused(data, suffix):
    targets.read_table(data, suffix)


@given(st.binary(max_size=300), st.sampled_from([".csv", ".csv.gz", ".parquet", ".xlsx"]))
def test_any_bytes_are_read_or_refused(data, suffix):
    targets.read_table(data, suffix)


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
def test_damaged_binary_files_are_read_or_refused(tmp_path, suffix):
    frame = pd.DataFrame(
        {"a": np.arange(30.0), "b": ["x", "y", "z"] * 10, "t": pd.date_range("2020", periods=30)}
    )
    path = tmp_path / f"t{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_excel(path, index=False)
    whole, rng = path.read_bytes(), random.Random(0)
    accepted = sum(targets.read_table(run.mutated(whole, rng, [whole]), suffix) for _ in range(60))
    assert accepted < 60  # or nothing was damaged


values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), odd_texts,
    st.binary(max_size=3), st.decimals(), st.fractions(), st.dates(), st.datetimes(),
    st.complex_numbers(), st.lists(st.integers(), max_size=2),
    st.sampled_from([pd.NA, pd.NaT, np.float32(1.5), np.int8(3), Decimal("sNaN"), Fraction(1, 3), math.inf, object, {}]),
)  # fmt: skip


@st.composite
def frames(draw):
    """Return a data frame with columns of anything, of some rows, by names of anything."""
    n, d = draw(st.integers(0, 30)), draw(st.integers(0, 4))
    names = draw(
        st.lists(
            st.one_of(st.text(max_size=4), st.integers(), st.none(), st.floats()), min_size=d, max_size=d
        )
    )
    columns = []
    for _ in range(d):
        seed = draw(st.integers(0, 99))
        kind = draw(
            st.sampled_from(["any", "normal", "levels", "category", "whole", "huge", "dates", "nullable"])
        )
        rng = np.random.default_rng(seed)
        if kind == "any":
            few = draw(st.lists(values, min_size=1, max_size=6))
            column = pd.Series([few[k % len(few)] for k in range(n)], dtype=object)
        elif kind == "levels":
            column = pd.Series(rng.choice(draw(st.lists(odd_texts, min_size=1, max_size=4)), n), dtype=object)
        elif kind == "category":
            column = pd.Series(pd.Categorical(rng.choice(["a", "b", "c"], n), ordered=draw(st.booleans())))
        elif kind == "dates":
            column = pd.Series(pd.to_datetime(rng.integers(-(10**9), 10**9, n), unit="s"))
        elif kind == "nullable":
            column = pd.Series(rng.integers(0, 3, n), dtype="Int64").mask(pd.Series(rng.random(n) < 0.1))
        else:
            scale = {"normal": 1.0, "whole": 3.0, "huge": 1e307}[kind]
            column = pd.Series(rng.normal(size=n) * scale if kind != "whole" else rng.integers(0, 9, n))
        columns.append(column)
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n))
    frame.columns = pd.Index(names, dtype=object)
    return frame


def fits(table, **parameters):
    """Fit a table and describe the result; return whether it was accepted."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            network = GPM(**parameters).fit(table).network_
        except GpmnetError as error:
            return targets.refused(error)
        repr(network)
        assert network.n_edges <= len(network.names) * (len(network.names) - 1) / 2
        return True


@given(frames(), st.sampled_from(["error", "drop"]))
@settings(max_examples=80)
def test_any_frame_is_fitted_or_refused(frame, missing):
    fits(frame, missing=missing)


anything = st.one_of(
    values, st.lists(st.one_of(st.text(max_size=2), st.tuples(st.text(max_size=2), st.text(max_size=2))), max_size=2),
    st.sampled_from(["a", "b", [("a", "b")], [["a"]], np.arange(40), np.nan, Block(4), Block, 10**400, -1, 0, "cuda:9"]),
)  # fmt: skip
parameters = st.sampled_from(
    [
        "engine",
        "fdr",
        "threshold",
        "min_strength",
        "missing",
        "groups",
        "forbid",
        "require",
        "arrows",
        "tiers",
        "device",
        "n_jobs",
        "random_state",
        "energy",
        "objective",
        "penalty",
        "decide",
        "options",
    ]
)


@given(st.dictionaries(parameters, anything, min_size=1, max_size=2))
@settings(max_examples=150)
def test_any_parameters_are_taken_or_refused(given_parameters):
    rng = np.random.default_rng(0)
    fits(
        pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40), "c": list("xy") * 20}),
        **given_parameters,
    )


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 10**19),
        st.floats(allow_nan=False, allow_infinity=False),
        odd_texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(odd_texts, inner, max_size=3)),
    max_leaves=4,
)


def places(tree, here=()):
    """Yield the path of every value in a tree of lists and dicts."""
    yield here
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from places(tree[key], (*here, key))


@given(st.randoms(use_true_random=False), json_values, st.booleans())
@settings(max_examples=150)
def test_any_change_of_a_saved_network_is_loaded_or_refused(rng, value, remove):
    """With the digest of the changed files, so that each part has to check itself."""
    text, arrays = targets.saved_network()
    tree = json.loads(text)
    *path, last = rng.choice([place for place in places(tree) if place])
    inside = tree
    for key in path:
        inside = inside[key]
    if remove:
        del inside[last]
    else:
        inside[last] = value
    targets.read_network(json.dumps(tree).encode(), arrays)


@given(st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_any_change_of_its_bytes_is_loaded_or_refused(rng):
    text, arrays = targets.saved_network()
    plain = text.encode()
    targets.read_network(run.mutated(plain, rng, [arrays, plain]), arrays)
    targets.read_network(plain, run.mutated(arrays, rng, [arrays, plain]))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_stays_mended(path):
    target = {"table": targets.read_table, "network": targets.network_from}[path.parent.name]
    target(path.read_bytes())


@pytest.mark.parametrize("name", ["table", "network"])
def test_what_fuzzing_starts_from_is_accepted(name):
    """Else nothing beyond the first checks would ever be tried."""
    target = {"table": targets.read_table, "network": targets.network_from}[name]
    assert sum(map(target, run.seeds(name))) >= len(run.seeds(name)) / 3


@pytest.mark.parametrize("name", ["table", "network"])
def test_the_fuzzer_itself_finds_a_fault(name):
    """A target that breaks at a comma is found within seconds, without atheris."""

    def breaks(data):
        if b",," in data:
            raise ZeroDivisionError
        return True

    with pytest.raises(ZeroDivisionError):
        run.without_atheris(breaks, run.seeds(name), 20.0)
