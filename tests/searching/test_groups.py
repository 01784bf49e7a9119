"""Groups of nodes: each node's neighborhood is what it is alone, to the same bytes here and elsewhere, and after a stop."""

from dataclasses import fields, replace

import pytest
import torch

from gpmnet import GPM
from gpmnet.engines.local import LocalOptions
from gpmnet.engines.local_tasks import crew_of
from gpmnet.files import Shelf, shelf
from gpmnet.jobs import Where, Workplace
from gpmnet.searching import groups
from gpmnet.searching.groups import search_in_groups
from gpmnet.searching.neighborhoods import SearchOptions, Watch, search
from gpmnet.simulate import simulate
from gpmnet.table import load_table
from gpmnet.testing.base import BoundTest

D, OPTIONS = 22, SearchOptions(0.01, most_members=4)


@pytest.fixture
def small_groups(monkeypatch):
    """Let groups have 5 nodes, so that 22 are in five of them, the last one smaller."""
    monkeypatch.setattr(groups, "_MOST", 5)
    monkeypatch.setattr(groups, "_LEAST", 5)


@pytest.fixture(scope="module")
def problem():
    drawn = simulate("random", kind="mixed", d=D, n=200, seed=2)
    return GPM().plan().problem(load_table(drawn.frame()))[0]


def asked(start=False):
    candidates = torch.arange(D).repeat(D, 1).fill_diagonal_(-1)
    candidates[::3, ::4] = -1
    fixed = torch.where(torch.arange(D) % 2 == 0, (torch.arange(D) + 1) % D, -1)[:, None]
    return torch.arange(D), candidates, OPTIONS, fixed if start else None


def content(found):
    return [getattr(found, field.name) for field in fields(found)]


def same(one, other):
    return all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("start", [False, True])
def test_a_node_has_the_neighborhood_that_it_has_alone(problem, small_groups, start):
    crew = crew_of(LocalOptions(), problem)
    nodes, candidates, options, fixed = asked(start)
    found = search_in_groups(crew, nodes, candidates, options, fixed, Watch())
    assert (found.members >= 0).sum() > D
    rounds = []
    for node in range(D):
        one = slice(node, node + 1)
        own = None if fixed is None else fixed[one]
        alone = search(crew.base.test, nodes[one], candidates[one], options, own)
        assert torch.equal(found.members[one], alone.members)
        assert torch.equal(found.is_full[one], alone.is_full)
        assert torch.equal(found.is_open[one], alone.is_open)
        torch.testing.assert_close(found.log_p[one], alone.log_p, rtol=1e-6, atol=1e-9)
        rounds.append(alone.n_rounds)
    assert found.n_rounds >= max(rounds) > 2  # of the slowest group, in which nodes wait for each other
    assert torch.equal(found.candidates, candidates)


@pytest.mark.parametrize("start", [False, True])
def test_groups_give_the_same_bytes_elsewhere_and_are_kept(problem, small_groups, start, tmp_path):
    here = search_in_groups(crew_of(LocalOptions(), problem), *asked(start), Watch())

    def opened():
        kept = Shelf(tmp_path / "kept")
        kept.open("key")
        return kept

    with Workplace(Where(workers=2)) as place:
        there = crew_of(LocalOptions(), replace(problem, place=place, shelf=opened()))
        found = search_in_groups(there, *asked(start), Watch())
        assert same(content(found), content(here))
    told = []
    # Nothing is left to be done, so that no process is started.
    kept = crew_of(
        LocalOptions(), replace(problem, place=Workplace(Where(cluster="tcp://127.0.0.1:9")), shelf=opened())
    )
    kept = replace(kept, progress=lambda *what: told.append(what))
    assert same(content(search_in_groups(kept, *asked(start), Watch())), content(here))
    assert told == [("search", 5, 5)]


def test_a_stopped_search_goes_on_in_the_group_that_it_was_at(problem, small_groups, tmp_path, monkeypatch):
    monkeypatch.setattr(shelf, "EVERY", 0.0)
    monkeypatch.setattr(shelf, "_SHARE", 1e9)
    crew = crew_of(LocalOptions(), problem)
    ranked = []
    plain = BoundTest.rank
    monkeypatch.setattr(BoundTest, "rank", lambda *given: ranked.append(given[1]) or plain(*given))
    told = []

    def watch(stop_at=None):
        def progress(phase, done, total):
            told.append((phase, done, total))
            if done == stop_at:
                raise KeyboardInterrupt

        kept = Shelf(tmp_path / "kept")
        kept.open("key")
        return Watch(progress, kept)

    whole = search_in_groups(crew, *asked(), Watch(lambda *what: told.append(what)))
    assert {what[::2] for what in told} == {("search", D)}
    assert told[-1] == ("search", D, D)
    assert {5, 10, 15, 20} <= {done for _, done, _ in told}
    all_ranked = len(ranked)
    ranked.clear()
    told.clear()
    with pytest.raises(KeyboardInterrupt):
        search_in_groups(crew, *asked(), watch(stop_at=12))
    before = len(ranked)
    again = search_in_groups(crew, *asked(), watch())
    assert same(content(again), content(whole))
    assert len(ranked) == all_ranked + 1  # a round is kept when the next begins
    assert 0 < before < all_ranked
    assert all(int(nodes.min()) >= 10 for nodes in ranked[before:])


def test_one_group_is_searched_as_it_is(problem):
    crew = crew_of(LocalOptions(), problem)
    nodes, candidates, options, start = asked()
    found = search_in_groups(crew, nodes, candidates, options, start, Watch())
    assert same(content(found), content(search(crew.base.test, nodes, candidates, options, start)))
