"""What half-samples say of a network: columns, files, picture, bound."""

import json
from dataclasses import replace

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import pytest

from gpmnet.errors import InputError
from gpmnet.network import Resampling
from gpmnet.network.report import report_html
from gpmnet.network.report.summary import summarise

DRAWN = Resampling(n_pairs=25, n_rows=799, mean_edges=2.0, n_tests=6)


@pytest.fixture
def drawn(shaped):
    pairs = replace(shaped.pairs, stability=np.array([1.0, 0.9, 0.2, 0.5]))
    return replace(shaped, pairs=pairs, resampling=DRAWN)


def test_columns_are_there_only_where_they_were_asked_for(shaped, drawn, directed):
    assert "stability" not in shaped.edges
    assert list(drawn.edges["stability"]) == [1.0, 0.9, 0.5]
    assert "stability_forward" not in drawn.edges
    assert {"stability", "stability_forward", "stability_backward"} <= {
        *replace(directed, resampling=DRAWN).edges.columns
    }


def test_files_have_stability(shaped, drawn, tmp_path):
    drawn.export(tmp_path / "edges.csv")
    assert pd.read_csv(tmp_path / "edges.csv")["stability"].tolist() == [1.0, 0.9, 0.5]
    drawn.export(tmp_path / "n.graphml")
    graph = nx.read_graphml(tmp_path / "n.graphml")
    assert graph.edges["density", "alcohol"]["stability"] == 1.0
    drawn.export(tmp_path / "n.json")
    assert json.loads((tmp_path / "n.json").read_text())["edges"][2]["stability"] == 0.5
    shaped.export(tmp_path / "plain.csv")
    assert "stability" not in (tmp_path / "plain.csv").read_text()


def test_parts_of_a_network_keep_it(drawn):
    assert drawn.subgraph(["density", "<colour>"]).edges["stability"].tolist() == [0.9]
    assert drawn.filter(strength=0.3).edges["stability"].tolist() == [1.0, 0.9]
    assert drawn.filter(q=0.5).candidates.set_index(["source", "target"]).stability["density", "grade"] == 0.2


def test_an_explanation_says_it(shaped, drawn):
    assert "an edge in 90% of the half-samples" in drawn.explain("density", "<colour>").text
    assert "half-samples" not in shaped.explain("density", "<colour>").text


def test_the_bound_is_that_of_the_selection():
    assert DRAWN.expected_low(0.9) == pytest.approx(2.0**2 / (6 * 0.8))
    assert DRAWN.expected_low(0.9, unimodal=True) < DRAWN.expected_low(0.9)
    assert DRAWN.expected_low(0.5) == np.inf
    with pytest.raises(InputError, match="from 0 to 1"):
        DRAWN.expected_low(1.5)
    assert "50 half-samples of 799 rows" in DRAWN.text
    assert "of 12 whole groups (about 799 rows)" in replace(DRAWN, n_groups=12).text


def test_the_report_has_it(shaped, drawn):
    summary = summarise(drawn)
    assert summary["pairs"]["stability"][:2] == [1.0, 0.9]
    assert "stability" not in summarise(shaped)["pairs"]
    assert "share of 50 half-samples" in report_html(drawn)
    assert "share of 50 half-samples" not in report_html(shaped)


def test_the_picture_has_a_point_a_pair_and_names_unstable_edges(shaped, drawn):
    ax = drawn.plot_stability()
    assert sum(len(points.get_offsets()) for points in ax.collections) == 4
    assert [text.get_text() for text in ax.texts] == ["<colour> - grade"]
    plt.close("all")
    with pytest.raises(InputError, match="no half-samples were drawn"):
        shaped.plot_stability()
