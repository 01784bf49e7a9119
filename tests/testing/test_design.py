import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet.testing.design import DesignOptions, Designs

RNG = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame(
    {
        "z1": RNG.normal(size=N),
        "z2": RNG.normal(size=N),
        "d1": RNG.integers(0, 3, N),
        "d2": RNG.integers(0, 2, N),
        "d3": RNG.integers(0, 5, N),
    }
)
SETS = [[0, 1], [2, 3], [0, 2], [4, -1], [-1, -1], [1, 4], [2, 4]]


@pytest.mark.parametrize("at", range(len(SETS)))
def test_residuals_are_those_of_ridge_regression(features_of, at):
    f = features_of(FRAME)
    given = torch.tensor([SETS[at]])
    regression = Designs(f, DesignOptions()).regress(given)
    design = regression.design[0].numpy()
    y = RNG.normal(size=(N, 2))
    y -= y.mean(axis=0)
    p = design.shape[1]
    hat = design @ np.linalg.solve(design.T @ design + N * 1e-3 * np.eye(p), design.T)
    np.testing.assert_allclose(regression.residuals(torch.tensor(y)[None])[0], y - hat @ y, atol=1e-8)
    np.testing.assert_allclose(regression.df[0], 1 + np.trace(hat), rtol=1e-6)


def test_a_saturated_table_removes_any_function_of_its_cells(features_of):
    f = features_of(FRAME)
    cell = FRAME["d1"] * 2 + FRAME["d2"]
    y = torch.tensor(RNG.normal(size=6)[cell])[None, :, None]
    left = Designs(f, DesignOptions(ridge=1e-9)).regress(torch.tensor([[2, 3]])).residuals(y)
    assert float(left.abs().max()) < 1e-6


def test_products_see_what_additive_columns_cannot(features_of):
    f = features_of(FRAME)
    y = torch.tensor(np.tanh(FRAME["z1"] * FRAME["z2"]).to_numpy())[None, :, None]
    share = {}
    for most in (0, 20):
        left = Designs(f, DesignOptions(most_interactions=most)).regress(torch.tensor([[0, 1]])).residuals(y)
        share[most] = float(left.square().mean() / y.var())
    assert share[20] < 0.1 < 0.8 < share[0]


def test_an_effect_that_changes_with_a_level_is_regressed_away(features_of):
    f = features_of(FRAME)
    slope = np.array([-1.0, 0.0, 2.0])[FRAME["d1"]] * np.array([1.0, -1.0])[FRAME["d2"]]
    y = torch.tensor(slope * np.tanh(FRAME["z1"]).to_numpy())[None, :, None]
    left = Designs(f, DesignOptions()).regress(torch.tensor([[2, 0, 3]])).residuals(y)
    assert float(left.square().mean() / y.var()) < 0.01


def test_batches_cover_every_set_once_and_do_not_change_the_answer(features_of):
    f = features_of(FRAME)
    given = torch.tensor(SETS * 3)
    y = torch.tensor(RNG.normal(size=(N, 1)))
    for budget in (1, 1 << 24):
        seen = []
        for rows in Designs(f, DesignOptions()).batches(given, budget):
            seen += rows.tolist()
            together = Designs(f, DesignOptions()).regress(given[rows]).residuals(y.expand(len(rows), N, 1))
            for at, row in enumerate(rows.tolist()):
                alone = Designs(f, DesignOptions()).regress(given[row : row + 1]).residuals(y[None])
                torch.testing.assert_close(together[at], alone[0])
        assert sorted(seen) == list(range(len(given)))


def test_designs_of_wide_discrete_members_fit_the_budget(features_of):
    rng = np.random.default_rng(0)
    wide = {f"w{k}": rng.integers(0, 30, N) for k in range(4)}
    frame = pd.DataFrame(wide | {"n1": rng.integers(0, 2, N), "n2": rng.integers(0, 2, N)})
    f = features_of(frame, kinds=dict.fromkeys(frame, "discrete"))
    given = torch.tensor([[0, 1], [0, 2], [1, 2], [2, 3], [0, 4], [0, 5], [1, 4], [4, 5]] * 4)
    budget = 400 * N
    options = DesignOptions(most_cells=0)
    for rows in Designs(f, options).batches(given, budget):
        assert Designs(f, options).regress(given[rows]).design.numel() <= budget
        assert len(rows) > 1


@pytest.mark.parametrize("threads", [1, 2])
def test_large_factorisations_are_right_with_any_number_of_threads(threads):
    # Some builds of torch return wrong batched LU solutions from about 160 unknowns with two threads or more.
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        a = torch.randn((4, 300, 200), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        gram = a.mT @ a / 300 + 0.1 * torch.eye(200, dtype=torch.float64)
        y = torch.ones((4, 200, 3), dtype=torch.float64)
        x = torch.cholesky_solve(y, torch.linalg.cholesky(gram))
        torch.testing.assert_close(gram @ x, y)
    finally:
        torch.set_num_threads(before)
