import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from gpmnet.selection import benjamini_hochberg


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 20))
def test_q_values_agree_with_scipy_when_the_rest_is_one(p, untested):
    expected = false_discovery_control([*p, *[1.0] * untested])[: len(p)]
    np.testing.assert_allclose(benjamini_hochberg(p, len(p) + untested), expected)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_false_discovery_rate_is_kept(share):
    rng = np.random.default_rng(0)
    realised = []
    for _ in range(400):
        p = rng.random(100)
        signal = np.arange(100) < 100 * share
        p[signal] **= 8
        chosen = benjamini_hochberg(p) <= 0.1
        realised.append((chosen & ~signal).sum() / max(chosen.sum(), 1))
    assert np.mean(realised) < 0.1 + 3 * np.std(realised) / 20
