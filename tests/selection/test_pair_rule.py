"""The p-value after the search: against a plain loop over sets, next to deterministic relations, and under the null."""

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet.selection.missed import evidence as evidence_of
from gpmnet.selection.pair_rule import Limits, ends
from gpmnet.selection.two_ended import TwoEnded

KAPPA, SLACK, MOST = 0.2, 1.0, 3
RULE = TwoEnded(min_information=KAPPA, slack=SLACK)


def one(test, i, j, given):
    sets = torch.tensor([sorted(given)], dtype=torch.int64).reshape(1, -1)
    return test.pairs(torch.tensor([i]), torch.tensor([j]), sets)


def residuals(test, variables, given, node):
    """Return what a set leaves of variables' features, as the search would regress them for a node."""
    designs, f = test.designs, test.designs.features
    regression = designs.regress(
        torch.tensor([sorted(given)], dtype=torch.int64).reshape(1, -1),
        [torch.tensor([node])],
        products=False,
    )
    raw = torch.cat([f.of(torch.tensor([k]))[:, :, : int(f.width[k])] for k in variables], dim=2)
    if designs.features.is_discrete[torch.tensor(variables)].any():
        raw = raw - raw.mean(dim=1, keepdim=True)
    return regression.residuals(raw)[0].numpy(), float(regression.df[0])


def evidence(test, node, others, given):
    """Return (n - df) times the sum of squared canonical correlations, less its mean, and the mean."""
    (one, df), (two, _) = (residuals(test, x, given, node) for x in ([node], others))
    basis = [np.linalg.qr(x)[0] for x in (one, two)]
    squares = np.linalg.svd(basis[0].T @ basis[1], compute_uv=False) ** 2
    mean = one.shape[1] * two.shape[1]
    return (len(one) - df) * squares.sum() - mean, mean


def could_be_missed(test, i, j, own, group):
    (e_j, d_j), (e_m, d_m) = evidence(test, i, [j], own), evidence(test, i, sorted(group), own)
    spread = 2 * d_m + 4 * max(e_m, 0) + 2 * d_j + 4 * max(e_j, 0)
    return e_m + SLACK * np.sqrt(spread) >= e_j or left(test, i, own | group) <= left(test, i, own | {j})


def left(test, i, given):
    """Return the share of what a set leaves of a variable's first features, corrected for degrees of freedom."""
    designs = test.designs
    f = designs.features
    regression = designs.regress(torch.tensor([sorted(given)]), [torch.tensor([i])])
    coarse = f.of(torch.tensor([i]))[:, :, : int(f.coarse(torch.tensor(i)))]
    share = regression.residuals(coarse).square().sum() / coarse.square().sum()
    return float(share / regression.left)


def has_say(test, i, j, own, given, more, least):
    if float(more.information) >= least:
        return True
    # Both ends together ask for columns of the regression.
    designs = test.designs
    regression = designs.regress(torch.tensor([sorted(given)]), [torch.tensor([i]), torch.tensor([j])])
    f = designs.features
    shares = []
    for k, other in ((i, j), (j, i)):
        coarse = f.of(torch.tensor([k]))[:, :, : int(f.coarse(torch.tensor(k)))]
        share = regression.residuals(coarse).square().sum() / coarse.square().sum()
        shares.append(float(share / regression.left) < 0.75 * left(test, k, own | {other}))
    return all(shares)


def by_hand(test, around, i, j):
    """The rule of the docstring, a pair and a set at a time: the answer, what each end alone would say, and the union."""
    sets = around[i] - {j}, around[j] - {i}
    both = sets[0] | sets[1]
    fits, union = small_enough(test, both), one(test, i, j, both)
    sides, informed, used = [], [], [0, 0]
    for node, partner, own in ((i, j, sets[0]), (j, i, sets[1])):
        found = one(test, i, j, own)
        informed.append(float(found.information))
        group, more = both - own, union
        if group and not fits:
            group = {min(group, key=lambda k: rank(test, node, k, own))}
            more = one(test, i, j, own | group)
        if (
            group
            and small_enough(test, own | group)
            and more.log_p > max(float(found.log_p), np.log(1e-12))
            and could_be_missed(test, node, partner, own, group)
            and has_say(test, node, partner, own, own | group, more, KAPPA * informed[-1])
        ):
            found = more
            used[fits] += 1
        sides.append((float(found.log_p), float(found.strength), float(found.sign)))
    if sets[0] == sets[1]:
        return sides[0], (), (), [0, 0]
    told = [()] * 3
    if fits:
        said = float(union.strength), float(union.sign)
        told = [said if union.information >= KAPPA * x else () for x in (*informed, max(informed))]
    tangents = [np.tan((0.5 - np.exp(min(log_p, np.log(0.99)))) * np.pi) for log_p, *_ in sides]
    log_p = np.log(2) - np.logaddexp(
        -sides[0][0], -sides[1][0]
    )  # far out the combination is the harmonic mean
    if log_p > -20:
        log_p = np.log(0.5 - np.arctan(np.mean(tangents)) / np.pi)
    answer = (log_p, *(told[2] or min(sides)[1:]))
    sides = [(log_p + np.log(2), *(said or rest)) for (log_p, *rest), said in zip(sides, told, strict=False)]
    return answer, tuple(sides), told, used


def small_enough(test, given):
    levels = [max(int(test.designs.features.levels[k]), 1) for k in given]
    return bool(np.prod(levels) <= test.designs.features.n / 10 and len(given) <= MOST)


def rank(test, node, candidate, given):
    sets = torch.tensor([sorted(given)], dtype=torch.int64).reshape(1, -1)
    return float(test.rank(torch.tensor([node]), torch.tensor([[candidate]]), sets))


def as_members(around):
    width = max(map(len, around))
    return torch.tensor([sorted(s) + [-1] * (width - len(s)) for s in around])


def mixed_table(rng, n=400):
    k = rng.normal(size=n)
    frame = pd.DataFrame({"k": k, "a": k + rng.normal(size=n), "b": (k + rng.normal(size=n) > 0).astype(int)})
    frame["c"] = rng.integers(0, 3, n)
    frame["d"] = frame["a"] * (frame["c"] > 0) + rng.normal(size=n)
    frame["e"] = (frame["b"] + (rng.random(n) < 0.2)) % 2
    frame["copy"] = k + 0.01 * rng.normal(size=n)
    return frame


def test_the_rule_is_that_of_a_loop_over_sets(test_of):
    test = test_of(mixed_table(np.random.default_rng(0)))
    around = [{1, 2, 6}, {0, 4, 3}, {0, 5}, {4}, {1, 3}, {2}, {0, 1}]
    first, second = torch.triu_indices(7, 7, 1)
    found = RULE(test, as_members(around), first, second, Limits(most_members=MOST))
    got = torch.stack([found.log_p, found.strength, found.sign], dim=1)
    sides_apart = beyond = by_union = 0
    decided = np.zeros(2, dtype=int)
    for i, j, row in zip(first.tolist(), second.tolist(), got, strict=True):
        expected, sides, told, used = by_hand(test, around, i, j)
        # A pair that is beyond doubt from the end with the smaller set is not tested from the other.
        sizes = len(around[i] - {j}), len(around[j] - {i})
        first_asked = sides[int(np.argmin(sizes))] if sides and sizes[0] != sizes[1] else (0.0,)
        if first_asked[0] <= np.log(2e-12):
            expected = first_asked
            beyond += 1
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-8)
        sides_apart += bool(sides)
        by_union += any(told)
        decided += used
    assert sides_apart > 10
    assert beyond > 1
    assert by_union > 5
    assert (decided > [0, 3]).all()
    back = RULE(test, as_members(around), second, first, Limits(most_members=MOST))
    np.testing.assert_allclose(back.log_p, found.log_p, rtol=1e-6, atol=1e-8)


def test_a_pair_that_is_clear_already_is_not_tested_further(test_of):
    test = test_of(mixed_table(np.random.default_rng(0)))
    members = as_members([{1, 2}, {0}, {0}, set(), {1}, {2}, set()])
    first, second = torch.triu_indices(7, 7, 1)
    full, quick = (RULE(test, members, first, second, Limits(alpha)) for alpha in (1.0, 0.1))
    near = quick.log_p < np.log(0.1)
    assert near.any()
    assert not near.all()
    torch.testing.assert_close(quick.log_p[near], full.log_p[near])
    assert (full.log_p >= quick.log_p - 1e-12).all()


def test_an_end_whose_set_is_within_the_other_ones_agrees_with_the_loop(test_of):
    """The larger set has nothing to be tried with."""
    test = test_of(mixed_table(np.random.default_rng(1)))
    around = [{2}, {3}, {0, 3}, {0, 1, 2}, set(), set(), set()]
    found = RULE(test, as_members(around), torch.tensor([2]), torch.tensor([3]), Limits(most_members=MOST))
    np.testing.assert_allclose(float(found.log_p), by_hand(test, around, 2, 3)[0][0], rtol=1e-5)


def test_the_ends_leave_out_the_pair_itself():
    members = torch.tensor([[1, 2], [0, -1], [0, -1]])
    a, b = ends(members, torch.tensor([0, 1]), torch.tensor([1, 2]))
    assert a.tolist() == [[-1, 2], [0, -1]]
    assert b.tolist() == [[-1, -1], [0, -1]]


def test_an_edge_beside_a_deterministic_relation_is_seen(test_of):
    """c = a or b, and e depends on c: given a and b nothing of c is left to see the edge by."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((2, 1000)) < [[0.06], [0.04]]).astype(int)
    c = a | b
    e = (rng.random(1000) < np.where(c, 0.95, 0.05)).astype(int)
    test = test_of(np.column_stack([a, b, c, e]))
    members = as_members([{1, 2}, {0, 2}, {0, 1, 3}, {2}])
    found = RULE(test, members, torch.tensor([2]), torch.tensor([3]), Limits())
    assert float(one(test, 2, 3, {0, 1}).log_p) > np.log(0.5)
    assert float(found.log_p) < -20


def test_a_neighbor_that_one_end_missed_still_separates(test_of):
    """x and y depend on k alone, y weakly, and its search took x for k: given nothing the pair looks dependent."""
    n, repeats = 300, 300
    rng = np.random.default_rng(0)
    k = rng.normal(size=(n, repeats))
    x, y = k + 0.3 * rng.normal(size=k.shape), 0.15 * k + rng.normal(size=k.shape)
    test = test_of(np.concatenate([x, y, k], axis=1))
    at = torch.arange(repeats)
    members = torch.full((3 * repeats, 2), -1)
    members[at, 0], members[at, 1], members[at + repeats, 0] = at + 2 * repeats, at + repeats, at
    found = RULE(test, members, at, at + repeats, Limits())
    for alpha in (0.01, 0.05, 0.2):
        allowed = alpha + 3.5 * np.sqrt(alpha * (1 - alpha) / repeats)
        assert (found.log_p < np.log(alpha)).double().mean() <= allowed
    alone = test.pairs(at, at + repeats, torch.full((repeats, 0), -1)).log_p
    assert (alone < np.log(0.05)).double().mean() > 0.4


def test_information_counts_what_the_set_leaves(test_of):
    rng = np.random.default_rng(0)
    k = rng.normal(size=2000)
    x, y = k + 0.5 * rng.normal(size=2000), rng.normal(size=2000)
    group = rng.integers(0, 4, 2000)
    frame = pd.DataFrame({"x": x, "y": y, "k": k, "group": group, "half": group // 2})
    test = test_of(frame)
    assert float(one(test, 0, 1, set()).information) == pytest.approx(2000, rel=0.05)
    share = float(one(test, 0, 1, {2}).information / one(test, 0, 1, set()).information)
    # |corr(x, k)|^2 = 0.8: a fifth of the first feature is left, and more of the cosines
    assert 0.2 < share < 0.7
    assert float(one(test, 1, 4, {3}).information) < 1.0


def test_a_wave_that_three_features_do_not_see_can_be_what_was_missed(test_of):
    """x and y are fast waves of k; y's search ended at x."""
    n, repeats = 300, 30
    rng = np.random.default_rng(0)
    k = rng.normal(size=(n, repeats))
    x, y = (np.sin(4 * k) + 0.3 * rng.normal(size=k.shape) for _ in range(2))
    test = test_of(np.concatenate([x, y, k], axis=1))
    at = torch.arange(repeats)
    x_at, y_at, k_at = at, at + repeats, at + 2 * repeats
    members = torch.full((3 * repeats, 2), -1)
    members[x_at, 0], members[x_at, 1], members[y_at, 0] = k_at, y_at, x_at
    found = RULE(test, members, x_at, y_at, Limits())
    assert (found.log_p < np.log(0.05)).double().mean() <= 0.15
    partner, theirs = evidence_of(test, y_at, x_at, torch.full((repeats, 1), -1), k_at[:, None])
    assert theirs.could_match(partner, SLACK).double().mean() < 0.2
