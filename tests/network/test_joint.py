"""Groups of near-copies and joint findings in a network: kept, saved, shown, and warned of."""

import json
import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from tests.network.saved_files import change_json, sign

from gpmnet import MarkovNetwork
from gpmnet.errors import CollinearWarning, InputError
from gpmnet.network import JointFinding, Pairs
from gpmnet.network.joint import group_caution
from gpmnet.network.report import report_html
from gpmnet.network.report.summary import summarise
from gpmnet.selection import Cutoff

FINDING = JointFinding("diagnosis", ("size", "area"), 3e-7, 1e-5, 0.32)
WIDE = JointFinding("grade", ("size", "area"), 1e-4, 1e-3, 0.2, ("texture",))


@pytest.fixture
def net():
    """size, area | texture | diagnosis, grade: size - area and area - texture are edges."""
    pairs = Pairs.of(
        [0, 1, 0], [1, 2, 2], [True, True, False], p_value=[0, 0.001, 0.04], q_value=[0, 0.01, 0.2],
        strength=[0.9, 0.4, 0.1], sign=[1, 1, 1],
    )  # fmt: skip
    names = ("size", "area", "texture", "diagnosis", "grade")
    return MarkovNetwork(
        names, pairs, ("continuous",) * 5, 569, Cutoff(0.05), groups=(("size", "area"),),
        joint_findings=(FINDING, WIDE),
    )  # fmt: skip


def test_separation_warns_where_a_joint_finding_contradicts_it(net):
    with pytest.warns(
        CollinearWarning, match=r"^'diagnosis' and 'area' are separated by single edges only; "
    ):
        assert net.separates("diagnosis", "area")
    with pytest.warns(CollinearWarning, match="jointly p = 3e-07 with 'size', 'area'"):
        assert net.separates("texture", "diagnosis", given="size")  # through area
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert net.separates("texture", "diagnosis", given=iter(["size", "area"]))
        assert not net.separates("size", "texture")
    with pytest.warns(CollinearWarning, match="'grade': no single column"):
        assert net.separates("grade", "texture", given=["size", "area"])  # a rival may be what it depends on


def test_a_markov_blanket_warns_and_the_line_is_that_of_the_caller(net):
    for name in ("diagnosis", "area"):
        with pytest.warns(CollinearWarning, match=f"blanket of '{name}' is not complete") as seen:
            net.markov_blanket(name)
        assert seen[0].filename == __file__
    with pytest.warns(CollinearWarning) as seen:
        net.separates("diagnosis", "area")
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert replace(net, joint_findings=(FINDING,)).markov_blanket("texture") == ("area",)


def test_the_surest_finding_explains_a_pair_without_an_edge(net):
    found = net.explain("area", "diagnosis")
    assert found.joint == FINDING
    assert found.text.endswith(
        "But 'diagnosis': no single column, but jointly p = 3e-07 with 'size', 'area'."
    )
    assert found.to_dict()["joint"]["group"] == ["size", "area"]
    assert net.explain("grade", "texture").joint == WIDE
    assert net.explain("area", "texture").joint is None  # an edge
    assert net.explain("texture", "diagnosis").joint is None


def test_a_group_is_one_node_and_a_joint_finding_its_edge(net):
    merged = net.merged_groups()
    assert merged.names == ("size (group of 2)", "texture", "diagnosis", "grade")
    edges = merged.edges.set_index(["source", "target"])
    assert set(edges.index) == {("size (group of 2)", "texture"), ("size (group of 2)", "diagnosis")}
    assert (
        edges.loc[("size (group of 2)", "texture"), "p_value"] == 0.001
    )  # the edge, not the pair that came close
    joint = edges.loc[("size (group of 2)", "diagnosis")]
    assert (joint["p_value"], joint["q_value"], joint["strength"]) == (3e-7, 1e-5, 0.32)
    assert np.isnan(joint["omega"])
    assert (merged.groups, merged.joint_findings, merged.n_rows) == ((), (), 569)
    assert merged.merged_groups().names == merged.names
    merged.plot()
    assert "group of 2" in report_html(merged)


def test_a_merged_name_never_collides():
    net = MarkovNetwork(("a", "b", "a (group of 2)"), Pairs.of([0], [2]), groups=(("a", "b"),))
    merged = net.merged_groups()
    assert merged.names == ("a (group of 2)'", "a (group of 2)")
    assert merged.neighbors("a (group of 2)") == ("a (group of 2)'",)


def test_parts_of_a_network_keep_what_concerns_them(net):
    part = net.subgraph(["area", "diagnosis", "texture"])
    assert part.groups == ()
    assert part.joint_findings == (FINDING,)
    with pytest.warns(CollinearWarning):
        assert part.separates("diagnosis", "area")
    assert "size" not in part.merged_groups().names
    assert net.subgraph(["size", "area"]).groups == net.groups
    assert net.filter(q=1e-4).joint_findings == (FINDING,)
    assert net.filter(strength=0.3).joint_findings == (FINDING,)
    assert net.filter(q=0.2).joint_findings == (FINDING, WIDE)


def test_groups_and_findings_are_saved_and_files_without_them_open(net, tmp_path):
    net.save(tmp_path)
    back = MarkovNetwork.load(tmp_path)
    assert (back.groups, back.joint_findings) == (net.groups, net.joint_findings)
    whole = json.loads((tmp_path / "network.json").read_text())
    del whole["groups"], whole["joint_findings"]
    (tmp_path / "network.json").write_text(json.dumps(whole))
    sign(tmp_path)
    old = MarkovNetwork.load(tmp_path)
    assert (old.groups, old.joint_findings) == ((), ())


@pytest.mark.parametrize(
    "damage",
    [
        {"groups": "size"},
        {"groups": [["size", 3]]},
        {"groups": [["size"], ["size", "area"]]},
        {"joint_findings": [{}]},
        {"joint_findings": {}},
        {"joint_findings": [FINDING.to_dict() | {"p_value": 2}]},
        {"joint_findings": [FINDING.to_dict() | {"p_value": None}]},
        {"joint_findings": [FINDING.to_dict() | {"variable": "size"}]},
        {"joint_findings": [FINDING.to_dict() | {"rivals": None}]},
    ],
)
def test_damaged_groups_are_refused_in_one_line(net, tmp_path, damage):
    net.save(tmp_path)
    change_json(tmp_path, **damage)
    with pytest.raises(InputError, match="holds a damaged network: ") as error:
        MarkovNetwork.load(tmp_path)
    assert "\n" not in str(error.value)


def test_reports_notebooks_and_exports_have_them(net, tmp_path):
    data = summarise(net)
    titles = {note["title"]: note["items"] for note in data["notes"]}
    assert titles["Jointly, not singly"][0] == ["diagnosis", FINDING.reason]
    assert titles["Near-copies"] == [["size", "nearly the same: 'area'"]]
    assert "diagnosis (jointly it has one)" in data["headline"]["alone"]
    assert FINDING.reason in data["nodes"]["notes"][3]
    assert "jointly p = 3e-07" in report_html(net)
    assert "jointly p = 3e-07" in net._repr_html_()
    graph = nx.read_graphml(net.export(tmp_path / "net.graphml"))
    assert {name: data.get("group") for name, data in graph.nodes(data=True)} == {
        "size": 1, "area": 1, "texture": None, "diagnosis": None, "grade": None,
    }  # fmt: skip
    written = json.loads(net.export(tmp_path / "net.json").read_text())["graph"]
    assert written["groups"] == [["size", "area"]]
    assert JointFinding.from_dict(written["joint_findings"][1]) == WIDE


def test_hostile_names_stay_on_one_line(hostile, tmp_path):
    *group, last = hostile.names
    finding = JointFinding(last, tuple(group), 0.001, 0.01, 0.1, ())
    net = replace(hostile, groups=(tuple(group),), joint_findings=(finding,))
    for text in (finding.text, group_caution(net.groups, net.joint_findings)):
        assert text.isprintable()
        assert len(text) < 500
    net.save(tmp_path)
    assert MarkovNetwork.load(tmp_path).joint_findings == net.joint_findings
    page = report_html(net)
    assert "<script>alert(1)" not in page
    with pytest.warns(CollinearWarning) as seen:
        net.markov_blanket(last)
    assert str(seen[0].message).isprintable()
    assert len(net.merged_groups().names) == 2


def test_groups_that_cannot_be_are_refused(net):
    with pytest.raises(InputError, match="in two groups"):
        replace(net, groups=(("size", "area"), ("area", "texture")))
    with pytest.raises(InputError, match="of its own group"):
        replace(net, joint_findings=(JointFinding("size", ("size", "area"), 0.1, 0.1, 0.1),))
