import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import chi2

from gpmnet.searching.screen import panels, screen
from gpmnet.testing.base import BoundTest
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual


def test_hits_are_those_of_a_loop_over_pairs(features_of):
    rng = np.random.default_rng(1)
    n = 300
    frame = pd.DataFrame(rng.normal(size=(n, 6))).add_prefix("z")
    frame["z1"] = frame["z0"] * rng.normal(size=n)
    for name, alphas in (("d1", 2), ("d2", 4), ("d3", 4)):
        frame[name] = rng.integers(0, alphas, n)
    frame["d3"] = np.where(rng.random(n) < 0.5, frame["d2"], frame["d3"])
    f = features_of(frame)
    alpha = 0.05
    hits = screen(panels(f), panels(f), alpha, most=100)
    found = set(zip(hits.node.tolist(), hits.candidate.tolist(), strict=True))
    expected = set()
    for i in range(f.d):
        for j in range(f.d):
            blocks = []
            for at in (i, j):
                block = f.phi[:, int(f.start[at]) : int(f.start[at] + f.width[at])].numpy()
                gram = block.T @ block / n + (np.eye(block.shape[1]) / n if f.levels[at] > 0 else 0)
                blocks.append(np.linalg.solve(np.linalg.cholesky(gram), block.T))
            moments = blocks[0] @ blocks[1].T
            thin = [len(b) if f.levels[at] > 0 else 1 for b, at in zip(blocks, (i, j), strict=True)]
            fine, coarse = (moments**2).sum() / n, (moments[: thin[0], : thin[1]] ** 2).sum() / n
            if i != j and (
                fine > chi2.isf(alpha, moments.size) or coarse > chi2.isf(alpha, thin[0] * thin[1])
            ):
                expected.add((i, j))
    assert found == expected
    assert {(0, 1), (7, 8)} <= found


def test_only_the_strongest_are_kept_and_panels_do_not_matter(features_of, monkeypatch):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 9))
    x[:, 1:] = 0.5 * x[:, 1:] + np.linspace(0.2, 2, 8) * x[:, :1]
    f = features_of(x)
    full = screen(panels(f), panels(f), 0.5, most=3)
    assert torch.bincount(full.node).max() == 3
    of_first = full.candidate[full.node == 0].tolist()
    assert of_first == [8, 7, 6]
    monkeypatch.setattr("gpmnet.searching.screen.panel_size", lambda _: 2)
    small = screen(panels(f), panels(f), 0.5, most=3)
    both = [sorted(zip(h.node.tolist(), h.candidate.tolist(), strict=True)) for h in (full, small)]
    assert len(set(both[0]) ^ set(both[1])) == 0


def test_forbidden_pairs_take_no_place_among_the_strongest(features_of):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 9))
    x[:, 1:] = 0.5 * x[:, 1:] + np.linspace(0.2, 2, 8) * x[:, :1]
    f = features_of(x)
    hits = screen(panels(f), panels(f), 0.5, most=3, forbidden=torch.tensor([[0, 8], [6, 0]]))
    assert hits.candidate[hits.node == 0].tolist() == [7, 5, 4]
    assert 0 not in hits.candidate[(hits.node == 8) | (hits.node == 6)].tolist()


def test_half_of_the_products_give_the_same_hits(features_of, monkeypatch):
    rng = np.random.default_rng(4)
    monkeypatch.setattr("gpmnet.searching.screen.panel_size", lambda _: 2)
    x = rng.normal(size=(200, 9))
    x[:, 1:] += np.linspace(0.1, 1.5, 8) * x[:, :1]
    f = features_of(x)
    same = panels(f)
    half, full = screen(same, same, 0.3, most=4), screen(same, panels(f), 0.3, most=4)
    for name in ("node", "candidate"):
        assert getattr(half, name).tolist() == getattr(full, name).tolist()
    torch.testing.assert_close(half.score, full.score, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("share", [0.01, 0.07, 0.2])
def test_columns_of_which_nearly_all_rows_share_a_value_do_not_flood_the_screen(features_of, share):
    """Independent columns: at a alpha of 0.1 / d a node has a tenth of a candidate on average."""
    rng = np.random.default_rng(0)
    n, d = 300, 200
    some = rng.permuted(np.tile(np.arange(n) < share * n, (d, 1)), axis=1).T
    values = np.where(some, rng.exponential(size=(n, d)), 0.0)
    f = features_of(values, {f"x{at}": "continuous" for at in range(d)})
    hits = screen(panels(f), panels(f), 0.1 / d, most=100)
    assert len(hits.node) / d < 0.3
    test = BoundTest(DoubleResidual(), Designs(f, DesignOptions()))
    everyone = torch.arange(d)
    log_p = test.rank(everyone, everyone.expand(d, d), torch.empty((d, 0), dtype=torch.int64))
    assert (log_p.fill_diagonal_(0.0) < np.log(0.1 / d)).double().sum() / d < 0.3
