import numpy as np
import pytest
from scipy.stats import kstest

from gpmnet.baselines import KciIamb, PcRcit, PcRcot, RcitIamb
from gpmnet.baselines.ci_tests import kci_test, rcit_test

pytest.importorskip("causallearn")


def common_cause(n_rows, seed, discrete=False):
    """X <- Z -> Y, nonlinear: dependent, and independent given Z."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n_rows).astype(float) if discrete else rng.normal(size=n_rows)
    x = np.sin(2 * z) + 0.5 * rng.normal(size=n_rows)
    y = z**2 + 0.5 * rng.normal(size=n_rows)
    return np.column_stack([x, y, z])


@pytest.mark.parametrize("cross", [True, False], ids=["RCIT", "RCoT"])
@pytest.mark.parametrize("discrete", [False, True], ids=["continuous", "discrete"])
def test_rcit_is_calibrated_under_independence_given_z(cross, discrete):
    p_values = [
        rcit_test(common_cause(300, seed, discrete), seed, cross=cross, n_features=25)(0, 1, (2,))
        for seed in range(80)
    ]
    assert np.mean(np.array(p_values) < 0.05) < 0.14  # a fair test is above it once in 2,000 times
    assert kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("cross", [True, False], ids=["RCIT", "RCoT"])
def test_rcit_sees_marginal_and_conditional_dependence(cross):
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 500))
    y = x**2 + z + 0.3 * rng.normal(size=500)
    test = rcit_test(np.column_stack([x, y, z]), 0, cross=cross)
    assert test(0, 1, ()) < 1e-3
    assert test(0, 1, (2,)) < 1e-3
    assert test(0, 2, ()) > 0.01


def test_rcit_depends_on_its_seed_and_variables_only_and_leaves_the_global_generator_alone():
    data = common_cause(200, 5)
    np.random.seed(7)  # noqa: NPY002
    expected_draw = np.random.random()  # noqa: NPY002
    np.random.seed(7)  # noqa: NPY002
    first, second = rcit_test(data, 1), rcit_test(data, 1)
    forwards = [first(0, 1, ()), first(0, 1, (2,)), first(1, 2, (0,))]
    backwards = [second(2, 1, (0,)), second(1, 0, (2,)), second(1, 0, ())][::-1]
    assert np.random.random() == expected_draw  # noqa: NPY002
    assert forwards == backwards
    assert rcit_test(data, 2)(0, 1, (2,)) != forwards[1]


def test_kci_by_the_short_way_is_causal_learns_kci():
    rng = np.random.default_rng(3)
    data = np.column_stack([common_cause(150, 4), rng.normal(size=150)])
    data[:, 3] += 0.3 * data[:, 0]
    short, plain = kci_test(data), kci_test(data, fast=False)
    for question in [(0, 1, (2,)), (0, 3, (1, 2)), (0, 3, (1,)), (0, 1, ())]:
        assert short(*question) == pytest.approx(plain(*question), abs=2e-3)
    assert short(0, 3, (1,)) < 0.05 < short(0, 1, (2,))


def test_kci_does_not_confuse_data_sets_that_print_alike():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    related = np.column_stack([x, x + rng.normal(size=600)])
    shuffled = related.copy()
    shuffled[3:-3, 1] = rng.permutation(shuffled[3:-3, 1])
    assert str(related) == str(shuffled)
    assert kci_test(related)(0, 1, ()) < 1e-3 < 0.01 < kci_test(shuffled)(0, 1, ())


def test_a_test_without_an_answer_is_an_error():
    data = common_cause(50, 0)
    data[:, 2] = 1.0
    with pytest.raises(FloatingPointError, match=r"RCIT has no p-value for variables 2 and 0 given \[1\]"):
        rcit_test(data)(2, 0, (1,))


@pytest.mark.parametrize("method", [RcitIamb(), PcRcit(), PcRcot()], ids=lambda m: m.name)
def test_the_randomised_tests_recover_butterfly(method, butterfly):
    table, truth = butterfly(1000, 0)
    adjacency, weights = method._graph(table)
    assert np.array_equal(adjacency, truth)
    assert weights[truth].min() > weights[~truth].max()


def test_kci_with_iamb_recovers_butterfly(butterfly):
    table, truth = butterfly(300, 1)
    adjacency, weights = KciIamb()._graph(table)
    assert np.array_equal(adjacency, truth)
    assert weights[truth].min() > weights[~truth].max()
