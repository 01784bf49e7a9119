"""Real processes that train together: the answer of one, each at work on its share of the rows."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import team_tasks
import torch
from safetensors.torch import load_file

from gpmnet import GPM
from gpmnet.errors import InputError
from gpmnet.jobs import team as gpmnet_team
from gpmnet.jobs.team import Team, team


def together(*arguments, count=2):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.run(
        [*command, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("objective", "penalised"), [("mixed", True), ("sliced", False)])
def test_two_processes_learn_what_one_does(tmp_path, objective, penalised):
    done = together(team_tasks.__file__, objective, "yes" if penalised else "no", tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = (load_file(tmp_path / f"{rank}-of-2.safetensors") for rank in (0, 1))
    alone, seen = team_tasks.trained(objective, penalised)
    assert torch.equal(first["parameters"], second["parameters"])
    shares = first["seen"] + second["seen"]
    assert shares.tolist() == seen
    assert (first["seen"] - second["seen"]).abs().max() <= 1
    start = team_tasks.MLPEnergy(
        team_tasks.Coordinates.from_codes(3, (2,), torch.tensor([[0], [1]])),
        team_tasks.MLP(hidden=8),
        torch.Generator().manual_seed(0),
    )
    moved = alone["parameters"] - torch.cat([x.detach().flatten() for x in start.parameters()])
    apart = (first["parameters"] - alone["parameters"]).norm() / moved.norm()
    if objective == "mixed":
        assert apart < 1e-3
    else:  # draws of its own: near, and not the same
        assert 1e-3 < apart < 1


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=100)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=100), "c": rng.normal(size=100)})
    frame["g"] = np.where(frame["c"] + rng.normal(size=100) > 0, "u", "v")
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_one_of_the_processes_writes(table, tmp_path):
    fit = ("-m", "gpmnet", "fit", table, "--engine", "deep", "-o")
    done = together(*fit, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("results:") == 1
    subprocess.run([sys.executable, *map(str, fit), str(tmp_path / "one")], check=True, capture_output=True)
    two, one = (pd.read_csv(tmp_path / name / "edges.csv") for name in ("two", "one"))
    assert len(one) >= 2
    assert two["source"].tolist() == one["source"].tolist()
    assert two["target"].tolist() == one["target"].tolist()
    np.testing.assert_allclose(two["omega"], one["omega"], rtol=0.02)
    assert not (tmp_path / "two.resume").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--engine local does not"),
        (("--engine", "deep", "--stability", "2"), "half-samples run beside each other"),
        (("--engine", "deep", "--resume"), "keep nothing"),
        (("--engine", "deep", "--workers", "2"), "leave out --workers"),
    ],
)
def test_what_processes_do_not_do_together_is_one_line(table, tmp_path, monkeypatch, options, said):
    environment = os.environ | {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "2"}
    command = [sys.executable, "-m", "gpmnet", "fit", str(table), "-o", str(tmp_path / "out"), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_team_keeps_nothing_and_has_no_tasks(table, tmp_path):
    before = gpmnet_team._now.set(Team(0, 2))
    try:
        with pytest.raises(InputError, match="leave out resume"):
            GPM("deep").fit(table, resume=tmp_path / "x")
        with pytest.raises(InputError, match="leave out workers and cluster"):
            GPM("deep", workers=2).fit(table)
    finally:
        gpmnet_team._now.reset(before)
    assert team().size == 1
