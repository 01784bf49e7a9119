"""Second opinions: causes that hide behind an effect, and which sets have a say."""

import numpy as np
import pandas as pd
import torch

from gpmnet import GPM
from gpmnet.searching.candidates import Apart
from gpmnet.selection.apart import Asked
from gpmnet.selection.pair_rule import Limits
from gpmnet.selection.say import Base, has_say


def product(rng, n=300, noise=0.3):
    z = rng.normal(size=(2, n))
    x, y = z.prod(axis=0) + noise * rng.normal(size=(2, n))
    return pd.DataFrame({"x": x, "y": y, "a": z[0], "b": z[1]})


def test_effects_of_one_product_are_no_edge():
    """Without the second opinion the search often ends at the other effect, which says nearly all there is to say."""
    rng = np.random.default_rng(5)
    p = []
    for _ in range(40):
        net = GPM().fit(product(rng)).network_
        at = net.pair_at("x", "y")
        p.append(1.0 if at is None else float(net.pairs.p_value[at]))
    assert np.mean(np.array(p) <= 0.05) <= 0.15


def test_a_second_opinion_never_lowers_a_p_value_and_is_the_test_given_its_set(test_of):
    test = test_of(product(np.random.default_rng(0)))
    members = torch.tensor([[1, -1], [0, -1], [-1, -1], [-1, -1]])
    apart = Apart(torch.tensor([1, -1, -1, -1]), torch.tensor([[2, 3], [-1, -1], [-1, -1], [-1, -1]]))
    pair = torch.tensor([0]), torch.tensor([1])
    before = test.pairs(*pair, torch.tensor([[-1]]))
    asked = Asked(test, members, apart, Limits())
    given = test.pairs(*pair, torch.tensor([[2, 3]])).log_p
    assert float(before.log_p) < -50
    assert float(given) > np.log(0.01)
    torch.testing.assert_close(asked.again(before, *pair).log_p, given)
    torch.testing.assert_close(asked.again(before, *pair[::-1]).log_p, given)
    high = before.with_log_p(torch.tensor([-0.001], dtype=torch.float64))
    torch.testing.assert_close(asked.again(high, *pair).log_p, high.log_p)
    nobody = Apart(torch.full((4,), -1), apart.members)
    torch.testing.assert_close(
        Asked(test, members, nobody, Limits()).again(before, *pair).log_p, before.log_p
    )


def test_strong_common_causes_have_a_say_and_a_near_copy_has_none(test_of):
    rng = np.random.default_rng(0)
    cause, own = rng.normal(size=(2, 500))
    frame = pd.DataFrame({"x": cause + 0.1 * own, "y": cause + 0.1 * rng.normal(size=500), "cause": cause})
    frame["copy"] = frame["x"] + 0.01 * rng.normal(size=500)
    frame["effect"] = frame["x"] + 0.5 * rng.normal(size=500)
    test = test_of(frame)
    x, y, cause, copy, effect = (torch.tensor([k]) for k in range(5))
    for other, given, expected in ((y, cause, True), (effect, copy, False)):
        tests = test.pairs(x, other, given[:, None])
        nothing = torch.full((1, 1), -1)
        for factor, answer in ((2, expected), (1, True)):
            base = Base(x, other, nothing, factor * tests.information)
            assert bool(has_say(test, base, given[:, None], tests)) is answer


def test_what_determines_an_end_has_no_say_beside_another_cause_of_the_other(test_of):
    """c = a or b, and e depends on c and on k: given a, b and k nothing of c is left, though k says much about e."""
    rng = np.random.default_rng(0)
    a, b, k = (rng.random((3, 2000)) < [[0.06], [0.04], [0.5]]).astype(int)
    c = a | b
    e = (rng.random(2000) < np.where(k, 0.85, 0.1) + 0.1 * c).astype(int)
    test = test_of(np.column_stack([a, b, c, e, k]))
    pair, own, larger = (torch.tensor([2]), torch.tensor([3])), torch.tensor([[4]]), torch.tensor([[0, 1, 4]])
    tests = test.pairs(*pair, larger)
    least = 0.1 * test.pairs(*pair, own).information
    assert float(tests.information) < float(least)
    assert not bool(has_say(test, Base(*pair, own, least), larger, tests))
