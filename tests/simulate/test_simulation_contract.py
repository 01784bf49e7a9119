"""What holds for every simulator."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from gpmnet.errors import InputError
from gpmnet.simulate import SIMULATORS, Simulation, simulate


def test_same_seed_same_bytes(case):
    first, second, other = case(seed=3), case(seed=3), case(seed=4)
    assert first.values.tobytes() == second.values.tobytes()
    assert (first.truth != second.truth).nnz == 0
    assert first.values.tobytes() != other.values.tobytes()


def test_global_state_is_neither_read_nor_written(case):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = case().values
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    assert (case().values == first).all()


def test_the_law_does_not_depend_on_the_number_of_rows(case):
    few, many = case(n=20), case(n=200)
    assert few.kinds == many.kinds
    assert few.levels == many.levels
    assert (few.truth != many.truth).nnz == 0
    if few.log_density is not None:
        np.testing.assert_array_equal(few.log_density(few.values), many.log_density(few.values))


def test_shapes_and_kinds(case):
    drawn = case(n=37)
    d = drawn.values.shape[1]
    assert isinstance(drawn, Simulation)
    assert drawn.values.shape == (37, d)
    assert drawn.values.dtype == np.float64
    assert drawn.values.flags.c_contiguous
    assert np.isfinite(drawn.values).all()
    assert len(drawn.names) == len(set(drawn.names)) == len(drawn.kinds) == len(drawn.levels) == d
    assert set(drawn.kinds) == ({"continuous", "discrete"} if case.kind == "mixed" else {case.kind})
    assert tuple(level > 0 for level in drawn.levels) == tuple(kind == "discrete" for kind in drawn.kinds)


def test_discrete_columns_hold_codes_and_reach_every_level(case):
    drawn = case(n=5000)
    for column, level in zip(drawn.values.T, drawn.levels, strict=True):
        if level:
            assert set(column) == set(range(level))
        else:
            assert len(set(column)) > level


def test_truth_is_an_undirected_graph(case):
    truth = case().truth
    assert truth.dtype == np.bool_
    assert truth.format == "csr"
    assert (truth != truth.T).nnz == 0
    assert not truth.diagonal().any()
    assert truth.data.all()
    assert truth.nnz > 0 or case.name == "null"


def test_frame(case):
    drawn = case()
    frame = drawn.frame()
    assert list(frame.columns) == list(drawn.names)
    for name, kind in zip(drawn.names, drawn.kinds, strict=True):
        is_kind = pd.api.types.is_integer_dtype if kind == "discrete" else pd.api.types.is_float_dtype
        assert is_kind(frame[name])
    np.testing.assert_array_equal(frame.to_numpy(dtype=np.float64), drawn.values)


def test_edges_list_the_truth_in_column_order(case):
    drawn = case()
    edges = drawn.edges()
    at = {name: i for i, name in enumerate(drawn.names)}
    listed = [(at[s], at[t]) for s, t in zip(edges["source"], edges["target"], strict=True)]
    dense = drawn.truth.toarray()
    assert listed == [(i, j) for i in range(len(at)) for j in range(i + 1, len(at)) if dense[i, j]]


def test_parameters_say_what_was_drawn(case):
    drawn = case(n=50, seed=1)
    assert drawn.name == case.name
    assert {"kind": case.kind, "n": 50, "seed": 1}.items() <= drawn.parameters.items()
    assert set(SIMULATORS[case.name].options) - {"precision"} <= set(drawn.parameters)
    json.dumps(drawn.parameters)


def test_pickles(case):
    drawn = case()
    again = pickle.loads(pickle.dumps(drawn))  # noqa: S301
    np.testing.assert_array_equal(again.values, drawn.values)
    if drawn.log_density is not None:
        np.testing.assert_array_equal(again.log_density(drawn.values), drawn.log_density(drawn.values))


@pytest.mark.parametrize("name", [name for name, s in SIMULATORS.items() if "dtype" in s.options])
def test_float32(name):
    for kind in SIMULATORS[name].kinds:
        drawn = simulate(name, d=6, n=20, kind=kind, dtype="float32")
        assert drawn.values.dtype == np.float32
        assert (
            drawn.values.tobytes() == simulate(name, d=6, n=20, kind=kind, dtype="float32").values.tobytes()
        )


@pytest.mark.parametrize("name", SIMULATORS)
def test_documented(name):
    simulator = SIMULATORS[name]
    assert simulator.name == name
    assert simulator.summary.endswith(".")
    assert ">>>" in simulator.__doc__
    assert all(option in simulator.__doc__ for option in simulator.options)


def test_a_simulator_is_a_part(case):
    simulator = SIMULATORS[case.name].with_params(**case.options)
    assert {name: simulator.options[name] for name in case.options} == case.options
    np.testing.assert_array_equal(simulator.draw(6, 20, 3, case.kind).values, case(n=20, seed=3).values)
    assert SIMULATORS[case.name].options == type(simulator)().options


@pytest.mark.parametrize(
    ("name", "asked", "said"),
    [
        ("nothing", {}, "no simulator is called 'nothing'; there are butterfly, random"),
        ("butterfly", {"kind": "binary"}, "kind must be one of continuous, discrete, mixed, got 'binary'"),
        ("gaussian", {"kind": "discrete"}, "kind must be one of continuous"),
        ("butterfly", {"colour": 1}, "butterfly has no option 'colour'; it has positive, smooth, dtype"),
        ("butterfly", {"d": 5}, "d must be a multiple of 2, got 5"),
        ("product", {"d": 4}, "d must be a multiple of 3"),
        ("parity", {"d": 2}, "d must be a whole number of at least 3, got '2'"),
        ("parity", {"d": 7, "block": 3}, "multiple of 3"),
        ("parity", {"flip": 0.5}, "parity: flip must be a number in [0, 0.5); got '0.5'"),
        ("null", {"d": 1}, "d must be a whole number of at least 2, got '1'"),
        ("null", {"d": 2.5}, "d must be a whole number"),
        ("null", {"n": 0}, "n must be a whole number of at least 1"),
        ("null", {"n": True}, "n must be a whole number"),
        ("null", {"seed": -1}, "seed must be a whole number of at least 0"),
        ("null", {"dtype": "int8"}, "dtype must be one of float32, float64"),
        ("random", {"noise": "cauchy"}, "noise must be one of exponential, gaussian, gamma"),
        ("random", {"noise": "gaussian", "kind": "discrete"}, "belong to kind continuous"),
        ("random", {"density": 1.5}, "density must be a number in [0, 1]; got"),
        ("random", {"density": 0.9, "max_clique": 3}, "lower density or raise max_clique"),
        ("random", {"d": 40, "density": 1.0, "kind": "discrete"}, "lower max_clique"),
        ("gaussian", {"structure": "ring"}, "structure must be one of random, chain"),
        ("gaussian", {"strength": 1.0}, "strength must be a number"),
        ("gaussian", {"precision": np.eye(3)}, "precision must have shape (6, 6)"),
        ("gaussian", {"precision": np.triu(np.ones((6, 6)))}, "symmetric"),
        ("gaussian", {"precision": np.ones((6, 6)) - 2 * np.eye(6)}, "positive definite"),
        ("gaussian", {"precision": np.ones((6, 6))}, "positive definite"),
        ("gaussian", {"precision": [["a"]]}, "matrix of numbers"),
        ("copula-chain", {"rho": 1.0}, "copula-chain: rho must be a number"),
        ("copula-chain", {"rho": 0}, "copula-chain: rho must not be 0"),
        ("confounded", {"law": "cube"}, "confounded: law must be one of linear, sum of four"),
        ("confounded", {"kind": "mixed"}, "confounded: the law 'linear' is continuous, not mixed; leave the kind out"),
        ("confounded", {"law": "sum of four", "d": 5}, "'sum of four' has 6 columns; d must be at least that, got 5"),
        ("random", {"max_clique": 2.5}, "random: max_clique must be a whole number of at least 1"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused_in_one_line(name, asked, said):
    with pytest.raises(InputError) as refused:
        simulate(name, **{"d": 6, "n": 10, **asked})
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_simulation_checks_its_parts():
    drawn = simulate("null", d=3, n=5)
    with pytest.raises(InputError, match="3 columns came with 2 names"):
        Simulation("x", ("a", "b"), drawn.values, drawn.kinds, drawn.truth, {})
