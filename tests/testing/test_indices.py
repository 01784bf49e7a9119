"""Indices of targets: what they add to a regression, when they add nothing, and that they keep null pairs honest."""

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet.columns.tabulated import standardised
from gpmnet.testing.blocks import DenseBlock
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.regression import Regression

RNG = np.random.default_rng(0)
N = 400


def test_added_columns_give_the_regression_on_all_of_them():
    design = standardised(torch.tensor(RNG.normal(size=(3, 7, N))))
    none = Regression.without_columns(3, N, 1e-2, design.device)
    one = none.with_columns(DenseBlock(design[:, :4])).with_columns(DenseBlock(design[:, 4:]))
    other = none.with_columns(DenseBlock(design))
    y = torch.tensor(RNG.normal(size=(3, N, 2)))
    torch.testing.assert_close(one.factor, other.factor)
    torch.testing.assert_close(one.df, other.df)
    torch.testing.assert_close(one.residuals(y), other.residuals(y))


def test_a_function_of_a_sum_is_regressed_away(features_of):
    z = RNG.normal(size=(N, 4))
    target = z.sum(axis=1) + 0.1 * RNG.normal(size=N)
    features = features_of(np.column_stack([target, z]))
    given, y = torch.tensor([[1, 2, 3, 4]]), torch.tensor(np.tanh(3 * z.sum(axis=1)))[None, :, None]
    plain, more = (
        Designs(features, DesignOptions(n_index=n, most_interactions=0)).regress(given, [torch.tensor([0])])
        for n in (0, 8)
    )
    assert more.n_columns == plain.n_columns + 8
    assert float(more.residuals(y).square().mean()) < 0.2 * float(plain.residuals(y).square().mean())


def test_single_members_and_exact_tables_have_no_index(features_of):
    frame = pd.DataFrame({"t": RNG.normal(size=N), "z": RNG.normal(size=N)})
    frame["a"], frame["b"], frame["w"] = (RNG.integers(0, m, N) for m in (2, 3, 12))
    features = features_of(frame, {"w": "discrete"})
    for members, added in (([1], 0), ([2, 3], 0), ([2], 0), ([1, 2], 8), ([3, 4], 0)):
        given = torch.tensor([members])
        none, some = (
            Designs(features, DesignOptions(n_index=n, most_interactions=0)).regress(
                given, [torch.tensor([0])]
            )
            for n in (0, None)
        )
        assert some.n_columns == none.n_columns + added


def test_functions_of_a_sum_of_curves_join_where_they_matter(features_of):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(1000, 3))
    total = (z**2).sum(axis=1)
    frame = np.column_stack([total + 0.5 * rng.normal(size=1000), rng.normal(size=1000), z])
    designs = Designs(features_of(frame), DesignOptions(most_interactions=0))
    bent = torch.tensor(np.tanh(total - 3))[None, :, None]
    errors, columns = [], []
    for target in ([0], [1]):
        regression = designs.regress(torch.tensor([[2, 3, 4]]), [torch.tensor(target)])
        errors.append(float(regression.residuals(bent).square().mean()))
        columns.append(regression.n_columns)
    assert errors[0] < 0.3 * errors[1]
    assert columns[0] > columns[1]  # noise asks for nothing


@pytest.mark.parametrize("bend", [lambda s: s, np.tanh])
def test_pairs_that_a_sum_of_four_joins_are_not_rejected_given_the_four(test_of, bend):
    """Without the index nearly all are: their features bend with the sum, and products cannot follow."""
    n, repeats = 500, 100
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4, n, repeats))
    x, y = (
        bend(z.sum(axis=0)) + (0.3 if bend is np.tanh else 1.0) * rng.normal(size=(n, repeats))
        for _ in range(2)
    )
    test = test_of(np.concatenate([x, y, *z], axis=1))
    at = torch.arange(repeats)
    given = torch.stack([at + k * repeats for k in range(2, 6)], dim=1)
    p = test.pairs(at, at + repeats, given).log_p.exp().numpy()
    for alpha in (0.01, 0.05):
        assert np.mean(p <= alpha) <= alpha + 3.5 * np.sqrt(alpha * (1 - alpha) / repeats)
    plain = type(test)(test.test, Designs(test.designs.features, DesignOptions(n_index=0)))
    assert np.mean(plain.pairs(at, at + repeats, given).log_p.exp().numpy() <= 0.05) > 0.5
