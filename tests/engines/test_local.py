"""The local engine's own part: what it needs, which pairs it tests whatever the data say, what it tells of its caps."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from gpmnet import GPM
from gpmnet.engines.base import Problem
from gpmnet.engines.local import LocalEngine, LocalOptions
from gpmnet.errors import InputError
from gpmnet.memory import MOST_HALVINGS, smaller_blocks
from gpmnet.table import Table, load_table
from gpmnet.testing.base import BoundTest

every_search = pytest.mark.parametrize("all_pairs_up_to", [100, 1], ids=["all pairs", "screen"])


def chain(n=400, d=6):
    """x1 - x2 - x3, and columns that have nothing to do with them."""
    x = np.random.default_rng(0).normal(size=(n, d))
    x[:, 1] += x[:, 0]
    x[:, 2] += x[:, 1]
    return pd.DataFrame(x, columns=[f"x{k + 1}" for k in range(d)])


def problem(frame, forbidden=(), required=(), **more):
    pairs = (np.array(pairs, dtype=np.intp).reshape(-1, 2) for pairs in (forbidden, required))
    return Problem(load_table(frame).encode(0), *pairs, **more)


def pairs_of(found):
    return set(zip(found.first.tolist(), found.second.tolist(), strict=True))


@every_search
def test_the_estimate_grows_with_rows_with_variables_and_with_what_a_variable_has(all_pairs_up_to):
    def needed(n, *levels, **changes):
        options = LocalOptions(all_pairs_up_to=all_pairs_up_to, most_rows=None).with_params(**changes)
        return LocalEngine(options).memory(n, np.array(levels, dtype=np.intp))

    number = 8 if all_pairs_up_to > 1 else 4
    rows = [needed(n, 0, 0, 4) for n in (0, 10**6, 2 * 10**6)]
    # The features alone; tables of functions have more of them where rows leave room for them.
    assert min(rows[2] - rows[1], rows[1] - rows[0]) >= 10**6 * number * (3 + 3 + 3)
    assert needed(1000, 0, 0) < needed(1000, 0, 0, 0) < needed(1000, 0, 0, 0, 9)
    assert needed(1000, 2, 2) < needed(1000, 2, 20)
    fewer = LocalOptions().functions[:1]
    assert needed(1000, 0, 0, functions=fewer) < needed(1000, 0, 0)


def test_a_table_that_does_not_fit_is_refused_with_the_number_of_variables_that_would(monkeypatch):
    frame = chain()
    with smaller_blocks(MOST_HALVINGS):  # with none so small do more fit
        free = LocalEngine().memory(len(frame), np.zeros(4, dtype=np.intp))
    for module in ("gpmnet.engines.base", "gpmnet.memory"):
        monkeypatch.setattr(f"{module}.available_bytes", lambda device, budget=None: free)
    with pytest.raises(InputError, match=r"GB are free; about 4 of these 6 variables would fit"):
        GPM().fit(frame)
    assert GPM().fit(frame[["x1", "x2", "x3", "x4"]]).network_.n_edges == 2


@pytest.mark.parametrize("engine", ["local", "dag"])
def test_all_rows_of_a_long_table_are_refused_before_anything_is_computed(monkeypatch, engine):
    """With most_rows=None; what is said of rows is a most_rows that fits."""
    n = 300_000
    drawn = np.random.default_rng(0).normal(size=(n, 2))
    table = load_table(np.c_[drawn, drawn.sum(axis=1) + np.random.default_rng(1).normal(size=n)])
    also = {"options__local__most_rows": None} if engine == "dag" else {}
    model = GPM(engine).set_params(options__most_rows=None, **also)
    with smaller_blocks(MOST_HALVINGS):
        free = model.plan().engine.memory(120_000, table.n_levels)
    monkeypatch.setattr("gpmnet.engines.base.available_bytes", lambda device, budget=None: free)
    monkeypatch.setattr(Table, "encode", lambda *given: pytest.fail("it was begun"))
    with pytest.raises(
        InputError,
        match=r"GB are free; about \d of these 3 variables would fit, or 100,000 of the 300,000 rows$",
    ):
        model.fit(table)


@every_search
def test_a_required_pair_is_tested_and_stays_whatever_its_p_value(all_pairs_up_to):
    options = LocalOptions(all_pairs_up_to=all_pairs_up_to, alpha_report=1e-9, alpha_enter=1e-9)
    engine, required = LocalEngine(options), [(0, 5), (3, 4)]
    searched = engine.search(problem(chain(), required=required))
    for a, b in required:
        assert b in searched.members[a].tolist()
        assert a in searched.members[b].tolist()
    found = engine.fit(problem(chain(), required=required))
    assert pairs_of(found) == {(0, 1), (1, 2), *required}
    assert pairs_of(engine.fit(problem(chain()))) == {(0, 1), (1, 2)}
    log_p = dict(zip(zip(found.first, found.second, strict=True), found.log_p, strict=True))
    assert all(np.log(0.001) < log_p[pair] <= 0 for pair in required)
    network = GPM(fdr=1e-6, require=[("x6", "x1"), ("x4", "x5")], options=options).fit(chain()).network_
    assert network.n_edges == 4
    assert "x6" in network.neighbors("x1")
    assert network.neighbors("x5") == ("x4",)


@every_search
def test_a_forbidden_pair_is_no_neighbor_and_never_gets_the_full_test(monkeypatch, all_pairs_up_to):
    tested, full = set(), BoundTest.pairs

    def watched(self, first, second, given):
        tested.update(map(frozenset, zip(first.tolist(), second.tolist(), strict=True)))
        return full(self, first, second, given)

    monkeypatch.setattr(BoundTest, "pairs", watched)
    engine = LocalEngine(LocalOptions(all_pairs_up_to=all_pairs_up_to))
    asked = problem(chain(), forbidden=[(0, 1), (2, 4)], alpha=1.0)  # every pair may be an edge
    searched = engine.search(asked)
    assert 1 not in searched.members[0].tolist()
    assert 0 not in searched.members[1].tolist()
    found = engine.fit(asked)
    assert not {(0, 1), (2, 4)} & pairs_of(found)
    assert (1, 2) in pairs_of(found)
    assert not {frozenset((0, 1)), frozenset((2, 4))} & tested
    assert len(tested) == 15 - 2


@every_search
def test_a_neighborhood_without_room_is_told_with_its_variable_and_its_cap(all_pairs_up_to):
    options = LocalOptions(all_pairs_up_to=all_pairs_up_to, most_neighbors=1)
    found = LocalEngine(options).fit(problem(chain()))
    assert [(stop.solver, stop.variable) for stop in found.stops] == [
        ("the search for neighbors (most_neighbors=1)", 1)
    ]
    with pytest.warns(ConvergenceWarning, match=r"\(most_neighbors=1\) stopped at its cap for 'x2'$"):
        GPM(options=options).fit(chain())
    assert LocalEngine().fit(problem(chain())).stops == ()


def test_where_the_rows_are_the_cap_they_are_named():
    """A hub with leaves in forty rows, whose regressions can carry one neighbor."""
    rng = np.random.default_rng(0)
    hub = rng.normal(size=40)
    frame = pd.DataFrame({f"leaf{k}": hub + 0.3 * rng.normal(size=40) for k in range(4)}).assign(hub=hub)
    found = LocalEngine().fit(problem(frame))
    assert {stop.solver for stop in found.stops} == {"the search for neighbors (40 rows allow 1)"}
    assert 4 in {stop.variable for stop in found.stops}


def test_a_search_that_still_dropped_something_is_told_with_its_variable(monkeypatch):
    """Of the target's neighbors z, nearly the sum of the other two, comes first and goes once they are there."""
    monkeypatch.setattr("gpmnet.searching.neighborhoods._PASSES", 1)
    rng = np.random.default_rng(1)
    x, y, noise, more = rng.normal(size=(4, 2000))
    frame = pd.DataFrame({"z": x + y + 0.6 * noise, "target": x + y + 0.5 * more, "x": x, "y": y})
    found = LocalEngine().fit(problem(frame))
    assert ("the search for neighbors (two passes)", 1) in [(s.solver, s.variable) for s in found.stops]
    with pytest.warns(ConvergenceWarning, match=r"\(two passes\) stopped at its cap for .*'target'"):
        GPM().fit(frame)


@pytest.mark.parametrize(("n", "kept"), [(3, 1), (4, 2), (5, 3), (50, 3)])
def test_no_more_functions_than_the_rows_can_tell_apart(n, kept):
    options = LocalOptions()
    features = LocalEngine(options).search(problem(chain(n=n, d=3))).test.designs.features
    assert tuple(features.family) == options.functions[:kept]
    assert features.width.tolist() == [kept] * 3


def test_long_tables_are_sampled_and_that_is_said():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=3000), "z": rng.normal(size=3000)})
    few, all_, none = (GPM(options=LocalOptions(most_rows=m)).fit(frame).network_ for m in (500, 3000, None))
    assert "500 of 3,000 rows" in few.facts.warnings[0]
    assert not all_.facts.warnings
    assert not none.facts.warnings
    log_p = [net.pairs.p_value[net.pair_at("x", "y")] for net in (few, all_, none)]
    assert log_p[0] > log_p[1] == log_p[2]
    again = GPM(options=LocalOptions(most_rows=500)).fit(frame).network_
    assert again.pairs.p_value.tolist() == few.pairs.p_value.tolist()
    with pytest.raises(InputError, match="most_rows"):
        LocalOptions(most_rows=3)
