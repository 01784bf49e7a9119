import base64
import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from gpmnet.network import Facts, MarkovNetwork, Origin, Pairs
from gpmnet.network.joint import JointFinding
from gpmnet.network.report import parts, report_html
from gpmnet.network.report.render import render, static_edges
from gpmnet.network.report.summary import summarise
from gpmnet.parts import Part
from gpmnet.selection import Cutoff
from gpmnet.table import Column, Schema


@dataclass(frozen=True)
class Bent(Part):
    lam: float = 1.0
    a: float = 3.7


def column(name, kind="continuous", **facts):
    return Column(name, kind, "because", **facts)


SCHEMA = Schema(
    (
        column("density", low=0.5, high=2.25, n_missing=3),
        column("alcohol", low=18262.0, high=18263.0, dates=True),
        column("<colour>", "discrete", levels=("red", "white"), notes=("pooled rare levels: rosé",)),
        column("grade", "discrete", levels=("a", "b", "c"), duplicate_of="<colour>"),
        column("id", "ignored"),
    ),
    1599,
    ("the name 'x' is repeated",),
)


@pytest.fixture
def described(shaped):
    facts = Facts(
        SCHEMA,
        {"fdr": 0.05, "threshold": None, "forbid": [("a", "b")], "penalty": Bent(a=4.0)},
        seed=7,
        versions={"numpy": "2.0"},
        seconds={"load": 0.5, "test": 1.25},
        warnings=("the name 'x' is repeated", "a solver stopped early"),
        origin=Origin("data/wine.csv", ("fit", "my wine.csv", "-o", "out"), "2024-01-01"),
    )
    return replace(shaped, facts=facts)


def test_the_headline_says_what_was_found(described):
    said = summarise(described)["headline"]
    assert said["size"] == "1,599 rows and 4 variables (2 continuous and 2 discrete)."
    numbers = replace(described, kinds=("continuous",) * 4)
    assert summarise(numbers)["headline"]["size"] == "1,599 rows and 4 continuous variables."
    assert said["edges"].startswith("3 edges at a false-discovery rate of 5%")
    # <colour> and grade say the same, which is no finding
    assert [edge["source"] for edge in said["strongest"]] == ["density", "density"]
    assert said["strongest"][0]["figures"] == "strength 0.62, q < 1e-16"
    assert said["strongest"][0]["says"] == "Given the other variables, low density goes with high alcohol."
    assert said["alone"] == ""
    assert said["part"] == ""
    alone = summarise(described.filter(q=1e-3))["headline"]
    assert alone["alone"] == "grade"


def test_a_title_is_the_heading(described):
    assert summarise(described)["title"] == "wine.csv"
    assert summarise(described, "Wines of 1990")["title"] == "Wines of 1990"
    facts = replace(described.facts, origin=replace(described.facts.origin, title="<b>Wines"))
    assert Facts.from_dict(facts.to_dict()) == facts
    page = report_html(replace(described, facts=facts))
    assert '<h1 id="title">&lt;b&gt;Wines ' in page


def test_variables_that_only_a_group_explains_are_told_on_top(shaped):
    alone = shaped.filter(q=1e-3)
    finding = JointFinding("grade", ("density", "alcohol"), 1e-6, 1e-5, 0.4)
    said = summarise(replace(alone, joint_findings=(finding,)))["headline"]
    assert said["jointly"].startswith("grade has no edge in the picture, but depends on columns")
    assert summarise(alone)["headline"]["jointly"] == ""


def test_the_notes_name_columns_and_reasons(described):
    found = {note["title"]: note["items"] for note in summarise(described)["notes"]}
    assert found == {
        "About the table": [["", "the name 'x' is repeated"], ["", "a solver stopped early"]],
        "Ignored columns": [["id", "because"]],
        "Columns that repeat another": [["grade", "says the same as <colour>, which stands for it"]],
        "Missing values": [["density", "3 rows without a value"]],
        "Changed or worth knowing": [["<colour>", "pooled rare levels: rosé"]],
    }


def test_long_lists_of_notes_are_counted(described):
    schema = Schema(tuple(column(f"id{at}", "ignored") for at in range(100)), 1599)
    note = summarise(replace(described, facts=Facts(schema)))["notes"][0]
    assert (note["n"], len(note["items"]), note["more"]) == (100, 40, 60)


def test_the_run_can_be_repeated(described):
    run = summarise(described)["run"]
    assert run["command"] == "gpmnet fit 'my wine.csv' -o out"
    assert run["facts"] == [
        ["table", "data/wine.csv"],
        ["seed", "7"],
        ["started", "2024-01-01"],
        ["seconds", "load 0.5, test 1.25"],
    ]
    assert run["settings"] == [
        ["fdr", "0.05"],
        ["threshold", "none"],
        ["forbid", "[['a', 'b']]"],
        ["penalty", "Bent(lam=1.0, a=4.0)"],
    ]
    assert run["versions"] == [["numpy", "2.0"]]


def test_nodes_and_pairs_hold_what_the_network_holds(described):
    whole = summarise(described)
    nodes, pairs = whole["nodes"], whole["pairs"]
    assert nodes["name"] == list(described.names)
    assert nodes["degree"] == [2, 1, 2, 1]
    assert nodes["range"] == [
        "0.5 to 2.25",
        "2020-01-01 to 2020-01-02",
        "2 levels: red, white",
        "3 levels: a, b, c",
    ]
    assert pairs["edge"] == [1, 1, 1, 0]  # edges first, by strength
    assert pairs["strength"] == [0.62, 0.35, 0.2, 0.12]
    assert pairs["omega"][3] is None
    assert pairs["says"][2].startswith("One column repeats the other")
    json.dumps(whole, allow_nan=False)


def test_grids_keep_their_values_to_half_a_step(described):
    whole = summarise(described)
    assert sorted(whole["shapes"]["grids"]) == ["0", "1", "2"]
    for place, at in enumerate((0, 1, 3)):
        grid = described.shapes.of(at)
        packed = whole["shapes"]["grids"][str(place)]
        steps = np.frombuffer(base64.b64decode(packed["bytes"]), dtype=np.int8).reshape(grid.shape)
        np.testing.assert_allclose(
            steps * packed["scale"] / 127, grid, atol=packed["scale"] / 254 + 1e-3 * packed["scale"]
        )
    assert whole["shapes"]["axes"]["2"]["labels"] == ["red $x^", "<b>white"]


def test_the_matrix_stands_by_community(described):
    whole = summarise(described)
    groups = [whole["nodes"]["community"][at] for at in whole["matrix"]["order"]]
    assert groups == sorted(groups)
    assert sorted(whole["matrix"]["order"]) == [0, 1, 2, 3]


def test_the_cutoff_is_that_of_the_fit(shaped):
    assert summarise(shaped)["cutoff"] == {
        "figure": "q_value",
        "letter": "q",
        "value": 0.05,
        "min_strength": 0.0,
    }
    by_p = summarise(replace(shaped, cutoff=Cutoff(0.01, "p")))
    assert by_p["cutoff"] == {"figure": "p_value", "letter": "p", "value": 0.01, "min_strength": 0.0}
    assert by_p["headline"]["edges"] == "3 edges at p at most 0.01, not corrected for the number of pairs."
    assert summarise(replace(shaped, cutoff=None))["cutoff"] is None
    strong = summarise(replace(shaped, cutoff=Cutoff(0.05, min_strength=0.1)))
    assert strong["cutoff"]["min_strength"] == 0.1
    assert strong["headline"]["edges"] == (
        "3 edges stronger than 0.1 at a false-discovery rate of 5%; at most about 5% of them are expected to be weaker."
    )


def test_intervals_stand_beside_strengths(shaped):
    known = replace(shaped.pairs, strength_low=[0.5, 0.2, 0.0, np.nan], strength_high=[0.7, 0.5, 0.3, np.nan])
    whole = summarise(replace(shaped, pairs=known))
    assert whole["pairs"]["strength_low"] == [0.5, 0.2, None, 0.0]
    said = [edge["figures"] for edge in whole["headline"]["strongest"]]
    assert said == [
        "strength 0.62 (0.50 to 0.70), q < 1e-16", "strength 0.35 (0.20 to 0.50), q = 0.0001",
        "strength 0.20, q = 0.01",
    ]  # fmt: skip
    assert [edge["interval"] for edge in static_edges(whole)] == ["0.50 to 0.70", "0.20 to 0.50", ""]
    assert '<td class="number">0.50 to 0.70</td>' in render(whole)


def test_a_network_that_knows_nothing_but_its_edges_has_a_report():
    bare = MarkovNetwork.from_adjacency(("a", "b"), [[0, 1], [1, 0]])
    whole = summarise(bare)
    assert whole["headline"]["size"] == "2 variables."
    assert whole["nodes"]["kind"] == ["unknown", "unknown"]
    assert "a" in report_html(bare)
    empty = MarkovNetwork(("a",), Pairs.of([], []), n_rows=3, cutoff=Cutoff(0.1))
    assert summarise(empty)["headline"]["edges"] == "No edge at a false-discovery rate of 10%."
    assert "No pair of variables" in report_html(empty)
    assert report_html(MarkovNetwork((), Pairs.of([], [])))


def test_dates_beyond_the_calendar_are_numbers(shaped):
    far = column("density", low=1e300, high=1e301, dates=True)
    whole = summarise(replace(shaped, facts=Facts(Schema((far,), 1))))
    assert whole["nodes"]["range"][0] == "1e+300 to 1e+301"


def large(d, n_edges, n_near=0, seed=0):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, d, size=(2 * (n_edges + n_near), 2)), axis=1)
    ends = rng.permutation(np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0))[: n_edges + n_near]
    first, second = ends.T
    is_edge = np.arange(len(first)) < n_edges
    q = np.where(is_edge, 0.01, 0.2)
    strength = rng.uniform(0.1, 1, len(first))
    pairs = Pairs.of(first, second, is_edge, strength=strength, p_value=q, q_value=q)
    return MarkovNetwork(tuple(f"v{at}" for at in range(d)), pairs, n_rows=100, cutoff=Cutoff(0.05))


def test_large_networks_show_their_strongest_part_and_say_so():
    network = large(3000, 4000, 3000)
    whole = summarise(network)
    edge = np.array(whole["pairs"]["edge"], dtype=bool)
    assert edge.sum() == parts.MOST_EDGES
    assert (~edge).sum() <= parts.MOST_NEAR
    strongest = np.sort(network.pairs.strength[network.pairs.is_edge])[::-1][: parts.MOST_EDGES]
    np.testing.assert_allclose(np.array(whole["pairs"]["strength"])[edge], strongest, rtol=1e-8)
    said = whole["headline"]["part"]
    assert f"the 2,000 strongest of {network.n_edges:,} edges" in said
    assert "edges.csv" in said
    names = whole["nodes"]["name"]
    at = whole["pairs"]["a"][0]
    assert whole["nodes"]["degree"][at] == len(network.neighbors(names[at]))


@pytest.mark.slow
def test_a_hundred_thousand_variables_do_not_embed_themselves():
    page = report_html(large(100_000, 150_000))
    assert len(page) < 3_000_000
    assert "100,000 variables" in page


def test_directions_are_said(directed):
    data = summarise(directed)
    rests = {
        frozenset((data["nodes"]["name"][a], data["nodes"]["name"][b])): said
        for a, b, said in zip(data["pairs"]["a"], data["pairs"]["b"], data["pairs"]["rests"], strict=True)
    }
    assert rests[frozenset(("a", "b"))]["words"] == "No arrow joins them, only a common effect: <c>."
    assert rests[frozenset(("a", "<c>"))]["direction"] == "->"
    assert "a stands before <c>" in rests[frozenset(("a", "<c>"))]["words"]
    assert rests[frozenset(("a", "b"))]["evidence"] == 12.5
    assert rests[frozenset(("a", "b"))]["on"] == "co-parents of <c>"
    assert rests[frozenset(("a", "b"))]["common_effects"] == ["<c>"]
    assert rests[frozenset(("a", "<c>"))]["on"] == "arc"
    assert [edge["link"] for edge in data["headline"]["strongest"]] == ["→", "→", "→", "···"]
    page = report_html(directed)
    assert "it is a cause only if" in page
    assert "about cause, nor about direction" not in page
    assert "<c>" not in page
    static = page[page.index("<noscript>") : page.index("</noscript>")]
    assert "<th>kind</th>" in static
    assert "co-parents of &lt;c&gt;" in static
    assert "→" in static
    assert ">q<" not in static
    assert ">q<" in report_html(replace(directed, directions=None))
    notebook = directed._repr_html_()
    assert "<th>direction</th><th>evidence</th>" in notebook
    assert "<td>co-parents</td><td></td><td>12</td>" in notebook
    assert "<th>q</th>" not in notebook
    assert not summarise(replace(directed, directions=None))["causal"]


def test_communities_are_those_of_the_network(described):
    whole = summarise(described)["nodes"]
    found = [
        tuple(name for name, own in zip(whole["name"], whole["community"], strict=True) if own == at)
        for at in sorted(set(whole["community"]))
    ]
    assert found == list(described.communities())
