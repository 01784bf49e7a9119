"""Complete draws: what they keep, what they invent, and that they are the same for the same rows in any order."""

import numpy as np
import pandas as pd
import pytest

from gpmnet.imputing import complete_tables, n_together, rarely_together
from gpmnet.table import AvailableRows, Impute, load_table

KINDS = {"g": "discrete"}


def frame(n=400, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    whole = pd.DataFrame({"a": a, "b": 0.8 * a + 0.6 * rng.normal(size=n), "c": rng.normal(size=n)})
    whole["g"] = np.where(a + 0.5 * rng.normal(size=n) > 0, "high", "low")
    gapped = whole.copy()
    for name in ("b", "g"):
        gapped.loc[rng.random(n) < share, name] = None
    return whole, gapped


def draws(gapped, seed=0, **options):
    kinds = KINDS if "g" in getattr(gapped, "columns", ()) else None
    return complete_tables(load_table(gapped, kinds=kinds, missing=Impute(**options)), seed)


def test_only_gaps_are_filled_and_with_values_that_were_observed():
    _, gapped = frame()
    table = load_table(gapped, kinds=KINDS, missing="impute")
    gaps = table.gaps
    assert gaps.sum() == gapped.isna().to_numpy().sum() > 200
    for drawn in complete_tables(table, 0):
        assert not drawn.has_gaps
        np.testing.assert_array_equal(drawn.values()[~gaps], table.values()[~gaps])
        b = drawn.numbers[:, 1]
        assert np.isin(b, gapped["b"].dropna()).all()
        assert set(drawn.codes[:, 0]) == {0, 1}
        np.testing.assert_array_equal(drawn.observed, ~gaps)


def test_draws_have_the_law_of_what_is_missing():
    whole, gapped = frame(n=2000)
    found = draws(gapped)
    lost = gapped["b"].isna().to_numpy()
    slopes = [np.polyfit(t.numbers[lost, 0], t.numbers[lost, 1], 1)[0] for t in found]
    assert np.mean(slopes) == pytest.approx(0.8, abs=0.06)
    left = [np.std(t.numbers[lost, 1] - 0.8 * t.numbers[lost, 0]) for t in found]
    assert np.mean(left) == pytest.approx(0.6, abs=0.05)  # not only means: the spread is there too
    lost = gapped["g"].isna().to_numpy()
    agree = np.mean([(t.codes[lost, 0] == (whole["g"][lost] == "low")).mean() for t in found])
    usual = (whole["g"] == np.where(whole["a"] > 0, "high", "low")).mean()
    # Two independent draws from the same law agree with probability p² + (1 - p)²: between a coin and the best guess.
    assert 0.65 < agree < usual


def test_draws_differ_by_what_is_not_known():
    """The variance of a mean over draws is what Rubin's rules need: that of the lost half of the rows, to its size."""
    rng = np.random.default_rng(3)
    n, found = 200, []
    for number in range(40):
        y = rng.normal(size=n)
        gapped = pd.DataFrame({"x": rng.normal(size=n), "y": np.where(np.arange(n) < n / 2, y, np.nan)})
        means = [t.numbers[:, 1].mean() for t in draws(gapped, seed=number, n_draws=4, sweeps=1)]
        found.append(np.var(means, ddof=1))
    # Of a mean of which half is observed: 1/n_observed - 1/n.
    assert np.mean(found) == pytest.approx(1 / 100 - 1 / 200, rel=0.4)


def test_neither_the_order_of_rows_nor_of_columns_matters():
    _, gapped = frame(n=150)
    order = np.random.default_rng(1).permutation(len(gapped))
    turned = gapped.iloc[order][["g", "c", "b", "a"]].reset_index(drop=True)
    for one, other in zip(draws(gapped, n_draws=2), draws(turned, n_draws=2), strict=True):
        there = pd.DataFrame(one.values(), columns=one.names).iloc[order].reset_index(drop=True)
        pd.testing.assert_frame_equal(
            there[list(other.names)], pd.DataFrame(other.values(), columns=other.names)
        )


def test_the_seed_decides():
    _, gapped = frame(n=150)
    one, same, other = (draws(gapped, seed=s, n_draws=2) for s in (0, 0, 1))
    np.testing.assert_array_equal(one[0].numbers, same[0].numbers)
    assert (one[0].numbers != one[1].numbers).any()
    assert (one[0].numbers != other[0].numbers).any()


def test_a_complete_table_is_its_own_draw():
    whole, _ = frame(n=100)
    table = load_table(whole, kinds=KINDS, missing=AvailableRows())
    assert complete_tables(table, 0) == (table,)
    assert table.encode().observed is None


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 1)) + 0.3 * rng.normal(size=(60, 80))
    lost = rng.random(values.shape) < 0.1
    drawn = draws(np.where(lost, np.nan, values), n_draws=2)[0]
    error = drawn.numbers[lost] - values[lost]
    assert (
        np.sqrt((error**2).mean()) < 0.7
    )  # of a standard deviation of 1.04, with 0.3 * sqrt(2) the best there is


def test_rows_that_have_both():
    gapped = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)), columns=["a", "b", "c"])
    gapped.loc[:49, "a"] = np.nan
    gapped.loc[50:, "b"] = np.nan
    table = load_table(gapped, missing="available")
    assert n_together(~table.gaps, np.array([0, 0, 1]), np.array([1, 2, 2])).tolist() == [0, 50, 50]
    assert "'a' and 'b'" in rarely_together(table)
    assert "'c'" not in rarely_together(table)
