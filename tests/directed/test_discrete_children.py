"""Discrete children of continuous parents, and regressions in cells."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_t

from gpmnet.directed.cells import Cells
from gpmnet.directed.conditional_gaussian import CellPrior, ConditionalGaussianScore, log_evidence
from gpmnet.directed.logit import logit_gain
from gpmnet.directed.moments import Moments, Within


def log_likelihood(logits, codes):
    return (logits[np.arange(len(codes)), codes] - np.log(np.exp(logits).sum(axis=1))).sum()


def gain_of(x, codes, offset):
    return logit_gain(lambda rows: (x[rows], codes[rows], offset[rows]), len(x), x.shape[1], offset.shape[1])


def test_a_logit_gains_what_a_general_optimiser_finds():
    rng = np.random.default_rng(0)
    n = 300
    x = rng.normal(size=(n, 2))
    codes = np.argmax(
        np.column_stack([np.zeros(n), x[:, 0], x @ [1.0, -1.0]]) + rng.gumbel(size=(n, 3)), axis=1
    )
    offset = np.log(np.tile(np.bincount(codes) / n, (n, 1)))

    def loss(slopes):
        logits = offset.copy()
        logits[:, 1:] += x @ slopes.reshape(2, 2)
        return -log_likelihood(logits, codes)

    best = minimize(loss, np.zeros(4), method="BFGS")
    expected = -best.fun - log_likelihood(offset, codes)
    assert gain_of(x, codes, offset) == pytest.approx(expected, abs=0.01)


def test_separated_levels_gain_their_entropy_and_no_more():
    x = np.linspace(-1, 1, 100)[:, None]
    codes = (x[:, 0] > 0).astype(np.intp)
    gain = gain_of(x, codes, np.full((100, 2), np.log(0.5)))
    assert 0.9 * 100 * np.log(2) < gain <= 100 * np.log(2)


def test_evidence_of_a_cell_is_the_multivariate_t_of_its_rows():
    rng = np.random.default_rng(1)
    prior = CellPrior(precision=0.7, shape=1.5, scale=0.4)
    x = np.column_stack([np.ones(7), rng.normal(size=7)])
    y = rng.normal(size=7)
    rows = np.column_stack([x, y])
    # integrating slopes and variance out leaves a t with 2a degrees of freedom
    spread = prior.scale / prior.shape * (np.eye(7) + x @ x.T / prior.precision)
    expected = multivariate_t(np.zeros(7), spread, df=2 * prior.shape).logpdf(y)
    assert log_evidence((rows.T @ rows)[None], prior)[0] == pytest.approx(expected)


def test_regressions_in_cells_are_the_sum_over_cells():
    rng = np.random.default_rng(2)
    n = 50
    group = rng.integers(0, 3, n)
    scores = rng.normal(size=(n, 3))
    prior = CellPrior()
    score = ConditionalGaussianScore(scores, np.arange(3), Cells([group] * 3, [3, 0, 0]), prior)
    total = 0.0
    for level in range(3):
        rows = np.column_stack([np.ones(n), scores[:, 2], scores[:, 1]])[group == level]
        total += log_evidence((rows.T @ rows)[None], prior)[0]
    alone = np.column_stack([np.ones(n), scores[:, 1]])
    total -= log_evidence((alone.T @ alone)[None], prior)[0]
    assert score.score(1, (2,), (0,)) == pytest.approx(total)


def test_moments_within_cells_are_those_of_centred_columns():
    rng = np.random.default_rng(3)
    n = 80
    phi = np.column_stack([rng.normal(size=(n, 4)), np.zeros(n)])
    codes = [rng.integers(0, 3, n), rng.integers(0, 2, n)]
    within = Within(Moments(phi, (np.arange(2), np.arange(2, 4))), Cells(codes, [3, 2]))
    centred = phi.copy()
    for cell in {(a, b) for a, b in zip(*codes, strict=True)}:
        rows = (codes[0] == cell[0]) & (codes[1] == cell[1])
        centred[rows] -= centred[rows].mean(axis=0)
    rows, others = np.array([0, 3]), np.array([1, 2, 3])
    expected = (centred.T @ centred / n)[np.ix_(rows, others)]
    assert within(rows, others, (0, 1)) == pytest.approx(expected)
    assert within.variances(others, (0, 1)) == pytest.approx((centred**2).mean(axis=0)[others])
