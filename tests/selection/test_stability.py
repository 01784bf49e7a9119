import numpy as np
import pytest
from scipy.optimize import linprog

from gpmnet.selection.stability import expected_low, half_sample, unimodal_factor, worst_factor


@pytest.mark.parametrize("n", [20, 21])
def test_halves_of_a_pair_share_no_row_and_pairs_differ(n):
    halves = [half_sample(n, number, seed=5) for number in range(8)]
    for one, other in zip(halves[::2], halves[1::2], strict=True):
        assert len(one) == len(other) == n // 2
        assert not set(one) & set(other)
        assert {*one, *other} <= set(range(n))
    assert len({tuple(half) for half in halves}) == 8
    assert not np.array_equal(half_sample(n, 0, seed=6), halves[0])


def test_every_row_is_as_often_in_a_half():
    counts = np.bincount(
        np.concatenate([half_sample(30, number, seed=0) for number in range(4000)]), minlength=30
    )
    assert abs(counts / 4000 - 0.5).max() < 5 * np.sqrt(0.25 / 4000)


def most_stable(tau, n_pairs, theta, unimodal):
    """Return max P(both-shares >= 2 tau - 1) over laws on 0, 1/B, ..., 1 with mean theta^2, unimodal or not."""
    grid = np.arange(n_pairs + 1) / n_pairs
    gain = -(grid >= 2 * tau - 1 - 1e-9).astype(float)
    best = 0.0
    for mode in range(n_pairs + 1) if unimodal else [None]:
        above, limit = [grid], [theta**2]
        for k in range(n_pairs) if mode is not None else ():
            row = np.zeros(n_pairs + 1)
            row[[k, k + 1]] = (1, -1) if k < mode else (-1, 1)
            above.append(row)
            limit.append(0.0)
        solved = linprog(gain, np.array(above), limit, np.ones((1, n_pairs + 1)), [1.0])
        best = max(best, -solved.fun if solved.success else 0.0)
    return best


@pytest.mark.parametrize("theta", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("tau", [0.6, 0.7, 0.75, 0.8, 0.9, 1.0])
def test_bounds_hold_for_the_worst_law_and_are_nearly_met(theta, tau):
    """P(stability >= tau) <= P(share of pairs of halves >= 2 tau - 1), whose mean is at most theta^2."""
    n_pairs = 20
    worst = most_stable(tau, n_pairs, theta, unimodal=False)
    assert worst <= worst_factor(tau) * theta**2 + 1e-9
    assert worst >= 0.9 * min(1.0, worst_factor(tau) * theta**2)
    modal = most_stable(tau, n_pairs, theta, unimodal=True)
    assert modal <= unimodal_factor(tau, n_pairs, theta) * theta**2 + 1e-9
    assert unimodal_factor(tau, n_pairs, theta) <= worst_factor(tau)


def test_the_bound_holds_for_a_selection_that_is_all_noise():
    """Each of p pairs is chosen in a half by chance q / p, independently: all are low."""
    rng = np.random.default_rng(0)
    p, theta, n_pairs, tau = 300, 0.4, 5, 0.7
    stable = [(rng.random((2 * n_pairs, p)) < theta).mean(axis=0) >= tau for _ in range(400)]
    found = np.mean([s.sum() for s in stable])
    assert 0 < found <= expected_low(tau, theta * p, p, n_pairs) <= expected_low(tau, theta * p, p)


def test_no_bound_at_a_half_and_none_needed_without_pairs():
    assert expected_low(0.5, 3.0, 10) == np.inf
    assert expected_low(0.9, 0.0, 0) == 0.0
