import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpmnet.table import describe, load_table

RNG = np.random.default_rng(2)
N = 150


def test_monotone_copies_up_and_down_are_found():
    x = RNG.normal(size=N)
    frame = pd.DataFrame({"x": x, "y": RNG.normal(size=N), "cube": x**3, "minus": -x, "nearly": x})
    frame.loc[0, "nearly"] += 10
    schema = describe(frame)
    assert schema.duplicates == {"cube": "x", "minus": "x"}
    table = load_table(frame)
    assert table.names == ("x", "y", "nearly")
    assert table.encode().scores.shape == (N, 3)


def test_relabelled_copies_are_found_across_types():
    code = RNG.integers(0, 3, N)
    frame = pd.DataFrame(
        {
            "code": code,
            "word": np.array(["c", "a", "b"])[code],
            "score": np.array([10.5, 3.0, 7.0])[code],
            "coarser": code > 0,
            "free": RNG.normal(size=N),
        }
    )
    assert describe(frame).duplicates == {"word": "code", "score": "code"}


def test_gaps_must_agree():
    code = RNG.integers(0, 3, N).astype(float)
    gapped, elsewhere = code.copy(), code.copy()
    gapped[3], elsewhere[4] = np.nan, np.nan
    frame = pd.DataFrame({"a": code, "b": gapped, "c": gapped * 2, "d": elsewhere, "x": RNG.normal(size=N)})
    assert describe(frame).duplicates == {"c": "b"}
    x = RNG.normal(size=N)
    y = x.copy()
    y[5] = np.nan
    assert describe(pd.DataFrame({"x": x, "y": y, "z": -y})).duplicates == {"z": "y"}


def test_a_gap_is_not_a_level():
    two = np.where(RNG.random(N) < 0.5, 1.0, np.nan)
    frame = pd.DataFrame(
        {"a": np.where(np.isnan(two), 0, 1), "b": np.where(np.isnan(two), np.nan, RNG.integers(0, 2, N))}
    )
    assert describe(frame).duplicates == {}


def test_few_rows_agree_by_chance():
    values = np.random.default_rng(0).normal(size=(8, 5000))
    assert describe(values).duplicates == {}
    yes_or_no = np.random.default_rng(0).integers(0, 2, (12, 200))
    assert describe(yes_or_no).duplicates == {}
    enough = np.random.default_rng(0).normal(size=(20, 500))
    enough[:, 7] = -(enough[:, 3] ** 3)
    assert describe(enough).duplicates == {"x8": "x4"}


def test_long_ordered_categories_are_compared_by_order():
    order, other = RNG.permutation(N), RNG.permutation(N)
    levels = [f"{i:03}" for i in range(N)]
    ordered = {
        name: pd.Categorical.from_codes(codes, levels, ordered=True)
        for name, codes in (("a", order), ("b", other), ("c", N - 1 - order))
    }
    frame = pd.DataFrame(ordered | {"d": order**2 + 0.5})
    assert describe(frame).duplicates == {"c": "a", "d": "a"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_huge_numbers_do_not_overflow():
    x = RNG.uniform(-1, 1, size=N) * 1.7e308
    assert describe(pd.DataFrame({"x": x, "y": -x, "z": RNG.normal(size=N)})).duplicates == {"y": "x"}


@given(st.integers(0, 10_000))
def test_random_columns_are_never_called_duplicates(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 4, (40, 6))).assign(x=rng.normal(size=40), y=rng.normal(size=40))
    for twin, first in describe(frame).duplicates.items():
        at, to = int(twin), int(first)  # tiny tables can hold true copies
        assert frame.groupby(at)[to].nunique().max() == 1
        assert frame.groupby(to)[at].nunique().max() == 1
