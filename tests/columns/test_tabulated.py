"""Tables of functions: what stands in which row, and that kept moments are those of the rows."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import ndtr

from gpmnet.columns import tabulated
from gpmnet.columns.tabulated import ONE, WAVES, ZERO, Tabulated, cosines_that_fit, feature_rows

N = 80


@pytest.fixture
def features(features_of):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame.insert(1, "group", rng.integers(0, 3, N))
    frame["count"] = rng.poisson(9, N).astype(float)
    return features_of(frame, {"count": "continuous"})


def standard(column):
    return (column - column.mean()) / column.std()


def test_rows_are_the_functions_of_the_variables(features):
    table = Tabulated.of_all(features, 7)
    assert float(table.value[ZERO].abs().max()) == 0
    assert float((table.value[ONE] - 1).abs().max()) == 0
    for v in (0, 2, 3, 4):
        z = features.mid_scores[:, features.score_start[v]].numpy()
        rows = table.rows(table.additive(torch.tensor([[v]]), 7))[0].numpy()
        np.testing.assert_allclose(rows[0], standard(z), atol=1e-9)
        for m in range(1, 8):
            np.testing.assert_allclose(rows[m], standard(np.cos(m * np.pi * ndtr(z))), atol=1e-9)
        slowest = 0.8 * np.pi / float(features.scores[:, features.score_start[0]].max())
        waves = table.rows(table.fast(torch.tensor([[v]]), 7, 7)[0])[0].numpy()
        for k in range(1, WAVES // 2 + 1):
            np.testing.assert_allclose(waves[2 * k - 2], standard(np.sin(k * slowest * z)), atol=1e-9)
            np.testing.assert_allclose(waves[2 * k - 1], standard(np.cos(k * slowest * z)), atol=1e-9)
        own = table.rows(feature_rows(features, table, torch.tensor([[v]]))[:, 0])[0]
        factors = table.rows(table.interacting(torch.tensor([[v]]), 4))[0]
        torch.testing.assert_close(factors, torch.cat([own[:1], torch.as_tensor(waves[1:4])]))
        torch.testing.assert_close(own, features.of(torch.tensor([v]))[0].T)
    levels = table.rows(feature_rows(features, table, torch.tensor([[1]]))[:, 0])[0]
    np.testing.assert_allclose(
        levels, [standard(x) for x in features.of(torch.tensor([1]))[0].T.numpy()], atol=1e-9
    )


def test_a_table_of_some_variables_has_the_same_rows(features):
    whole = Tabulated.of_all(features, 5)
    some = Tabulated.of(features, 5, torch.tensor([1, 4]), torch.tensor([1, 2]))
    members, targets = torch.tensor([[4]]), torch.tensor([[2], [1]])
    torch.testing.assert_close(whole.rows(whole.additive(members, 5)), some.rows(some.additive(members, 5)))
    one, other = (t.rows(feature_rows(features, t, targets)[:, 0]) for t in (whole, some))
    torch.testing.assert_close(one, other)
    assert some.gram is None


def test_kept_moments_are_those_of_the_rows(features, monkeypatch):
    monkeypatch.setattr(tabulated, "_STRIP", 7)
    monkeypatch.setattr(tabulated, "_SINGLE_ROWS", 30)
    table = Tabulated.of_all(features, 5)
    torch.testing.assert_close(table.gram, table.value @ table.value.T / N)
    one, two = torch.tensor([[3, 4], [0, 9]]), torch.tensor([[5], [1]])
    bare = Tabulated(table.value, table.start, table.feature_start, 5, None)
    torch.testing.assert_close(table.products(one, two), bare.products(one, two))
    # In single precision some rows at a time.
    single = table.value.float()
    bare = Tabulated(single, table.start, table.feature_start, 5, None)
    torch.testing.assert_close(tabulated.moments(single).double(), table.gram, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(table.products(one, two), bare.products(one, two), rtol=1e-4, atol=1e-5)


def test_a_table_never_has_more_rows_than_its_moments_have_room_for(features, monkeypatch):
    monkeypatch.setattr(tabulated, "_MOST_ROWS", 200)
    count = cosines_that_fit(N, features.levels, 3)
    assert (
        len(Tabulated.of_all(features, count).value) <= 200 < len(Tabulated.of_all(features, count + 1).value)
    )
    monkeypatch.setattr(tabulated, "_MOST", 10)
    assert Tabulated.of_all(features, 5) is None


def test_pooled_levels_stay_apart_among_the_functions(features_of):
    rng = np.random.default_rng(0)
    code = np.r_[np.arange(10).repeat(16), np.arange(10, 40).repeat(4)]
    frame = pd.DataFrame({"c": [f"level {k:02d}" for k in code], "x": rng.normal(size=len(code))})
    features = features_of(frame)
    assert int(features.levels[0]) == 11
    assert int(features.fine_levels[0]) == len(code) // 8
    table = Tabulated.of_all(features, 4)
    first, last = table.span(0, features)
    assert last - first == len(code) // 8 - 1
    fine = features.fine_codes[:, 0].numpy()
    for k, row in enumerate(table.value[first:last].numpy(), 1):
        np.testing.assert_allclose(row, standard(1.0 * (fine == k)), atol=1e-9)
    own = feature_rows(features, table, torch.tensor([[0]]))[0, 0]
    assert len(own) == 10
    assert not set(own.tolist()) & set(range(first, last))
    for k, row in enumerate(table.rows(own).numpy(), 1):
        np.testing.assert_allclose(row, standard(1.0 * (features.codes[:, 0].numpy() == k)), atol=1e-6)
