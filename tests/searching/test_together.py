"""Neighbors that act fast, or only together."""

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet import GPM
from gpmnet.searching import together
from gpmnet.searching.together import unseen

N = 600


def frames(rng):
    """Return tables of a target and its two causes, then noise."""
    a, b, e, noise = rng.normal(size=(4, N))
    yield "fast", pd.DataFrame({"y": np.sin(6 * a) + 0.5 * e, "a": a, "noise": noise, "b": b}), {1}
    yield "sum", pd.DataFrame({"y": np.sin(2 * (a + b)) + 0.5 * e, "a": a, "b": b, "noise": noise}), {1, 2}
    bits = rng.integers(0, 2, size=(2, N))
    odd = (bits.sum(axis=0) + (rng.random(N) < 0.1)) % 2
    yield "parity", pd.DataFrame({"y": odd, "a": bits[0], "b": bits[1], "noise": noise}), {1, 2}


@pytest.mark.parametrize("at", range(3))
def test_what_single_features_do_not_show_is_seen(test_of, at):
    _, frame, causes = list(frames(np.random.default_rng(0)))[at]
    test = test_of(frame)
    allowed = ~torch.eye(4, dtype=torch.bool)
    nobody = torch.full((4, 1), -1)
    found = unseen(test, torch.arange(4), nobody, allowed, 0.01)
    seen = found.members[0]
    assert set(seen[seen >= 0].tolist()) == causes
    assert float(found.log_p[0][seen >= 0].max()) < np.log(1e-4)
    # What may not be a neighbor is not seen, nor what a neighborhood explains.
    assert (unseen(test, torch.arange(4), nobody, torch.zeros_like(allowed), 0.01).members < 0).all()
    known = torch.full((4, 2), -1)
    known[0, : len(causes)] = torch.tensor(sorted(causes))
    assert not set(unseen(test, torch.arange(4), known, allowed, 0.01).members[0].tolist()) & causes
    # Some of the nodes, in any order, show what they show among all.
    some = torch.tensor([2, 0])
    part = unseen(test, some, nobody[some], allowed[some], 0.01)
    assert torch.equal(part.members, found.members[some])


def test_independent_columns_show_nothing(test_of):
    rng = np.random.default_rng(1)
    count = 0
    for _ in range(40):
        frame = pd.DataFrame(rng.normal(size=(300, 6)))
        frame[6], frame[7] = rng.integers(0, 3, 300), rng.exponential(size=300) ** 3
        test = test_of(frame.set_axis(list("abcdefgh"), axis=1))
        found = unseen(test, torch.arange(8), torch.full((8, 1), -1), ~torch.eye(8, dtype=torch.bool), 0.05)
        count += int((found.members[:, [0, 1]] >= 0).sum())
    # Two looks at each of eight nodes, each at most 0.05.
    assert count <= 40 * 8 * 2 * 0.05


def test_the_engine_finds_edges_of_a_parity():
    frame = list(frames(np.random.default_rng(2)))[2][1]
    edges = GPM().fit(frame).network_.edges
    assert {frozenset(pair) for pair in edges.iloc[:, :2].to_numpy().tolist()} == {
        frozenset(pair) for pair in ("ya", "yb", "ab")
    }


@pytest.mark.parametrize("piece", [1, 2500, 1 << 22])
def test_a_function_rests_on_the_rows_that_its_kurtosis_leaves(monkeypatch, piece):
    monkeypatch.setattr(together, "_PIECE", piece)
    n = 1000
    value = torch.zeros((4, n), dtype=torch.float64)
    for row, marked in zip(value, (1, 50, 70, 500), strict=True):  # indicators: kurtosis about n / marked
        row[:marked] = 1.0
    value -= value.mean(dim=1, keepdim=True)
    value /= value.square().mean(dim=1, keepdim=True).sqrt()
    assert together._rests_on_many(value).tolist() == [False, False, True, True]
