"""The test by itself: names in, an answer out, the same as the engine's parts give."""

import numpy as np
import pandas as pd
import pytest
import torch

import gpmnet
from gpmnet import CITest, ci_test
from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.errors import InputError
from gpmnet.simulate import simulate
from gpmnet.table import load_table
from gpmnet.testing.base import BoundTest
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    z, w = rng.normal(size=(2, 400))
    group = rng.choice(["a", "b", "c"], 400)
    x = np.sin(2 * z) + 0.7 * rng.normal(size=400)
    y = np.sin(2 * z) + (group == "b") + 0.7 * rng.normal(size=400)
    return pd.DataFrame({"x": x, "y": y, "z": z, "w": w, "group": group})


@pytest.fixture(scope="module")
def test(frame):
    return CITest(frame)


def test_one_test_says_what_it_found(frame):
    found = ci_test("x", "y", ["z"], frame)
    assert (found.x, found.y, found.given, found.n_rows) == ("x", "y", ("z",), 400)
    assert found.p_value > 0.01
    assert found.strength_low <= found.strength <= found.strength_high
    assert ci_test("x", "y", data=frame).p_value < 1e-6
    joined = ci_test("y", "group", "z", frame)
    assert joined.p_value < 1e-6
    assert joined.strength > 0.3


def test_the_answers_are_those_of_the_parts(frame, test):
    table = load_table(frame)
    features = build_features(table.encode(), feature_functions(3), "cpu", torch.float64)
    parts = BoundTest(DoubleResidual(), Designs(features, DesignOptions()).tabulated())
    at = {name: k for k, name in enumerate(table.names)}
    expected = parts.pairs(
        torch.tensor([at["x"]]), torch.tensor([at["y"]]), torch.tensor([[at["z"], at["group"]]])
    )
    found = test.test([("x", "y")], ["z", "group"])[0]
    assert found.p_value == pytest.approx(float(expected.log_p.exp()), rel=1e-9)
    assert found.strength == pytest.approx(float(expected.strength), rel=1e-9)


def test_neither_order_nor_company_changes_an_answer(test):
    alone = test.test([("x", "y")], ["z", "w"])[0]
    other = test.test([("y", "x")], ["w", "z"])[0]
    assert alone.p_value == other.p_value
    many = test.test([("x", "w"), ("x", "y"), ("group", "y")], [(), ("z", "w"), ("x",)])
    assert many[1].p_value == pytest.approx(alone.p_value, rel=1e-9)
    assert many[0].given == ()


def test_one_set_for_all_pairs(test):
    together = test.test([("x", "y"), ("x", "group")], ["z"])
    apart = test.test([("x", "y"), ("x", "group")], [["z"], ["z"]])
    assert [found.p_value for found in together] == [found.p_value for found in apart]
    assert test.test([], []) == []


def test_tests_are_counted(frame):
    test = CITest(frame)
    test.test([("x", "y"), ("x", "z")])
    ci_test("x", "w", data=test)
    assert test.n_tests == 3


def test_tables_in_other_forms_give_the_same(frame, tmp_path):
    frame.to_csv(tmp_path / "table.csv", index=False)
    expected = ci_test("x", "y", ["z"], frame).p_value
    for data in (tmp_path / "table.csv", load_table(frame), {name: frame[name] for name in frame}):
        assert ci_test("x", "y", ["z"], data).p_value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "given", "message"),
    [
        ("x", "x", (), "two different variables"),
        ("x", "y", ["x"], "not in the set"),
        ("x", "v", (), "no column 'v'"),
        ("x", "y", ["v\n"], r"no column 'v\\n'"),
        ("x", "constant", (), "'constant' cannot be tested"),
        ("x", "copy", (), "duplicate of 'x'"),
    ],
)
def test_what_cannot_be_tested_is_named_in_one_line(frame, x, y, given, message):
    with pytest.raises(InputError, match=message) as raised:
        ci_test(x, y, given, frame.assign(constant=1, copy=frame["x"]))
    assert "\n" not in str(raised.value)


def test_data_that_cannot_be_used_are_refused(frame, test):
    with pytest.raises(InputError, match="needs data"):
        ci_test("x", "y")
    with pytest.raises(InputError, match="at least 10"):
        ci_test(
            "x", "y", data=frame.head(8), kinds={"x": "continuous", "y": "continuous", "group": "ignored"}
        )
    with pytest.raises(InputError, match="for each of the 2 pairs"):
        test.test([("x", "y"), ("x", "z")], [["w"]])


def test_missing_values_are_refused_or_dropped(frame):
    holes = frame.copy()
    holes.loc[:9, "w"] = np.nan
    with pytest.raises(InputError, match="missing"):
        ci_test("x", "y", ["z"], holes)
    assert ci_test("x", "y", ["z"], holes, missing="drop").n_rows == 390


def test_public_names():
    assert gpmnet.ci_test is ci_test
    assert gpmnet.CITest is CITest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "n"),
    [
        ("sine", 400),
        ("sum of four", 400),
        ("text of 8", 400),
        ("table of 3", 400),
        ("square", 100),
    ],
)
def test_independent_pairs_are_seldom_rejected(law, n):
    """200 draws: at most 11% at 0.05, which 5% exceed with a probability below 0.001."""
    p_values = []
    for seed in range(200):
        drawn = simulate("confounded", d=6 if law == "sum of four" else 3, n=n, seed=seed, law=law)
        frame = drawn.frame()
        kinds = dict(zip(drawn.names, drawn.kinds, strict=True))
        for name, kind in kinds.items():
            if kind == "discrete":
                frame[name] = "v" + frame[name].astype(str)
        given = [name for name in drawn.names if name.startswith("z")]
        p_values.append(ci_test("x", "y", given, frame, kinds=kinds).p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.11
