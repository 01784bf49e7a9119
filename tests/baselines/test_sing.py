import numpy as np
import pytest

from gpmnet.baselines import Sing

pytest.importorskip("TransportMaps")


def test_order_three_recovers_butterfly(butterfly, capsys):
    table, truth = butterfly(400, 0)
    adjacency, weights = Sing(order=3)._graph(table)
    assert np.array_equal(adjacency, truth)
    assert np.array_equal(weights > 0, truth)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("ordering", ["min-fill", "min-degree"])
def test_order_one_is_gaussian(ordering, make_table):
    """A linear map sees a Gaussian chain; its omega is |precision| of the standardised data."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=2000)
    y = x + rng.normal(size=2000)
    z = y + rng.normal(size=2000)
    table = make_table(x, y, z)
    adjacency, weights = Sing(order=1, ordering=ordering)._graph(table)
    assert np.argwhere(np.triu(adjacency)).tolist() == [[0, 1], [1, 2]]
    precision = np.abs(np.linalg.inv(np.corrcoef(table.values().T)))
    np.testing.assert_allclose(weights[adjacency], precision[adjacency], rtol=0.05)


def test_a_high_threshold_is_the_empty_graph(butterfly):
    assert Sing(order=1, delta=1e6)._graph(butterfly(200, 0)[0])[0].sum() == 0


def test_discrete_columns_and_too_many_are_refused_with_a_reason(make_table):
    rng = np.random.default_rng(0)
    mixed = make_table(rng.normal(size=50), rng.integers(0, 2, 50), discrete=[1])
    assert Sing().supports(mixed) == (
        False,
        "SING is for continuous data only and column 'a column 1' is discrete",
    )
    able, reason = Sing(max_variables=3).supports(make_table(*rng.normal(size=(4, 50))))
    assert not able
    assert "4 variables are more than the 3" in reason
