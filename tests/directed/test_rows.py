"""Scores are sums over rows: in however many pieces, in either precision, on the disk or in memory, they are the same."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet import GPM
from gpmnet.columns import features
from gpmnet.columns.features import FeatureLookup, build_features
from gpmnet.columns.functions import Cosine, Power
from gpmnet.directed import build, rows, tables
from gpmnet.directed.build import ScoreOptions, build_score
from gpmnet.directed.cells import Cells
from gpmnet.directed.conditional_gaussian import CellPrior, ConditionalGaussianScore
from gpmnet.errors import InputError
from gpmnet.parallel import limited_threads
from gpmnet.simulate import simulate
from gpmnet.table import load_table, space

FAMILIES = [
    (0, (1, 2)),
    (1, (0, 3, 4)),
    (2, (5, 6)),
    (3, (7,)),
    (4, (0, 1, 2)),
    (5, (3, 6)),
    (6, (7, 0)),
    (7, (2,)),
]


def mixed(n=700):
    drawn = simulate("dag", d=8, n=n, seed=3, kind="mixed")
    frame = drawn.frame()
    number = next(at for at, kind in enumerate(drawn.kinds) if kind == "continuous")
    frame.iloc[:, number] = frame.iloc[:, number].round(1)  # ties
    return load_table(frame, kinds=dict(zip(drawn.names, drawn.kinds, strict=True)))


def scores_of(encoded):
    score = build_score(encoded, ScoreOptions())
    gains = [score.gains(child, (), np.delete(np.arange(8), child)) for child in range(8)]
    return np.array([score.score(*family) for family in FAMILIES]), np.concatenate(gains)


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_in_pieces_scores_are_those_of_all_rows_at_once(monkeypatch, single):
    encoded = mixed().encode()
    expected = scores_of(encoded)
    monkeypatch.setattr(rows, "PIECE", 97)
    if single:
        monkeypatch.setattr(build, "PIECE", 97)
        monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
    for found, whole in zip(scores_of(encoded), expected, strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-4 if single else 1e-6, atol=0.02 if single else 1e-4)


def test_sums_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(rows, "PIECE", 97)
    drawn = np.random.default_rng(0).normal(size=(5000, 3))
    found = []
    for threads in (1, 2, 5):
        with limited_threads(threads):
            found.append(rows.summed(lambda piece: drawn[piece].sum(axis=0), len(drawn)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_allclose(found[0], drawn.sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize("long", [False, True])
def test_columns_one_at_a_time_are_those_of_all_together(monkeypatch, long):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.normal(size=400), "b": rng.poisson(2.0, 400), "c": rng.normal(size=400).round(1)}
    )
    encoded = load_table(frame, kinds=dict.fromkeys("abc", "continuous")).encode()
    family = [Power(1), *(Cosine(m) for m in range(2, 6))]
    together = build_features(encoded, family, "cpu", torch.float64)
    if long:
        monkeypatch.setattr(features, "LONG", 97)
    lookup = FeatureLookup(400, family)
    assert len(encoded.tied) == 2
    near = {"atol": 1e-5 if long else 1e-8}
    for v in range(3):
        found = lookup.of(encoded, v, 5)
        assert found.dtype == (np.float32 if long else np.float64)
        np.testing.assert_allclose(found[:, 0], together.mid_scores[:, together.score_start[v]], **near)
        start = int(together.start[v])
        np.testing.assert_allclose(found[:, 1:], together.phi[:, start : start + 5], **near)
        for few in (0, 2):
            np.testing.assert_allclose(lookup.of(encoded, v, few), found[:, : 1 + few], **near)


def test_whitened_indicators_are_those_of_a_decomposition_of_all_rows():
    codes = np.random.default_rng(2).choice(4, size=500, p=[0.1, 0.2, 0.3, 0.4])
    indicators = (codes[:, None] == np.arange(1, 4)).astype(float)
    indicators -= indicators.mean(axis=0)
    q, r = np.linalg.qr(indicators)
    expected = q * np.sqrt(500) * np.sign(np.diag(r))
    np.testing.assert_allclose(build._whitened(np.bincount(codes))[codes], expected, atol=1e-10)


@pytest.mark.parametrize("counts", [[0, 30, 70], [30, 0, 70], [30, 70, 0]])
def test_a_level_without_rows_adds_nothing(counts):
    found = build._whitened(np.array(counts))
    assert np.isfinite(found).all()
    share = np.array(counts) / 100
    variances = np.sort((share[:, None] * found**2).sum(axis=0))
    np.testing.assert_allclose(variances, [0.0, 1.0], atol=1e-10)


def test_sums_of_all_variables_are_those_of_a_few(monkeypatch):
    rng = np.random.default_rng(3)
    code = rng.integers(0, 3, 1000)
    scores = rng.normal(size=(1000, 5))
    score = ConditionalGaussianScore(
        scores, np.arange(-1, 5), Cells([code, *[np.empty(0, np.intp)] * 5], [3, 0, 0, 0, 0, 0]), CellPrior()
    )
    at = np.array([3, 0, 2])
    few, some = score._sums(at, (0,)), np.r_[0, 1 + at]
    np.testing.assert_allclose(score._all_sums((0,))[:, some[:, None], some], few, rtol=1e-9, atol=1e-9)
    found = score.score(2, (1, 4), (0,))
    assert (0,) in score._known
    monkeypatch.setattr(ConditionalGaussianScore, "_is_worth_all", lambda self, given: False)
    alone = ConditionalGaussianScore(scores, np.arange(-1, 5), score.cells, CellPrior())
    assert found == pytest.approx(alone.score(2, (1, 4), (0,)), rel=1e-10)


def test_cells_beyond_the_list_cost_what_the_list_would_say(monkeypatch):
    rng = np.random.default_rng(4)
    cells = Cells([rng.integers(0, 2, 3000), rng.integers(0, 3, 3000)], [2, 3])
    listed = tables.TableScore(cells).score(1, (0,))
    monkeypatch.setattr(tables, "_LISTED", 20)
    assert tables.TableScore(cells).score(1, (0,)) == pytest.approx(listed, rel=1e-12)


def test_all_rows_find_what_a_sample_has_too_few_of():
    """A flag of one row in a hundred: a sample of 500 rows has five of them."""
    rng = np.random.default_rng(5)
    n = 20_000
    flag = rng.random(n) < 0.01
    frame = pd.DataFrame(
        {"x": rng.normal(size=n) + 0.5 * flag, "y": rng.normal(size=n), "flag": np.where(flag, "yes", "no")}
    )
    model = GPM("dag")
    few = model.set_params(options__most_rows=500).fit(frame).network_
    assert not few.neighbors("flag")
    assert any("500 of 20,000 rows" in note for note in few.facts.warnings)
    model.set_params(options__most_rows=None, options__local__most_rows=2000)
    every = model.fit(frame).network_
    assert every.neighbors("flag") == ("x",)
    assert any("2,000 of the 20,000 rows behind the edges" in note for note in every.facts.warnings)
    with pytest.raises(
        InputError, match="fill-in is dropped by tests, which look at 2,000 of these 20,000 rows"
    ):
        model.set_params(options__drop_fill_in=True).fit(frame)


def test_the_columns_of_a_long_table_are_never_held_whole(monkeypatch):
    """But on the disk, whose pages the system takes back."""
    n, k = 100_000, 40
    monkeypatch.setattr(rows, "PIECE", 1 << 13)
    monkeypatch.setattr(build, "PIECE", 1 << 13)
    monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
    drawn = np.random.default_rng(0).normal(size=(n, 2))
    encoded = load_table(np.c_[drawn, drawn[:, :1] ** 2]).encode()
    many = replace(
        encoded,
        names=tuple(map(str, range(k))),
        is_discrete=np.zeros(k, dtype=bool),
        ranks=encoded.ranks[:, np.arange(k) % 3],
    )
    tracemalloc.start()
    try:
        score = build_score(many, ScoreOptions(gate=False))
        score.gains(0, (1, 2), np.arange(3, k))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert score.continuous._moments.phi.shape == (n, 7 * k + 1)
    assert most < 4 * n * 7 * k / 2
