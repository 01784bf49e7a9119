"""What a network says of the trained part: whether it survived, and that no edge has the Omega of a model without it."""

import numpy as np
import pytest
import torch

from gpmnet import GPM
from gpmnet.engines.base import Problem
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_models import Other
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.simulate import simulate
from gpmnet.table import load_table

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def notes(model):
    return " | ".join(model.network_.facts.warnings)


@pytest.mark.parametrize(("decide", "parts"), [("test", 2), ("omega", 2)])
def test_a_network_that_is_kept_or_dropped_is_told(decide, parts):
    parity = simulate("parity", d=3, n=400, seed=0).frame()
    kept = GPM("deep", decide=decide, options=DeepOptions(steps=120, lam=2.0, n_splits=1)).fit(parity)
    assert f"the MLP is part of the model of all rows, and of {parts} of {parts} models" in notes(kept)
    assert kept.survived_["all rows"]
    none = GPM("deep", decide=decide, options=DeepOptions(steps=0, lam=2.0, n_splits=1)).fit(parity)
    assert "the MLP was dropped from the model of all rows" in notes(none)
    assert f"it is part of 0 of {parts} models" in notes(none)
    assert not any(none.survived_.values())


def test_pairs_alone_are_told():
    frame = simulate("gaussian", d=3, n=200, seed=0).frame()
    for decide in ("test", "omega"):
        model = GPM("deep", energy="pairwise", decide=decide, options=DeepOptions(lam=2.0)).fit(frame)
        assert "the energy is Pairwise: nothing is trained on top of it" in notes(model)


def models_and_others():
    encoded = load_table(simulate("parity", d=3, n=120, seed=0).frame()).encode(0)
    problem = Problem(encoded)
    engine = DeepEngine(DeepOptions(steps=40, lam=2.0))
    start = engine.start(problem)
    h, models = start.h, start.models
    halves = torch.arange(120).chunk(2)
    others = [
        Other(f"fold {k}", models.energy(h[rows], 2.0, f"fold {k}"), rows) for k, rows in enumerate(halves)
    ]
    return models, others, models.energy(h, 2.0, "all rows"), h


def test_omega_is_that_of_a_model_that_kept_the_network_where_any_did():
    models, others, energy, h = models_and_others()
    models.survived = {"fold 0": False, "fold 1": True, "all rows": False}
    assert models.told(energy, others, h) is others[1].energy
    assert "Omega and shapes are those of one of these, fold 1" in models.notes()[0]
    models.survived = {"fold 0": True, "fold 1": True, "all rows": False}
    losses = [
        float(models.recipe.objective(other.energy, h[rows]).mean())
        for other, rows in zip(others, reversed(torch.arange(120).chunk(2)), strict=True)
    ]
    assert models.told(energy, others, h) is others[int(np.argmin(losses))].energy


def test_omega_is_that_of_all_rows_where_these_kept_it_or_nobody_did():
    models, others, energy, h = models_and_others()
    for all_rows, rest in ((True, True), (True, False), (False, False)):
        models.survived = {"fold 0": rest, "fold 1": rest, "all rows": all_rows}
        assert models.told(energy, others, h) is energy
        assert "those of one of these" not in models.notes()[0]


def test_an_edge_of_which_the_model_has_nothing_has_no_omega():
    """Under a penalty this strong the model has no interactions; the tests find the edges all the same."""
    drawn = simulate("gaussian", d=3, n=500, seed=0, structure="chain")
    model = GPM("deep", options=DeepOptions(steps=0, lam=100.0)).fit(drawn.frame())
    edges = model.network_.edges
    assert len(edges) >= 2
    assert edges["omega"].isna().all()
