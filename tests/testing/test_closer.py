"""A closer look: what its columns follow, that noise gets none of them, and that it keeps null pairs honest."""

import numpy as np
import pytest
import torch
from scipy.optimize import least_squares

from gpmnet.columns.tabulated import standardised
from gpmnet.testing import closer
from gpmnet.testing.base import BoundTest
from gpmnet.testing.blocks import DenseBlock
from gpmnet.testing.closer import look_closer
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual
from gpmnet.testing.regression import Regression

N = 600


def linear_regression(scores):
    none = Regression.without_columns(len(scores), scores.shape[2], 1e-6, scores.device)
    return none.with_columns(DenseBlock(scores))


def looked(scores, target, indicators=None):
    """Return a linear regression of one target and the same after a closer look, with what both leave of it."""
    plain, first = linear_regression(scores), standardised(target.clone())[:, None]
    left = first - plain.fitted(first.mT).mT
    no_levels = scores[:, :0] if indicators is None else indicators
    wider = look_closer(plain, scores, no_levels, first, left, 8)
    return wider, float(left.square().mean()), float((first - wider.fitted(first.mT).mT).square().mean())


@pytest.fixture
def p_given(features_of):
    """Return the p-value of two columns given others, with some options of the regressions."""

    def _p_value(data, i, j, members, **options):
        designs = Designs(features_of(data), DesignOptions(**options))
        test = BoundTest(DoubleResidual(), designs)
        return float(test.pairs(torch.tensor([i]), torch.tensor([j]), torch.tensor([members])).log_p.exp())

    return _p_value


def drawn(seed, k, n=N):
    return standardised(torch.tensor(np.random.default_rng(seed).normal(size=(1, k, n))))


@pytest.mark.parametrize(
    ("shape", "share"),
    [
        (lambda z: (z**2).sum(dim=1), 0.02),
        (lambda z: (z.sum(dim=1) > 0.5).double(), 0.02),
        (lambda z: z[:, 0].sign() * z[:, 1], 0.02),
        (lambda z: z.amax(dim=1), 0.35),
    ],
    ids=["squares", "threshold of a sum", "sign times", "maximum"],
)
def test_shapes_are_followed(shape, share):
    z = drawn(0, 3)
    _, before, after = looked(z, shape(z))
    assert after < share * before


def test_a_jump_of_a_level_is_followed():
    z = drawn(1, 1)
    level = (torch.arange(N) % 3 == 0).double()[None, None]
    _, before, after = looked(z, (level * z)[:, 0], standardised(level.clone()))
    assert after < 0.05 * before


def test_noise_gets_no_jumps_and_not_more_columns_than_announced():
    jumps = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = drawn(seed, 2)
        wider, _, _ = looked(z, torch.tensor(rng.normal(size=(1, N))))
        added = wider.n_columns - 2
        smooth = 2 * 2 + 8 + 1  # powers, functions of the index, a neuron
        assert smooth <= added <= smooth + closer._MOST_JUMPS
        jumps += added - smooth
    assert jumps <= 2


def test_neurons_are_least_squares():
    rng = np.random.default_rng(3)
    x = np.vstack([np.ones(N), rng.normal(size=(2, N))])
    y = 1 / (1 + np.exp(-(0.3 + 2 * x[1] - x[2]))) + 0.05 * rng.normal(size=N)

    def left(p):
        return p[0] + p[1] / (1 + np.exp(-p[2:] @ x)) - y

    best = least_squares(left, [0.0, 1.0, 0.1, 1.0, -0.5])
    start = torch.tensor([[0.1, 1.0, -0.5]], dtype=torch.float64)
    weight, loss = closer._least_squares(torch.tensor(x)[None], torch.tensor(y)[None], start)
    assert float(loss) == pytest.approx(2 * best.cost, rel=1e-6)
    np.testing.assert_allclose(np.abs(weight[0].numpy()), np.abs(best.x[2:]), rtol=1e-3)


def test_the_threshold_of_a_jump_is_the_best_of_all():
    rng = np.random.default_rng(4)
    z = drawn(4, 1, 101)
    y = torch.tensor(1.0 * (z[0, 0].numpy() > 0.3) + 0.1 * rng.normal(size=101))[None, None]
    y = y - y.mean()
    _, cut, rider = closer._closest(z, y)
    gains = []
    for c in z[0, 0]:
        gate = 1.0 * (z[0, 0] > c)
        if gate.std() > 0:
            gains.append((abs(np.corrcoef(gate, y[0, 0])[0, 1]), float(c)))
    assert int(rider[0, 0]) == 0
    assert float(cut[0, 0]) == pytest.approx(max(gains)[1])


def test_thresholds_do_not_depend_on_a_mean_or_slope_that_residuals_have_over_some_rows():
    rng = np.random.default_rng(6)
    z = drawn(6, 2, 501)
    y = torch.tensor(1.0 * (z[0, 0].numpy() > 0.3) + 0.3 * rng.normal(size=501))[None, None]
    plain, shifted = (closer._closest(z, x) for x in (y, y + 5.0 - 3.0 * z[:, 1:]))
    for one, other in zip(plain, shifted, strict=True):
        torch.testing.assert_close(one, other)


def test_a_jump_is_placed_again_where_the_rows_around_it_say():
    """The place with the least squared loss of all, when the jump at the old one is fitted beside it."""
    rng = np.random.default_rng(7)
    z = drawn(7, 2, 400)
    line, rider = z[0].numpy()
    y = (line > 0.2) * rider + 0.1 * rng.normal(size=400)
    old = np.sort(line)[np.sum(line <= 0.2) + 12]
    jumps = closer._Jumps(*(torch.tensor([[x]]) for x in (0, old, 2, True)))
    none = Regression.without_columns(1, 400, 1e-9, z.device).with_columns(DenseBlock(z))
    left = none.with_columns(DenseBlock(jumps.columns(z))).residuals(torch.tensor(y)[None, :, None]).mT
    placed, moved = jumps.placed(z, left)

    def loss(cut):
        columns = np.column_stack([np.ones(400), line, rider, (line > old) * rider, (line > cut) * rider])
        return np.square(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]).sum()

    assert moved.tolist() == [[True]]
    assert float(placed.cut) == min(line, key=loss)


def test_forward_choice_agrees_with_refitted_regressions():
    rng = np.random.default_rng(5)
    columns = standardised(torch.tensor(rng.normal(size=(1, 6, N))))
    columns[:, 5] = 0.9 * columns[:, 4] + 0.1 * columns[:, 5]
    left = (columns[:, 1] + 0.5 * columns[:, 4])[:, None] + torch.tensor(rng.normal(size=(1, 1, N)))
    none = Regression.without_columns(1, N, 1e-9, columns.device)
    chosen = closer._forward(columns, left - left.mean(dim=2, keepdim=True), none)
    assert chosen[0].nonzero()[:, 0].tolist() == [1, 4]


@pytest.mark.parametrize("n", [300, 1000])
def test_null_pairs_behind_what_regressions_miss_are_honest(p_given, n):
    """At level 0.05 over 40 draws of three laws, of which more than half is rejected without the closer look."""

    def rejected(**options):
        count = 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            z = rng.normal(size=(n, 3))
            mean = [np.sign(z[:, 0]) * z[:, 1], 1.7 * (z.sum(axis=1) > 0), (z**2).sum(axis=1)][seed % 3]
            x, y = (mean + 0.5 * rng.normal(size=n) for _ in range(2))
            count += p_given(np.column_stack([x, y, z]), 0, 1, [2, 3, 4], **options) < 0.05
        return count

    assert rejected() <= 7
    assert rejected(closer_up_to=0) >= 14


LARGER = {
    "sign times": (10_000, lambda z: np.sign(z[:, 0]) * z[:, 1]),
    "product of three": (5000, lambda z: z[:, 0] * z[:, 1] * z[:, 2]),
}


@pytest.mark.parametrize("law", LARGER)
def test_more_rows_do_not_make_false_edges(p_given, law):
    n, mean = LARGER[law]
    p_values = []
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        z = rng.normal(size=(n, 3))
        x, y = (mean(z) + 0.4 * rng.normal(size=n) for _ in range(2))
        p_values.append(p_given(np.column_stack([x, y, z]), 0, 1, [2, 3, 4]))
    assert min(p_values) > 1e-3
    assert np.mean(np.array(p_values) < 0.05) <= 0.4


def test_edges_beside_a_curve_are_still_seen(p_given):
    rng = np.random.default_rng(7)
    z = rng.normal(size=(500, 2))
    x = np.sign(z[:, 0]) * z[:, 1] + 0.5 * rng.normal(size=500)
    y = np.sign(z[:, 0]) * z[:, 1] + 0.5 * x + 0.5 * rng.normal(size=500)
    assert p_given(np.column_stack([x, y, z]), 0, 1, [2, 3]) < 1e-6


def test_there_is_no_closer_look_without_a_continuous_member_or_with_few_rows(features_of):
    rng = np.random.default_rng(8)
    for n, given, members in ((200, [2], [2]), (40, [3], [3])):
        features = features_of(
            np.column_stack([rng.normal(size=(n, 2)), np.arange(n) % 2, rng.normal(size=n)])
        )
        designs = Designs(features, DesignOptions())
        sets, ends = torch.tensor([given]), [torch.tensor([0]), torch.tensor([1])]
        table = designs.table(sets, torch.tensor([0, 1, *members]))
        regression = designs.regress(sets, ends, table)
        left = torch.zeros((1, 6, n), dtype=torch.float64)
        assert designs.closer(regression, sets, table, ends, left) is None


def test_there_is_a_closer_look_without_indices(p_given):
    rng = np.random.default_rng(9)
    z = rng.normal(size=(500, 2))
    x, y = (np.sign(z[:, 0]) * z[:, 1] + 0.5 * rng.normal(size=500) for _ in range(2))
    data = np.column_stack([x, y, z])
    assert p_given(data, 0, 1, [2, 3], n_index=0) > p_given(data, 0, 1, [2, 3], n_index=0, closer_up_to=0)
