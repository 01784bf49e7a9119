"""Models that a stopped fit had finished come back with how their solvers ended."""

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet import GPM
from gpmnet.energies import MLP
from gpmnet.engines import deep_models as engine_module
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.errors import ResumeWarning
from gpmnet.files import Shelf, shelf
from gpmnet.penalties import SCAD
from gpmnet.solvers.checkpoint import Ended, fitted

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Write at once."""
    monkeypatch.setattr(shelf, "EVERY", 0.0)
    monkeypatch.setattr(shelf, "_SHARE", 1e9)


def test_a_model_comes_back_with_how_its_solvers_ended(tmp_path):
    ended = [Ended(300, 2), Ended(17, None)]
    one, two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    first, second = Shelf(tmp_path / "x"), Shelf(tmp_path / "x")
    first.open("key")
    assert fitted(first, "x", one, lambda: ended) == ended
    second.open("key")
    assert fitted(second, "x", two, lambda: pytest.fail("fitted again")) == ended
    assert torch.equal(one.weight, two.weight)
    assert fitted(Shelf(), "x", one, lambda: ended[:1]) == ended[:1]


@pytest.fixture
def counted(monkeypatch):
    """Count the trainings that took a step."""
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


def run(folder, data=None, stop=False, **settings):
    options = DeepOptions(steps=settings.pop("steps", 2), lam=2.0)
    model = GPM(engine="deep", options=options, **settings)

    def interrupt(network):
        if stop:
            raise KeyboardInterrupt

    data = table() if data is None else data
    return model.fit(data, kinds={"bit": "discrete"}, on_edges=interrupt, resume=folder)


def test_the_models_of_a_stopped_run_are_taken_and_those_of_another_are_not(tmp_path, counted):
    whole = run(None)
    trained = len(counted)
    assert trained >= 3
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stop=True)
    assert len(counted) == 2 * trained
    again = run(tmp_path)
    assert len(counted) == 2 * trained
    np.testing.assert_array_equal(whole.omega_, again.omega_)
    np.testing.assert_array_equal(whole.network_.pairs.p_value, again.network_.pairs.p_value)
    assert whole.n_iter_ == again.n_iter_ > 0
    assert whole.converged_ == again.converged_
    for change in (
        {"data": table(1)},
        {"steps": 3},
        {"penalty": "l1"},
        {"penalty": SCAD(a=3.0)},
        {"energy": MLP(hidden=8)},
        {"forbid": [("a", "c")]},
        {"random_state": 1},
    ):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, stop=True)
        before = len(counted)
        with pytest.warns(ResumeWarning, match="another table, other settings or another version"):
            run(tmp_path, **change)
        assert len(counted) > before, change
