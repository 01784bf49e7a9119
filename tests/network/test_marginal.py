"""Associations with nothing given, and axes without ties."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from gpmnet.network import Axis, MarkovNetwork, Pairs, marginal
from gpmnet.network.marginal import rank_correlations
from gpmnet.network.shapes import untied, untied_grid
from gpmnet.network.store import load_network
from gpmnet.table import load_table


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    zeros = np.where(rng.random(200) < 0.8, 0.0, np.abs(a) + rng.random(200))
    return load_table(
        pd.DataFrame(
            {"a": a, "kind": rng.choice(list("xyz"), 200), "b": a + rng.normal(size=200), "zeros": zeros}
        )
    )


@pytest.mark.parametrize("block", [1, 10_000_000])
def test_rank_correlations_are_those_of_scipy(table, block, monkeypatch):
    monkeypatch.setattr(marginal, "_BLOCK", block)
    first, second = np.triu_indices(4, 1)
    found = rank_correlations(table, first, second)
    values = table.values()
    for a, b, value in zip(first, second, found, strict=True):
        if "kind" in (table.names[a], table.names[b]):
            assert np.isnan(value)
        else:
            assert value == pytest.approx(spearmanr(values[:, a], values[:, b]).statistic, abs=1e-12)


def test_of_many_rows_a_sample_is_looked_at(table, monkeypatch):
    exact = rank_correlations(table, np.array([0]), np.array([2]))
    monkeypatch.setattr(marginal, "_MOST_ROWS", 150)
    sampled = rank_correlations(table, np.array([0]), np.array([2]))
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=0.1)


def test_too_many_products_are_left_out(table, monkeypatch):
    monkeypatch.setattr(marginal, "MOST_PRODUCTS", 100)
    assert np.isnan(rank_correlations(table, np.array([0]), np.array([2]))).all()


def test_networks_saved_without_the_column_are_read(tmp_path):
    import json

    from safetensors.numpy import load, save

    from gpmnet.network import store

    network = MarkovNetwork(("a", "b"), Pairs.of([0], [1], strength=[0.5], marginal=[-0.4]))
    network.save(tmp_path)
    assert load_network(tmp_path).pairs.marginal.tolist() == [-0.4]
    arrays = load((tmp_path / "omega.safetensors").read_bytes())
    del arrays["marginal"]
    whole = json.loads((tmp_path / "network.json").read_text())
    whole["digest"] = store._digest(whole, save(arrays))
    (tmp_path / "omega.safetensors").write_bytes(save(arrays))
    (tmp_path / "network.json").write_text(json.dumps(whole))
    assert np.isnan(load_network(tmp_path).pairs.marginal).all()


def test_the_sentence_tells_a_flip():
    pairs = Pairs.of([0], [1], strength=[0.69], sign=[1], p_value=[0.0], marginal=[-0.33])
    network = MarkovNetwork(("sugar", "alcohol"), pairs, ("continuous", "continuous"))
    assert (
        "the other way round: their rank correlation is \N{MINUS SIGN}0.33"
        in network.explain("sugar", "alcohol").text
    )


def test_grids_lose_their_ties_and_keep_their_means():
    rng = np.random.default_rng(1)
    x = Axis((0.0, 0.0, 0.0, 2.0), ("0", "0", "0", "2"))
    y = Axis((), ("a", "b"))
    grid = rng.normal(size=(4, 2))
    new_x, new_y, values = untied_grid(x, y, grid)
    assert new_x.values == (0.0, 2.0)
    assert new_y is y
    np.testing.assert_allclose(values, [grid[:3].mean(axis=0), grid[3]], rtol=1e-6)
    one, weights = untied(Axis((5.0,) * 4, ("5",) * 4))
    assert one.values == (12.5, 37.5, 62.5, 87.5)
    np.testing.assert_array_equal(weights, np.eye(4))


def test_matplotlib_draws_a_column_of_zeros(shaped):
    from dataclasses import replace

    from gpmnet.network import Shapes

    axis = Axis((0.0,) * 9, ("0",) * 9)
    shapes = Shapes({**shaped.shapes.axes, 1: axis}, shaped.shapes.pair, shaped.shapes.values)
    drawn = replace(shaped, shapes=shapes).explain("density", "alcohol").plot().collections[0]
    box = drawn.get_datalim(drawn.axes.transData)
    assert box.height > 50
