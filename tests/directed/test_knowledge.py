"""What is known beforehand: what follows from it, and what contradicts itself."""

import numpy as np
import pytest

from gpmnet.directed.knowledge import Knowledge
from gpmnet.errors import InputError

TIERS = [0, 1, None]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"arrows": [(0, 1), (1, 2), (2, 0)]}, "the known arrows make a cycle: .*'c'"),
        ({"arrows": [(0, 1), (1, 0)]}, "make a cycle"),
        ({"arrows": [(1, 0)], "tiers": TIERS}, "from 'b' to 'a' is required, and forbidden by"),
        ({"arrows": [(1, 2), (2, 0)], "tiers": TIERS}, "from a later tier back to an earlier one"),
        ({"arrows": [(0, 1)], "forbidden": [(0, 1)]}, "from 'a' to 'b' is required, and forbidden by"),
        ({"arrows": [(0, 1)], "apart": [(0, 1)]}, "from 'a' to 'b' is required, and forbidden by"),
        ({"joined": [(0, 1)], "apart": [(1, 0)]}, "'a', 'b' is both forbidden and required"),
        ({"joined": [(0, 1)], "forbidden": [(1, 0), (0, 1)]}, "'a', 'b' is both forbidden and required"),
        ({"arrows": [(0, 2), (1, 2)], "apart": [(0, 1)]}, "both are required causes of 'c'"),
    ],
)
def test_contradictions_are_refused(known, message):
    with pytest.raises(InputError, match=message):
        Knowledge("abc", **known)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"tiers": [["a"], ["x"]]}, "no variable 'x' for the tier; there are 'a', 'b', 'c'"),
        ({"tiers": [["a"], ["a"]]}, "'a' is in the tiers twice"),
        ({"tiers": [["a", "old"]]}, "'old' is a duplicate of 'b' .* name the tier with 'b'"),
        ({"arrows": [("a", "x")]}, "no variable 'x' for the edge"),
        ({"forbidden": [("x", "a")]}, "no variable 'x' for the edge"),
        ({"arrows": [("a", "a")]}, "'a' cannot have an edge with itself"),
        ({"arrows": [("a", "b", "c")]}, "an edge joins two variables"),
    ],
)
def test_names_that_do_not_fit_are_refused(known, message):
    with pytest.raises(InputError, match=message):
        Knowledge.from_names(("a", "b", "c"), **known, twins={"old": "b"})


def test_names_and_positions_say_the_same():
    named = Knowledge.from_names("abc", [("a", "b")], [("c", "a")], [["b"], ["c"]])
    placed = Knowledge("abc", [(0, 1)], [(2, 0)], tiers=[None, 0, 1])
    expected = np.zeros((3, 3), dtype=bool)
    expected[[2, 2, 1], [0, 1, 0]] = True
    for known in (named, placed):
        assert np.array_equal(known.forbidden, expected)
        assert np.argwhere(known.required).tolist() == [[0, 1]]


def test_a_pair_that_cannot_be_joined_one_way_is_joined_the_other():
    forbidden = Knowledge("ab", joined=[(0, 1)], forbidden=[(0, 1)])
    assert np.argwhere(forbidden.required).tolist() == [[1, 0]]
    # a and c must not meet in b, which c acts on: so b acts on a
    apart = Knowledge("abc", arrows=[(2, 1)], joined=[(0, 1)], apart=[(0, 2)])
    assert np.argwhere(apart.required).tolist() == [[1, 0], [2, 1]]
    assert apart.sorted([0, 1, 2]) == [2, 1, 0]


def test_what_is_forbidden_both_ways_is_no_edge_but_may_have_an_effect():
    known = Knowledge("abc", forbidden=[(0, 1), (1, 0)])
    assert np.argwhere(known.no_edge).tolist() == [[0, 1], [1, 0]]
    assert known.apart(0) == frozenset()
    assert known.possible_parents(2, np.arange(3)).tolist() == [0, 1]
    assert known.possible_parents(1, np.arange(3)).tolist() == [2]
