"""Edges by Omega alone: the paper's rule without tests, its network, and the preset of the paper."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gpmnet import GPM, MarkovNetwork
from gpmnet.energies import DeepKernel, Normal
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_memory import model_bytes
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.paper import PaperEngine
from gpmnet.errors import InputError
from gpmnet.objectives import Marginalisation
from gpmnet.simulate import simulate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FAST = DeepOptions(steps=100, patience=50, proximal_steps=100)


def by_omega(frame, **options):
    return GPM("deep", decide="omega", **({"energy": "pairwise"} | options)).fit(frame)


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_a_butterfly_is_recovered_without_tests(kind):
    drawn = simulate("butterfly", d=6, n=1000, seed=1, kind=kind)
    model = by_omega(drawn.frame(), options=FAST)
    np.testing.assert_array_equal(model.network_.adjacency != 0, drawn.truth.toarray() != 0)


def test_independent_variables_have_no_edges():
    edges = sum(
        len(by_omega(simulate("null", d=10, n=500, seed=seed).frame()).network_.edges) for seed in range(4)
    )
    assert edges <= 2


def test_a_gaussian_chain_has_its_partial_correlations():
    drawn = simulate("gaussian", d=5, n=2000, seed=0, structure="chain")
    model = by_omega(drawn.frame())
    np.testing.assert_array_equal(model.network_.adjacency != 0, drawn.truth.toarray() != 0)
    precision = np.abs(
        np.asarray(drawn.precision.toarray() if hasattr(drawn.precision, "toarray") else drawn.precision)
    )
    scale = np.sqrt(np.diag(precision))
    expected = precision / np.outer(scale, scale)
    for row in model.network_.edges.itertuples():
        at = [drawn.names.index(name) for name in (row.source, row.target)]
        assert row.strength == pytest.approx(expected[*at], abs=0.1)


def test_there_are_no_p_values_and_the_network_says_why(tmp_path):
    drawn = simulate("butterfly", d=4, n=600, seed=0)
    model = by_omega(drawn.frame(), options=FAST)
    edges = model.network_.edges
    assert edges["p_value"].isna().all()
    assert edges["q_value"].isna().all()
    assert model.network_.cutoff is None
    assert any("support of Omega" in text for text in model.network_.facts.warnings)
    model.network_.save(tmp_path / "net")
    again = MarkovNetwork.load(tmp_path / "net")
    np.testing.assert_array_equal(again.adjacency, model.network_.adjacency)
    assert again.cutoff is None


def test_omega_is_whole_and_symmetric_with_a_network_on_top():
    drawn = simulate("butterfly", d=4, n=600, seed=0)
    options = DeepOptions(base="normal", steps=100, patience=100)
    model = by_omega(drawn.frame(), energy="mlp", options=options)
    is_edge = model.network_.adjacency != 0
    assert (model.omega_[~is_edge & ~np.eye(4, dtype=bool)] > 0).any()
    np.testing.assert_allclose(model.omega_, model.omega_.T, atol=1e-6)


def test_forbidden_pairs_are_no_edges_and_required_ones_are():
    drawn = simulate("butterfly", d=4, n=600, seed=0)
    names = drawn.names
    (a, b) = next(iter(drawn.edges().itertuples(index=False)))
    other = next(name for name in names if name not in (a, b))
    model = by_omega(drawn.frame(), options=FAST, forbid=[(a, b)], require=[(a, other)])
    pairs = {frozenset(pair) for pair in model.network_.edges[["source", "target"]].itertuples(index=False)}
    assert frozenset((a, b)) not in pairs
    assert frozenset((a, other)) in pairs


def test_the_same_seed_gives_the_same_edges():
    frame = simulate("random", d=6, n=500, seed=3).frame()
    one, other = (by_omega(frame, options=FAST, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one.omega_, other.omega_)
    np.testing.assert_array_equal(one.network_.adjacency, other.network_.adjacency)


def test_cutoffs_of_p_values_are_refused():
    with pytest.raises(InputError, match="choose edges by p-values; here edges are the support of Omega"):
        by_omega(np.random.default_rng(0).normal(size=(50, 3)), threshold=0.01)
    with pytest.raises(InputError, match="decide"):
        GPM("deep", decide="luck").fit(np.random.default_rng(0).normal(size=(50, 3)))
    with pytest.raises(InputError, match="has no decide"):
        GPM("local", decide="omega").fit(np.random.default_rng(0).normal(size=(50, 3)))


def test_the_preset_has_the_parts_of_the_paper_and_runs():
    engine = PaperEngine()
    assert isinstance(engine.energy, DeepKernel)
    assert engine.objective.discrete == Marginalisation(cap=np.inf, ridge=0.0)
    assert engine.options.base == Normal()
    assert engine.penalty.a == 3.7
    assert engine.decide == "omega"
    model = GPM("paper").set_params(options__steps=20, energy__n_points=20, options__proximal_steps=20)
    frame = simulate("butterfly", d=4, n=200, seed=0).frame()
    assert model.fit(frame).network_.cutoff is None


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_listed_pairs_give_the_edges_and_the_omega_of_all_pairs(kind):
    drawn = simulate("butterfly", d=10, n=600, seed=2, kind=kind)
    every, listed = (
        by_omega(drawn.frame(), penalty="l1", options=DeepOptions(all_pairs_up_to=most)) for most in (40, 3)
    )
    np.testing.assert_array_equal(listed.network_.adjacency, every.network_.adjacency)
    is_edge = every.network_.adjacency != 0
    assert is_edge.any()
    # Units of all pairs come from eight random signs, a fifth off; those of a list are exact (see the solver for equality).
    np.testing.assert_allclose(listed.omega_[is_edge], every.omega_[is_edge], rtol=0.3)
    np.testing.assert_allclose(listed.omega_.diagonal(), every.omega_.diagonal(), rtol=0.1)
    strengths = (
        model.network_.edges.sort_values(["source", "target"])["strength"] for model in (listed, every)
    )
    np.testing.assert_allclose(*strengths, rtol=0.3)


def test_listed_pairs_keep_to_what_is_forbidden_and_required_and_have_shapes():
    drawn = simulate("butterfly", d=6, n=500, seed=0)
    (a, b) = next(iter(drawn.edges().itertuples(index=False)))
    other = next(name for name in drawn.names if name not in (a, b))
    options = DeepOptions(all_pairs_up_to=0)
    network = by_omega(drawn.frame(), options=options, forbid=[(a, b)], require=[(a, other)]).network_
    pairs = {frozenset(pair) for pair in network.edges[["source", "target"]].itertuples(index=False)}
    assert frozenset((a, b)) not in pairs
    assert frozenset((a, other)) in pairs
    assert len(network.shapes.pair) == len(network.edges)


def test_two_hundred_variables_are_recovered_from_lists():
    drawn = simulate("butterfly", d=200, n=800, seed=0)
    model = by_omega(drawn.frame(), options=DeepOptions(n_splits=1))
    wrong = (model.network_.adjacency != 0) != (drawn.truth.toarray() != 0)
    assert wrong.sum() / 2 <= 2


def test_the_memory_of_lists_does_not_grow_with_all_pairs():
    engine = DeepEngine(energy="pairwise", decide="omega")
    small, large = (model_bytes(engine, 1000, np.zeros(d, dtype=np.intp)) for d in (500, 5000))
    assert 5 < large / small < 12
    dense = DeepEngine(energy="pairwise", decide="omega", options=DeepOptions(all_pairs_up_to=10_000))
    assert model_bytes(dense, 1000, np.zeros(5000, dtype=np.intp)) > 5 * large


def test_own_terms_are_trained_with_the_energy_and_interactions_are_not():
    frame = simulate("butterfly", d=2, n=600, seed=0).frame()
    options = DeepOptions(base="own", steps=150, n_splits=1, proximal_steps=50)
    model = by_omega(frame, energy="mlp", objective="noisy", options=options)
    (_, own), _ = model.energy_
    assert model.survived_["all rows"]
    assert not own.theta.any()
    before = by_omega(frame, energy="mlp", objective="noisy", options=replace(options, steps=0)).energy_
    (_, start), _ = before
    assert not torch.equal(own.own, start.own)


def test_kernels_of_pairs_on_blurred_rows_recover_a_butterfly():
    drawn = simulate("butterfly", d=4, n=1000, seed=1)
    options = DeepOptions(base="own", steps=100, batch=128, learning_rate=0.02, n_splits=1, patience=100)
    model = by_omega(drawn.frame(), energy="kernel_pairs", objective="noisy", options=options)
    np.testing.assert_array_equal(model.network_.adjacency != 0, drawn.truth.toarray() != 0)


def test_stars_finds_a_lambda_with_the_chain():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 12))
    for k in range(1, 4):
        x[:, k] += 0.8 * x[:, k - 1]
    model = GPM("deep", energy="pairwise", decide="omega").set_params(options__lam="stars").fit(x)
    found = set(zip(model.network_.edges["source"], model.network_.edges["target"], strict=True))
    assert found == {("x1", "x2"), ("x2", "x3"), ("x3", "x4")}
    assert 0.25 <= model.lam_ <= 4.0
    with pytest.raises(InputError, match="lam must be one of stars"):
        GPM("deep").set_params(options__lam="best")
