"""Long columns in increasing order: what a stable sort of NumPy gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpmnet.table import ranked as module
from gpmnet.table.ranked import increasing, ranked

EDGES = [0.0, -0.0, 5e-324, -5e-324, 1.0, np.nextafter(1, 2), np.nextafter(1, 0), -1.0, 1.7e308, -1.7e308]
floats = st.sampled_from(EDGES) | st.floats(allow_nan=False, allow_infinity=False)
columns = arrays(np.float64, st.integers(1, 80), elements=floats)
narrow = arrays(
    np.float32, st.integers(1, 80), elements=st.floats(allow_nan=False, allow_infinity=False, width=32)
)
whole = arrays(np.uint64, st.integers(1, 80), elements=st.integers(0, 2**64 - 1) | st.integers(0, 3))


def check_order(values):
    order, fresh = increasing(values)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    ordered = np.sort(values)
    np.testing.assert_array_equal(fresh, np.append(True, ordered[1:] != ordered[:-1])[: len(values)])


@given(columns | narrow | whole)
def test_the_order_is_that_of_a_stable_sort(values):
    check_order(values)


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_values_whose_leading_bits_agree_are_put_in_order(monkeypatch, piece):
    """With both ends of the range there, the last bits of a value have no room beside its position."""
    monkeypatch.setattr(module, "_PIECE", piece)
    rng = np.random.default_rng(0)
    close = 1 + rng.integers(0, 40, 300) * np.finfo(float).eps  # some equal, most not
    zeros = np.zeros(100)
    values = rng.permutation(np.r_[-1.7e308, 1.7e308, close, zeros, rng.normal(size=300)])
    bits = (len(values) - 1).bit_length()
    leading = module._packed(values, bits) >> np.uint64(bits)
    assert len(np.unique(leading)) < len(np.unique(values))  # else this would test nothing
    check_order(values)


def test_no_values_have_an_order():
    order, fresh = increasing(np.empty(0, dtype=np.uint64))
    assert (len(order), len(fresh)) == (0, 0)


@pytest.mark.parametrize("few", [0, 4, 1 << 14])
@given(values=columns | narrow)
def test_ranks_are_the_numbers_of_the_distinct_values(few, values):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_FEW", few)
        found = ranked(values)
    uniques, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(found.ranks, inverse)
    assert found.ranks.dtype == np.int32
    assert (found.n_distinct, found.commonest) == (len(uniques), counts.max())


@pytest.mark.parametrize("kind", ["counts", "half zero", "rounded"])
def test_ranks_of_columns_with_ties(kind):
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=20_000)
    values = {
        "counts": np.floor(np.exp(drawn)),
        "half zero": np.where(rng.random(len(drawn)) < 0.5, 0.0, drawn),
        "rounded": drawn.round(3),
    }[kind]
    found = ranked(values)
    uniques, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(found.ranks, inverse)
    assert (found.n_distinct, found.commonest) == (len(uniques), counts.max())
