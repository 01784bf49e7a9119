import csv
import json
import re
from io import StringIO

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, load_npz

from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.directions import Directions, MoralEdge
from gpmnet.errors import InputError
from gpmnet.network import DENSE_UP_TO, MarkovNetwork, Pairs
from gpmnet.network.escape import escape, plain_text, spreadsheet_text, unescape

ALLOWED = re.compile("[\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
SURROGATE = re.compile("[\ud800-\udfff]")


def writable(name):
    return SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", name)


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_escaping_is_reversible_and_leaves_only_what_xml_allows(name):
    assert unescape(escape(name)) == name
    assert ALLOWED.fullmatch(escape(name))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="\\"), min_size=1))
def test_plain_names_are_written_as_they_are(name):
    assert escape(name) == name


def named_edges(net):
    return {frozenset((row.source, row.target)): row.strength for row in net.edges.itertuples()}


def assert_graph(net, graph, restore=unescape):
    assert [restore(node) for node in graph] == list(net.names)
    found = {frozenset(map(restore, edge)): graph.edges[edge]["strength"] for edge in graph.edges}
    assert found == named_edges(net)
    assert [graph.nodes[node]["kind"] for node in graph] == list(net.kinds)
    assert all("omega" not in data for *_, data in graph.edges(data=True))  # unknown is left out


@pytest.mark.parametrize("suffix", ["graphml", "gexf"])
def test_xml_is_read_back_by_networkx(hostile, tmp_path, suffix):
    path = hostile.export(tmp_path / f"net.{suffix}")
    assert_graph(hostile, (nx.read_graphml if suffix == "graphml" else nx.read_gexf)(path))
    first = path.read_bytes()
    hostile.export(path)
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_graphml_is_read_back_by_igraph(hostile, tmp_path):
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    graph = igraph.Graph.Read_GraphML(str(hostile.export(tmp_path / "net.graphml")))
    assert tuple(map(unescape, graph.vs["name"])) == hostile.names
    ends = {frozenset(hostile.names[at] for at in edge.tuple): edge["strength"] for edge in graph.es}
    assert ends == named_edges(hostile)


def test_json_is_read_back_by_networkx(hostile, tmp_path):
    data = json.loads(hostile.export(tmp_path / "net.json").read_text("ascii"))
    assert data["graph"] == {"n_rows": 50, "fdr": 0.05}
    assert_graph(hostile, nx.node_link_graph(data, edges="edges"), restore=str)


def dot_unquote(text):
    plain = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)
    return unescape(plain)


def test_dot_has_every_name_and_edge(hostile, tmp_path):
    text = hostile.export(tmp_path / "net.dot").read_text("utf-8")
    labels = re.findall(r'^  n(\d+) \[label="((?:[^"\\]|\\.)*)"\];$', text, re.MULTILINE | re.DOTALL)
    assert [dot_unquote(label) for _, label in labels] == list(hostile.names)
    edges = re.findall(r'^  n(\d+) -- n(\d+) \[.*strength="([^"]+)"', text, re.MULTILINE)
    found = {frozenset((hostile.names[int(a)], hostile.names[int(b)])): float(s) for a, b, s in edges}
    assert found == named_edges(hostile)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pydot")
def test_dot_is_parsed_by_pydot(hostile, tmp_path):
    pydot = pytest.importorskip("pydot", reason="pydot is not installed")
    (graph,) = pydot.graph_from_dot_data(hostile.export(tmp_path / "net.gv").read_text("utf-8"))
    labels = {node.get_name(): node.get_label()[1:-1] for node in graph.get_nodes()}
    assert [dot_unquote(labels[f"n{at}"]) for at in range(len(hostile.names))] == list(hostile.names)
    assert len(graph.get_edges()) == hostile.n_edges


def test_csv_is_read_back(hostile, tmp_path):
    path = hostile.export(tmp_path / "edges.csv", spreadsheet_safe=False)
    rows = list(csv.reader(StringIO(path.read_bytes().decode("utf-8"), newline="")))
    assert rows[0] == list(hostile.edges.columns)
    assert [row[:2] for row in rows[1:]] == [
        [writable(a), writable(b)] for a, b in hostile.edges[["source", "target"]].to_numpy()
    ]
    assert [float(row[3]) for row in rows[1:]] == hostile.edges["strength"].tolist()
    assert {row[2] for row in rows[1:]} == {""}


def test_csv_is_read_back_by_pandas(shaped, tmp_path):
    back = pd.read_csv(shaped.export(tmp_path / "edges.csv"))
    pd.testing.assert_frame_equal(back, shaped.edges, check_dtype=False)


def test_csv_has_no_formula_unless_raw_text_is_asked_for(hostile, tmp_path):
    safe = hostile.export(tmp_path / "safe.csv").read_bytes().decode("utf-8")
    rows = list(csv.reader(StringIO(safe, newline="")))[1:]
    assert not any(
        cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for row in rows for cell in row[:2]
    )
    raw = hostile.export(tmp_path / "e.csv", spreadsheet_safe=False).read_bytes().decode()
    plain = list(csv.reader(StringIO(raw, newline="")))
    for row, other in zip(rows, plain[1:], strict=True):
        assert [plain_text(cell) for cell in row[:2]] + row[2:] == other
    assert "'=1+1" in {row[0] for row in rows}


@given(st.text(st.sampled_from("'=+-@\t\r\nab\uff1d")))
def test_a_name_is_found_again_behind_its_cell(name):
    assert plain_text(spreadsheet_text(name)) == name
    assert not spreadsheet_text(name).startswith(tuple("=+-@\t\r\n\uff1d"))


def test_parquet_is_read_back(hostile, tmp_path):
    back = pd.read_parquet(hostile.export(tmp_path / "edges.parquet"))
    assert back["source"].tolist() == [writable(name) for name in hostile.edges["source"]]
    assert back["strength"].tolist() == hostile.edges["strength"].tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_adjacency_is_read_back(hostile, tmp_path, suffix):
    path = hostile.export(tmp_path / f"a.{suffix}", format="adjacency")
    expected = [writable(name) for name in hostile.names]
    if suffix == "npz":
        matrix = load_npz(path).toarray()
        assert tuple(json.loads(bytes(np.load(path)["names"]))) == hostile.names
    elif suffix == "csv":
        rows = list(csv.reader(StringIO(path.read_bytes().decode("utf-8"), newline="")))
        assert rows[0][1:] == [row[0] for row in rows[1:]]
        assert [plain_text(cell) for cell in rows[0][1:]] == expected
        matrix = np.array([row[1:] for row in rows[1:]], dtype=int)
    np.testing.assert_array_equal(_parquet_matrix(path) if suffix == "parquet" else matrix, hostile.adjacency)


def _parquet_matrix(path):
    import pyarrow.parquet as pq

    return np.array([column.to_pylist() for column in pq.read_table(path).columns]).T


def test_large_adjacency_is_sparse_only(tmp_path):
    d = DENSE_UP_TO + 1
    matrix = csr_array((np.ones(2, dtype=bool), ([0, 7], [7, 0])), shape=(d, d))
    net = MarkovNetwork.from_adjacency(tuple(map(str, range(d))), matrix)
    assert (load_npz(net.export(tmp_path / "a.npz")) != matrix).nnz == 0
    with pytest.raises(InputError, match=r"use \.npz"):
        net.export(tmp_path / "a.csv", format="adjacency")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("net.xyz", {}, "suffix"),
        ("net", {}, "suffix"),
        ("net.csv", {"format": "nope"}, "format='nope'"),
        ("net.dot", {"format": "edges"}, r"\.csv or \.parquet"),
    ],
)
def test_unknown_formats_are_refused(hostile, tmp_path, name, options, words):
    with pytest.raises(InputError, match=words):
        hostile.export(tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_the_old_file(hostile, tmp_path, monkeypatch):
    path = hostile.export(tmp_path / "net.csv")
    before = path.read_bytes()

    def fail(*_):
        yield b"half"
        raise OSError("disk full")

    monkeypatch.setitem(__import__("gpmnet.network.export", fromlist=["x"])._WRITERS, "edges", fail)
    with pytest.raises(InputError, match=r"net.csv' cannot be written: disk full$"):
        hostile.export(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["net.csv"]
    with pytest.raises(InputError, match="folder"):
        hostile.export(tmp_path, format="graphml")


def test_directions_are_in_every_graph_format(directed, tmp_path):
    """Each edge that is compelled points from its cause to its effect, in the order in which a program reads its ends."""
    graphs = {
        "networkx": directed.to_networkx(),
        "graphml": nx.read_graphml(directed.export(tmp_path / "net.graphml")),
        "gexf": nx.read_gexf(directed.export(tmp_path / "net.gexf")),
        "json": nx.node_link_graph(
            json.loads(directed.export(tmp_path / "net.json").read_text()), edges="edges"
        ),
    }
    for name, graph in graphs.items():
        found = {(a, said["direction"], b) for a, b, said in graph.edges(data=True) if "direction" in said}
        assert found == {("a", "->", "<c>"), ("b", "->", "<c>"), ("<c>", "->", "e")}, name
        assert graph.edges["a", "b"]["kind"] == "co-parents"
        assert graph.edges["a", "b"]["evidence"] == 12.5
    lines = directed.export(tmp_path / "net.dot").read_text().splitlines()
    assert sum('dir="forward"' in line for line in lines) == 3
    assert [line.split(" [")[0].strip() for line in lines if 'style="dotted"' in line] == ["n0 -- n1"]


def test_a_direction_against_the_order_of_the_columns(tmp_path):
    arrows = np.zeros((3, 3), dtype=bool)
    arrows[1, 0] = arrows[2, 0] = True
    graph = CPDAG.from_dag(arrows, ("effect", "x", "y"))
    edges = (
        MoralEdge(0, 1, "arc", 5.0, ()),
        MoralEdge(0, 2, "arc", 4.0, ()),
        MoralEdge(1, 2, "co-parents", 3.0, (0,)),
    )
    net = MarkovNetwork(graph.names, Pairs.of([0, 0, 1], [1, 2, 2]), directions=Directions(graph, edges))
    back = nx.read_graphml(net.export(tmp_path / "net.graphml"))
    assert {(a, b): said.get("direction") for a, b, said in back.edges(data=True)} == {
        ("effect", "x"): "<-", ("effect", "y"): "<-", ("x", "y"): None,
    }  # fmt: skip
    assert net.export(tmp_path / "net.dot").read_text().count('dir="back"') == 2
