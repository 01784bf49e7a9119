import json
import math
from dataclasses import replace

import numpy as np
import pytest

from gpmnet.errors import InputError
from gpmnet.network import Facts, MarkovNetwork, Pairs
from gpmnet.network.shapes import Axis, Shapes, joint_shares
from gpmnet.network.text import strength_word
from gpmnet.table import Column, Schema


def test_the_text_says_all(shaped):
    found = shaped.explain("density", "alcohol")
    assert found.text == (
        "density and alcohol: strong (0.62), negative, given the other variables; p < 1e-16, q < 1e-16; "
        "1,599 rows. Low density goes with high alcohol."
    )
    assert (found.form, found.is_edge, found.kinds) == ("surface", True, ("continuous", "continuous"))


def test_the_order_asked_for_is_kept(shaped):
    one, other = shaped.explain("density", "<colour>"), shaped.explain("<colour>", "density")
    assert (one.form, other.form) == ("lines", "lines")
    np.testing.assert_array_equal(one.values, other.values.T)
    assert (one.x, one.y, one.kinds) == (other.y, other.x, other.kinds[::-1])
    for found in (one, other):
        assert found.direction == "By <colour>: red $x^ goes with high density, <b>white with low."


def centred(log_shares):
    """Return the interaction in the logarithms of a joint distribution."""
    rows, columns = log_shares.mean(axis=1, keepdims=True), log_shares.mean(axis=0)
    return log_shares - rows - columns + log_shares.mean()


def explained(x, y, shares):
    """Return the explanation of two variables of whose joint distribution only the interaction is stored."""
    net = MarkovNetwork(("a", "b"), Pairs.of([0], [1], sign=[0.0]))
    shapes = Shapes({0: x, 1: y}, np.array([0]), (centred(np.log(shares)),))
    return replace(net, shapes=shapes).explain("a", "b")


def test_shares_are_those_of_the_distribution_that_the_interaction_is_of():
    shares = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 4)
    x, y = Axis((), tuple("abc"), shares.sum(axis=1)), Axis((), tuple("defg"), shares.sum(axis=0))
    np.testing.assert_allclose(joint_shares(x, y, centred(np.log(shares))), shares, rtol=1e-6)


def test_a_table_names_the_cells_with_the_most_rows_too_many_and_too_few():
    """One row in a thousand makes the largest interaction, and is not what a reader should be told first."""
    counts = np.array([[400.0, 120, 0.01], [80, 399, 0.01], [0.01, 0.01, 1]])
    x, y = (Axis((), tuple("klm"), counts.sum(axis=at) / counts.sum()) for at in (1, 0))
    found = explained(x, y, counts)
    assert found.form == "table"
    assert np.unravel_index(found.values.argmax(), (3, 3)) == (2, 2)
    assert (
        found.direction == "Together more often than by chance: a = k and b = k; less often: a = l and b = k."
    )


def test_a_category_between_two_others_goes_with_the_middle():
    """Its line is flat: it is common where the one has gone and the other has not come."""
    at = np.linspace(-3, 3, 21)
    given = np.exp(np.c_[-4 * at, 4 * at, np.full(21, 0.2)])
    shares = given / given.sum(axis=1, keepdims=True) / 21
    number = Axis(tuple(at), tuple(f"{value:.1f}" for value in at))
    plan = Axis((), ("basic", "gold", "silver"), shares.sum(axis=0))
    expected = "By b: basic goes with low a, gold with high, silver with middle."
    assert explained(number, plan, shares).direction == expected
    assert np.abs(explained(number, plan, shares).values[:, 2]).max() < 1e-5


def test_a_category_that_hardly_departs_from_chance_is_not_mentioned():
    at = np.linspace(-1, 1, 21)
    tilt = np.c_[1 + 0.8 * at, 1 - 0.8 * at, 1 + 0.001 * at] / 63
    number = Axis(tuple(at), tuple(f"{value:.1f}" for value in at))
    said = explained(number, Axis((), ("x", "y", "z"), tilt.sum(axis=0)), tilt).direction
    assert said == "By b: x goes with high a, y with low."


def test_a_rare_category_does_not_silence_the_common_ones():
    at = np.linspace(-1, 1, 21)
    rare = np.exp(8 * at) / np.exp(8 * at).sum() * 0.001
    tilt = np.c_[(1 + 0.1 * at) / 42, (1 - 0.1 * at) / 42, rare]
    number = Axis(tuple(at), tuple(f"{value:.1f}" for value in at))
    shares = tilt.sum(axis=0) / tilt.sum()
    said = explained(number, Axis((), ("x", "y", "rare"), shares), tilt).direction
    assert said == "By b: x goes with high a, y with low, rare with high."


def test_a_surface_without_a_sign_is_described_by_thirds(shaped):
    grid = np.outer(np.linspace(-1, 1, 9) ** 2, np.linspace(-1, 1, 9))
    shapes = replace(shaped.shapes, values=(grid - grid.mean(axis=0), *shaped.shapes.values[1:]))
    pairs = replace(shaped.pairs, sign=np.zeros(4))
    found = replace(shaped, shapes=shapes, pairs=pairs).explain("density", "alcohol")
    assert found.direction == (
        "Low density goes with high alcohol, middle density with low alcohol, high density with high alcohol."
    )


def test_pairs_that_came_close_and_those_that_did_not(shaped):
    near = shaped.explain("density", "grade")
    assert near.text == (
        "density and grade: close, but no edge at FDR 0.05; weak (0.12), positive, given the other variables; "
        "p = 0.03, q = 0.21; 1,599 rows."
    )
    far = shaped.explain("alcohol", "grade")
    assert far.text == "alcohol and grade: no evidence of an edge at FDR 0.05, given the other variables."
    assert math.isnan(far.p_value)
    for found in (near, far):
        assert (found.form, found.values, found.is_edge) == ("none", None, False)
        with pytest.raises(InputError, match="no shape"):
            found.plot()


def test_a_repeated_column_is_said_to_be_one(shaped):
    columns = Column("density", "continuous", ""), Column("alcohol", "continuous", "", duplicate_of="density")
    net = replace(shaped, facts=Facts(Schema(columns, 1599)))
    for pair in (("density", "alcohol"), ("alcohol", "density")):
        assert "repeats the other" in net.explain(*pair).text
    assert "repeats" not in net.explain("density", "grade").text


def test_a_network_that_knows_little_still_explains():
    net = MarkovNetwork(("a", "b"), Pairs.of([0], [1]))
    assert net.explain("a", "b").text == "a and b: given the other variables."
    assert net.explain("b", "a").to_dict()["p_value"] is None


def test_json_holds_everything(shaped):
    for a in shaped.names:
        for b in set(shaped.names) - {a}:
            found = shaped.explain(a, b)
            back = json.loads(json.dumps(found.to_dict(), allow_nan=False))
            assert back["text"] == found.text
            assert back["form"] == found.form
            if found.values is not None:
                np.testing.assert_array_equal(np.float32(back["values"]), found.values)
                assert tuple(back["x"]["labels"]) == found.x.labels


def test_html_is_escaped_and_has_a_picture(shaped):
    page = shaped.explain("density", "<colour>")._repr_html_()
    assert "data:image/png;base64," in page
    assert "<colour>" not in page
    assert "<b>white" not in page
    assert "<img" not in shaped.explain("alcohol", "grade")._repr_html_()


def test_impossible_questions(shaped):
    with pytest.raises(InputError, match="twice"):
        shaped.explain("grade", "grade")
    with pytest.raises(InputError, match="no variable"):
        shaped.explain("grade", "nothing")


@pytest.mark.parametrize(
    ("value", "word"), [(0.0, "very weak"), (0.1, "weak"), (0.3, "moderate"), (1.0, "strong")]
)
def test_words_for_strength(value, word):
    assert strength_word(value) == word
