"""Checkpoints: files that are whole or not there, damaged ones refused, finished runs reused and no others."""

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet import GPM
from gpmnet.energies import MLP
from gpmnet.engines import deep_models as engine_module
from gpmnet.engines.base import Problem
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.errors import InputError
from gpmnet.penalties import SCAD
from gpmnet.solvers.checkpoint import Ended, Shelf, digest, load_state, save_state
from gpmnet.table import load_table

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2])}


def test_what_is_saved_is_loaded(tmp_path):
    save_state(tmp_path / "x", TENSORS)
    found = load_state(tmp_path / "x", TENSORS)
    assert all(torch.equal(found[k], v) for k, v in TENSORS.items())
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("damage", [lambda b: b[:-5], lambda b: b"", lambda b: b"\xff" * len(b)])
def test_a_damaged_file_is_refused(tmp_path, damage):
    save_state(tmp_path / "x", TENSORS)
    (tmp_path / "x").write_bytes(damage((tmp_path / "x").read_bytes()))
    with pytest.raises(InputError, match=r"cannot be read: .*; remove it to start again"):
        load_state(tmp_path / "x", TENSORS)


@pytest.mark.parametrize(
    "like", [{"c": torch.zeros(1)}, {"a": torch.zeros(3, 2)}, {"b": torch.tensor([1.0, 2.0])}]
)
def test_a_file_of_another_model_is_refused(tmp_path, like):
    save_state(tmp_path / "x", TENSORS)
    with pytest.raises(InputError, match="of another model"):
        load_state(tmp_path / "x", like)


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    save_state(tmp_path / "x", TENSORS)

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        save_state(tmp_path / "x", {"a": torch.zeros(2)})
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert torch.equal(load_state(tmp_path / "x", TENSORS)["a"], TENSORS["a"])


@pytest.fixture
def counted(monkeypatch):
    """Count the trainings."""
    calls = []
    plain = engine_module.train

    def train(*arguments):
        calls.append(arguments)
        return plain(*arguments)

    monkeypatch.setattr(engine_module, "train", train)
    return calls


def table(seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=40)
    return pd.DataFrame({"a": a, "bit": (a + rng.normal(size=40) > 0).astype(int), "c": rng.normal(size=40)})


def fitted(folder, data=None, **settings):
    options = DeepOptions(steps=settings.pop("steps", 2), lam=2.0, checkpoint=str(folder))
    model = GPM(engine="deep", options=options, **settings)
    return model.fit(table() if data is None else data, kinds={"bit": "discrete"})


def test_a_finished_run_is_reused_and_a_different_one_is_not(tmp_path, counted):
    first = fitted(tmp_path)
    trained = len(counted)
    assert trained >= 3
    again = fitted(tmp_path)
    assert len(counted) == trained
    np.testing.assert_array_equal(first.omega_, again.omega_)
    np.testing.assert_array_equal(first.network_.pairs.p_value, again.network_.pairs.p_value)
    for change in (
        {"data": table(1)},
        {"steps": 3},
        {"penalty": "l1"},
        {"penalty": SCAD(a=3.0)},
        {"energy": MLP(hidden=8)},
        {"forbid": [("a", "c")]},
        {"data": table()[["bit", "a", "c"]], "forbid": [("bit", "c")]},  # the same positions as ("a", "c")
    ):
        before = len(counted)
        fitted(tmp_path, **change)
        assert len(counted) > before, change


def test_a_model_comes_back_with_how_its_solvers_ended(tmp_path):
    shelf, ended = Shelf.at(tmp_path / "new"), [Ended(300, 2), Ended(17, None)]
    one, two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    assert shelf.kept("x", one, lambda: ended) == ended
    assert shelf.kept("x", two, lambda: pytest.fail("fitted again")) == ended
    assert torch.equal(one.weight, two.weight)
    assert Shelf().kept("x", one, lambda: ended[:1]) == ended[:1]
    options = DeepOptions(steps=2, lam=2.0, checkpoint=tmp_path)
    problem = Problem(load_table(table(), kinds={"bit": "discrete"}).encode(0))
    first, again = (DeepEngine(options).fit(problem) for _ in range(2))
    assert first.n_iter == again.n_iter > 0
    assert first.stops == again.stops != ()


def test_settings_with_numpy_numbers_can_be_named(tmp_path):
    """These once raised a TypeError of JSON."""
    options = DeepOptions(
        steps=np.int64(1), learning_rate=np.float32(0.5), lam=np.float64(2.0), checkpoint=str(tmp_path)
    )
    GPM(engine="deep", options=options, penalty=SCAD(a=np.float32(4.0))).fit(
        table(), kinds={"bit": "discrete"}
    )
    plain = DeepOptions(steps=1, learning_rate=0.5, lam=2.0, checkpoint=str(tmp_path))
    assert digest([options], []) == digest([plain], [])


def test_every_number_of_every_part_has_a_say_in_the_name():
    parts = [SCAD(), SCAD(a=3.0), MLP(), MLP(beta=2.0), DeepOptions(), DeepOptions(steps=2)]
    arrays = [np.zeros(2), np.zeros((1, 2)), np.zeros(2, dtype=np.float32)]
    names = {digest([part], []) for part in parts} | {digest([], [array]) for array in arrays}
    assert len(names) == len(parts) + len(arrays)


def test_damaged_and_impossible_folders_are_refused_in_one_sentence(tmp_path):
    fitted(tmp_path / "x")
    (damaged,) = (tmp_path / "x").glob("*/fold 1 deep.safetensors")
    damaged.write_bytes(b"no")
    with pytest.raises(InputError, match="remove it to start again"):
        fitted(tmp_path / "x")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="checkpoints cannot be written to"):
        fitted(tmp_path / "file")
