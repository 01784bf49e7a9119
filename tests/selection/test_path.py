"""The path of lambdas."""

import math

import numpy as np
import pytest

from gpmnet.errors import ComputationError
from gpmnet.selection.path import best_lam, stars_lam


def walk(losses, worse=0.5):
    """Return the choice on lams 9, 8, ... with the given losses, and the lams that were fitted."""
    seen = []
    lams = [9.0 - k for k in range(len(losses))]
    lam, found = best_lam(lams, seen.append, lambda: losses[len(seen) - 1], worse)
    return lam, found, seen


def test_the_least_loss_wins_and_the_path_ends_past_its_turn():
    lam, found, seen = walk([3.0, 2.0, 2.4, 2.6, 0.0])
    assert (lam, found, seen) == (8.0, [3.0, 2.0, 2.4, 2.6], [9.0, 8.0, 7.0, 6.0])


def test_a_small_rise_does_not_end_it_and_the_strongest_of_equals_is_chosen():
    assert walk([3.0, 2.0, 2.4, 1.0])[0] == 6.0
    assert walk([1.0, 1.0, 1.0])[0] == 9.0


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_lambda_whose_loss_is_not_finite_is_never_chosen(broken):
    assert walk([broken, 2.0, 1.0, broken])[0] == 7.0
    with pytest.raises(ComputationError, match="no lambda has a finite held-out loss"):
        walk([broken, broken])


def test_stars_takes_the_weakest_penalty_on_which_subsamples_agree():
    rng = np.random.default_rng(0)
    edges = np.arange(20) < 5

    def supports(lam):  # at 1 the true edges, below it noise joins them; above, nothing
        noise = rng.random((30, 20)) < {3.0: 0, 2.0: 0, 1.0: 0.01, 0.5: 0.3, 0.25: 0.5}[lam]
        return noise | (edges & (lam < 2.5))

    lam, found = stars_lam([3.0, 2.0, 1.0, 0.5, 0.25], supports)
    assert lam == 1.0
    assert len(found) == 4
    assert found == sorted(found)
    assert found[:2] == [0.0, 0.0]
    share = 0.3
    assert abs(found[3] - 0.75 * 2 * share * (1 - share)) < 0.1


def test_stars_never_goes_beyond_a_penalty_that_is_unstable_from_the_start():
    assert stars_lam([2.0, 1.0], lambda lam: np.array([[True], [False]]))[0] == 2.0
    assert stars_lam([2.0, 1.0], lambda lam: np.empty((2, 0), dtype=bool))[0] == 1.0
