"""Rows that depend on each other: what is said of them, and what a table shows by itself."""

import re

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM, Block
from gpmnet.errors import InputError
from gpmnet.table import describe, load_table


def series(n, d, memory, seed=0):
    rng = np.random.default_rng(seed)
    x = np.empty((n, d))
    x[0] = rng.normal(size=d)
    for row in range(1, n):
        x[row] = memory * x[row - 1] + np.sqrt(1 - memory**2) * rng.normal(size=d)
    return x


def signs(table):
    return [w for w in describe(table).warnings if "p-values are too small" in w]


def test_rows_that_are_there_twice_are_counted():
    once = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["a", "b", "c"])
    for table in (pd.concat([once, once]), pd.concat([once, once[:40]]).sample(frac=1, random_state=0)):
        (said,) = signs(table)
        assert f"{len(table) - 200} of {len(table)} rows repeat an earlier one" in said
        assert load_table(table).schema.warnings == (said,)


def test_a_table_of_levels_may_repeat_itself():
    """Few columns of few levels have equal rows by chance, unless every row is there an even number of times."""
    table = pd.DataFrame(np.random.default_rng(1).choice(list("abc"), size=(400, 5)))
    assert signs(table) == []
    (said,) = signs(pd.concat([table, table]))
    assert "of 800 rows repeat" in said


def test_columns_that_resemble_the_row_before_are_named():
    x = np.column_stack([series(500, 2, 0.8), np.random.default_rng(1).normal(size=500)])
    table = pd.DataFrame(x, columns=["load", "price", "noise"])
    table["state"] = np.where(series(500, 1, 0.95, 3)[:, 0] > 0, "on", "off")
    (said,) = signs(table)
    assert all(repr(name) in said for name in ("load", "price", "state"))
    assert "noise" not in said
    assert "--block-rows" in said
    assert "groups=Block(" in said


def test_blocks_that_are_too_short_are_named():
    table = pd.DataFrame(series(2000, 3, 0.9), columns=["load", "price", "wind"])
    (said,) = load_table(table, groups=Block(20)).schema.warnings
    assert "blocks of 20 rows are short for that" in said
    assert re.search(r"use blocks of about 4\d rows", said)
    assert not load_table(table, groups=Block(60)).schema.warnings
    assert not load_table(series(2000, 3, 0.0), groups=Block(5)).schema.warnings


def test_independent_rows_raise_no_alarm():
    """In 60 tables of all kinds of columns, at a rate of one in a hundred each."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.normal(size=(150, 8)))
        table["count"] = rng.poisson(2, size=150)
        table["level"] = rng.choice(list("abcdefgh"), size=150)
        alarms += bool(signs(table))
    assert alarms <= 1


def test_a_table_sorted_by_a_category_is_no_series():
    """Inside of each kind the rows are independent, and the kind is a variable of the table."""
    rng = np.random.default_rng(2)
    kind = np.repeat(["x", "y", "z"], 100)
    mean = np.repeat([0.0, 3.0, 6.0], 100)[:, None]
    table = pd.DataFrame(mean + rng.normal(size=(300, 4)))
    assert signs(table), "without the kind there is no telling"
    table["kind"] = kind
    assert signs(table) == []


def test_groups_by_column_values_and_blocks_are_one_thing():
    x = np.repeat(np.random.default_rng(3).normal(size=(100, 3)), 2, axis=0)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    who = np.repeat(np.arange(100), 2)
    given = (who, [f"p{k}" for k in who], pd.Series(who).astype("category"), Block(2))
    networks = [GPM(groups=groups).fit(frame).network_ for groups in given]
    networks.append(GPM(groups="who").fit(frame.assign(who=[f"p{k}" for k in who])).network_)
    for network in networks:
        pd.testing.assert_frame_equal(network.edges, networks[0].edges)
        assert network.names == ("a", "b", "c")
        assert any("the 100 groups by" in w for w in network.facts.warnings)
        assert "groups" in network.facts.settings
    assert signs(frame) != []
    assert networks[0].facts.schema.warnings == ()


def test_edges_between_independent_series_vanish():
    """The table of the issue: columns that have nothing to do with each other but the past of each."""
    x = series(1000, 6, 0.9)
    assert len(GPM().fit(x).network_.edges) > 5
    assert len(GPM(groups=Block(45)).fit(x).network_.edges) == 0


def test_groups_follow_the_rows_that_are_kept():
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["who"] = np.repeat([f"p{k}" for k in range(20)], 3)
    frame.loc[::7, "a"] = np.nan
    table = load_table(frame, missing="drop", groups="who")
    kept = frame.dropna()["who"].to_numpy()
    codes = table.groups.codes
    assert all((codes[i] == codes[j]) == (kept[i] == kept[j]) for i in range(20) for j in range(20))


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("nobody", "names the column 'nobody'"),
        (np.arange(5), "one value for each of the 60 rows"),
        (3.5, "one value for each of the 60 rows"),
        ([[1, 2]] * 60, "one value for each of the 60 rows"),
        (np.repeat([0, 1], 30), "2 groups of 60 rows"),
        (Block(30), "2 groups of 60 rows"),
        ([None, *range(59)], "missing values in 1 rows"),
    ],
)
def test_groups_that_cannot_be_are_refused_in_one_line(groups, said):
    with pytest.raises(InputError, match=said) as caught:
        GPM(groups=groups).fit(np.random.default_rng(5).normal(size=(60, 3)))
    assert "\n" not in str(caught.value)


def test_blocks_have_two_rows_or_more():
    with pytest.raises(InputError, match="rows"):
        Block(1)


def test_other_engines_and_loaded_tables_refuse_groups():
    x = np.random.default_rng(6).normal(size=(80, 3))
    for engine in ("dag", "deep"):
        with pytest.raises(InputError, match="local engine only"):
            GPM(engine, groups=Block(4)).fit(x)
    with pytest.raises(InputError, match="give them to load_table"):
        GPM(groups=Block(4)).fit(load_table(x))


def test_another_test_refuses_groups():
    from gpmnet.engines.local import LocalOptions
    from gpmnet.nodes.score_test import ScoreTest

    x = np.random.default_rng(6).normal(size=(80, 3))
    with pytest.raises(InputError, match="ScoreTest has no p-values"):
        GPM(groups=Block(4), options=LocalOptions(test=ScoreTest())).fit(x)
