import re
import subprocess
import sys

import pytest

from gpmnet.bench import METHODS, SUITES, load_rows


def test_list_names_suites_methods_and_what_is_missing(gpmnet, monkeypatch):
    monkeypatch.setattr("gpmnet.bench.methods.find_spec", lambda name: None)
    code, out, _ = gpmnet("bench", "list")
    assert code == 0
    words = out.split()
    assert set(SUITES) <= set(words)
    assert set(METHODS) <= set(words)
    assert "not installed: causal-learn" in out
    ours = [name for name in METHODS if name.startswith("gpm")]
    assert len(re.findall(r"^ *gpm\b.*\bready *$", out, re.MULTILINE)) == len(ours) > 10


def test_run_again_and_plot(tmp_path):
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "gpmnet",
        "bench",
        "run",
        "fig1",
        "--methods",
        "partial-corr",
        "--d",
        "4",
    ]
    command += ["--n", "100", "--seeds", "2", "--kinds", "discrete", "--fdr", "0.2", "-o", str(out)]
    first = subprocess.run(command, capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    assert "2 cells, 2 run now: 2 ok" in first.stdout
    assert "[2/2] butterfly-discrete d=4 n=100 seed=1 partial-corr: Hamming" in first.stderr
    again = subprocess.run(command, capture_output=True, text=True)
    assert "2 cells, 0 run now: 2 ok" in again.stdout
    assert again.stderr == ""
    rows = load_rows(out)
    assert (rows["fdr"] == 0.2).all()
    assert rows["seed"].tolist() == [0, 1]


def test_plot_prints_what_it_wrote(gpmnet, tmp_path):
    from gpmnet.bench.rows import write_row

    write_row(tmp_path, {
        "key": "a", "suite": "fig1", "task": "t", "simulator": "s", "kind": "mixed", "options": "{}",
        "d": 4, "n": 9, "seed": 0, "method": "npn", "method_options": "{}", "status": "skipped",
        "reason": "because", "versions": "{}", "python": "3", "started": "2020-01-01",
        "jobs": 1, "cpu_count": 1,
    })  # fmt: skip
    code, out, _ = gpmnet("bench", "plot", tmp_path)
    assert code == 0
    assert out.split() == [str(tmp_path / "summary.md")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "fig9", "-o", "{out}"], "no suite or folder is called 'fig9'"),
        (["run", "fig1", "-o", "{out}", "--methods", "lasso"], "no method is called 'lasso'"),
        (["run", "fig1", "-o", "{out}", "--d", "4,x"], "--d expects whole numbers such as 4,6; got '4,x'"),
        (["run", "fig1", "-o", "{out}", "--d", "5"], "butterfly needs a multiple of 2, got 5"),
        (["run", "fig1", "-o", "{out}", "--max-seconds", "0"], "--max-seconds must be more than 0, got 0"),
        (
            ["run", "fig1", "-o", "{out}", "--jobs", "0", "--methods", "npn"],
            "--jobs must be at least 1, got 0",
        ),
        (["run", "fig1", "-o", "{file}"], "is a file; a folder is needed"),
        (["run", "tables", "-o", "{out}", "--tables", "nowhere"], "no such folder: 'nowhere'"),
        (["run", "honest", "-o", "{out}", "--methods", "npn"], "npn gives no p-values of pairs"),
        (
            ["run", "fig1", "-o", "{out}", "--methods", "gcm-test"],
            "gcm-test tests one given pair and finds no graph",
        ),
        (["run", "fig1"], "Missing option"),
        (["plot", "{out}"], "has no rows"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(gpmnet, tmp_path, arguments, words):
    file = tmp_path / "file"
    file.write_text("")
    places = {"{out}": str(tmp_path / "out"), "{file}": str(file)}
    code, out, err = gpmnet("bench", *(places.get(argument, argument) for argument in arguments))
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()
