"""causal-learn's PC with our test."""

import numpy as np
import pandas as pd
import pytest

from gpmnet import ci_test
from gpmnet.causal import PCOptions, pc, register_causal_learn

pytest.importorskip("causallearn")


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 500))
    c = np.abs(a) + b + 0.5 * rng.normal(size=500)
    return np.column_stack([a, b, c, np.tanh(c) + 0.5 * rng.normal(size=500)])


def test_its_pc_finds_what_ours_does(values):
    from causallearn.search.ConstraintBased.PC import pc as their_pc

    found = their_pc(values, 0.01, register_causal_learn(), show_progress=False).G.graph
    mine = pc(values, options=PCOptions(alpha=0.01)).graph
    assert np.array_equal((found.T == 1) & (found == -1), mine.directed)
    assert mine.compelled == (("x1", "x3"), ("x2", "x3"), ("x3", "x4"))


def test_p_values_and_kinds_pass_through(values):
    from causallearn.utils.cit import CIT

    coded = values.copy()
    coded[:, 0] = np.digitize(coded[:, 0], [-0.5, 0.5])
    test = CIT(coded, register_causal_learn("double residual"), kinds={"x1": "discrete"})
    frame = pd.DataFrame(coded, columns=["x1", "x2", "x3", "x4"])
    expected = ci_test("x1", "x3", ["x2"], frame, kinds={"x1": "discrete"}).p_value
    assert test(0, 2, [1]) == test(2, 0, (1,)) == pytest.approx(expected)
    assert test(0, 1) == pytest.approx(ci_test("x1", "x2", (), frame, kinds={"x1": "discrete"}).p_value)
