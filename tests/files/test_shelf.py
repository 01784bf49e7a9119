"""What a fit keeps: whole files with the key of their run, damaged ones noticed, nothing for short fits."""

import os

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet import GPM
from gpmnet.engines.local import LocalOptions
from gpmnet.errors import InputError, ResumeWarning
from gpmnet.files import Shelf, shelf
from gpmnet.files.digest import digest
from gpmnet.penalties import SCAD
from gpmnet.searching.neighborhoods import Neighborhoods
from gpmnet.testing.base import BoundTest

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([True, False])}


@pytest.fixture
def eager(monkeypatch):
    """Write at once."""
    monkeypatch.setattr(shelf, "EVERY", 0.0)
    monkeypatch.setattr(shelf, "_SHARE", 1e9)


def opened(folder, key="key"):
    found = Shelf(folder)
    found.open(key)
    return found


def same(one, two):
    return one.keys() == two.keys() and all(torch.equal(one[k], two[k]) for k in one)


def test_what_is_kept_is_taken_once_whatever_happens_to_it_afterwards(tmp_path, eager):
    first, mine = opened(tmp_path / "x"), TENSORS["a"].clone()
    first.keep("one", {"a": mine})
    mine.zero_()
    first.keep("two", TENSORS)
    first.keep_state("three", {"now": torch.tensor([1])})
    first.keep_state("three", {"now": torch.tensor([2])})
    again = opened(tmp_path / "x")
    assert torch.equal(again.take("one")["a"], TENSORS["a"])
    assert same(again.take("two"), TENSORS)
    assert again.take("two") is None
    assert again.take("three")["now"].item() == 2
    assert sorted(os.listdir(tmp_path / "x")) == [
        "now.safetensors",
        "part-000001.safetensors",
        "part-000002.safetensors",
    ]
    again.keep("four", TENSORS)  # behind those that are there
    assert same(opened(tmp_path / "x").take("four"), TENSORS)
    assert same(opened(tmp_path / "x").take("two"), TENSORS)
    again.remove()
    assert os.listdir(tmp_path) == []


def test_dataclasses_and_plain_data_come_back_as_they_were(tmp_path, eager):
    def fail():
        pytest.fail("computed again")

    one = Neighborhoods(
        torch.tensor([[1], [-1]]),
        torch.tensor([[1], [0]]),
        torch.tensor([[-3.0], [0.0]], dtype=torch.float64),
        torch.zeros(2, dtype=torch.bool),
        torch.ones(2, dtype=torch.bool),
        7,
    )
    data = [1, "two", [float("-inf"), 0.1 + 0.2], {"three": None}]
    first = opened(tmp_path / "x")
    assert first.kept_as(Neighborhoods, "one", "cpu", lambda: one) is one
    assert first.kept_data("data", lambda: data) is data
    again = opened(tmp_path / "x")
    found = again.kept_as(Neighborhoods, "one", "cpu", fail)
    assert found.n_rounds == 7
    names = ("members", "candidates", "log_p", "is_full", "is_open")
    assert same({k: getattr(one, k) for k in names}, {k: getattr(found, k) for k in names})
    assert again.kept_data("data", fail) == data


@pytest.mark.parametrize("damage", ["short", "empty", "other", "changed"])
def test_a_damaged_file_is_noticed_and_its_content_computed_again(tmp_path, eager, damage):
    first = opened(tmp_path / "x")
    first.keep("one", TENSORS)
    first.keep("two", TENSORS)
    path = tmp_path / "x" / "part-000001.safetensors"
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[-3] ^= 1
    damaged = {"short": whole[:-5], "empty": b"", "other": b"\xff" * 99, "changed": bytes(changed)}
    path.write_bytes(damaged[damage])
    with pytest.warns(ResumeWarning, match=r"is damaged \(.*\): what it held is computed again"):
        again = opened(tmp_path / "x")
    assert again.take("one") is None
    assert same(again.take("two"), TENSORS)
    assert not path.exists()


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_no_reason_to_wait(tmp_path, eager, kind):
    opened(tmp_path / "x").keep("one", TENSORS)
    path = tmp_path / "x" / "now.safetensors"
    {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](path)
    with pytest.warns(ResumeWarning, match=r"now.safetensors' is damaged \(it is no ordinary file\)"):
        again = opened(tmp_path / "x")
    assert same(again.take("one"), TENSORS)
    assert path.exists() == (kind == "folder")


def test_work_of_another_key_is_removed_and_other_files_stay(tmp_path, eager):
    opened(tmp_path / "x").keep("one", TENSORS)
    (tmp_path / "x" / "mine.txt").write_text("mine")
    with pytest.warns(ResumeWarning, match="another table, other settings or another version: it is removed"):
        other = opened(tmp_path / "x", "other key")
    assert other.take("one") is None
    assert os.listdir(tmp_path / "x") == ["mine.txt"]
    other.remove()
    assert os.listdir(tmp_path / "x") == ["mine.txt"]


def test_nothing_is_written_in_the_first_seconds_and_then_all_that_is_finished(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(shelf.time, "monotonic", lambda: now[0])
    first = opened(tmp_path / "x")
    first.keep("one", TENSORS)
    assert not first.is_due
    assert not (tmp_path / "x").exists()
    now[0] += shelf.EVERY
    assert first.is_due
    first.keep("two", TENSORS)
    first.keep("three", TENSORS)
    assert os.listdir(tmp_path / "x") == ["part-000001.safetensors"]
    again = opened(tmp_path / "x")
    assert same(again.take("one"), TENSORS)
    assert same(again.take("two"), TENSORS)
    assert again.take("three") is None


def test_slow_writes_are_rare(tmp_path, monkeypatch):
    now = [100.0]

    def slow(self, data):
        now[0] += 2.0
        return len(data)

    monkeypatch.setattr(shelf.time, "monotonic", lambda: now[0])
    first = opened(tmp_path / "x")
    now[0] += shelf.EVERY
    monkeypatch.setattr("pathlib.Path.write_bytes", slow)
    first.keep("one", TENSORS)
    now[0] += 150.0
    assert not first.is_due
    now[0] += 51.0
    assert first.is_due


def test_a_full_disk_ends_the_keeping_and_not_the_fit(tmp_path, monkeypatch, eager):
    first = opened(tmp_path / "x")

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.warns(ResumeWarning, match="No space left on device: the fit goes on"):
        first.keep("one", TENSORS)
    first.keep("two", TENSORS)
    assert os.listdir(tmp_path / "x") == []


def test_every_number_of_every_part_has_a_say_in_a_digest():
    parts = [SCAD(), SCAD(a=3.0), LocalOptions(), LocalOptions(alpha_enter=0.02), {"a": 1}, {"a": 2}]
    arrays = [np.zeros(2), np.zeros((1, 2)), np.zeros(2, dtype=np.float32), np.zeros(0)]
    names = {digest([part], []) for part in parts} | {digest([], [array]) for array in arrays}
    assert len(names) == len(parts) + len(arrays)
    assert digest([SCAD(a=np.float32(4.0))], []) == digest([SCAD(a=4.0)], [])


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    return pd.DataFrame({"a": a, "b": a + rng.normal(size=200), "c": rng.normal(size=200)})


def test_a_fit_goes_on_without_testing_again_and_leaves_nothing(tmp_path, frame, eager, monkeypatch):
    tests = []
    plain = BoundTest.pairs
    monkeypatch.setattr(BoundTest, "pairs", lambda *given: tests.append(0) or plain(*given))

    def stop(network):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GPM().fit(frame, on_edges=stop, resume=tmp_path / "x")
    assert os.listdir(tmp_path) == ["x"]
    done = len(tests)
    found = GPM().fit(frame, resume=str(tmp_path / "x")).network_
    assert len(tests) == done > 0
    pd.testing.assert_frame_equal(found.candidates, GPM().fit(frame).network_.candidates, check_exact=True)
    assert os.listdir(tmp_path) == []


def test_a_short_fit_writes_nothing_and_a_wrong_place_is_one_line(tmp_path, frame):
    GPM().fit(
        frame, resume=tmp_path / "x", on_edges=lambda _: os.listdir(tmp_path) == [] or pytest.fail("written")
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file; a folder is needed to resume from"):
        GPM().fit(frame, resume=tmp_path / "file")
    for wrong in (3, "", ["x"]):
        with pytest.raises(InputError, match="resume must be the path of a folder"):
            GPM().fit(frame, resume=wrong)
