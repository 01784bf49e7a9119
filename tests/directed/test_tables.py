"""The complexity against enumeration, the score against its definition."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from gpmnet.directed.cells import Cells
from gpmnet.directed.tables import TableScore, log_complexities


def enumerated(n, r):
    """Return the sum over all sequences of the likelihood at its own maximum."""
    total = 0.0
    for sequence in itertools.product(range(r), repeat=n):
        total += math.prod((sequence.count(level) / n) ** sequence.count(level) for level in set(sequence))
    return total


@pytest.mark.parametrize(("n", "r"), [(1, 2), (4, 2), (7, 2), (1, 3), (5, 3), (4, 5), (3, 1)])
def test_complexity_is_the_sum_over_all_sequences(n, r):
    assert np.exp(log_complexities(np.array([float(n)]), r)[0]) == pytest.approx(enumerated(n, r), rel=1e-12)


@pytest.mark.parametrize("n", [1001, 1500, 4000])
def test_complexity_of_many_rows_is_the_sum_over_counts(n):
    k = np.arange(n + 1)
    lg = np.array([math.lgamma(i + 1) for i in range(n + 1)])
    log_term = lg[n] - lg - lg[::-1]
    log_term += np.where(k > 0, k * np.log(np.maximum(k, 1) / n), 0)
    log_term += np.where(k < n, (n - k) * np.log(np.maximum(n - k, 1) / n), 0)
    assert np.exp(log_complexities(np.array([float(n)]), 2)[0]) == pytest.approx(
        np.exp(log_term).sum(), rel=1e-8
    )


def test_many_levels_do_not_overflow():
    assert np.isfinite(log_complexities(np.arange(2001.0), 400)).all()


def slow_score(codes, levels, child, parents):
    """Return the score from its definition, one cell after another."""

    def length(rows):
        counts = [sum(1 for row in rows if codes[child][row] == k) for k in range(levels[child])]
        fit = sum(c * math.log(c / len(rows)) for c in counts if c)
        return fit - log_complexities(np.array([float(len(rows))]), levels[child])[0]

    n = len(codes[0])
    cells = {}
    for row in range(n):
        cells.setdefault(tuple(codes[p][row] for p in parents), []).append(row)
    return sum(map(length, cells.values())) - length(list(range(n)))


def test_score_is_its_definition():
    rng = np.random.default_rng(0)
    levels = [2, 3, 4, 5, 6]
    codes = [rng.integers(0, r, 60) for r in levels]
    score = TableScore(Cells(codes, levels))
    for parents in ((), (1,), (1, 3), (1, 2, 3, 4)):  # the last has more cells than rows
        assert score.score(0, parents) == pytest.approx(
            slow_score(codes, levels, 0, parents) if parents else 0
        )
        rest = np.array([j for j in range(1, 5) if j not in parents], dtype=np.intp)
        after = [score.score(0, tuple(sorted((*parents, j)))) - score.score(0, parents) for j in rest]
        assert score.gains(0, parents, rest) == pytest.approx(after)


def test_independent_parents_lose_and_true_parents_win():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (2, 500))
    child = np.where(rng.random(500) < 0.2, 1 - (a ^ b), a ^ b)
    score = TableScore(Cells([child, a, b], [2, 2, 2]))
    assert score.score(0, (1,)) < 0 < 100 < score.score(0, (1, 2))


def test_many_cells_take_no_more_memory_than_the_rows():
    rng = np.random.default_rng(2)
    n, levels = 50_000, [20] * 5
    score = TableScore(Cells([rng.integers(0, 20, n).astype(np.int16) for _ in levels], levels))
    cell, count = score.cells.of((1, 2, 3))
    tracemalloc.start()
    score._length(0, cell, count)  # 8,000 cells of 20 levels
    finer, more = score.cells.split(cell, count, 4)
    score._length(0, finer, more)  # most rows have a cell of their own
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 * n
