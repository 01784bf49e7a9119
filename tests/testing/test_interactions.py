from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet.columns.functions import Scores, feature_functions, values
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.interactions import (
    SetShape,
    factors,
    fitting_shape,
    highest_degree,
    interactions,
    n_interactions,
)

SHAPES = [
    SetShape(2, (), False, 4),
    SetShape(3, (), False, 3),
    SetShape(2, (1, 3), True, 3),
    SetShape(1, (1, 2, 2), True, 2),
    SetShape(1, (1, 2, 2), False, 2),
    SetShape(0, (2, 5), False, 6),
    SetShape(0, (2, 5), True, 6),
    SetShape(1, (), False, 6),
    SetShape(0, (), False, 6),
]


def degrees(z, w):
    return values(feature_functions(w), Scores(z)).flatten(2)


def enumerated(shape, degree):
    """Return the products up to a degree as sets of columns, by going through all choices."""
    members = [[None, *((m + 1, (k, m)) for m in range(shape.w))] for k in range(shape.n_continuous)]
    members += [[None, *((1, ("d", k, m)) for m in range(width))] for k, width in enumerate(shape.widths)]
    found = set()
    for pick in product(*members):
        chosen = [part for part in pick if part is not None]
        alone = shape.saturated and all(part[1][0] == "d" for part in chosen)
        if len(chosen) > 1 and not alone and sum(part[0] for part in chosen) <= degree:
            found.add(frozenset(part[1] for part in chosen))
    return found


def named(shape):
    columns = [(k, m) for k in range(shape.n_continuous) for m in range(shape.w)]
    return columns + [("d", k, m) for k, width in enumerate(shape.widths) for m in range(width)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_the_products_are_all_those_up_to_the_degree(shape, degree):
    names = named(shape)
    found = [frozenset(names[c] for c in row) for part in factors(shape, degree) for row in part.tolist()]
    assert len(found) == len(set(found)) == n_interactions(shape, degree)
    assert set(found) == enumerated(shape, degree)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("most", [0, 1, 5, 17, 100])
def test_the_highest_degree_is_the_last_that_fits(shape, most):
    degree = highest_degree(shape, most)
    assert len(enumerated(shape, degree)) <= most
    if len(enumerated(shape, 99)) > most:
        assert len(enumerated(shape, degree + 1)) > most
    else:
        assert enumerated(shape, degree) == enumerated(shape, 99)


def test_the_widest_members_go_first_and_all_of_a_width_together():
    shape = SetShape(2, (1, 3, 20, 20), False, 6)
    assert fitting_shape(shape, most=10_000)[0] == shape
    assert fitting_shape(shape, most=30)[0].widths == (1, 3)
    assert fitting_shape(shape, most=5)[0].widths == (1,)
    assert fitting_shape(shape, most=1) == (SetShape(2, (), False, 6), 2)
    assert fitting_shape(shape, most=0) == (SetShape(2, (), False, 6), 1)


def test_a_wide_member_does_not_take_the_others_products(features_of):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    frame = pd.DataFrame({"x1": x[:, 0], "x2": x[:, 1], "wide": rng.integers(0, 30, 300)})
    f = features_of(frame.assign(y=np.tanh(x.prod(axis=1))), {"wide": "discrete"})
    target = torch.tensor([3])
    y = f.of(target)[:, :, :1]
    left = Designs(f, DesignOptions()).regress(torch.tensor([[0, 1, 2]]), [target]).residuals(y)
    assert float(left.square().mean() / y.var()) < 0.1


def test_values_are_the_products_of_the_columns():
    shape = SetShape(2, (2,), False, 3)
    z = torch.randn((1, 40, 2), dtype=torch.float64)
    columns = torch.cat([degrees(z, 3), torch.randn((1, 40, 2), dtype=torch.float64)], dim=2)
    before = columns.clone()
    found = interactions(columns.mT.contiguous(), shape, 3).mT
    index = [row for part in factors(shape, 3) for row in part.tolist()]
    expected = torch.stack([columns[:, :, row].prod(dim=2) for row in index], dim=2)
    torch.testing.assert_close(found, expected)
    assert torch.equal(columns, before)


def test_functions_are_bounded_and_of_rising_degree():
    u = (np.arange(2000) + 0.5) / 2000
    z = torch.special.ndtri(torch.tensor(u))[None, :, None]
    value = degrees(z, 5)[0].numpy()
    assert np.abs(value).max() <= 2.5
    changes = [(np.diff(np.sign(column)) != 0).sum() for column in value.T]
    assert changes == [1, 2, 3, 4, 5]


def test_neither_names_nor_order_of_the_columns_matter(features_of):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 3))
    frame = pd.DataFrame(
        {"a": values[:, 0], "b": values[:, 1], "c": rng.integers(0, 3, 200), "e": values[:, 2]}
    )
    moved = frame[["e", "c", "b", "a"]].set_axis(["one", "two", "three", "four"], axis=1)
    y = torch.tensor(rng.normal(size=(1, 200, 1)))
    left = [
        Designs(features_of(data), DesignOptions())
        .regress(torch.tensor([sets]), [torch.tensor([end])])
        .residuals(y)
        for data, sets, end in ((frame, [0, 1, 2], 3), (moved, [3, 2, 1], 0))
    ]
    torch.testing.assert_close(*left)
