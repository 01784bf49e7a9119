import numpy as np
import pytest

from gpmnet.bench import figures, load_rows, write_report
from gpmnet.bench.report import draw
from gpmnet.bench.rows import write_row
from gpmnet.bench.style import looks
from gpmnet.errors import InputError


def row(key, suite="fig1", method="invented", d=4, seed=0, status="ok", **more):
    return {
        "key": str(key), "suite": suite, "task": "t", "simulator": "nowhere", "kind": "continuous",
        "options": "{}", "d": d, "n": 100, "seed": seed, "method": method, "method_options": "{}",
        "status": status, "reason": "",
        "versions": '{"gpmnet": "9.9"}', "python": "3.11", "started": "2020-01-02T03:04:05", "cpu_count": 2,
        "jobs": 1, "max_seconds": 10.0, "max_memory_gb": 1.0, "fdr": 0.01,
    } | more  # fmt: skip


def good(key, hamming, **more):
    numbers = {
        "hamming": hamming,
        "empty_hamming": 2,
        "n_true": 2,
        "n_edges": 3,
        "precision": 0.5,
        "recall": 0.25,
    }
    return row(key, **(numbers | {"f1": 0.125, "seconds": 1.5, "peak_memory_mb": 99.0} | more))


@pytest.fixture
def directory(tmp_path):
    """Rows of a simulator and a method that do not exist: nothing but rows can be read."""
    rows = [good(f"{d}{s}", s + d, d=d, seed=s) for d in (4, 6) for s in (0, 1)]
    rows.append(
        row("late", method="gs", d=4, status="failed", reason="timeout after 10 s | odd", seconds=10.0)
    )
    for each in rows:
        write_row(tmp_path, each)
    return tmp_path


def test_rows_come_back_as_they_were_written(directory):
    rows = load_rows(directory)
    assert rows["d"].tolist() == [4, 4, 4, 6, 6]
    first = rows[rows["key"] == "41"].iloc[0]
    assert (first["hamming"], first["precision"], first["fdr"], first["started"]) == (
        5,
        0.5,
        0.01,
        "2020-01-02T03:04:05",
    )
    assert rows.loc[rows["key"] == "late", "hamming"].isna().all()
    write_row(directory, good("41", 77))
    again = load_rows(directory)
    assert len(again) == 5, "a second row of a cell replaces the first"
    assert again.loc[again["key"] == "41", "hamming"].tolist() == [77]
    with pytest.raises(ValueError, match="no column"):
        write_row(directory, good("x", 1, hammming=3))


def test_half_written_rows_are_not_rows(directory):
    (directory / "rows" / "zz.part").write_bytes(b"PAR1")
    assert len(load_rows(directory)) == 5
    (directory / "rows" / "zz.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"^zz\.parquet in .* is not a row"):
        load_rows(directory)


def test_the_summary_has_means_counts_levels_and_reasons(directory):
    write_report(directory)
    text = (directory / "summary.md").read_text()
    assert "### nowhere, continuous, n = 100" in text
    lines = [
        [cell.strip() for cell in line.split(" | ")] for line in text.splitlines() if line.startswith("| ")
    ]
    heads = lines[0]
    assert heads[:6] == ["| d", "method", "FDR", "seeds", "Hamming", "empty"]
    assert ["| 4", "invented", "0.01", "2/2", "4.5 ± 0.7", "2.0"] in [line[:6] for line in lines]
    (late,) = [line for line in lines if line[1] == "gs"]
    assert late[3:6] == ["0/1", "", ""]
    assert late[-1] == r"timeout after 10 s \| odd |"
    assert "gpmnet 9.9" in text


def test_the_figure_shows_means_and_the_empty_graph(directory):
    written = write_report(directory)
    assert [path.name for path in written] == ["summary.md", "fig1.png"]
    assert written[1].read_bytes().startswith(b"\x89PNG")
    (panel,) = figures.against_d("fig1", load_rows(directory), "hamming").axes
    drawn = [np.asarray(line.get_ydata(), dtype=float).tolist() for line in panel.get_lines()]
    assert [4.5, 6.5] in drawn
    assert [2.0, 2.0] in drawn, "the empty graph"
    assert "no numbers for GS: timeout after 10 s" in panel.get_xlabel()


@pytest.mark.parametrize(
    ("suite", "more", "names"),
    [
        ("fig3", {}, ["fig3", "fig3-f1"]),
        ("table1", {"d": 12}, ["table1"]),
        ("tables", {"simulator": "", "task": "asia/1000"}, ["tables"]),
        ("null", {"n_true": 0, "empty_hamming": 0}, ["null"]),
        ("gaussian", {"d": 20}, ["gaussian"]),
    ],
)
def test_every_suite_has_its_figure(tmp_path, suite, more, names):
    for seed in range(2):
        write_row(tmp_path, good(seed, 3, suite=suite, seed=seed, **more))
    write_row(
        tmp_path, row("late", suite, "sing", status="failed", reason="timeout after 9 s", seconds=9.0, **more)
    )
    write_row(tmp_path, row("never", suite, "gpm", status="skipped", reason="not built", **more))
    assert list(draw(suite, load_rows(tmp_path))) == names
    assert [path.name for path in write_report(tmp_path)] == [
        "summary.md",
        *(f"{name}.png" for name in names),
    ]


def test_no_numbers_no_figure_but_a_summary(tmp_path):
    write_row(tmp_path, row("a", status="skipped", reason="not built"))
    assert [path.name for path in write_report(tmp_path)] == ["summary.md"]
    assert "not built" in (tmp_path / "summary.md").read_text()


def test_methods_look_different_and_always_the_same():
    from gpmnet.bench import METHODS

    found = looks(METHODS)
    assert list(looks(["npn", "new", "gpm"])) == ["gpm", "npn", "new"]
    assert looks(["npn"])["npn"] == found["npn"]
    assert len({(look.colour, look.marker) for look in found.values()}) == len(METHODS)
    assert len({look.label for look in found.values()}) == len(METHODS)
    assert "gpm" not in {look.label for look in found.values()}, (
        "every registered method has a look of its own"
    )
