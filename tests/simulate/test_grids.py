"""Lattices: who is beside whom, and the laws on them at their usual sizes."""

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from gpmnet.errors import InputError
from gpmnet.simulate import simulate
from gpmnet.simulate.lattice import lattice_edges


@pytest.mark.parametrize(("d", "shape"), [(25, (5, 5)), (16, (4, 4)), (6, (2, 3)), (7, (1, 7)), (2, (1, 2))])
def test_the_lattice_is_as_square_as_can_be(d, shape):
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(*shape), ordering="sorted")
    assert {frozenset(pair) for pair in lattice_edges(d).tolist()} == {frozenset(pair) for pair in grid.edges}


def test_the_precision_of_the_gaussian_grid_is_that_of_the_sample():
    n = 50_000
    drawn = simulate("gaussian-grid", d=25, n=n)
    sample = np.linalg.inv(np.cov(drawn.values.T))
    scale = np.sqrt(np.diag(sample))
    partial = -sample / scale[:, None] / scale
    expected = np.where(drawn.truth.toarray(), 0.2, 0.0)
    off = ~np.eye(25, dtype=bool)
    assert np.abs(partial - expected)[off].max() < 4.5 / np.sqrt(n)


def test_the_ising_grid_has_the_mass_of_every_state():
    """Against the states counted one by one, with the energy written out: mean energy, and a spin given its neighbors."""
    n = 20_000
    drawn = simulate("ising", d=16, n=n)
    spins = (2 * drawn.values - 1).reshape(-1, 4, 4)
    states = np.array(np.meshgrid(*[[-1, 1]] * 16, indexing="ij")).reshape(16, -1).T.reshape(-1, 4, 4)

    def energy(s):
        return (s[:, 1:] * s[:, :-1]).sum((1, 2)) + (s[:, :, 1:] * s[:, :, :-1]).sum((1, 2))

    weight = np.exp(0.4 * energy(states))
    mass = weight / weight.sum()
    np.testing.assert_allclose(np.exp(drawn.log_density((states.reshape(-1, 16) + 1) / 2)), mass, rtol=1e-10)
    mean = mass @ energy(states)
    spread = np.sqrt(mass @ (energy(states) - mean) ** 2 / n)
    assert abs(energy(spins).mean() - mean) < 4 * spread
    around = spins[:, 0, 1] + spins[:, 2, 1] + spins[:, 1, 0] + spins[:, 1, 2]
    for field in (-4, -2, 0, 2, 4):
        here = spins[around == field, 1, 1] > 0
        p = 1 / (1 + np.exp(-0.8 * field))
        assert stats.binomtest(int(here.sum()), len(here), p).pvalue > 1e-3


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gaussian-grid", {"partial": 0.0}, "partial must not be 0"),
        ("gaussian-grid", {"partial": 0.3}, "partial"),
        ("ising", {"coupling": 0.0}, "coupling must not be 0"),
        ("ising", {"d": 21}, "d must be at most 20"),
    ],
)
def test_what_cannot_be_drawn_is_refused(name, options, message):
    with pytest.raises(InputError, match=message):
        simulate(name, n=10, **{"d": 4} | options)
