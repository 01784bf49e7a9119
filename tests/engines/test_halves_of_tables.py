"""Half-samples of rows that belong together, and of tables with gaps."""

import json

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM, Block
from gpmnet.engines.base import Problem
from gpmnet.engines.local import LocalEngine, LocalOptions
from gpmnet.engines.pooled import pooled_log_p
from gpmnet.engines.resampled import Asked, half_edges, part_of, rows_of, units_of
from gpmnet.errors import InputError
from gpmnet.imputing import complete_tables
from gpmnet.jobs import Given
from gpmnet.network import MarkovNetwork
from gpmnet.selection.fdr import benjamini_hochberg
from gpmnet.selection.stability import half_sample
from gpmnet.table import Impute, load_table

TWO = Impute(n_draws=2)
AB, AC = frozenset("ab"), frozenset("ac")


def chain(n=240, seed=0):
    """a - b - g, and c by itself."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "b": b, "c": rng.normal(size=n)})
    return frame.assign(g=np.where(b + rng.normal(size=n) > 0, "x", "y"))


def gapped(n=240, share=0.1, seed=0):
    frame = chain(n, seed)
    return frame.mask(np.random.default_rng(seed + 100).random(frame.shape) < share)


def asked(frame, missing="error", groups=None, kinds=None, **options):
    plan = GPM(missing=missing, **options).plan()
    table = load_table(frame, kinds=kinds, missing=missing, groups=groups)
    return Asked(plan.engine, plan.problems(table)[0], plan.cutoff), table


def rows_of_half(what, number):
    units = units_of(what.problems)
    return rows_of(what.problems, units[half_sample(len(units), number, 0)])


def stabilities(network):
    found = network.candidates.set_index(["source", "target"])["stability"]
    return {frozenset(pair): share for pair, share in found.items()}


def edges_of(result, names):
    return {frozenset(names[at] for at in ends) for ends in result["ends"].tolist()}


SIZES = [1, 2, 3, 4, 5, 7] * 4  # 24 groups of 88 rows


@pytest.mark.parametrize("groups", [np.repeat(np.arange(24), SIZES), Block(4)])
def test_a_half_never_splits_a_group_and_has_half_of_them(groups):
    frame = chain(88).sample(frac=1, random_state=0)
    what, table = asked(frame, groups=groups)
    codes = table.groups.codes
    count = len(np.unique(codes))
    seen = set()
    for number in range(0, 20, 2):
        one, other = (set(rows_of_half(what, number + k).tolist()) for k in (0, 1))
        assert not one & other
        for half in (one, other):
            inside = np.isin(np.arange(88), [*half])
            shares = pd.Series(inside).groupby(codes).mean()
            assert set(shares) == {0.0, 1.0}
            assert shares.sum() == count // 2
            seen |= half
    assert seen == set(range(88))


def test_a_half_of_groups_has_the_edges_of_a_fit_to_its_rows():
    person = np.repeat(np.arange(60), 4)
    frame = chain().iloc[person].reset_index(drop=True)
    frame[["a", "b", "c"]] += np.random.default_rng(1).normal(size=(240, 3))
    what, table = asked(frame, groups=person)
    for number in (0, 1, 6):
        rows = np.sort(rows_of_half(what, number))
        net = GPM(groups=person[rows]).fit(frame.iloc[rows]).network_
        expected = {frozenset(pair) for pair in net.edges[["source", "target"]].itertuples(index=False)}
        assert edges_of(half_edges(Given(what.problems[0].encoded), what, number), table.names) == expected


def test_copies_of_rows_in_groups_are_no_more_stable_than_their_originals():
    """Of rows that are there five times, halves of single rows take a weak pair for an edge far more often."""
    rng = np.random.default_rng(4)
    once = pd.DataFrame(rng.normal(size=(80, 5)), columns=list("abcde"))
    once["b"] += 2 * once["a"]
    often = pd.concat([once] * 5, ignore_index=True)
    person = np.tile(np.arange(80), 5)
    grouped = GPM(stability=5, groups=person).fit(often).network_
    alone = GPM(stability=5).fit(often).network_
    assert stabilities(grouped)[AB] == 1.0
    null = [share for pair, share in stabilities(grouped).items() if pair != AB]
    assert max(null, default=0.0) < 0.5
    assert max(share for pair, share in stabilities(alone).items() if pair != AB) > 0.8
    assert grouped.resampling.n_groups == 40
    assert "half-samples of 40 whole groups (about 200 rows)" in grouped.facts.warnings[-1]


def test_stability_of_groups_does_not_depend_on_their_names_or_the_order_of_columns():
    frame, person = chain(), np.arange(240) // 4
    one = GPM(stability=3, groups=person).fit(frame).network_
    names = np.random.default_rng(0).permutation(60)
    other = GPM(stability=3, groups=names[person]).fit(frame[["g", "c", "b", "a"]]).network_
    assert stabilities(one) == stabilities(other)


def test_too_few_groups_are_refused_before_the_fit():
    frame, phases = chain(190), []
    with pytest.raises(InputError, match=r"stability needs at least 20 groups of rows, .*; got 19"):
        GPM(stability=2, groups=Block(10)).fit(frame, progress=lambda *what: phases.append(what[0]))
    assert not {"search", "test"} & set(phases)
    assert GPM(stability=1, groups=Block(9)).fit(frame).network_.resampling.n_groups == 11


@pytest.mark.parametrize("missing", ["available", TWO])
def test_every_draw_has_the_same_half_of_the_table(missing):
    frame = gapped()
    what, table = asked(frame, missing)
    rows = rows_of_half(what, 3)
    halves, at = part_of(what.problems, rows, 0)
    draws = [one.encoded for half in halves for one in (half, *half.others)]
    assert len(draws) == (5 if missing == "available" else 2)
    assert at.tolist() == [0, 1, 2, 3]
    assert len(rows) == 120
    for one in draws:
        assert sorted(one.rows) == sorted(rows)
        assert np.array_equal(one.observed, ~table.gaps[one.rows])
        seen = one.observed[:, 0]  # of a drawn column the order of what was observed is the table's
        own = frame["a"].to_numpy()[one.rows][seen]
        assert np.array_equal(np.argsort(one.ranks[seen, 0]), np.argsort(own))
    assert len({one.ranks.tobytes() for one in draws}) == len(draws)


def test_draws_that_look_at_different_rows_share_their_halves():
    """Of a table longer than the engine looks at, every draw has a sample of its own."""
    what, _ = asked(gapped(), TWO, options=LocalOptions(most_rows=100))
    held = [set(problem.encoded.rows.tolist()) for problem in what.problems]
    assert held[0] != held[1]
    assert set(units_of(what.problems).tolist()) == held[0] | held[1]
    one, other = (part_of(what.problems, rows_of_half(what, number), 0)[0] for number in (0, 1))
    for k, rows in enumerate(held):
        mine, theirs = (set(half[k].encoded.rows.tolist()) for half in (one, other))
        assert not mine & theirs
        assert len(rows - mine - theirs) <= 1
    assert not set(one[0].encoded.rows) & set(other[1].encoded.rows)
    assert half_edges(Given(what.problems[0].encoded), what, 0)["ends"].shape[1] == 2


def test_a_half_of_draws_is_fitted_draw_by_draw_and_pooled():
    """Step by step: the p-values of the least sure draw, by Benjamini and Hochberg."""
    frame = gapped(seed=3)
    what, table = asked(frame, TWO, fdr=0.3)
    for number in (0, 1):
        rows, p_values = rows_of_half(what, number), []
        seed = int(np.random.default_rng([0, number]).integers(2**31))
        for draw in complete_tables(table, 0):
            encoded = draw.encode(0)
            half = encoded.take(np.flatnonzero(np.isin(encoded.rows, rows)))
            found = LocalEngine().fit(Problem(half, seed=seed))
            log_p = np.zeros((4, 4))
            log_p[found.first, found.second] = found.log_p
            p_values.append(log_p[np.triu_indices(4, 1)])
        pooled = np.exp(pooled_log_p(np.array(p_values)))
        edges = np.flatnonzero(benjamini_hochberg(pooled) <= 0.3)
        ends = np.array(np.triu_indices(4, 1)).T[edges]
        assert len(edges) >= 2
        assert edges_of(half_edges(Given(what.problems[0].encoded), what, number), table.names) == {
            frozenset(table.names[k] for k in pair) for pair in ends.tolist()
        }


@pytest.mark.parametrize(
    ("engine", "missing"), [("local", "available"), ("local", TWO), ("dag", TWO), ("deep", TWO)]
)
def test_a_known_edge_of_a_table_with_gaps_is_stable_and_a_null_pair_is_not(engine, missing):
    deep = {"energy": "pairwise", "decide": "omega"} if engine == "deep" else {}
    frame = gapped(400)[["a", "b", "c"]]
    net = GPM(engine, missing=missing, stability=1 if deep else 4, **deep).fit(frame).network_
    found = stabilities(net)
    assert found[AB] == 1.0
    assert found.get(AC, 0.0) < 0.5
    assert net.resampling.n_rows == net.n_rows // 2 == 199  # a row without any value is left out


def test_a_pair_that_too_few_rows_of_a_half_have_is_no_edge_there():
    frame = chain()
    frame.loc[30:, "a"] = np.nan  # 30 rows have both, and halves about 15 of them
    for missing in ("available", TWO):
        net = GPM(missing=missing, stability=3).fit(frame).network_
        found = stabilities(net)
        assert found[frozenset("bg")] == 1.0
        assert found.get(AB, 0.0) <= 0.2


def test_a_column_without_two_values_in_a_half_is_left_out_of_all_draws():
    frame = gapped()
    frame["rare"] = pd.Series(["q"] * 238 + ["z"] * 2).where(np.arange(240) > 20)
    what, table = asked(frame, TWO, kinds={"rare": "discrete"})
    at = table.names.index("rare")
    lonely = [k for k in range(40) if not {238, 239} & set(rows_of_half(what, k).tolist())]
    halves, places = part_of(what.problems, rows_of_half(what, lonely[0]), 0)
    assert all(half.encoded.names == halves[0].encoded.names for half in halves)
    assert all(half.encoded.observed.shape == (120, len(places)) for half in halves)
    assert at not in half_edges(Given(what.problems[0].encoded), what, lonely[0])["ends"]


def saved(network, folder):
    """Return what is saved of a network, without times."""
    network.save(folder)
    whole = json.loads((folder / "network.json").read_text())
    del whole["digest"], whole["facts"]["seconds"]
    return whole, (folder / "omega.safetensors").read_bytes()


@pytest.mark.parametrize("missing", ["available", TWO])
def test_halves_with_gaps_are_the_same_serially_in_processes_and_after_a_stop(missing, tmp_path):
    frame = gapped(120)
    serial = saved(GPM(missing=missing, stability=4).fit(frame).network_, tmp_path / "serial")
    two = GPM(missing=missing, stability=4, workers=2).fit(frame).network_
    assert saved(two, tmp_path / "two") == serial

    class Stopped(Exception):
        pass

    def stop(phase, done, total, note=""):
        if (phase, done) == ("half-samples", 3):
            raise Stopped

    with pytest.raises(Stopped):
        GPM(missing=missing, stability=4).fit(frame, progress=stop, resume=tmp_path / "kept")
    counts = []

    def count(phase, done, total, note=""):
        if phase == "half-samples":
            counts.append(done)

    again = GPM(missing=missing, stability=4).fit(frame, progress=count, resume=tmp_path / "kept").network_
    assert counts[0] == 3
    assert counts[-1] == 8
    assert saved(again, tmp_path / "again") == serial
    assert MarkovNetwork.load(tmp_path / "again").resampling == again.resampling


@pytest.mark.parametrize("policy", ["available", TWO])
def test_the_groups_of_every_draw_are_those_of_its_own_rows(policy):
    frame = pd.concat([gapped(), gapped()], ignore_index=True)
    person = np.tile(np.arange(240), 2)
    what, _ = asked(frame, policy, groups=person)
    draws = [one for problem in what.problems for one in (problem, *problem.others)]
    assert len(draws) == (5 if policy == "available" else 2)
    halves = part_of(what.problems, rows_of_half(what, 0), 0)[0]
    halves = [one for problem in halves for one in (problem, *problem.others)]
    for one in draws + halves:  # draws differ in what their gaps hold, and with it in the order of their rows
        np.testing.assert_array_equal(one.clusters, person[one.encoded.rows])
    assert any((one.encoded.rows != draws[0].encoded.rows).any() for one in draws[1:])
    assert all((np.bincount(one.clusters)[np.unique(one.clusters)] == 2).all() for one in halves)
    network = GPM(stability=2).fit(load_table(frame, missing=policy, groups=person)).network_
    assert stabilities(network)[AB] == 1.0
    assert stabilities(network).get(AC, 0.0) <= 0.5
