"""What the deep engine lets others do: models and subsamples come back to the same bits, and nothing is done twice."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet import GPM
from gpmnet.engines import deep_lam, deep_models, deep_tasks
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_lam import STARS_LAMBDAS, subsample_task
from gpmnet.engines.deep_models import all_rows
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.deep_tasks import crew_of, fit_elsewhere, model_task
from gpmnet.files import Shelf
from gpmnet.jobs import Where, Workplace
from gpmnet.selection.path import N_SUBSAMPLES
from gpmnet.table import load_table

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def frame(n=90):
    rng = np.random.default_rng(3)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "bit": b + rng.normal(size=n) > 0, "c": rng.normal(size=n)})


def start_of(engine):
    problem, _ = GPM().plan().problem(load_table(frame()))
    return engine.start(problem), problem


def stars(**parts):
    return DeepEngine(DeepOptions(lam="stars"), energy="pairwise", decide="omega", **parts)


@pytest.mark.parametrize("penalty", ["scad", "adaptive"])
def test_a_subsample_goes_on_elsewhere_to_the_same_bits(penalty):
    start, _ = start_of(stars(penalty=penalty))
    walk = deep_lam._Walk(start, 4)
    walk.stage()
    whole = [walk.to(lam) for lam in STARS_LAMBDAS[:9]]
    states, found = None, []
    for first in (0, 3, 6):
        said = subsample_task(start, deep_lam._Stretch(first, states), 4)
        ended = {name.removeprefix("state/"): x.numpy() for name, x in said.items() if name[:6] == "state/"}
        states = [None] * 4 + [ended]
        found += list(deep_lam._heard(said))[first == 0 :]
    assert walk.sparse.norms().count_nonzero() > 0
    for one, other in zip(whole, found, strict=True):
        np.testing.assert_array_equal(one.support, other.support)
        assert (one.n_iter, one.stops) == (other.n_iter, other.stops)
    for name, value in walk.sparse.state().items():
        np.testing.assert_array_equal(value.numpy(), states[4][name])


def counted(monkeypatch):
    """Count the subsamples that were begun in this process."""
    begun = []
    plain = deep_lam._Walk.__init__
    monkeypatch.setattr(
        deep_lam._Walk, "__init__", lambda self, *given: begun.append(given[1]) or plain(self, *given)
    )
    return begun


@pytest.mark.parametrize("steps", [300, 3])
def test_stars_is_the_same_elsewhere_and_asks_for_no_more_than_a_stretch(monkeypatch, steps):
    def fitted(**where):
        model = GPM("deep", energy="pairwise", decide="omega", n_jobs=1, **where)
        model.set_params(options__lam="stars", options__proximal_steps=steps).fit(frame())
        said = model.network_.facts.warnings, model.n_iter_, model.lam_
        return said, model.network_.candidates, model.omega_

    here = fitted()
    begun = counted(monkeypatch)
    there = fitted(workers=1)  # as elsewhere, and here, where it can be counted
    assert there[0] == here[0]
    pd.testing.assert_frame_equal(there[1], here[1], check_exact=True)
    np.testing.assert_array_equal(there[2], here[2])
    farthest = STARS_LAMBDAS.index(there[0][2]) + 1  # the first lambda that was too weak
    stretches = min(farthest, len(STARS_LAMBDAS) - 1) // deep_lam._STRETCH + 1
    assert begun == [*range(N_SUBSAMPLES)] * stretches


def models_of(start):
    models = start.models
    return [*models.fold_parts(start.h), all_rows(start.h)]


def test_models_that_others_fitted_are_those_fitted_here(monkeypatch):
    engine = DeepEngine(DeepOptions(steps=20, lam=2.0, n_folds=3))
    start, problem = start_of(engine)
    parts = models_of(start)
    here = start.models.anew()
    expected = [here.energy(start.h[part.rows], 2.0, part.name).state_dict() for part in parts]
    with Workplace(Where(workers=1)) as place:
        crew = crew_of(engine, replace(problem, place=place))
        fit_elsewhere(crew, parts, 2.0)
    models = crew.base.models
    monkeypatch.setattr(deep_models, "train", lambda *given: pytest.fail("trained again"))
    for part, one in zip(parts, expected, strict=True):
        other = models.energy(start.h[part.rows], 2.0, part.name).state_dict()
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert models.survived == here.survived
    assert models.n_iter == here.n_iter
    assert models.stops == here.stops


def test_finished_models_are_kept_as_they_come(tmp_path):
    engine = DeepEngine(DeepOptions(steps=5, lam=2.0))

    def opened():
        shelf = Shelf(tmp_path / "kept")
        shelf.open("key")
        return shelf

    start, problem = start_of(engine)
    parts = models_of(start)
    with Workplace(Where(workers=1)) as place:
        fit_elsewhere(crew_of(engine, replace(problem, place=place, shelf=opened())), parts, 2.0)
    away = Workplace(Where(cluster="tcp://127.0.0.1:9"))  # nobody there is asked
    shelf = opened()
    fit_elsewhere(crew_of(engine, replace(problem, place=away, shelf=shelf)), parts, 2.0)
    work = deep_tasks._Work(parts, 2.0)
    for number, part in enumerate(parts):
        said = model_task(start, work, number)
        for item in {name.partition("/")[0] for name in said}:
            held = shelf.take(item)
            assert held.keys() == {name.partition("/")[2] for name in said if name.startswith(f"{item}/")}
            assert all(torch.equal(value, said[f"{item}/{name}"]) for name, value in held.items())
        assert part.name in {name.rpartition(" ")[0] for name in (n.partition("/")[0] for n in said)}
