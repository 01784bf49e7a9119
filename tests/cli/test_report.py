import json

import pytest
from safetensors.numpy import load_file, save_file

from gpmnet import MarkovNetwork
from gpmnet.network import Facts, JointFinding, Origin, Pairs
from gpmnet.network.pairs import RESAMPLED
from gpmnet.selection import Cutoff


@pytest.fixture
def folder(tmp_path):
    network = MarkovNetwork.from_adjacency(
        ("a", "<b>"), [[0, 1], [1, 0]], n_rows=9, cutoff=Cutoff(0.1), facts=Facts(origin=Origin("my table"))
    )
    network.save(tmp_path / "out")
    return tmp_path / "out"


def test_the_report_is_made_again_from_the_folder_alone(gpmnet, folder):
    code, out, err = gpmnet("report", folder)
    assert (code, err) == (0, "")
    assert out == f"report: {folder / 'report.html'}\n"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "my table" in page
    assert "&lt;b&gt;" in page


def test_the_report_goes_where_it_is_told_and_opens(gpmnet, folder, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    code, _, err = gpmnet("report", folder, "-o", tmp_path / "my page.html", "--open")
    assert (code, err) == (0, "")
    assert opened == [(tmp_path / "my page.html").resolve().as_uri()]
    assert not (folder / "report.html").exists()


def test_without_a_browser_it_says_so(gpmnet, folder, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    code, _, err = gpmnet("report", folder, "--open")
    assert (code, err) == (0, "no browser could be opened here; open the file yourself\n")


def test_a_folder_without_a_network_is_one_line(gpmnet, tmp_path):
    code, out, err = gpmnet("report", tmp_path)
    assert (code, out) == (2, "")
    assert "holds no saved network" in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_groups_of_near_copies_can_be_one_node(gpmnet, tmp_path):
    finding = JointFinding("d", ("<a>", "b"), 1e-4, 1e-3, 0.3)
    network = MarkovNetwork(
        ("<a>", "b", "d"), Pairs.of([0], [1]), groups=(("<a>", "b"),), joint_findings=(finding,)
    )
    network.save(tmp_path)
    assert gpmnet("report", tmp_path)[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "jointly p = 0.0001" in page
    assert "(group of 2)" not in page
    assert gpmnet("report", tmp_path, "--merge-groups")[0] == 0
    assert "&lt;a&gt; (group of 2)" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("default::UserWarning")
def test_what_an_older_format_cannot_tell_is_a_note_of_one_line(gpmnet, folder):
    whole = json.loads((folder / "network.json").read_text())
    del whole["digest"]
    (folder / "network.json").write_text(json.dumps(whole | {"version": 5}))
    arrays = load_file(folder / "omega.safetensors")
    old = {name: arrays[name] for name in arrays if name not in ("n_rows", *RESAMPLED)}
    save_file(old, folder / "omega.safetensors")
    code, _, err = gpmnet("report", folder)
    assert code == 0
    assert err.startswith("gpmnet: note: ")
    assert "without a digest" in err
    assert err.count("\n") == 1
