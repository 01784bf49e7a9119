import math

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet.columns import tabulated
from gpmnet.testing import blocks, chosen
from gpmnet.testing import regression as regression_module
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions

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


def design_of(regression):
    """Return the columns of the first of some designs, (n, p)."""
    parts = [block.rows(slice(None))[0] for block in regression.blocks]
    return torch.cat(parts).T.double().numpy() if parts else np.empty((regression.n, 0))


def share_left(features, options, given, target):
    """Return the share of a target's first feature that its regression on a set leaves."""
    designs, ends = Designs(features, options), [torch.tensor([target])]
    given = torch.tensor([given])
    left = designs.regress(given, ends).residuals(features.of(ends[0])[:, :, :1])
    return float(left.square().mean())


@pytest.mark.parametrize("targets", [[], [5]])
@pytest.mark.parametrize("at", range(len(SETS)))
def test_residuals_are_those_of_ridge_regression(features_of, at, targets):
    f = features_of(FRAME.assign(y=np.sin(FRAME["z1"] * FRAME["z2"]) + FRAME["d1"] * FRAME["z1"]))
    given = torch.tensor([SETS[at]])
    regression = Designs(f, DesignOptions()).regress(given, [torch.tensor([v]) for v in targets])
    design = design_of(regression)
    y = RNG.normal(size=(N, 2))
    y -= y.mean(axis=0)
    p = design.shape[1]
    hat = design @ np.linalg.solve(design.T @ design + N * 1e-3 * np.eye(p), design.T)
    np.testing.assert_allclose(regression.residuals(torch.tensor(y)[None])[0], y - hat @ y, atol=1e-8)
    np.testing.assert_allclose(regression.df[0], 1 + np.trace(hat), rtol=1e-6)
    np.testing.assert_allclose(design.mean(axis=0), 0, atol=1e-12)
    spread = design.std(axis=0)
    np.testing.assert_allclose(spread[spread > 0], 1, rtol=1e-9)
    fitted = hat @ y
    shared = regression.shared(*(torch.tensor(y[:, [k]])[None] for k in (0, 1)))
    np.testing.assert_allclose(shared[0, 0, 0], fitted[:, 0] @ fitted[:, 1] / N, atol=1e-10)


def test_moments_that_are_kept_say_what_the_rows_say(features_of, monkeypatch):
    f = features_of(FRAME.assign(y=FRAME["z1"] * FRAME["z2"]))
    given, ends = torch.tensor([[0, 1, 2], [1, 0, 3]]), [torch.tensor([5, 5])]
    kept, rows = Designs(f, DesignOptions()), Designs(f, DesignOptions())
    assert kept.table(given, given).gram is not None
    monkeypatch.setattr(tabulated, "_MOST_ROWS", 0)
    monkeypatch.setattr(type(rows), "_room", kept._room)
    assert rows.table(given, given).gram is None
    one, other = (designs.regress(given[:1], [ends[0][:1]]) for designs in (kept, rows))
    torch.testing.assert_close(one.factor, other.factor)
    y = torch.tensor(RNG.normal(size=(1, N, 1)))
    torch.testing.assert_close(one.residuals(y), other.residuals(y))


def test_rows_in_pieces_give_the_same_regression(features_of, monkeypatch):
    f = features_of(FRAME.assign(y=FRAME["z1"] * FRAME["z2"]))
    given, ends = torch.tensor([[0, 1, 3]]), [torch.tensor([5])]
    y = torch.tensor(RNG.normal(size=(1, N, 1)))
    whole = Designs(f, DesignOptions()).regress(given, ends).residuals(y)
    monkeypatch.setattr(blocks, "budget", lambda device: 1)
    monkeypatch.setattr(regression_module, "slices", lambda n, size: tabulated.slices(n, 97))
    monkeypatch.setattr(chosen, "slices", lambda n, size: tabulated.slices(n, 61))
    torch.testing.assert_close(Designs(f, DesignOptions()).regress(given, ends).residuals(y), whole)


def test_a_saturated_table_removes_any_function_of_its_cells(features_of):
    f = features_of(FRAME)
    cell = FRAME["d1"] * 2 + FRAME["d2"]
    y = torch.tensor(RNG.normal(size=6)[cell])[None, :, None]
    left = Designs(f, DesignOptions(ridge=1e-9)).regress(torch.tensor([[2, 3]])).residuals(y)
    assert float(left.abs().max()) < 1e-6


def test_products_see_what_additive_columns_cannot(features_of):
    f = features_of(FRAME.assign(y=np.tanh(FRAME["z1"] * FRAME["z2"])))
    share = {
        most: share_left(f, DesignOptions(most_interactions=most, n_index=0), [0, 1], 5) for most in (0, 60)
    }
    assert share[60] < 0.1 < 0.8 < share[0]


def test_an_effect_that_changes_with_a_level_is_regressed_away(features_of):
    slope = np.array([-1.0, 0.5, 2.0])[FRAME["d1"]] * np.array([1.0, -1.0])[FRAME["d2"]]
    f = features_of(FRAME.assign(y=slope * np.tanh(FRAME["z1"])))
    assert share_left(f, DesignOptions(), [2, 0, 3], 5) < 0.02


@pytest.mark.parametrize("jump", [lambda z: z > 0.5, lambda z: np.sin(6 * z)])
def test_fast_functions_join_where_a_target_shows_a_sign_of_them(features_of, jump):
    rng = np.random.default_rng(3)
    z = rng.normal(size=2000)
    frame = pd.DataFrame(
        {"z": z, "smooth": z + rng.normal(size=2000), "y": jump(z) + 0.1 * rng.normal(size=2000)}
    )
    f, given = features_of(frame), torch.tensor([[0]])
    few, many = (Designs(f, DesignOptions()).regress(given, [torch.tensor([v])]).n_columns for v in (1, 2))
    assert few == 17
    assert many == 17 + (125 - 16) + 16
    wide, stiff = (share_left(f, DesignOptions(n_cosines=w), [0], 2) for w in (None, 6))
    assert wide < 0.95 * stiff


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
        regression = Designs(f, options).regress(given[rows])
        assert sum(math.prod(block.shape) for block in regression.blocks) <= budget
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


def test_a_large_design_is_not_copied_and_gives_the_same(features_of, monkeypatch):
    from gpmnet.testing import blocks

    frame = np.random.default_rng(0).normal(size=(300, 4))
    designs = Designs(features_of(frame), DesignOptions())
    given = torch.tensor([[1, 3]])
    table = designs.table(given, torch.tensor([0]))
    block = blocks.TableBlock(table, table.additive(given, 12))
    targets, weights = torch.randn(1, 100, 3).double(), torch.randn(1, 2, block.shape[1]).double()
    at = slice(50, 150)
    plain = block.times(at, targets), block.combined(at, weights)
    assert not block._runs
    monkeypatch.setattr(blocks, "budget", lambda device: 100)
    bare = blocks.TableBlock(table, block.index)
    assert len(bare._runs) == 2
    torch.testing.assert_close((bare.times(at, targets), bare.combined(at, weights)), plain)
    scattered = blocks.TableBlock(table, block.index[:, ::2])
    assert not scattered._runs


def test_products_chosen_by_some_rows_are_standardised_over_all(features_of, monkeypatch):
    from gpmnet.testing import chosen

    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 1000))
    designs = Designs(
        features_of(np.column_stack([a * b + 0.3 * rng.normal(size=1000), a, b])), DesignOptions()
    )
    monkeypatch.setattr(chosen, "_LOOKED_AT", 400)
    regression = designs.regress(torch.tensor([[1, 2]]), [torch.tensor([0])])
    products = regression.blocks[-1]
    assert isinstance(products, chosen.ProductBlock)
    rows = products.made(slice(None))
    torch.testing.assert_close(rows.mean(dim=2), torch.zeros_like(rows[:, :, 0]), atol=1e-9, rtol=0)
    torch.testing.assert_close(rows.square().mean(dim=2), torch.ones_like(rows[:, :, 0]))
    left = regression.residuals(designs.features.of(torch.tensor([0])))[0, :, 0]
    assert float(left.square().mean()) < 0.2
