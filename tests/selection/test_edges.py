"""Which pairs become edges, against a loop over the pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpmnet.selection import Cutoff, benjamini_hochberg, choose_edges

pairs = st.lists(st.tuples(st.floats(1e-12, 1), st.booleans()), min_size=1, max_size=25)


@given(pairs, st.integers(0, 200), st.floats(1e-6, 0.5), st.sampled_from(["q", "p"]))
def test_edges_are_those_of_a_loop(found, untested, value, of):
    p, required = (np.array(column) for column in zip(*found, strict=True))
    n_tests = len(p) + untested
    chosen = choose_edges(np.log(p), n_tests, Cutoff(value, of), required)
    q = benjamini_hochberg(p, n_tests)
    for k in range(len(p)):
        figure = q[k] if of == "q" else p[k]
        if abs(figure - value) > 1e-9 * value:  # on the border rounding may decide
            assert chosen.is_edge[k] == (required[k] or figure <= value)
    np.testing.assert_allclose(chosen.p_value, p, rtol=1e-12)
    np.testing.assert_allclose(chosen.q_value, q, rtol=1e-12)


def test_a_p_value_needs_no_correction_and_a_rate_counts_pairs_that_are_not_at_hand():
    log_p, nothing = np.log([0.001, 0.02, 0.04]), np.zeros(3, dtype=bool)
    assert choose_edges(log_p, 3, Cutoff(0.05), nothing).is_edge.tolist() == [True, True, True]
    assert choose_edges(log_p, 40, Cutoff(0.05), nothing).is_edge.tolist() == [True, False, False]
    assert choose_edges(log_p, 40, Cutoff(0.03, "p"), nothing).is_edge.tolist() == [True, True, False]


@pytest.mark.parametrize("of", ["q", "p"])
def test_required_pairs_are_edges_and_change_nothing_else(of):
    log_p, required = np.log([1e-6, 0.5, 1.0]), np.array([False, False, True])
    free = choose_edges(log_p, 10, Cutoff(0.01, of), np.zeros(3, dtype=bool))
    bound = choose_edges(log_p, 10, Cutoff(0.01, of), required)
    assert free.is_edge.tolist() == [True, False, False]
    assert bound.is_edge.tolist() == [True, False, True]
    np.testing.assert_array_equal(bound.p_value, free.p_value)
    np.testing.assert_array_equal(bound.q_value, free.q_value)


def test_p_values_too_small_for_a_float_are_told_apart():
    """Of 10^18 pairs the rates are 10^-307.5 and 10^-312.3; as floats the p-values are 0, and so would the rates be."""
    log_p, nothing = np.log(10.0) * np.array([-330.0, -325.0, -2000.0]), np.zeros(3, dtype=bool)
    chosen = choose_edges(log_p, 10**18, Cutoff(1e-308), nothing)
    assert chosen.is_edge.tolist() == [True, False, True]
    assert choose_edges(log_p, 10**18, Cutoff(1e-307), nothing).is_edge.all()
    assert chosen.p_value.tolist() == [0.0, 0.0, 0.0]
    assert chosen.q_value[1] == pytest.approx(1e-307 / 3, rel=1e-6)
    assert benjamini_hochberg(chosen.p_value, 10**18).tolist() == [0.0, 0.0, 0.0]


def test_a_p_value_of_zero_is_an_edge():
    assert choose_edges(np.array([-np.inf]), 10, Cutoff(1e-300), np.array([False])).is_edge.tolist() == [True]


def test_no_pairs_no_edges():
    nothing = np.zeros(0)
    chosen = choose_edges(nothing, 10, Cutoff(0.05), nothing.astype(bool))
    assert len(chosen.is_edge) == len(chosen.p_value) == len(chosen.q_value) == 0
