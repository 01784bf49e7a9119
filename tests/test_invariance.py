"""Edges depend neither on the order of rows or columns, nor on threads, nor on the precision in which numbers come."""

import numpy as np
import pytest

from gpmnet import GPM
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalOptions
from gpmnet.simulate import simulate

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::gpmnet.errors.CollinearWarning"
)
MODELS = {
    "local": GPM(),
    "screened": GPM(options=LocalOptions(all_pairs_up_to=2)),
    "dag": GPM("dag"),
    "pairwise": GPM("deep", energy="pairwise", options=DeepOptions(lam=2.0)),
    "deep": GPM("deep", options=DeepOptions(steps=2, lam=2.0)),
}
KINDS = ("continuous", "discrete", "mixed")


def edges(model, frame, **settings):
    network = model.set_params(**({"n_jobs": 1} | settings)).fit(frame).network_
    return {frozenset(pair) for pair in network.edges[["source", "target"]].to_numpy().tolist()}


@pytest.fixture
def frame(kind):
    return simulate("random", kind=kind, d=6, n=250, seed=4).frame()


def in_other_order(frame, axis):
    order = np.random.default_rng(1).permutation(frame.shape[axis])
    return frame.iloc[order] if axis == 0 else frame.iloc[:, order]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_edges_do_not_depend_on_orders_nor_precision(name, kind, frame):
    model = MODELS[name]
    expected = edges(model, frame)
    assert len(expected) >= 2
    assert edges(model, in_other_order(frame, 0)) == expected
    assert edges(model, in_other_order(frame, 1)) == expected
    single = frame.astype(dict.fromkeys(frame.select_dtypes("floating").columns, np.float32))
    assert edges(model, single) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_edges_do_not_depend_on_threads(name, kind, frame, monkeypatch):
    monkeypatch.setattr("gpmnet.testing.base._WORTH_A_THREAD", 1)
    monkeypatch.setattr("gpmnet.engines.deep._MANY_VALUES", 1)
    one, two, eight = (edges(MODELS[name], frame, n_jobs=n_jobs) for n_jobs in (1, 2, 8))
    assert len(one) >= 2
    assert one == two == eight
