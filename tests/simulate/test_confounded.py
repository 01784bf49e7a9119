"""Null pairs: independent given the confounders, dependent without them, with the graph that follows."""

import numpy as np
import pytest
from scipy import stats

from gpmnet.simulate import simulate
from gpmnet.simulate.confounded import LAWS

N = 4000

LIMITS = {"dependent rows"}


def draw(law, n=N, seed=0, d=None):
    return simulate("confounded", d=d or len(LAWS[law].levels) + 1, n=n, seed=seed, law=law)


def functions(column):
    """Return functions (m, n) that see a shift, a scale and an atom at the smallest value."""
    ranks = stats.rankdata(column) / len(column) - 0.5
    values = np.vstack([ranks, ranks**2, np.cos(4 * np.pi * ranks), column == column.min()]).astype(float)
    values -= values.mean(axis=1, keepdims=True)
    return values[values.std(axis=1) > 1e-9]


def dependence(x, y):
    """Return the p-value of independence of two columns of independent rows: the largest of some correlations."""
    f, g = functions(x), functions(y)
    if not len(f) or not len(g):
        return 1.0  # one of them is constant
    correlations = (f @ g.T) / len(x) / np.outer(f.std(axis=1), g.std(axis=1))
    return min(1.0, correlations.size * 2 * stats.norm.sf(np.sqrt(len(x)) * np.abs(correlations).max()))


@pytest.mark.parametrize("law", sorted(set(LAWS) - LIMITS))
def test_x_and_y_are_independent_where_the_confounders_are_held_fixed(law):
    """Many rows with the same confounders: whatever joins x and y beyond them would show."""
    rng = np.random.default_rng(1)
    for z in LAWS[law].confounders(rng, 3):
        x, y = LAWS[law].children(rng, rng, np.tile(z, (N, 1)))
        assert dependence(x, y) > 1e-4


@pytest.mark.parametrize("law", LAWS)
def test_without_the_confounders_x_and_y_are_dependent(law):
    drawn = draw(law, n=20_000)
    x, y = drawn.values[:, 0], drawn.values[:, 1]
    assert dependence(x, y) < 1e-6
    assert dependence(x, drawn.values[:, -1]) > 1e-4


def test_the_two_checks_above_notice_what_they_are_for():
    rng = np.random.default_rng(0)
    x, e = rng.standard_normal((2, N))
    for y in (x + 3 * e, e * np.exp(x / 3), np.where(x > 1, 0.0, np.abs(e))):
        assert dependence(x, y) < 1e-4
    assert dependence(x, e) > 1e-4


def test_dependent_rows_are_persistent_and_independent_of_each_other():
    rows = 100_000
    drawn = draw("dependent rows", n=rows)
    x, y = (drawn.values[:, k] - drawn.values[:, 2] for k in (0, 1))
    for series in (x, y):
        assert series.var() == pytest.approx(1.0, abs=0.1)
        assert np.corrcoef(series[1:], series[:-1])[0, 1] == pytest.approx(0.9, abs=0.01)
    inflated = np.sqrt(
        (1 + 0.9**2) / (1 - 0.9**2) / rows
    )  # the standard error of a correlation of two such series
    assert abs(np.corrcoef(x, y)[0, 1]) < 4 * inflated
    assert abs(np.corrcoef(x, drawn.values[:, 2])[0, 1]) < 4 / np.sqrt(rows)


def sines(*z):
    return np.sin(3 * z[0])


MEANS = {  # what a law says, spelled once more: f, g and the noise of x = f(z) + noise, y = g(z) + noise
    "linear": (lambda z: z, lambda z: z, 1.0),
    "sum of four": (lambda a, b, c, d: a + b + c + d, lambda a, b, c, d: a + b + c + d, 1.0),
    "square": (lambda z: z * z, lambda z: z * z, 0.5),
    "sine": (sines, sines, 0.5),
    "sine, cosine": (sines, lambda z: np.sin(3 * z + np.pi / 2), 0.3),
    "fast sine": (lambda z: np.sin(6 * z), lambda z: np.sin(6 * z), 0.5),
    "maximum": (lambda a, b: np.where(a > b, a, b), lambda a, b: np.where(a > b, a, b), 0.5),
    "product": (lambda a, b: a * b, lambda a, b: a * b, 0.3),
    "product of three": (lambda a, b, c: a * b * c, lambda a, b, c: a * b * c, 0.5),
    "sum of three squares": (*2 * (lambda a, b, c: a * a + b * b + c * c,), 0.5),
    "threshold of four": (*2 * (lambda a, b, c, d: np.tanh(a + b + c + d),), 0.3),
    "sine of a sum": (*2 * (lambda a, b: np.sin(2 * a + 2 * b),), 0.5),
    "step": (*2 * (lambda z: np.where(z > 0.5, 1.0, 0.0),), 0.3),
    "step of a sum": (*2 * (lambda a, b, c: np.where(a + b + c > 0, 1.0, 0.0),), 0.3),
    "sign times": (*2 * (lambda a, b: np.where(a > 0, b, -b),), 0.5),
    "tied sine": (sines, sines, 0.5),
    "chain": (lambda a, b, c: a, lambda a, b, c: c, 0.5),
    "curved chain": (lambda a, b, c: np.sin(2 * a), lambda a, b, c: np.sin(2 * c), 0.5),
    "slope by level": (*2 * (lambda a, b: np.choose(b.astype(int), [-1.0, 0.5, 2.0]) * a,), 0.5),
    "exclusive or": (*2 * (lambda a, b: a + b - 2 * a * b,), 0.5),
}


@pytest.mark.parametrize("law", MEANS)
def test_what_the_confounders_leave_is_the_noise(law):
    drawn = draw(law)
    f, g, noise = MEANS[law]
    z = drawn.values[:, 2 : len(LAWS[law].levels)]
    left = [(drawn.values[:, k] - mean(*z.T)) / noise for k, mean in enumerate((f, g))]
    for residual in left:
        assert stats.kstest(residual, "norm").pvalue > 1e-3
        assert all(dependence(residual, column) > 1e-4 for column in z.T)
    assert dependence(*left) > 1e-4


def log_density(law):
    """Return the log density of x, y and normal confounders, without the constant."""
    f, g, noise = MEANS[law]

    def of_rows(rows):
        z = rows[:, 2:]
        residuals = np.column_stack([rows[:, 0] - f(*z.T), rows[:, 1] - g(*z.T)]) / noise
        return -0.5 * (residuals**2).sum(axis=1) - 0.5 * (z**2).sum(axis=1)

    return of_rows


NORMAL = [
    law for law in MEANS if "chain" not in law and law != "tied sine" and LAWS[law].kind == "continuous"
]


@pytest.mark.parametrize("law", NORMAL)
def test_the_graph_is_that_of_the_density(law):
    """A pair is an edge where the second mixed difference of the log density is somewhere not 0."""
    drawn = draw(law, n=400)
    d = len(LAWS[law].levels)
    x, y = drawn.values[:200, :d], drawn.values[200:, :d]
    truth, density = drawn.truth.toarray(), log_density(law)
    for i, j in zip(*np.triu_indices(d, 1), strict=True):
        corners = []
        for moved in ((), (i, j), (i,), (j,)):
            z = x.copy()
            z[:, list(moved)] = y[:, list(moved)]
            corners.append(density(z))
        differs = ~np.isclose(corners[0] + corners[1], corners[2] + corners[3], rtol=1e-9, atol=1e-8)
        assert (differs.mean() > 0.05) if truth[i, j] else not differs.any(), (i, j)


def test_the_graph_of_the_exclusive_or_by_enumeration():
    """P(x, y | a, b) with flips of 0.2: all pairs but x -- y are dependent given the other two."""
    x, y, a, b = np.indices((2, 2, 2, 2))
    joint = np.where(x == a ^ b, 0.8, 0.2) * np.where(y == a ^ b, 0.8, 0.2) / 4
    log_joint, truth = np.log(joint), draw("noisy exclusive or").truth.toarray()
    for i, j in zip(*np.triu_indices(4, 1), strict=True):
        interaction = np.diff(np.diff(log_joint, axis=i), axis=j)
        assert (np.abs(interaction).max() > 1e-9) == truth[i, j]
    values = draw("noisy exclusive or", n=50_000).values[:, :4].astype(int)
    counts = np.bincount(np.ravel_multi_index(tuple(values.T), (2, 2, 2, 2)), minlength=16)
    assert stats.chisquare(counts, joint.ravel() * len(values)).pvalue > 1e-3


@pytest.mark.parametrize(
    ("law", "edges"),
    [
        ("sine", "x-z1 y-z1"),
        ("maximum", "x-z1 x-z2 y-z1 y-z2 z1-z2"),
        ("text of 8", "x-z1 y-z1"),
        ("curved chain", "x-z1 y-z3 z1-z2 z2-z3"),
    ],
)
def test_true_edges(law, edges):
    drawn = draw(law, n=5)
    found = drawn.edges()
    assert (
        " ".join(sorted(f"{a}-{b}" for a, b in zip(found["source"], found["target"], strict=True))) == edges
    )
    assert drawn.names[:2] == ("x", "y")
    assert drawn.names[-1] == "free1"


def test_the_chain_is_a_gaussian_with_that_precision():
    drawn = draw("chain", n=50_000)
    order = [0, 2, 3, 4, 1]  # x, z1, z2, z3, y
    precision = np.linalg.inv(np.cov(drawn.values[:, order].T))
    scale = np.sqrt(np.diag(precision))
    partial = np.abs(precision / np.outer(scale, scale))
    near = np.abs(np.subtract.outer(range(5), range(5))) == 1
    assert partial[near].min() > 0.3
    assert partial[np.triu(~near, 1)].max() < 4 / np.sqrt(50_000)


def test_arbitrary_effects_belong_to_the_seed_not_to_the_rows():
    few, many, other = draw("text of 8", 500), draw("text of 8", 50_000), draw("text of 8", 50_000, seed=1)
    means = [
        np.array([drawn.values[drawn.values[:, 2] == code, 0].mean() for code in range(8)])
        for drawn in (few, many, other)
    ]
    assert np.abs(means[0] - means[1]).max() < 5 * 0.5 / np.sqrt(500 / 8)
    assert np.abs(means[1] - means[2]).max() > 0.5


def test_every_law_has_a_shape_and_codes_in_range():
    assert {law.shape for law in LAWS.values()} == {"smooth", "jump", "limit"}
    for name, law in LAWS.items():
        drawn = draw(name, n=600)
        assert drawn.parameters["shape"] == law.shape
        assert np.isfinite(drawn.values).all()
        for column, levels in zip(drawn.values.T, drawn.levels, strict=True):
            assert not levels or set(column) <= set(range(levels))


def test_free_columns_fill_up_the_table():
    assert draw("maximum", n=3, d=4).names == ("x", "y", "z1", "z2")
    wide = draw("maximum", n=3, d=7)
    assert wide.names[4:] == ("free1", "free2", "free3")
    assert not wide.truth.toarray()[4:].any()


def test_laws_do_not_share_their_noise():
    sine, step = (draw(law).values for law in ("sine", "step"))
    assert abs(np.corrcoef(sine[:, 2], step[:, 2])[0, 1]) < 5 / np.sqrt(N)
