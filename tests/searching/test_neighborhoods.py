"""The search for neighborhoods: what it adds and drops, what it never drops, and what it says of its caps."""

import numpy as np
import torch

from gpmnet.searching.neighborhoods import SearchOptions, search


def everyone(d):
    table = torch.arange(d).repeat(d, 1)
    return torch.arange(d), table.fill_diagonal_(-1)


def chain(n=600, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 4))
    x[:, 1] += x[:, 0]
    x[:, 2] += x[:, 1]
    return x


def neighbors(found):
    return [sorted(v for v in row if v >= 0) for row in found.members.tolist()]


def test_a_chain_is_found(test_of):
    found = search(test_of(chain()), *everyone(4), SearchOptions(0.001))
    assert neighbors(found) == [[1], [0, 2], [1], []]
    assert not found.is_full.any()
    assert not found.is_open.any()
    assert found.n_rounds >= 2


def test_a_full_neighborhood_is_told(test_of):
    found = search(test_of(chain()), *everyone(4), SearchOptions(0.001, most_members=1))
    assert found.is_full.tolist() == [False, True, False, False]
    assert max(map(len, neighbors(found))) == 1


def test_what_is_there_from_the_start_stays_and_takes_no_room(test_of):
    start = torch.tensor([[3], [3], [-1], [0]])
    found = search(test_of(chain()), *everyone(4), SearchOptions(0.001, most_members=2), start)
    assert neighbors(found) == [[1, 3], [0, 2, 3], [1], [0]]


def test_only_candidates_are_added(test_of):
    nodes, candidates = everyone(4)
    candidates[1, 0] = candidates[0, 1] = -1
    found = search(test_of(chain()), nodes, candidates, SearchOptions(0.001))
    assert 0 not in neighbors(found)[1]


def test_what_the_others_make_superfluous_is_dropped(test_of):
    """z is the sum of x and y, each of them nearly as telling: it comes first and goes once both are there."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 2000))
    target = x + y + 0.5 * rng.normal(size=2000)
    z = x + y + 0.6 * rng.normal(size=2000)
    test = test_of(np.column_stack([target, z, x, y]))
    nodes, candidates = everyone(4)
    found = search(test, nodes[:1], candidates[:1], SearchOptions(0.001))
    assert neighbors(found) == [[2, 3]]
