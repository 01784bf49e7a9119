from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM
from gpmnet.engines.resampled import Asked, counted, half_edges
from gpmnet.errors import InputError
from gpmnet.jobs import Given
from gpmnet.selection.stability import half_sample
from gpmnet.simulate import simulate
from gpmnet.table import load_table


def asked(frame, kinds=None, **options):
    plan = GPM(**options).plan()
    table = load_table(frame, kinds=kinds)
    problems, _ = plan.problems(table)
    return Asked(plan.engine, problems, plan.cutoff), table


def mixed(n=240):
    rng = np.random.default_rng(1)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    sex = np.where(b + rng.normal(size=n) > 0, "f", "m")
    c = rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "sex": sex, "c": c, "weak": c + 4 * rng.normal(size=n)})


@pytest.mark.parametrize("engine", ["local", "dag"])
def test_a_half_has_the_edges_of_a_fit_to_its_rows(engine):
    frame = mixed()
    what, table = asked(frame, engine=engine)
    given, what = Given(what.problems[0].encoded), replace(what, problems=(what.problems[0].without_rows(),))
    encoded = table.encode(0)
    for number in (0, 1, 5):
        rows = encoded.rows[half_sample(len(frame), number, 0)]
        net = GPM(engine=engine).fit(frame.iloc[rows]).network_
        result = half_edges(given, what, number)
        found = {tuple(table.names[at] for at in ends) for ends in result["ends"].tolist()}
        assert found == set(zip(net.edges["source"], net.edges["target"], strict=True))
        ways = {(a, b): net.directions.direction(a, b) for a, b in found} if engine == "dag" else {}
        expected = [
            {"->": 1, "<-": 2}.get(ways.get(tuple(table.names[at] for at in ends)), 0)
            for ends in result["ends"].tolist()
        ]
        assert result["way"].tolist() == expected


def test_a_column_that_does_not_vary_in_a_half_has_no_edge_there():
    frame = mixed()
    frame["rare"] = ["q"] * (len(frame) - 2) + ["z"] * 2
    what, table = asked(frame, kinds={"rare": "discrete"}, engine="dag")
    encoded = table.encode(0)
    lonely = [
        number
        for number in range(40)
        if not {*encoded.rows[half_sample(len(frame), number, 0)]} & {len(frame) - 1, len(frame) - 2}
    ]
    assert lonely
    at = table.names.index("rare")
    assert all(
        at not in half_edges(Given(what.problems[0].encoded), what, number)["ends"] for number in lonely[:3]
    )


@pytest.mark.parametrize("engine", ["local", "dag", "deep"])
def test_a_half_in_which_no_two_columns_vary_has_no_edge(engine):
    frame = pd.DataFrame({"r": ["z"] * 2 + ["q"] * 58, "s": ["q"] * 59 + ["z"]})
    what, _ = asked(frame, kinds=dict.fromkeys("rs", "discrete"), engine=engine)
    given = Given(what.problems[0].encoded)
    rows = what.problems[0].encoded.rows
    alone = [k for k in range(20) if not {*rows[half_sample(60, k, 0)]} & {0, 1, 59}]
    assert alone
    result = half_edges(given, what, alone[0])
    assert result["ends"].shape == (0, 2)
    assert result["way"].shape == (0,)


def test_shares_are_counts_over_halves():
    halves = [
        {"ends": np.array([[0, 1], [1, 2]]), "way": np.array([1, 0], dtype=np.int8)},
        {"ends": np.array([[0, 1]]), "way": np.array([2], dtype=np.int8)},
        {"ends": np.empty((0, 2), dtype=np.int64), "way": np.empty(0, dtype=np.int8)},
        {"ends": np.array([[0, 1], [0, 2]]), "way": np.array([1, 0], dtype=np.int8)},
    ]
    found = counted(halves, 3, required=np.array([[0, 2]]))
    share, forth, back = found.of(np.array([1, 0, 0]), np.array([2, 1, 2]), 3)
    assert share.tolist() == [0.25, 0.75, 0.25]
    assert forth.tolist() == [0.0, 0.5, 0.0]
    assert back.tolist() == [0.0, 0.25, 0.0]
    assert found.mean_edges == 1.0  # four of four halves, the required pair not counted
    nothing = counted(halves[2:3], 3, required=np.empty((0, 2), dtype=np.intp))
    assert nothing.of(np.array([0]), np.array([1]), 3)[0].tolist() == [0.0]


def stabilities(network):
    return {frozenset((row.source, row.target)): row.stability for row in network.candidates.itertuples()}


def test_stability_does_not_depend_on_the_order_of_rows_and_columns():
    frame = mixed()
    one = GPM(stability=6).fit(frame).network_
    other = GPM(stability=6).fit(frame.sample(frac=1, random_state=2)[[*frame.columns[::-1]]]).network_
    assert stabilities(one) == stabilities(other)
    assert stabilities(one)[frozenset("ab")] == 1.0
    assert len(set(stabilities(one).values())) > 1
    assert GPM(stability=6, random_state=1).fit(frame).network_.resampling != one.resampling


def test_the_full_fit_is_the_same_with_and_without_half_samples():
    frame = mixed()
    plain, drawn = GPM().fit(frame).network_, GPM(stability=2).fit(frame).network_
    assert plain.edges.equals(drawn.edges.drop(columns="stability"))
    assert "stability" not in plain.edges
    assert drawn.resampling.n_rows == len(frame) // 2
    assert drawn.resampling.n_tests == 10
    assert any("half-samples" in said for said in drawn.facts.warnings)


def test_a_column_that_repeats_another_has_no_stability_and_changes_none():
    frame = mixed()
    one = GPM(stability=3).fit(frame).network_
    twins = GPM(stability=3).fit(frame.assign(b2=frame["b"])).network_
    found = stabilities(twins)
    assert np.isnan(found.pop(frozenset(("b", "b2"))))
    assert found == stabilities(one)


def test_the_dag_engine_has_the_frequency_of_each_direction():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    frame = pd.DataFrame({"a": a, "b": b, "c": a + b + 0.5 * rng.normal(size=400)})
    edges = GPM(engine="dag", stability=5).fit(frame).network_.edges.set_index(["source", "target"])
    arc = edges.loc[("a", "c")]
    assert (arc.stability, arc.stability_forward, arc.stability_backward) == (1.0, 1.0, 0.0)
    shared = edges.loc[("a", "b")]
    assert (shared.stability_forward, shared.stability_backward) == (0.0, 0.0)
    net = GPM(engine="dag", stability=5).fit(frame).network_
    assert (net.explain("a", "c").stability_forward, net.explain("c", "a").stability_forward) == (1.0, 0.0)


def test_required_pairs_and_knowledge_hold_in_halves_too():
    frame = mixed()
    net = GPM(stability=3, forbid=[("a", "b")], require=[("c", "a")]).fit(frame).network_
    found = stabilities(net)
    assert found[frozenset("ac")] == 1.0
    assert frozenset("ab") not in found
    assert net.resampling.n_tests == 8
    tiers = GPM(engine="dag", stability=3, tiers=[["b"], ["a"]]).fit(frame).network_.edges
    row = tiers[(tiers.source == "a") & (tiers.target == "b")].iloc[0]
    assert (row.stability_forward, row.stability_backward) == (0.0, 1.0)


def test_the_deep_engine_has_stability():
    frame = mixed(480)[["a", "b", "c"]]
    model = GPM("deep", energy="pairwise", decide="omega", stability=2).fit(frame)
    assert model.network_.edges.set_index(["source", "target"]).stability[("a", "b")] == 1.0


def test_wrong_settings_and_small_tables_are_refused():
    frame = mixed(30)
    for wrong in (True, -1, 2.5, "50", 10**9):
        with pytest.raises(InputError, match="stability must be"):
            GPM(stability=wrong).fit(frame)
    with pytest.raises(InputError, match="at least 20 rows"):
        GPM(stability=2).fit(frame[:12])
    for wrong in (0, -2, 1.5, True):
        with pytest.raises(InputError, match="workers must be"):
            GPM(stability=2, workers=wrong).fit(frame)
    with pytest.raises(InputError, match="address of a Dask scheduler"):
        GPM(stability=2, cluster="here").fit(frame)


def test_false_edges_are_less_stable_than_true_ones():
    drawn = simulate("gaussian", d=10, n=200, seed=0)
    net = GPM(stability=5, fdr=0.3).fit(drawn.frame()).network_
    truth = drawn.truth.toarray()
    edges = net.candidates
    place = {name: at for at, name in enumerate(drawn.names)}
    true = np.array([truth[place[a], place[b]] for a, b in zip(edges.source, edges.target, strict=True)])
    assert edges.stability[true].mean() > edges.stability[~true].mean() + 0.3
