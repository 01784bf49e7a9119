"""Pairs that no rows can tell anything about, against a plain loop."""

import numpy as np
import pytest

from gpmnet.table.gaps import LEAST_TOGETHER
from gpmnet.table.together import apart


def by_a_loop(observed, values):
    d = observed.shape[1]
    found = np.zeros((d, d), dtype=bool)
    for i in range(d):
        for j in range(d):
            both = observed[:, i] & observed[:, j]
            varies = all(len(set(values[k][both].tolist())) > 1 for k in (i, j))
            found[i, j] = i != j and (both.sum() < LEAST_TOGETHER or not varies)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_same_as_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    n, d = 150, 7
    observed = rng.random((n, d)) < rng.uniform(0.1, 1.0, d)
    values = [rng.integers(0, rng.integers(2, 4), n) for _ in range(d - 1)] + [rng.normal(size=n)]
    observed[:, 0] &= values[1] == 0  # asked where another column has one value
    observed[:, 2] &= values[3] == values[3].max()
    found = apart(observed, values.__getitem__)
    np.testing.assert_array_equal(found, by_a_loop(observed, values))
    assert found[0, 1]
    assert not found.all()
