"""Tests on the rows that they need: those of the same test on a table of these rows."""

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.imputing import complete_tables
from gpmnet.table import AvailableRows, Impute, load_table
from gpmnet.testing.available import AvailableTest, bound
from gpmnet.testing.base import BoundTest
from gpmnet.testing.clusters import Clusters
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual

KINDS = {"g": "discrete", "h": "discrete"}
NAMES = ("a", "b", "c", "count", "g", "h")


def gapped(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=n), "c": rng.normal(size=n)})
    frame["count"] = rng.poisson(np.exp(0.4 * a)).astype(float)
    frame["g"] = np.array(["x", "y", "z"], dtype=object)[rng.integers(0, 3, n)]
    frame["h"] = np.where(a + rng.normal(size=n) > 0, "yes", "no")
    return frame.mask(rng.random(frame.shape) < [0, 0.2, 0.1, 0.1, 0.2, 0.1])


def test_of(table):
    encoded, family = table.encode(), feature_functions(3)
    features = build_features(encoded, family, "cpu", torch.float64)
    code = None if table.groups is None else table.groups.codes[encoded.rows]
    clusters = None if code is None else Clusters.of(features, code, encoded.rows)
    designs = Designs(features, DesignOptions(), clusters=clusters).tabulated()
    return bound(DoubleResidual(), designs, encoded, family, code)


test_of.__test__ = False


def asked(test, names, a, b, given):
    where = [torch.tensor([names.index(x)]) for x in (a, b)]
    sets = torch.tensor([[names.index(x) for x in given] + [-1]])
    return test.pairs(*where, sets)


def assert_same(one, other):
    for name in ("log_p", "strength", "strength_error", "sign", "information", "n_rows"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "given"),
    [
        ("a", "b", ()),
        ("b", "c", ("a",)),
        ("b", "count", ("g", "h")),
        ("g", "h", ("b", "c")),
        ("a", "h", ("count",)),
    ],
)
def test_the_answer_is_that_of_the_complete_rows_of_these_columns(a, b, given):
    frame = gapped()
    table = load_table(frame, kinds=KINDS, missing=AvailableRows())
    test = test_of(complete_tables(table, 0)[0])
    assert isinstance(test, AvailableTest)
    some = frame[[a, b, *given]].dropna().reset_index(drop=True)
    kinds = {name: table.schema[name].kind for name in some.columns}
    alone = load_table(some, kinds=kinds)
    found = asked(test, table.names, a, b, given)
    assert_same(found, asked(test_of(alone), alone.names, a, b, given))
    assert int(found.n_rows) == len(some) < len(frame)


@pytest.mark.parametrize(("a", "b", "given"), [("b", "c", ("a",)), ("g", "h", ("b", "c"))])
def test_groups_are_those_of_the_rows_that_are_left(a, b, given):
    frame = pd.concat([gapped(), gapped()], ignore_index=True)
    person = np.tile(np.arange(300), 2)
    table = load_table(frame, kinds=KINDS, missing=AvailableRows(), groups=person)
    test = test_of(complete_tables(table, 0)[0])
    keep = frame[[a, b, *given]].notna().all(axis=1).to_numpy()
    some = frame.loc[keep, [a, b, *given]].reset_index(drop=True)
    kinds = {name: table.schema[name].kind for name in some.columns}
    found = asked(test, table.names, a, b, given)
    alone = load_table(some, kinds=kinds, groups=person[keep])
    assert_same(found, asked(test_of(alone), alone.names, a, b, given))
    without = load_table(some, kinds=kinds)
    assert found.log_p > 0.9 * asked(test_of(without), without.names, a, b, given).log_p
    few = AvailableTest(test.test, test.designs, test.encoded, test.family, np.arange(600) % 3)
    assert asked(few, table.names, a, b, given).log_p == 0.0  # three groups tell nothing


def test_of_draws_the_rows_have_both_variables():
    frame = gapped()
    table = load_table(frame, kinds=KINDS, missing=Impute(n_draws=2))
    drawn = complete_tables(table, 0)[0]
    found = asked(test_of(drawn), table.names, "b", "c", ("g", "a"))
    keep = frame[["b", "c"]].notna().all(axis=1).to_numpy()
    whole = pd.DataFrame(drawn.values(), columns=drawn.names)[keep].reset_index(drop=True)
    kinds = {column.name: column.kind for column in table.variables}
    alone = load_table(whole, kinds=kinds)
    assert_same(found, asked(test_of(alone), alone.names, "b", "c", ("g", "a")))
    assert int(found.n_rows) == keep.sum()


def test_many_at_once_are_as_one_by_one():
    table = load_table(gapped(), kinds=KINDS, missing="available")
    test = test_of(complete_tables(table, 0)[0])
    first, second = torch.tensor([0, 1, 1, 4, 0]), torch.tensor([1, 2, 3, 5, 1])
    given = torch.tensor([[2, -1], [0, -1], [-1, 4], [1, 2], [-1, -1]])
    together = test.pairs(first, second, given)
    for at in range(len(first)):
        part = torch.tensor([at])
        assert_same(test.pairs(first[part], second[part], given[part]), together.take(part))


def test_columns_without_gaps_are_tested_on_all_rows_as_ever():
    frame = gapped()[["a", "b"]].assign(d=np.random.default_rng(5).normal(size=300))
    table = load_table(frame, missing="available")
    drawn = complete_tables(table, 0)[0]
    test = test_of(drawn)
    plain = BoundTest(test.test, test.designs)
    assert_same(asked(test, table.names, "a", "d", ()), asked(plain, table.names, "a", "d", ()))


def test_columns_that_share_their_gaps_share_a_table(monkeypatch):
    frame = gapped()
    frame.loc[frame["b"].isna(), "c"] = np.nan
    frame.loc[frame["c"].isna(), "b"] = np.nan
    table = load_table(frame, kinds=KINDS, missing="available")
    test = test_of(complete_tables(table, 0)[0])
    made = []
    plain = AvailableTest._designs
    monkeypatch.setattr(AvailableTest, "_designs", lambda *given: made.append(given[2]) or plain(*given))
    a, b, c = (table.names.index(name) for name in "abc")
    first, second = torch.tensor([a, a, b]), torch.tensor([b, c, c])
    found = test.pairs(first, second, torch.full((3, 1), -1))
    assert made == [3]
    assert found.n_rows.tolist() == [frame["b"].notna().sum()] * 3


def test_what_the_rows_cannot_say_has_p_one():
    frame = gapped()[["a", "b", "c", "g"]]
    frame.loc[:149, "b"] = np.nan
    frame.loc[140:, "c"] = np.nan  # no row has b and c
    frame.loc[frame["c"].notna(), "g"] = "x"  # constant where c is known
    table = load_table(frame, kinds={"g": "discrete"}, missing="available")
    test = test_of(complete_tables(table, 0)[0])
    for pair, given in ((("b", "c"), ()), (("c", "g"), ())):
        found = asked(test, table.names, *pair, given)
        assert (float(found.log_p), float(found.strength)) == (0.0, 0.0)
        assert np.isnan(float(found.information))
        assert float(found.strength_error) > 0
    # A member that is constant there says nothing.
    known = frame["g"].notna() & frame["c"].notna()
    assert int(asked(test, table.names, "a", "c", ("g",)).n_rows) == known.sum()
    designs, ends, inside = test.about(torch.tensor([2, 3]), torch.tensor([0]))
    assert designs.features.n == frame[["c", "g", "a"]].notna().all(axis=1).sum()
    assert [at >= 0 for at in (*ends.tolist(), *inside.tolist())] == [True, False, True]
    assert test.about(torch.tensor([1, 2]), torch.tensor([0]))[1].tolist() == [-1, -1]
