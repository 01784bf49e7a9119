"""The test in a learned direction: honest whatever the energy, sharp where it knows the truth, C a projection."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch
from tests.energies.energy_cases import Written

from gpmnet.energies import MLP, MLPEnergy, NormalEnergy, Pairwise, PairwiseEnergy, SumEnergy
from gpmnet.testing.learned import Fold, strongest

LEVELS = (0.2, 0.05, 0.01, 0.001)


def random_pairwise(coordinates, seed=0, scale=1.0):
    energy = PairwiseEnergy(coordinates, Pairwise())
    with torch.no_grad():
        energy.theta.normal_(generator=torch.Generator().manual_seed(seed)).mul_(scale)
    return energy


def random_mlp(coordinates, seed=0):
    generator = torch.Generator().manual_seed(seed)
    energy = MLPEnergy(coordinates, MLP(hidden=16), generator)
    with torch.no_grad():
        energy.output.normal_(generator=generator)
        energy.weight.mul_(3)
    return SumEnergy(NormalEnergy(coordinates), energy)


def p_values(learned, pairs, given):
    first, second = torch.tensor(pairs).T
    return (
        learned.log_p(
            first, second, torch.tensor([given] * len(pairs), dtype=torch.int64).reshape(len(pairs), -1)
        )
        .exp()
        .numpy()
    )


def assert_not_too_small(p):
    for level in LEVELS:
        room = 3.5 * math.sqrt(level * (1 - level) / len(p)) + 1 / len(p)
        assert (p <= level).mean() <= level + room, (level, (p <= level).mean())


def continuous(rng, n=300):
    """Five variables that depend on two, through means, curves and variances, and on nothing else."""
    z = rng.normal(size=(n, 2))
    noise = rng.normal(size=(n, 5)) * np.exp(0.3 * z[:, :1])
    return np.c_[np.sin(z @ rng.normal(size=(2, 5)) * 1.5) + noise, z], [5, 6]


def discrete(rng, n=400):
    """Five bits, rare in one class, less rare in the other."""
    group = rng.integers(0, 2, n)
    return np.c_[rng.random((n, 5)) < np.where(group, 0.2, 0.05)[:, None], group], [5]


def mixed(rng, n=300):
    """Bits, a trit and numbers that depend on a number and a bit."""
    w, s = rng.normal(size=n), rng.integers(0, 2, n)
    bits = rng.random((n, 2)) < 1 / (1 + np.exp(-w - s))[:, None]
    trit = (rng.random(n) + 0.4 * s).round() + (rng.random(n) < 0.1)
    return np.c_[bits, trit, (w**2 + s)[:, None] + rng.normal(size=(n, 2)), s, w], [5, 6]


def tied(rng, n=300):
    """Counts, columns that are mostly zero and a rounded one that depend on two others, one of them rounded too."""
    z = np.c_[rng.normal(size=n), np.round(rng.normal(size=n))]
    cause = z @ rng.normal(size=(2, 5)) * 0.6
    counts = rng.poisson(np.exp(cause[:, :2] + 0.5))
    zeros = np.where(rng.random((n, 2)) < 1 / (1 + np.exp(-cause[:, 2:4])), 0, rng.exponential(size=(n, 2)))
    return np.c_[counts, zeros, np.round(cause[:, 4:] + rng.normal(size=(n, 1))), z], [5, 6]


@pytest.mark.parametrize("make", [random_pairwise, random_mlp])
@pytest.mark.parametrize("draw", [continuous, discrete, mixed, tied])
def test_p_values_of_independent_pairs_are_not_too_small_whatever_the_energy(learned_of, draw, make):
    found = []
    for seed in range(12):
        values, given = draw(np.random.default_rng(seed))
        frame = pd.DataFrame(values.astype(float)).add_prefix("x")
        kinds = {name: "discrete" for name in frame if frame[name].nunique() < 5 and draw is not tied}
        kinds |= dict.fromkeys(frame, "continuous") if draw is tied else {}
        learned = learned_of(frame, lambda coordinates, seed=seed: make(coordinates, seed), kinds)
        found.append(p_values(learned, list(itertools.combinations(range(5), 2)), given))
    assert_not_too_small(np.concatenate(found))


def test_cells_that_are_empty_by_chance_are_no_evidence(learned_of):
    """Two rare levels that never meet: products without variance, which a test scaled by them alone takes for proof."""
    found = []
    for seed in range(30):
        values = np.random.default_rng(seed).random((600, 4)) < 0.07
        frame = pd.DataFrame(values.astype(int)).add_prefix("x")

        def never_meet(coordinates):
            energy = PairwiseEnergy(coordinates, Pairwise())
            torch.nn.init.constant_(energy.theta, -1.0)
            return energy

        learned = learned_of(frame, never_meet, dict.fromkeys(frame, "discrete"))
        found.append(p_values(learned, list(itertools.combinations(range(4), 2)), []))
    p = np.concatenate(found)
    assert_not_too_small(p)
    assert (p < 0.5).any()


def parity_energy(coordinates):
    parity = Written(coordinates, lambda z, hot: 1.1 * (1 - 2 * hot[..., 1::2]).prod(dim=-1))
    return SumEnergy(NormalEnergy(coordinates), parity)


@pytest.fixture
def parity():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (600, 3))
    bits[:, 2] = (bits[:, 0] + bits[:, 1] + (rng.random(600) < 0.1)) % 2
    return pd.DataFrame(bits).add_prefix("x")


def test_parity_is_seen_by_an_energy_that_knows_it_and_not_by_products_of_two(learned_of, parity):
    kinds = dict.fromkeys(parity, "discrete")
    learned = learned_of(parity, parity_energy, kinds)
    pairs = list(itertools.combinations(range(3), 2))
    first, second = torch.tensor(pairs).T
    empty = torch.full((3, 0), -1)
    assert float(learned.log_p(first, second, empty).max()) < -30
    assert float(learned.test.pairs(first, second, empty).log_p.min()) > math.log(0.01)
    wrong = learned_of(parity, lambda coordinates: random_pairwise(coordinates, 3), kinds)
    assert float(wrong.log_p(first, second, empty).min()) > math.log(0.01)


def test_an_energy_that_says_nothing_of_a_pair_has_no_say(learned_of, parity):
    """All its values are sums of a function of each end; what double-centring leaves of them is rounding."""
    learned = learned_of(parity, NormalEnergy, dict.fromkeys(parity, "discrete"))
    assert p_values(learned, [(0, 1), (1, 2)], []).tolist() == [1.0, 1.0]

    def own_terms(coordinates):
        energy = PairwiseEnergy(coordinates, Pairwise())
        torch.nn.init.normal_(energy.own_levels, std=30.0)
        return energy

    learned = learned_of(parity, own_terms, dict.fromkeys(parity, "discrete"))
    assert p_values(learned, [(0, 1), (1, 2)], []).tolist() == [1.0, 1.0]


def test_a_fold_without_a_say_leaves_the_word_to_the_other(learned_of, parity):
    kinds = dict.fromkeys(parity, "discrete")
    both, one = (learned_of(parity, parity_energy, kinds) for _ in range(2))
    one.folds[1] = Fold(one.folds[1].rows, NormalEnergy(one.coordinates))
    first, second, empty = torch.tensor([0]), torch.tensor([1]), torch.full((1, 0), -1)
    alone = both.log_p(first, second, empty)
    assert math.log(1e-12) > float(one.log_p(first, second, empty)) != float(alone)


def mixed_table(n=201, seed=0):
    """Discrete columns come first, so that the order of the table is not that of the coordinates."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"trit": rng.integers(0, 3, n), "u": rng.normal(size=n), "bit": rng.integers(0, 2, n)}
    )
    return frame.assign(v=rng.normal(size=n)), {"trit": "discrete", "bit": "discrete"}


@pytest.mark.parametrize("pair", list(itertools.combinations(range(4), 2)))
def test_c_is_the_least_squares_projection_of_the_interaction(learned_of, pair):
    frame, kinds = mixed_table()
    learned = learned_of(frame, random_mlp, kinds)
    assert learned.order.tolist() == [2, 0, 3, 1]
    energy, h, f = learned.folds[0].energy, learned.h[:3], learned.features
    found = learned._weights(energy, h, *pair)
    grids = []
    for variable in pair:
        columns = learned.coordinates.columns(int(learned.order[variable]))
        if f.levels[variable]:  # all levels, seen in the rows, with their shares
            code = f.codes[:, variable]
            rows = [int((code == k).nonzero()[0]) for k in range(int(f.levels[variable]))]
            share = np.array([float((code == k).double().mean()) for k in range(len(rows))])
            values = learned.h[rows, columns]
        else:  # the rows nearest to the grid
            z = learned.h[:, columns.start].double().numpy()
            grid = np.linspace(-2.1, 2.1, 7)
            rows = [int(np.abs(z - point).argmin()) for point in grid]
            share = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
            values = torch.tensor(grid, dtype=torch.float32)[:, None]
        grids.append((columns, values, share, f.phi[rows][:, f.columns(torch.tensor(variable))].numpy()))
    (at_i, values_i, share_i, phi_i), (at_j, values_j, share_j, phi_j) = grids
    for row, c in zip(h, found, strict=True):
        surface = np.zeros((len(values_i), len(values_j)))
        for a, b in np.ndindex(surface.shape):
            moved = row.clone()
            moved[at_i], moved[at_j] = values_i[a], values_j[b]
            surface[a, b] = float(energy(moved).detach())
        surface -= share_i @ surface
        surface -= (surface @ share_j)[:, None]
        root = np.sqrt(np.outer(share_i, share_j)).ravel()
        design = np.einsum("ak,bl->abkl", phi_i, phi_j).reshape(root.size, -1)
        best = np.linalg.lstsq(root[:, None] * design, root * surface.ravel(), rcond=None)[0]
        np.testing.assert_allclose(c.detach().numpy().ravel(), best, atol=0.02 * np.abs(best).max() + 1e-4)


def test_an_effect_is_found_between_the_right_columns_of_a_mixed_table(learned_of):
    """The sign of a learned direction is that of the data, for every kind of pair and in any order of columns."""
    rng = np.random.default_rng(0)
    n = 800
    frame, kinds = mixed_table(n)
    frame["v"] = frame["u"] * (2 * frame["bit"] - 1) * 0.7 + rng.normal(size=n)  # no product of two shows it

    def truth(coordinates):
        assert coordinates.levels == (3, 2)
        return Written(coordinates, lambda z, hot: 0.7 * z[..., 0] * z[..., 1] * (2 * hot[..., 4] - 1))

    learned = learned_of(frame, truth, kinds)
    first, second = torch.tensor([1, 1, 2, 0]), torch.tensor([3, 2, 3, 1])
    p = learned.log_p(first, second, torch.full((4, 0), -1)).exp().numpy()
    assert p[:3].max() < 1e-10
    assert p[3] == 1  # (trit, u): the energy has no interaction


def mostly_zero(rng, n=80):
    """A noisy parity of three: whether a column is a little above zero, or zero and now and then far above."""
    inside = rng.integers(0, 2, (n, 3))
    inside[:, 2] = (inside[:, 0] + inside[:, 1] + (rng.random(n) > 0.1)) % 2
    far = np.where(rng.random((n, 3)) < 0.75, 0.0, 2 + rng.random((n, 3)))
    return np.where(inside, rng.random((n, 3)) + 0.5, far)


def test_ties_cost_a_learned_direction_no_power(learned_of):
    """Written in features that the rows of a tie do not have, the direction finds half of what it finds in their own."""

    def truth(coordinates):
        def parity(z, hot):
            rank = torch.special.ndtr(z)
            return torch.where((rank > 0.375) & (rank < 0.875), 1.0, -1.0).prod(dim=-1)

        return Written(coordinates, parity)

    found = []
    for seed in range(20):
        frame = pd.DataFrame(mostly_zero(np.random.default_rng(seed))).add_prefix("x")
        learned = learned_of(frame, truth, dict.fromkeys(frame, "continuous"))
        found.append(p_values(learned, list(itertools.combinations(range(3), 2)), []))
    assert (np.concatenate(found) < 1e-3).mean() > 0.6


def test_the_basis_of_a_tied_column_is_that_of_its_values(learned_of):
    """With few values the grid is the values: their mean scores, their shares and the features of their rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"u": rng.integers(0, 5, 200).astype(float), "v": rng.normal(size=200)})
    learned = learned_of(frame, random_mlp, dict.fromkeys(frame, "continuous"))
    basis, f = learned.bases[0], learned.features
    rows = [np.flatnonzero(frame["u"] == value) for value in range(5)]
    np.testing.assert_allclose(basis.weight, [len(at) / 200 for at in rows])
    np.testing.assert_allclose(
        basis.values[:, 0], [learned.h[at, 0].mean() for at in rows], rtol=1e-5, atol=1e-6
    )
    phi = f.phi[[at[0] for at in rows], :3]
    gram = phi.T @ torch.diag(basis.weight) @ phi
    expected = torch.diag(basis.weight) @ phi @ torch.linalg.inv(gram + 1e-6 * torch.eye(3))
    torch.testing.assert_close(basis.dual, expected)


def test_the_strongest_partners_come_surest_first_and_no_more_than_asked():
    first, second = torch.tensor([0, 0, 0, 2]), torch.tensor([1, 2, 3, 3])
    log_p = torch.tensor([-5.0, -9.0, -7.0, -0.1])
    assert strongest(first, second, log_p, 0.05, 2, 4).tolist() == [[2, 3], [0, -1], [0, -1], [0, -1]]
