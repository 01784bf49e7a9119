"""Does the local engine find the graph, and nothing where there is nothing? Fixed seeds, honest tolerances."""

import numpy as np
import pytest

from gpmnet import GPM, metrics
from gpmnet.engines.local import LocalOptions
from gpmnet.simulate import simulate
from gpmnet.table import load_table


def fit(drawn, **options):
    table = load_table(drawn.frame(), kinds=dict(zip(drawn.names, drawn.kinds, strict=True)))
    return GPM(**options).fit(table).network_


def mean_hamming(name, seeds, *, fdr=0.01, **drawing):
    drawn = [simulate(name, seed=seed, **drawing) for seed in seeds]
    return np.mean([metrics.hamming(x.truth, fit(x, fdr=fdr).adjacency) for x in drawn])


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_butterflies_are_recovered(kind):
    assert mean_hamming("butterfly", range(4), kind=kind, d=12, n=1000) <= 0.5


@pytest.mark.parametrize(("kind", "most"), [("continuous", 4.5), ("discrete", 2.5), ("mixed", 4.0)])
def test_random_graphs_are_mostly_recovered(kind, most):
    """14 edges each; an empty graph has Hamming distance 14."""
    assert mean_hamming("random", range(3), kind=kind, d=10, n=1000) <= most


def test_gaussian_chain():
    assert mean_hamming("gaussian", range(3), d=12, n=1000, structure="chain") <= 0.7


def test_parity_needs_no_pairwise_signal_once_one_edge_is_seen():
    """The noisy product: two parents that only an interaction joins."""
    drawn = simulate("product", d=3, n=2000, seed=0)
    assert metrics.hamming(drawn.truth, fit(drawn, fdr=0.01).adjacency) == 0


@pytest.mark.parametrize("n", [300, 1000])
def test_nothing_is_found_where_there_is_nothing(n):
    """Any edge at all is allowed in one table of twenty; two tables may both be unlucky once in 400."""
    found = [fit(simulate("null", d=300, n=n, seed=seed)).n_edges for seed in range(3)]
    assert sum(edges > 0 for edges in found) <= 1


def test_the_screened_search_agrees_with_the_full_one():
    drawn = simulate("butterfly", kind="mixed", d=40, n=1000, seed=0)
    full = fit(drawn, fdr=0.01)
    screened = fit(drawn, fdr=0.01, options=LocalOptions(all_pairs_up_to=10))
    assert metrics.hamming(full.adjacency, screened.adjacency) <= 1
    assert metrics.hamming(drawn.truth, screened.adjacency) <= 1


def test_an_edge_that_only_shows_after_conditioning_is_found_by_the_second_screen():
    """a and b are independent; c = a + b. Given c they depend on each other."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1500, 30))
    values[:, 2] = values[:, 0] + values[:, 1] + 0.5 * rng.normal(size=1500)
    options = LocalOptions(all_pairs_up_to=10)
    network = GPM(fdr=0.01, options=options).fit(values).network_
    assert network.neighbors("x1") == ("x2", "x3")
    assert network.n_edges == 3


def behind_one(rng, n=300):
    """The second end misses the only neighbor, to which the first one is close."""
    k = rng.normal(size=n)
    return np.column_stack([k + 0.3 * rng.normal(size=n), 0.12 * k + rng.normal(size=n), k])


def behind_two(rng, n=300):
    """Both neighbors of the second end are weak, each half as telling as the first end."""
    k = rng.normal(size=(n, 2))
    both = k.sum(axis=1) / 2**0.5
    return np.column_stack([both + 0.3 * rng.normal(size=n), 0.12 * both + rng.normal(size=n), k])


def crossed(rng, n=300):
    """Each end misses what the other one has."""
    k = rng.normal(size=(n, 2))
    noise = 0.5 * rng.normal(size=(n, 2))
    return np.column_stack([k + 0.12 * k[:, ::-1] + noise, k])


def behind_a_wave(rng, n=300):
    """The first end misses a neighbor that acts on it in waves, and of which the second end is nearly a copy."""
    k = rng.normal(size=(n, 2))
    first = k[:, 0] + 0.25 * np.cos(2 * k[:, 1]) + 0.5 * rng.normal(size=n)
    return np.column_stack([first, 0.12 * k[:, 0] + k[:, 1] + 0.3 * rng.normal(size=n), k])


@pytest.mark.slow
@pytest.mark.parametrize("draw", [behind_one, behind_two, crossed, behind_a_wave])
def test_p_values_of_the_whole_pipeline_are_honest(draw):
    """A null pair behind weak neighbors that the search may miss: P(p <= a) stays near a."""
    rejected = {0.01: 0, 0.05: 0}
    repeats = 200
    for seed in range(repeats):
        pairs = GPM().fit(draw(np.random.default_rng(seed))).network_.pairs
        p = {(i, j): v for i, j, v in zip(pairs.first, pairs.second, pairs.p_value, strict=True)}
        for alpha in rejected:
            rejected[alpha] += p.get((0, 1), 1.0) <= alpha
    for alpha, count in rejected.items():
        assert count / repeats <= alpha + 3.5 * np.sqrt(alpha * (1 - alpha) / repeats)


CURVED = {
    "square": (1, lambda z: z[0] ** 2, 0.5),
    "sine": (1, lambda z: np.sin(3 * z[0]), 0.5),
    "step": (1, lambda z: 1.0 * (z[0] > 0.5), 0.3),
    "maximum": (2, lambda z: np.maximum(*z), 0.5),
    "sum of four": (4, lambda z: z.sum(axis=0), 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", CURVED)
def test_null_pairs_behind_curved_confounders_are_honest(law):
    """x = f(z) + noise, y = f(z) + noise: x and y are independent given z, whatever f. Jumps are allowed 0.15."""
    count, f, noise = CURVED[law]
    repeats, n, rejected = 60, 500, 0
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(count, n))
        x, y = (f(z) + noise * rng.normal(size=n) for _ in range(2))
        pairs = GPM().fit(np.column_stack([x, y, *z, rng.normal(size=n)])).network_.pairs
        at = np.flatnonzero((pairs.first == 0) & (pairs.second == 1))
        rejected += bool(len(at)) and pairs.p_value[at[0]] <= 0.05
    nominal = 0.15 if law == "step" else 0.05
    assert rejected / repeats <= nominal + 2.5 * np.sqrt(nominal * (1 - nominal) / repeats)
