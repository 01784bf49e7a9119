"""The deep engine through the estimator: graphs, Omega, masks, kinds, seeds, names, refusals, shapes."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

from gpmnet import GPM
from gpmnet.columns.functions import GRID
from gpmnet.energies import ENERGIES, MLP, Coordinates, DeepKernel, MLPEnergy, Pairwise
from gpmnet.energies.grids import edge_surfaces
from gpmnet.engines.base import Problem
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_omega import exact_omega
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.deep_tests import given_sets, joined_members
from gpmnet.engines.local import LocalOptions
from gpmnet.engines.local_tasks import Searched
from gpmnet.errors import InputError
from gpmnet.objectives import OBJECTIVES, Marginalisation, Mixed
from gpmnet.penalties import PENALTIES, SCAD
from gpmnet.selection.pair_rule import Limits
from gpmnet.simulate import simulate
from gpmnet.table import load_table
from gpmnet.testing.learned import LearnedTest

QUICK = DeepOptions(steps=20, lam=2.0)
# Most trainings here are cut short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def edges(model):
    found = model.network_.edges
    return {frozenset(pair) for pair in found[["source", "target"]].to_numpy().tolist()}


def chain(n=1000, d=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    for j in range(1, d):
        x[:, j] += 0.8 * x[:, j - 1]
    return pd.DataFrame(x, columns=list("abcdefg")[:d])


def mixed_frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    bit, a = rng.integers(0, 2, n), rng.normal(size=n)
    trit = np.where(rng.random(n) < 0.6, 2 * bit, rng.integers(0, 3, n))
    b = a + bit + 0.7 * rng.normal(size=n)
    return pd.DataFrame({"bit": bit, "a": a, "trit": trit, "b": b, "alone": rng.normal(size=n)})


KINDS = {"bit": "discrete", "trit": "discrete"}
PAIRS = {
    frozenset(p) for p in (("bit", "trit"), ("a", "b"), ("bit", "b"), ("a", "bit"))
}  # (a, bit) are parents of b


@pytest.fixture(scope="module")
def mixed():
    return GPM(engine="deep", options=DeepOptions(steps=30, lam=2.0)).fit(mixed_frame(), kinds=KINDS)


def test_parity_is_found_and_its_omega():
    frame = simulate("parity", d=3, n=600, seed=0).frame()
    deep = GPM(engine="deep", options=DeepOptions(steps=140, lam=2.0)).fit(frame)
    assert edges(deep) == {frozenset(p) for p in (("x1", "x2"), ("x1", "x3"), ("x2", "x3"))}
    assert deep.network_.edges["p_value"].max() < 1e-20
    assert deep.omega_[np.triu_indices(3, 1)] == pytest.approx(np.full(3, 2 * np.log(9)), rel=0.35)


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_a_parity_of_seven_is_found(kind):
    """Which is of seventh order in the weights of a network: products of signs find it."""
    frame = simulate("parity", d=7, n=1500, seed=0, kind=kind).frame()
    deep = GPM(engine="deep", options=DeepOptions(steps=250, lam=2.0)).fit(frame)
    assert len(edges(deep)) == 21
    if kind == "discrete":
        assert deep.omega_[np.triu_indices(7, 1)] == pytest.approx(np.full(21, 2 * np.log(9)), rel=0.3)


def test_a_gaussian_chain_and_its_precision():
    frame = chain(1500)
    model = GPM(engine="deep", options=DeepOptions(steps=20)).fit(frame)
    assert edges(model) == {frozenset(pair) for pair in ("ab", "bc", "cd", "de")}
    z = load_table(frame).encode(0).scores
    exact = np.abs(np.linalg.inv(np.cov(z, rowvar=False)))
    shown = model.omega_ > 0
    np.testing.assert_allclose(model.omega_[shown], exact[shown], rtol=0.2)


def test_omega_of_a_missing_edge_is_small_beside_those_of_the_edges():
    """Theorem 2 on a fitted model: given b, its two neighbors are independent; one is discrete, one is not."""
    rng = np.random.default_rng(0)
    b = rng.normal(size=3000)
    bit = (rng.random(3000) < 1 / (1 + np.exp(-1.5 * b))).astype(int)
    frame = pd.DataFrame({"bit": bit, "b": b, "c": b**2 / 2 + b + 0.7 * rng.normal(size=3000)})
    encoded = load_table(frame, kinds={"bit": "discrete"}).encode(0)
    found = DeepEngine(DeepOptions(steps=40, lam=3.0)).fit(Problem(encoded))
    omega = exact_omega(found.energy, found.rows).numpy()[np.ix_(found.order, found.order)]
    assert omega[0, 2] < 0.1 * min(omega[0, 1], omega[1, 2])


def test_mixed_tables_in_any_order_of_columns(mixed):
    assert edges(mixed) == PAIRS
    columns = ["alone", "b", "trit", "a", "bit"]
    other = GPM(engine="deep", options=DeepOptions(steps=30, lam=2.0)).fit(
        mixed_frame()[columns], kinds=KINDS
    )
    assert edges(other) == PAIRS
    place = [list(mixed.network_.names).index(name) for name in columns]
    np.testing.assert_allclose(other.omega_, mixed.omega_[np.ix_(place, place)], rtol=0.3, atol=0.1)


def test_every_kind_of_edge_has_a_shape(mixed):
    forms = {("bit", "trit"): "table", ("a", "b"): "surface", ("bit", "b"): "lines"}
    sizes = {("bit", "trit"): (2, 3), ("a", "b"): (21, 21), ("bit", "b"): (2, 21)}
    for pair, form in forms.items():
        found = mixed.network_.explain(*pair)
        assert (found.form, found.values.shape) == (form, sizes[pair])
        assert found.values[0, 0] > 0 > found.values[0, -1]  # they rise together


def test_shapes_are_the_mean_of_the_energy_double_centred():
    coordinates = Coordinates(1, (3,), (0.2, 0.5, 0.3))
    energy = MLPEnergy(coordinates, MLP(hidden=6), torch.Generator().manual_seed(0)).double()
    torch.nn.init.normal_(energy.output, generator=torch.Generator().manual_seed(1))
    h = coordinates.encode(torch.randn(40, 1, dtype=torch.float64), torch.randint(0, 3, (40, 1)))
    (surface,) = edge_surfaces(energy, h, np.array([1]), np.array([0]))
    value = np.zeros((3, len(GRID)))
    for k, t in np.ndindex(value.shape):
        moved = h.clone()
        moved[:, 0] = GRID[t]
        value[k, t] = float(energy(coordinates.replace(moved, 0, k)).mean().detach())
    value -= np.array(coordinates.shares) @ value
    value -= value.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(surface, value, atol=1e-6)


def test_forbidden_and_required_pairs():
    model = GPM(engine="deep", options=QUICK, forbid=[("a", "b")], require=[("a", "d")]).fit(chain(300, 4))
    assert frozenset("ab") not in edges(model)
    assert frozenset("ad") in edges(model)
    tested = model.network_.candidates[["source", "target"]].to_numpy().tolist()
    assert frozenset("ab") not in {frozenset(pair) for pair in tested}


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not():
    frame = mixed_frame(60)
    models = [
        GPM(engine="deep", options=QUICK, random_state=seed, n_jobs=1).fit(frame, kinds=KINDS)
        for seed in (3, 3, 4)
    ]
    one, two = (model.network_.pairs for model in models[:2])
    for name in one.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(models[0].omega_, models[1].omega_)
    assert not np.array_equal(models[0].omega_, models[2].omega_)


def test_clone_keeps_what_the_engine_needs():
    model = clone(GPM(engine="deep", energy="deep_kernel", objective="sliced", penalty="mcp", options=QUICK))
    kept = model.get_params()
    assert (kept["energy"], kept["objective"], kept["penalty"]) == ("deep_kernel", "sliced", "mcp")
    assert kept["options"] is not None
    assert clone(model).get_params()["options"] == QUICK


CHOICES = [("energy", name) for name in ENERGIES] + [("objective", name) for name in OBJECTIVES]
CHOICES += [("penalty", name) for name in PENALTIES]


@pytest.mark.parametrize(("part", "name"), CHOICES)
def test_every_name_runs(part, name):
    options = DeepOptions(steps=4, lam=2.0)
    model = GPM(engine="deep", options=options, **{part: name}).fit(mixed_frame(120), kinds=KINDS)
    assert frozenset(("a", "b")) in edges(model)
    # Only an edge of which the model has nothing has no Omega.
    assert (np.isfinite(model.omega_) | (model.network_.adjacency != 0)).all()
    assert np.nanmax(model.omega_) > 0


PARTS = [
    {"energy": MLP(hidden=8, depth=2)},
    {"energy": Pairwise(n_functions=2)},
    {"energy": DeepKernel(n_points=20, hidden=6, alpha="solved")},
    {"penalty": SCAD(a=2.5)},
]


@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_parts_with_other_numbers_run(parts):
    options = DeepOptions(steps=4, lam=2.0, base=Pairwise(n_functions=2))
    model = GPM(engine="deep", options=options, **parts).fit(mixed_frame(120), kinds=KINDS)
    assert frozenset(("a", "b")) in edges(model)
    # Only an edge of which the model has nothing has no Omega.
    assert (np.isfinite(model.omega_) | (model.network_.adjacency != 0)).all()
    assert np.nanmax(model.omega_) > 0


def test_the_published_objective_without_cap_and_ridge_runs_where_no_state_is_missing():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (600, 3))
    bits[:, 1] = np.where(rng.random(600) < 0.5, bits[:, 0], bits[:, 1])
    raw = Mixed(discrete=Marginalisation(cap=float("inf"), ridge=0))
    model = GPM(engine="deep", energy="pairwise", objective=raw, options=QUICK)
    assert edges(model.fit(pd.DataFrame(bits, columns=list("abc")))) == {frozenset("ab")}


def test_a_penalty_with_twice_the_lambda_at_half_of_lam_is_the_same():
    problem = Problem(load_table(chain(200, 3)).encode(0))
    one, two = (
        DeepEngine(DeepOptions(lam=lam), "pairwise", penalty=SCAD(factor)).fit(problem)
        for lam, factor in ((2.0, 1.0), (1.0, 2.0))
    )
    np.testing.assert_array_equal(one.omega, two.omega)


def test_what_was_learned_and_where_solvers_stopped_is_reported():
    """Adam with more steps than it needs converges; the base at a cap of 2 steps does not, and names a variable."""
    encoded = load_table(mixed_frame(150), kinds=KINDS).encode(0)
    engine = DeepEngine(DeepOptions(steps=6000, patience=1, batch=64, lam=2.0))
    done = engine.fit(Problem(encoded))
    assert done.stops == ()
    assert 20 < done.n_iter < 6000
    assert done.learned == {"energy": done.energy, "lam": 2.0, "survived": done.learned["survived"]}
    assert set(done.learned["survived"]) == {"all rows", "fold 1", "fold 2"}
    capped = DeepEngine(DeepOptions(steps=3, lam=2.0)).fit(Problem(encoded))
    assert [stop.solver for stop in capped.stops].count("Adam (steps=3)") == 3  # two folds, and all rows
    short = DeepEngine(DeepOptions(lam=2.0, proximal_steps=2), "pairwise").fit(Problem(encoded))
    pairs = [stop for stop in short.stops if stop.solver == "FISTA (proximal_steps=2)"]
    assert len(pairs) == 3
    assert "alone" not in {encoded.names[stop.variable] for stop in pairs}
    assert {stop.solver for stop in short.stops} - {pairs[0].solver} == {
        "FISTA without interactions (proximal_steps=2)"
    }
    assert all(0 <= stop.variable < 5 for stop in short.stops)


def test_the_second_phase_of_training_is_told_by_the_setting_that_caps_it():
    encoded = load_table(simulate("parity", d=3, n=300, seed=0).frame()).encode(0)
    found = DeepEngine(DeepOptions(steps=60, lam=2.0)).fit(Problem(encoded))
    assert {stop.solver for stop in found.stops} == {
        "Adam (steps=60)", "Adam with the penalty (a third of steps=60)",
    }  # fmt: skip


def test_the_fits_behind_lambda_and_adaptive_weights_are_told_at_their_caps():
    encoded = load_table(mixed_frame(150), kinds=KINDS).encode(0)
    found = DeepEngine(DeepOptions(proximal_steps=6), "pairwise", penalty="adaptive").fit(Problem(encoded))
    assert {stop.solver for stop in found.stops} >= {
        "FISTA along the path of lambda (proximal_steps=6)",
        "FISTA of first estimates (a third of proximal_steps=6)",
    }
    assert found.n_iter >= 6


def test_the_published_base_runs():
    model = GPM(engine="deep", options=DeepOptions(steps=60, base="normal", lam=1.0)).fit(chain(300, 3))
    assert edges(model) == {frozenset("ab"), frozenset("bc")}


@pytest.mark.parametrize("part", ["energy", "objective", "penalty"])
@pytest.mark.parametrize("value", ["resnet", ["mlp"], 3])
def test_a_wrong_name_is_refused_in_one_sentence(part, value):
    with pytest.raises(InputError, match=f"^{part}=.* is not one of "):
        GPM(engine="deep", **{part: value}).fit(chain(50, 3))


def test_options_of_the_other_engine_are_refused():
    with pytest.raises(InputError, match="DeepEngine: options must be a DeepOptions; got a LocalOptions"):
        GPM(engine="deep", options=LocalOptions()).fit(chain(50, 3))
    with pytest.raises(InputError, match="LocalEngine: options must be a LocalOptions; got a DeepOptions"):
        GPM(options=DeepOptions()).fit(chain(50, 3))


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam": -1.0}, {"lam": float("nan")}, {"n_folds": 1}, {"steps": -1},
        {"batch": 0}, {"batch": "many"}, {"patience": 0}, {"omega_rows": 1.5}, {"most_pairs": 0},
        {"learning_rate": 0.0}, {"held_out": 0.0}, {"held_out": 1.0}, {"local": None},
    ],
)  # fmt: skip
def test_wrong_options_are_refused_by_name(wrong):
    with pytest.raises(InputError, match=f"DeepOptions: {next(iter(wrong))} must be"):
        DeepOptions(**wrong)


@pytest.mark.parametrize("wrong", ["none", 3, MLP()])
def test_a_wrong_base_is_refused_by_name(wrong):
    with pytest.raises(InputError, match=r"^base=.* is not one of pairwise, own, normal, nor a BaseFamily$"):
        DeepOptions(base=wrong)


@pytest.mark.parametrize(("n", "n_folds"), [(2, 2), (3, 2), (9, 5), (19, 10)])
def test_fewer_than_two_rows_a_fold_are_refused(n, n_folds):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 2)), columns=["a", "b"])
    words = f"^the deep engine with n_folds={n_folds} needs at least {2 * n_folds} rows; the table has {n}$"
    with pytest.raises(InputError, match=words):
        GPM("deep", options=DeepOptions(n_folds=n_folds)).fit(
            frame, kinds={"a": "continuous", "b": "continuous"}
        )


@pytest.mark.parametrize("n", [4, 9])
def test_a_handful_of_rows_is_fitted(n):
    model = GPM(engine="deep", options=DeepOptions(steps=3, patience=1, lam=2.0)).fit(
        mixed_frame(n).drop(columns="trit")
    )
    assert model.network_.n_edges <= 3


def test_all_pairs_up_to_a_threshold_get_the_full_test(monkeypatch):
    calls = []
    plain = LearnedTest.log_p

    def log_p(self, first, second, given):
        calls.append((first, second, plain(self, first, second, given)))
        return calls[-1][2]

    monkeypatch.setattr(LearnedTest, "log_p", log_p)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 7)))
    problem = Problem(load_table(frame).encode(0), alpha=0.8)
    found = DeepEngine(DeepOptions(lam=0.0), "pairwise").fit(problem)
    first, second, early = calls[0]
    close = early < np.log(0.8)
    wanted = set(zip(first[close].tolist(), second[close].tolist(), strict=True))
    assert len(wanted) > 10
    assert wanted <= set(zip(found.first.tolist(), found.second.tolist(), strict=True))


def test_few_pairs_are_tested_in_learned_directions_where_few_are_asked_for():
    calls = []
    options = DeepOptions(steps=0, lam=2.0, most_pairs=2)
    encoded = load_table(chain(200, 4)).encode(0)
    problem = Problem(encoded, progress=lambda phase, done, total, note="": calls.append((phase, total)))
    DeepEngine(options).fit(problem)
    assert ("learned directions", 2) in calls


def test_sets_hold_both_neighborhoods_without_the_pair_and_learned_members_come_first():
    members = torch.tensor([[1, 3, -1], [0, 2, -1], [1, -1, -1], [0, -1, -1]])
    found = Searched(None, members, None, None, None, Limits(0.1, 3), 1, ())
    pair = torch.tensor([0]), torch.tensor([1])
    assert given_sets(found, *pair).tolist() == [[2, 3]]
    assert joined_members(members, torch.tensor([[2], [-1], [3], [2]]), 3).tolist() == [
        [2, 1, 3], [0, 2, -1], [3, 1, -1], [2, 0, -1],
    ]  # fmt: skip


def test_the_command_line_fits_with_the_deep_engine(tmp_path):
    chain(60, 3).to_csv(tmp_path / "t.csv", index=False)
    arguments = [
        "fit",
        tmp_path / "t.csv",
        "-o",
        tmp_path / "out",
        "--engine",
        "deep",
        "--energy",
        "pairwise",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "gpmnet", *map(str, arguments), "--no-report"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "edges at FDR 0.05" in done.stdout
