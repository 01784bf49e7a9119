"""Several draws as one answer: the p-value of the least sure, strengths by Rubin's rules, Omega and shapes by means."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from gpmnet import GPM
from gpmnet.engines.base import Problem
from gpmnet.engines.dag import DagEngine
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalEngine
from gpmnet.engines.pooled import PooledFound, pooled, pooled_log_p, pooled_strength
from gpmnet.errors import CollinearWarning, InputError
from gpmnet.imputing import complete_tables
from gpmnet.table import Impute, load_table


def chain(n=300, share=0.15, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    c = b + rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": rng.normal(size=n)})
    return frame.mask(rng.random(frame.shape) < share)


def test_the_least_sure_draw_counts():
    log_p = np.array([[-5000.0, 0.0, np.nan, -3.0], [-5100.0, -2.0, np.nan, -1.0]])
    np.testing.assert_array_equal(pooled_log_p(log_p), [-5000.0, 0.0, np.nan, -1.0])


def test_strengths_are_pooled_as_fishers_z():
    strength = np.array([[0.3, 1.0], [0.5, 1.0], [0.4, 1.0]])
    error = np.array([[0.1, 0.0], [0.2, 0.0], [np.nan, 0.0]])
    value, spread = pooled_strength(strength, error)
    z = np.arctanh(strength[:, 0])
    assert value[0] == pytest.approx(np.tanh(z.mean()))
    assert spread[0] == pytest.approx(np.sqrt((0.01 + 0.04) / 2 + 4 / 3 * z.var(ddof=1)))
    assert value[1] == pytest.approx(1.0)
    assert np.isfinite(spread[1])


def test_what_is_pooled_is_what_each_draw_says():
    table = load_table(chain(), missing=Impute(n_draws=3))
    parts = [LocalEngine().fit(Problem(draw.encode(0))) for draw in complete_tables(table, 0)]
    found = pooled(parts, ~table.gaps)
    assert isinstance(found, PooledFound)
    at = {(int(a), int(b)): k for k, (a, b) in enumerate(zip(found.first, found.second, strict=True))}
    mine = at[0, 1]
    own = [int(np.flatnonzero((part.first == 0) & (part.second == 1))[0]) for part in parts]
    each = np.array([part.log_p[k] for part, k in zip(parts, own, strict=True)])
    assert found.log_p[mine] == pooled_log_p(each[:, None])[0]
    assert found.n_rows[mine] == chain()[["a", "b"]].notna().all(axis=1).sum()
    is_edge = found.log_p < np.log(0.01)
    shown = np.flatnonzero(is_edge)
    said = found.describe(is_edge, shown)
    alone = []
    for part, place in zip(parts, found.place, strict=True):
        inside = np.zeros(len(part.first), dtype=bool)
        inside[place[shown]] = True
        alone.append(part.describe(inside, np.flatnonzero(inside)))
    omega = np.mean([one.omega[k] for one, k in zip(alone, own, strict=True)])
    assert said.omega[mine] == pytest.approx(omega)
    np.testing.assert_allclose(said.own, np.mean([one.own for one in alone], axis=0))
    first = int(np.flatnonzero(shown == mine)[0])
    np.testing.assert_allclose(
        said.surfaces[first], np.mean([one.surfaces[0] for one in alone], axis=0), atol=1e-6
    )


def test_one_draw_is_returned_as_it_is():
    table = load_table(chain(share=0.0))
    part = LocalEngine().fit(Problem(table.encode(0)))
    assert pooled([part], None) is part


def test_the_dag_engine_takes_the_typical_draw():
    table = load_table(chain(), missing=Impute(n_draws=3))
    parts = [DagEngine().fit(Problem(draw.encode(0))) for draw in complete_tables(table, 0)]
    found = pooled(parts, ~table.gaps)
    typical = parts[found.typical]
    pairs = {
        (int(a), int(b))
        for a, b in zip(found.first[found.decided()], found.second[found.decided()], strict=True)
    }
    kept = typical.decided()
    assert pairs == {(int(a), int(b)) for a, b in zip(typical.first[kept], typical.second[kept], strict=True)}
    assert found.directions() is typical.directions()
    model = GPM("dag", missing=Impute(n_draws=3)).fit(chain())
    assert {frozenset(pair) for pair in model.network_.edges[["source", "target"]].to_numpy().tolist()} >= {
        frozenset("ab"),
        frozenset("bc"),
    }
    assert model.network_.directions.graph is model.dag_


def test_the_deep_engine_pools_draws():
    options = DeepOptions(steps=20, n_folds=2, lam=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GPM("deep", options=options, missing=Impute(n_draws=2)).fit(chain(n=200))
    found = model.network_.edges_of("b")
    assert set(found["source"]) | set(found["target"]) == set("abc")
    assert found["n_rows"].between(100, 170).all()
    assert model.lam_ == 1.0


@pytest.mark.parametrize("engine", ["dag", "deep"])
def test_engines_that_cannot_leave_out_single_rows_say_what_works(engine):
    with pytest.raises(InputError, match='missing="impute"'):
        GPM(engine, missing="available").fit(chain())


def test_near_copies_of_a_table_with_gaps():
    rng = np.random.default_rng(1)
    a = rng.normal(size=400)
    frame = pd.DataFrame({"a": a, "copy": a + 0.01 * rng.normal(size=400), "y": a + rng.normal(size=400)})
    frame["z"] = rng.normal(size=400)
    gapped = frame.mask(rng.random(frame.shape) < 0.05)
    for policy in ("available", Impute(n_draws=2)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollinearWarning)
            network = GPM(missing=policy).fit(gapped).network_
        joined = {f.variable for f in network.joint_findings} | {
            *network.neighbors("a"),
            *network.neighbors("copy"),
        }
        assert "y" in joined
        assert "z" not in joined
