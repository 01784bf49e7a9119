import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from gpmnet.network import MarkovNetwork, Pairs
from gpmnet.network.report import parts, report_html
from gpmnet.network.report.summary import level_of, summarise


def column(name, kind="continuous", **facts):
    return {"name": name, "kind": kind, "why": "because", **facts}


SCHEMA = {
    "n_rows": 1599,
    "warnings": ["the name 'x' is repeated"],
    "columns": [
        column("density", low=0.5, high=2.25, n_missing=3),
        column("alcohol", low=18262.0, high=18263.0, dates=True),
        column("<colour>", "discrete", levels=["red", "white"], notes=["pooled rare levels: rosé"]),
        column("grade", "discrete", levels=["a", "b", "c"], duplicate_of="<colour>"),
        column("id", "ignored"),
    ],
}


@pytest.fixture
def described(shaped):
    return replace(
        shaped,
        about={
            "source": "data/wine.csv",
            "schema": SCHEMA,
            "settings": {"fdr": 0.05, "threshold": None},
            "versions": {"numpy": "2.0"},
            "seed": 7,
            "seconds": {"load": 0.5},
            "command": ["fit", "my wine.csv", "-o", "out"],
        },
    )


def test_the_headline_says_what_was_found(described):
    said = summarise(described)["headline"]
    assert said["size"] == "1,599 rows and 4 variables (2 continuous and 2 discrete)."
    assert said["edges"].startswith("3 edges at a false-discovery rate of 5%")
    assert [edge["source"] for edge in said["strongest"]] == ["density", "density", "<colour>"]
    assert said["strongest"][0]["figures"] == "strength 0.62, q < 1e-16"
    assert said["strongest"][0]["says"] == described.explain("density", "alcohol").direction
    assert said["alone"] == ""
    assert said["part"] == ""
    alone = summarise(described.filter(q=1e-3))["headline"]
    assert alone["alone"] == "grade"


def test_the_notes_name_columns_and_reasons(described):
    found = {note["title"]: note["items"] for note in summarise(described)["notes"]}
    assert found == {
        "About the table": [["", "the name 'x' is repeated"]],
        "Ignored columns": [["id", "because"]],
        "Columns that repeat another": [["grade", "says the same as <colour>, which stands for it"]],
        "Missing values": [["density", "3 rows without a value"]],
        "Changed or worth knowing": [["<colour>", "pooled rare levels: rosé"]],
    }


def test_long_lists_of_notes_are_counted(described):
    schema = {"columns": [column(f"id{at}", "ignored") for at in range(100)]}
    note = summarise(replace(described, about={"schema": schema}))["notes"][0]
    assert (note["n"], len(note["items"]), note["more"]) == (100, 40, 60)


def test_the_run_can_be_repeated(described):
    run = summarise(described)["run"]
    assert run["command"] == "gpmnet fit 'my wine.csv' -o out"
    assert ["seed", "7"] in run["facts"]
    assert ["threshold", "none"] in run["settings"]
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


def test_the_level_is_that_of_the_fit(shaped):
    assert level_of(shaped) == {"figure": "q_value", "letter": "q", "value": 0.05}
    by_p = replace(shaped, fdr=None, about={"settings": {"threshold": 0.01}})
    assert level_of(by_p) == {"figure": "p_value", "letter": "p", "value": 0.01}
    assert "p at most 0.01" in summarise(by_p)["headline"]["edges"]
    assert level_of(replace(shaped, fdr=None)) is None


def test_a_network_that_knows_nothing_but_its_edges_has_a_report():
    bare = MarkovNetwork.from_adjacency(("a", "b"), [[0, 1], [1, 0]])
    whole = summarise(bare)
    assert whole["headline"]["size"] == "2 variables."
    assert whole["nodes"]["kind"] == ["unknown", "unknown"]
    assert "a" in report_html(bare)
    empty = MarkovNetwork(("a",), Pairs.of([], []), n_rows=3, fdr=0.1)
    assert summarise(empty)["headline"]["edges"] == "No edge at a false-discovery rate of 10%."
    assert "No pair of variables" in report_html(empty)
    assert report_html(MarkovNetwork((), Pairs.of([], [])))


@pytest.mark.parametrize(
    "about",
    [
        {"schema": 3, "settings": 4, "versions": "x", "seconds": [1], "command": {"a": 1}, "source": [1]},
        {"schema": {"columns": 5, "warnings": {"a": 1}}, "command": "rm -rf", "warnings": 2},
        {
            "schema": {
                "columns": [1, {"name": 2}, {"name": "density", "kind": [], "low": "x", "notes": {"a": 1}}]
            }
        },
        {
            "schema": {
                "columns": [{"name": "density", "low": 1e300, "high": 1e301, "dates": True, "levels": [1]}]
            }
        },
        {"settings": {"threshold": "high"}},
    ],
)
def test_what_a_file_says_about_itself_is_not_trusted(shaped, about):
    assert "density" in report_html(replace(shaped, about=about, fdr=None))


def large(d, n_edges, n_near=0, seed=0):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, d, size=(2 * (n_edges + n_near), 2)), axis=1)
    ends = rng.permutation(np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0))[: n_edges + n_near]
    first, second = ends.T
    is_edge = np.arange(len(first)) < n_edges
    q = np.where(is_edge, 0.01, 0.2)
    strength = rng.uniform(0.1, 1, len(first))
    pairs = Pairs.of(first, second, is_edge, strength=strength, p_value=q, q_value=q)
    return MarkovNetwork(tuple(f"v{at}" for at in range(d)), pairs, n_rows=100, fdr=0.05)


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
