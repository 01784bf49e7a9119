"""Where a computation is, in words: what is said, when, and that every phase of a fit says it."""

import io

import numpy as np
import pandas as pd
import pytest

import gpmnet
from gpmnet.estimator import GPM
from gpmnet.files import shelf
from gpmnet.progress import Spoken


class Terminal(io.StringIO):
    def isatty(self):
        return True


def clock_of(*times):
    return iter(times).__next__


def test_a_line_is_written_over_on_a_terminal_and_ends_with_its_phase():
    stream = Terminal()
    said = Spoken(stream, clock_of(0.0, 0.05, 1.0, 1.1, 4.0, 5.0))
    for done in (0, 1, 2, 3, 8):
        said("search", done, 8)
    said("test", 0, 3)
    lines = stream.getvalue().split("\n")
    assert lines[0].split("\r")[1:] == [
        "search 0/8, 0.0 s",
        "search 2/8, 1.0 s, about 3.0 s to go",
        "search 8/8, 4.0 s                   ",  # over all of the line before
    ]
    assert lines[1:] == ["\rtest 0/3, 0.0 s"]


def test_a_log_has_a_line_a_phase_and_one_every_half_a_minute():
    stream = io.StringIO()
    said = Spoken(stream, clock_of(0.0, 1.0, 40.0, 41.0, 60.0, 61.0, 62.0, 63.0))
    for done in (20, 21, 30, 31, 50):  # the first 20 were there already
        said("search", done, 50)
    said("search", 50, 50)
    said("read", 0, 1)
    said("read", 1, 1)
    assert stream.getvalue().splitlines() == [
        "search 30/50, 40 s, about 80 s to go",
        "search 50/50, 60 s",
        "read, 1.0 s",
    ]


def test_a_phase_that_begins_again_has_a_time_of_its_own():
    stream = io.StringIO()
    said = Spoken(stream, clock_of(0.0, 8.0, 10.0, 15.0))
    for done in (0, 4, 0, 4):
        said("Omega", done, 4)
    assert stream.getvalue().splitlines() == ["Omega 4/4, 8.0 s", "Omega 4/4, 5.0 s"]


def test_a_phase_of_unknown_length_has_no_time_to_go():
    stream = io.StringIO()
    said = Spoken(stream, clock_of(0.0, 40.0, 50.0, 60.0))
    for done, total in ((1, 0), (9, 0), (12, 12), (12, 12)):
        said("search", done, total)
    assert stream.getvalue().splitlines() == ["search 9, 40 s", "search 12/12, 50 s"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(120, 4)).cumsum(axis=1)
    return pd.DataFrame(a, columns=list("abcd")).assign(e=rng.choice(["x", "y"], 120))


def test_every_phase_of_a_fit_is_told_to_its_end(table):
    seen = []
    GPM(stability=1).fit(table, progress=lambda *what: seen.append(what[:3]))
    phases = list(dict.fromkeys(phase for phase, *_ in seen))
    assert phases[:2] == ["read", "encode"]
    assert {"search", "test", "Omega", "half-samples"} <= set(phases)
    for phase in phases:
        steps = [(done, total) for name, done, total in seen if name == phase]
        assert steps[-1][0] == steps[-1][1], phase
        assert all(0 <= done <= total for done, total in steps)


def test_verbose_says_it_and_changes_nothing(table, capsys):
    quiet = gpmnet.fit(table)
    assert capsys.readouterr().err == ""
    loud = gpmnet.fit(table, verbose=True)
    said = capsys.readouterr().err
    assert all(phase in said for phase in ("read", "search", "test", "Omega"))
    pd.testing.assert_frame_equal(loud.edges, quiet.edges)
    assert loud.facts.settings == quiet.facts.settings


def test_ctrl_c_says_what_was_kept(table, tmp_path, monkeypatch):
    def stop_at(phase):
        def progress(name, done, total, note=""):
            if name == phase:
                raise KeyboardInterrupt

        return progress

    with pytest.raises(KeyboardInterrupt) as stopped:
        GPM().fit(table, progress=stop_at("Omega"))
    assert "nothing of the fit is kept" in stopped.value.__notes__[0]
    with pytest.raises(KeyboardInterrupt) as stopped:
        GPM().fit(table, progress=stop_at("encode"), resume=tmp_path / "kept")
    assert "not finished anything" in stopped.value.__notes__[0]
    monkeypatch.setattr(shelf, "EVERY", 0.0)  # a fit of a second keeps nothing else
    with pytest.raises(KeyboardInterrupt) as stopped:
        GPM().fit(table, progress=stop_at("Omega"), resume=tmp_path / "kept")
    assert "goes on from there" in stopped.value.__notes__[0]
    assert GPM().fit(table, resume=tmp_path / "kept").network_.n_edges > 0
