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


@pytest.mark.parametrize("all_pairs_up_to", [100, 2])
def test_permuting_columns_permutes_the_answer(all_pairs_up_to):
    frame = simulate("random", kind="mixed", d=8, n=300, seed=2).frame()
    shuffled = frame[frame.columns[[3, 1, 7, 0, 2, 6, 5, 4]]]
    options = LocalOptions(all_pairs_up_to=all_pairs_up_to)
    there, back = (GPM(options=options).fit(x).network_.candidates for x in (frame, shuffled))
    for found in (there, back):
        found["pair"] = [frozenset(p) for p in found[["source", "target"]].to_numpy().tolist()]
    there, back = there.set_index("pair"), back.set_index("pair").loc[there["pair"]]
    np.testing.assert_allclose(there["p_value"], back["p_value"], rtol=1e-5)
    np.testing.assert_allclose(there["omega"], back["omega"], rtol=1e-5)
    assert (there["is_edge"] == back["is_edge"]).all()


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_permuting_rows_changes_nothing(kind):
    """Not even the last bit, of tables with ties, where Omega chooses ridges by folds and ranks by noise."""
    frame = simulate("random", kind=kind, d=6, n=300, seed=2).frame()
    first = frame.select_dtypes("floating").columns[0]
    frame[first] = frame[first].round(1)
    frame["count"] = np.random.default_rng(0).poisson(np.exp(frame[first].clip(-2, 2)))
    order = np.random.default_rng(1).permutation(len(frame))
    tables = (frame, frame.iloc[order], frame.sort_values(first))
    one, *others = (GPM(n_jobs=1).fit(table) for table in tables)
    assert one.network_.n_edges > 3
    for other in others:
        for name in one.network_.pairs.__dataclass_fields__:
            np.testing.assert_array_equal(
                getattr(one.network_.pairs, name), getattr(other.network_.pairs, name)
            )
        np.testing.assert_array_equal(one.omega_, other.omega_)
        for here, there in zip(one.network_.shapes.values, other.network_.shapes.values, strict=True):
            np.testing.assert_array_equal(here, there)


def test_permuting_rows_does_not_change_which_rows_are_looked_at():
    frame = simulate("random", kind="mixed", d=5, n=400, seed=2).frame()
    order = np.random.default_rng(1).permutation(len(frame))
    options = LocalOptions(most_rows=250)
    one, other = (GPM(options=options, n_jobs=1).fit(x).network_.pairs for x in (frame, frame.iloc[order]))
    np.testing.assert_array_equal(one.p_value, other.p_value)
    np.testing.assert_array_equal(one.omega, other.omega)


def test_reversing_columns_of_sparse_tables_changes_nothing():
    """Here the union of two neighborhoods often has too many cells, and the smaller set decides."""
    drawn = simulate("random", kind="discrete", d=12, n=300, seed=3, density=0.4).frame()
    there, back = (GPM().fit(x).network_ for x in (drawn, drawn[drawn.columns[::-1]]))
    found = [
        {frozenset(p) for p in net.edges[["source", "target"]].to_numpy().tolist()} for net in (there, back)
    ]
    assert found[0] == found[1]
