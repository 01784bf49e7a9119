"""A variable against a group: exact laws for Gaussian columns, uniform p-values under the null, power that no pair has."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.table import load_table
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual
from gpmnet.testing.groups import MOST_MEMBERS, _log_ps, against_group
from gpmnet.testing.p_values import log_positive_form


def copies(base, m, noise, rng):
    return base[:, None] + noise * base.std() * rng.normal(size=(len(base), m))


def against(v, group, given=None):
    """Return the test of columns: v (n,), group (n, m), given (n, s)."""
    given = np.empty((len(v), 0)) if given is None else given
    columns = (
        {"v": v} | {f"g{j}": x for j, x in enumerate(group.T)} | {f"s{j}": x for j, x in enumerate(given.T)}
    )
    table = load_table(pd.DataFrame(columns))
    features = build_features(table.encode(0), feature_functions(3), "cpu", torch.float64)
    at = {
        letter: torch.tensor(
            [k for k, name in enumerate(table.names) if name.startswith(letter)], dtype=torch.int64
        )
        for letter in "vgs"
    }
    assert len(at["g"]) == group.shape[1]  # no copy was so close that it stands for another
    return Designs(features, DesignOptions()), int(at["v"][0]), at["g"], at["s"]


@pytest.mark.parametrize(("m", "rest"), [(1, 30), (3, 100), (20, 80), (60, 500)])
@pytest.mark.parametrize("p", [0.9, 0.5, 0.05, 1e-6, 1e-40])
def test_the_saddlepoint_agrees_with_the_f_distribution(m, rest, p):
    share = float(stats.beta(m / 2, rest / 2).isf(p))  # R^2 of m Gaussian columns in m + rest free rows
    weights, counts = torch.tensor([1 - share, -share]), torch.tensor([float(m), float(rest)])
    found = float(log_positive_form(weights.double(), counts))
    expected = float(stats.beta(m / 2, rest / 2).logsf(share))
    assert found == pytest.approx(expected, abs=(0.12 if m == 1 else 0.03) + 0.002 * abs(expected))


def test_the_saddlepoint_agrees_with_simulated_forms():
    weights = torch.tensor([3.0, 1.0, 0.2, -0.5, -1.5], dtype=torch.float64)
    counts = torch.tensor([1.0, 2.0, 5.0, 4.0, 2.0], dtype=torch.float64)
    rng = np.random.default_rng(0)
    drawn = sum(
        w * rng.chisquare(c, size=400_000) for w, c in zip(weights.tolist(), counts.tolist(), strict=True)
    )
    assert math.exp(log_positive_form(weights, counts)) == pytest.approx((drawn > 0).mean(), abs=0.02)
    assert float(log_positive_form(-weights.abs(), counts)) == -math.inf
    assert float(log_positive_form(weights.abs(), counts)) == 0.0


@pytest.mark.parametrize("m", [2, 8, 25])
def test_the_whitened_form_is_the_exact_f_test_of_a_multiple_correlation(m):
    rng = np.random.default_rng(m)
    n = 200
    group = copies(rng.normal(size=n), m, 0.3, rng)
    group -= group.mean(axis=0)
    for weight in (0.0, 0.2, 0.6):
        v = weight * group.mean(axis=1) + rng.normal(size=n)
        v -= v.mean()
        fitted = group @ np.linalg.lstsq(group, v, rcond=None)[0]
        r2 = (fitted @ fitted) / (v @ v)
        f = r2 / m / ((1 - r2) / (n - 1 - m))
        found = _log_ps(
            torch.tensor(v[:, None]), torch.tensor(group), torch.ones(n, dtype=torch.float64), float(n - 1)
        )[0]
        expected = stats.f(m, n - 1 - m).logsf(f)
        assert float(found) == pytest.approx(expected, abs=0.03 + 0.01 * abs(expected))


def test_of_several_features_it_is_the_trace_of_pillai():
    rng = np.random.default_rng(5)
    n, m, k = 300, 6, 3
    group, own = rng.normal(size=(n, m)), rng.normal(size=(n, k))
    own[:, 0] += 0.25 * group[:, 1]
    group, own = group - group.mean(axis=0), own - own.mean(axis=0)
    fitted = group @ np.linalg.lstsq(group, own, rcond=None)[0]
    trace = np.trace(np.linalg.solve(own.T @ own, fitted.T @ fitted))
    # Pillai's approximation, as every package has it (s = k, 2 m' + 1 = m - k, 2 n' + 1 = n - 1 - m - k).
    low, high = (m - k - 1) / 2, (n - 1 - m - k - 1) / 2
    f = (2 * high + k + 1) / (2 * low + k + 1) * trace / (k - trace)
    expected = stats.f(k * (2 * low + k + 1), k * (2 * high + k + 1)).logsf(f)
    found = _log_ps(torch.tensor(own), torch.tensor(group), torch.ones(n, dtype=torch.float64), float(n - 1))
    assert float(found[0]) == pytest.approx(expected, abs=0.1)


def gaussian(n, rng):
    z = rng.normal(size=n)
    return z + rng.normal(size=n), copies(z + rng.normal(size=n), 6, 0.2, rng), z[:, None]


def square(n, rng):
    z = rng.normal(size=n)
    return z**2 + rng.normal(size=n), copies(z**2 + rng.normal(size=n), 6, 0.2, rng), z[:, None]


def binary(n, rng):
    z = rng.normal(size=n)
    v = np.where(rng.random(n) < 1 / (1 + np.exp(1.5 - 2 * z)), "yes", "no")
    return v, copies(z + 0.5 * rng.normal(size=n), 6, 0.2, rng), z[:, None]


def categories(n, rng):
    z = rng.normal(size=n)
    state = z + rng.normal(size=n) > 0.5
    group = np.stack([np.where(rng.random(n) < 0.03, ~state, state) for _ in range(5)], axis=1)
    return z + rng.normal(size=n), np.where(group, "on", "off"), z[:, None]


def shared_scale(n, rng):
    z = rng.normal(size=n)
    scale = np.exp(0.7 * z)
    return scale * rng.normal(size=n), copies(scale * rng.normal(size=n), 6, 0.2, rng), z[:, None]


def many_columns(n, rng):
    z = rng.normal(size=n)
    return z + rng.normal(size=n), copies(z + rng.normal(size=n), 40, 0.2, rng), z[:, None]


@pytest.mark.slow
@pytest.mark.parametrize("law", [gaussian, square, binary, categories, shared_scale, many_columns])
def test_p_values_are_uniform_under_the_null(law):
    draws = 120
    p = [
        math.exp(against_group(*against(*law(150, np.random.default_rng([7, k])))).log_p)
        for k in range(draws)
    ]
    for alpha in (0.05, 0.2):  # three standard errors, and what the Cauchy combination may add
        assert np.mean(np.array(p) < alpha) <= 1.15 * alpha + 3 * math.sqrt(alpha * (1 - alpha) / draws)
    assert np.mean(p) == pytest.approx(0.5, abs=0.1)


def test_a_group_says_what_none_of_its_members_says():
    rng = np.random.default_rng(3)
    base = rng.normal(size=300)
    group = copies(base, 8, 0.2, rng)
    tested = against(base + 1.5 * rng.normal(size=300), group)
    designs, v, members, _ = tested
    joint = against_group(*tested)
    assert joint.log_p < math.log(1e-8)
    assert joint.strength == pytest.approx(1 / math.sqrt(1 + 1.5**2), abs=0.1)
    others = torch.stack([members[members != g] for g in members])
    alone = DoubleResidual().pairs(designs, torch.full_like(members, v), members, others)
    assert float(alone.log_p.min()) > math.log(1e-3)


def test_what_a_set_explains_is_no_dependence_and_leaves_no_information():
    rng = np.random.default_rng(4)
    v, group, given = gaussian(300, rng)
    marginal, partial = against_group(*against(v, group)), against_group(*against(v, group, given))
    assert marginal.log_p < math.log(1e-10) < math.log(0.01) < partial.log_p
    assert partial.information < 0.5 * marginal.information
    sealed = against_group(*against(v, copies(given[:, 0], 5, 1e-3, rng), given))
    assert sealed.log_p > math.log(0.01)


def test_a_determined_variable_has_strength_one_and_more_members_than_rows_are_no_trouble():
    rng = np.random.default_rng(6)
    base = rng.normal(size=60)
    group = copies(base, MOST_MEMBERS + 20, 0.1, rng)
    found = against_group(*against(base, group))
    assert found.log_p < math.log(1e-12)
    assert found.strength > 0.9
    assert against_group(*against(rng.normal(size=60), group)).log_p > math.log(0.01)
