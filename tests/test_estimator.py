"""The estimator: scikit-learn's contract, names, reproducibility, masks, duplicates, refusals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gpmnet
from gpmnet import GPM
from gpmnet.energies import DeepKernel
from gpmnet.engines import ENGINES
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalFound, LocalOptions
from gpmnet.errors import InputError
from gpmnet.network import Origin
from gpmnet.network.facts import plain_value
from gpmnet.nodes.models import NodeOptions
from gpmnet.parts import Part
from gpmnet.simulate import simulate

QUICK = DeepOptions(steps=2, lam=2.0, most_pairs=10, n_splits=1)
ESTIMATORS = [
    GPM(),
    GPM("dag"),
    GPM("deep", options=QUICK),
    GPM("deep", energy="pairwise", options=QUICK),
    GPM("paper", energy=DeepKernel(n_points=10), options=replace(QUICK, base="normal")),
    GPM(
        "kernels",
        energy=DeepKernel(n_kernels=1, hidden=3, n_points=10, reads=2),
        options=replace(QUICK, base="own"),
    ),
]


def test_all_engines_are_checked():
    assert {estimator.engine for estimator in ESTIMATORS} == set(ENGINES)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # two steps are not enough
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def chain(n=400, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": b + rng.normal(size=n), "d": rng.normal(size=n)})


def edges(model):
    found = model.network_.edges
    return {frozenset(pair) for pair in found[["source", "target"]].to_numpy().tolist()}


CHAIN = {frozenset("ab"), frozenset("bc")}


def test_names_in_names_out_for_any_frame():
    frame = chain()
    for source in (frame, pl.from_pandas(frame)):
        model = GPM(fdr=0.01).fit(source)
        assert edges(model) == CHAIN
        assert model.network_.names == ("a", "b", "c", "d")
        assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert gpmnet.fit(frame, fdr=0.01).neighbors("b") == ("a", "c")


def test_clone_and_pipeline():
    model = clone(GPM(fdr=0.01, random_state=3))
    assert model.get_params()["fdr"] == 0.01
    pipeline = make_pipeline(StandardScaler(), GPM(fdr=0.01)).fit(chain())
    assert pipeline[-1].network_.n_edges == 2


def test_the_edges_do_not_depend_on_the_seed():
    rng = np.random.default_rng(0)
    frame = simulate("random", kind="mixed", d=8, n=300, seed=1).frame()
    frame["count"] = rng.poisson(np.exp(frame["x1"].rank(pct=True)))
    one, other = (
        GPM(random_state=seed).fit(frame, kinds={"count": "continuous"}).network_ for seed in (0, 1)
    )
    assert one.n_edges > 0
    for name in ("p_value", "strength", "sign", "is_edge"):
        np.testing.assert_array_equal(getattr(one.pairs, name), getattr(other.pairs, name))


def test_same_seed_same_bytes_and_other_threads_same_edges():
    sample = simulate("random", kind="mixed", d=8, n=300, seed=1)
    one, two = (GPM(n_jobs=1).fit(sample.frame()) for _ in range(2))
    for name in one.network_.pairs.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one.network_.pairs, name), getattr(two.network_.pairs, name))
    threads = GPM(n_jobs=2).fit(sample.frame())
    assert edges(threads) == edges(one)


def test_a_pair_cannot_be_both_forbidden_and_required():
    with pytest.raises(InputError, match="both forbidden and required"):
        GPM(forbid=[("a", "b")], require=[("b", "a")]).fit(chain())


def test_forbidden_and_required_pairs():
    model = GPM(fdr=0.01, forbid=[("a", "b")], require=[("a", "d")]).fit(chain())
    assert frozenset("ab") not in edges(model)
    assert frozenset("ad") in edges(model)
    assert frozenset("ab") not in {
        frozenset(p) for p in model.network_.candidates[["source", "target"]].to_numpy().tolist()
    }


def test_duplicates_are_joined_and_not_fitted():
    frame = chain().assign(a2=lambda f: np.exp(f["a"]))
    model = GPM(fdr=0.01).fit(frame)
    assert edges(model) == CHAIN | {frozenset(["a", "a2"])}
    assert model.network_.names == ("a", "b", "c", "d", "a2")


def test_omega_of_a_duplicate_is_that_of_its_twin_and_nothing_else():
    frame = chain()
    frame.insert(1, "a2", np.exp(frame["a"]))
    model = GPM(fdr=0.01).fit(frame)
    names = model.network_.names
    assert names == ("a", "a2", "b", "c", "d")
    plain = GPM(fdr=0.01).fit(chain())
    keep = [names.index(name) for name in plain.network_.names]
    np.testing.assert_allclose(model.omega_[np.ix_(keep, keep)], plain.omega_)
    np.testing.assert_allclose(model.omega_[1], [np.nan, plain.omega_[0, 0], 0, 0, 0])
    np.testing.assert_array_equal(model.omega_, model.omega_.T)
    # the duplicate's edge has no shape, the others have one
    pairs, shapes = model.network_.pairs, model.network_.shapes
    ends = {(names[pairs.first[at]], names[pairs.second[at]]) for at in shapes.pair}
    assert ends == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize("option", ["forbid", "require"])
def test_a_pair_with_a_duplicate_is_refused_with_the_column_that_stands_for_it(option):
    frame = chain().assign(a2=lambda f: np.exp(f["a"]))
    with pytest.raises(InputError, match=r"'a2' is a duplicate of 'a' .* the edge with 'a'"):
        GPM(**{option: [("a2", "b")]}).fit(frame)


def test_shapes_have_axes_in_the_columns_own_units():
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    frame = pd.DataFrame({"a": 100 + 10 * a, "free": rng.normal(size=500), "c": np.where(a > 0, "yes", "no")})
    frame["b"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(
        np.round(100 * (a + rng.normal(size=500))), unit="D"
    )
    network = GPM(fdr=0.01).fit(frame).network_
    axes, pairs = network.shapes.axes, network.pairs
    at = network.names.index
    assert at("free") not in axes
    assert axes[at("a")].values == tuple(
        np.sort(frame["a"])[np.rint((np.arange(21) + 0.5) / 21 * 500 - 0.5).astype(int)]
    )
    assert axes[at("c")].values == ()
    assert axes[at("c")].labels == ("no", "yes")
    first, *_, last = axes[at("b")].labels
    assert "2019" <= first[:4] <= last[:4] <= "2021"
    assert first < last
    for position, value in zip(network.shapes.pair, network.shapes.values, strict=True):
        assert pairs.is_edge[position]
        assert value.shape == tuple(len(axes[end[position]]) for end in (pairs.first, pairs.second))


def test_only_the_strongest_edges_get_a_shape(monkeypatch):
    monkeypatch.setattr("gpmnet.network.build.MOST_SHAPES", 1)
    network = GPM(fdr=0.01).fit(chain()).network_
    assert network.n_edges == 2
    strength = np.where(network.pairs.is_edge, network.pairs.strength, 0)
    assert network.shapes.pair.tolist() == [int(strength.argmax())]


def test_the_loss_of_discrete_nodes_can_be_chosen():
    drawn = simulate("butterfly", kind="discrete", d=4, n=1000, seed=0).frame()
    options = LocalOptions(node=NodeOptions(discrete="marginalisation"))
    one, two = (GPM(fdr=0.01, options=o).fit(drawn) for o in (None, options))
    np.testing.assert_array_equal(one.network_.adjacency, two.network_.adjacency)
    found = [m.omega_[one.network_.adjacency] for m in (one, two)]
    assert np.abs(found[0] - found[1]).max() > 1e-3  # another estimate
    np.testing.assert_allclose(found[1], found[0], rtol=0.5)  # of the same thing


def test_omega_has_the_pattern_of_the_network():
    model = GPM(fdr=0.01).fit(chain())
    off = model.omega_ - np.diag(np.diag(model.omega_))
    np.testing.assert_array_equal(off > 0, model.network_.adjacency)
    np.testing.assert_array_equal(model.omega_, model.omega_.T)


def test_threshold_instead_of_rate():
    model = GPM(threshold=1e-6).fit(chain())
    assert edges(model) == CHAIN
    assert model.network_.fdr is None


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"engine": "magic"}, "engine='magic' is not one of local"),
        ({"fdr": 2.0}, "fdr must be between 0 and 1; got '2.0'"),
        ({"forbid": [("a", "zz")]}, "no variable 'zz'"),
        ({"require": [("a", "a")]}, "an edge with itself"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"missing": "guess"}, "missing='guess'"),
        ({"device": "cuda:99"}, "cuda"),
        ({"device": "cpu:zz"}, "device='cpu:zz' is not cpu or cuda"),
        ({"device": "mps"}, "device='mps' is not cpu or cuda"),
        ({"device": 0}, "device='0' is not cpu or cuda"),
        ({"forbid": ("a", "b")}, r"forbid must be a list of pairs of names, as in \[\('a', 'b'\)\]; got "),
        ({"forbid": "ab"}, "forbid must be a list of pairs of names"),
        ({"forbid": ["ab"]}, "forbid must be a list of pairs of names"),
        ({"forbid": [("a",)]}, "forbid must be a list of pairs of names"),
        ({"forbid": [("a", 1)]}, "forbid must be a list of pairs of names"),
        ({"require": np.array(["a", "b"])}, "require must be a list of pairs of names"),
        ({"require": np.array(3)}, "require must be a list of pairs of names"),
        ({"require": 3}, "require must be a list of pairs of names, .*; got '3'"),
        ({"random_state": "a"}, "random_state must be a whole number, a RandomState, .*; got 'a'"),
        ({"random_state": True}, "random_state must be"),
        ({"random_state": np.bool_(True)}, "random_state must be"),
        ({"random_state": 1.5}, "random_state must be"),
        ({"engine": "deep", "energy": "resnet"}, "nor an EnergyFamily$"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(InputError, match=words) as caught:
        GPM(**parameters).fit(chain())
    assert "\n" not in str(caught.value)


def test_an_origin_is_checked_before_the_table_is_read():
    with pytest.raises(InputError, match=r"^origin must be a gpmnet.network.Origin; got a str$"):
        GPM().fit("no such file.csv", origin="x")
    assert GPM().fit(chain(), origin=Origin("x")).network_.facts.origin.source == "x"


@pytest.mark.parametrize(
    "given",
    [np.array([["a", "b"]]), [["a", "b"]], {("a", "b")}, [frozenset("ab")]],
    ids=["array", "lists", "set", "sets"],  # the order of a set's own repr differs from process to process
)
def test_pairs_may_come_in_any_collection(given):
    assert frozenset("ab") not in edges(GPM(fdr=0.01, forbid=given).fit(chain()))


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_source_of_random_numbers_gives_the_seed(make):
    seeds = [GPM(random_state=make(3)).fit(chain()).network_.facts.seed for _ in range(2)]
    assert seeds[0] == seeds[1] != GPM(random_state=make(4)).fit(chain()).network_.facts.seed


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (GPM(), LocalOptions()),
        (GPM(options=LocalOptions(alpha_enter=0.02)), LocalOptions(alpha_enter=0.02)),
        (GPM("deep", energy="pairwise"), DeepOptions()),
        (GPM("deep", options=QUICK), QUICK),
        (GPM(DeepEngine(QUICK)), QUICK),
    ],
)
def test_the_facts_hold_every_setting_given_or_not(model, options):
    settings = model.fit(chain(60)).network_.facts.settings
    held = settings["engine"] if isinstance(model.engine, Part) else settings
    assert held["options"] == plain_value(options)
    assert settings["random_state"] == 0


def test_what_does_not_fit_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr("gpmnet.engines.base.available_bytes", lambda device, budget: 10**6)
    with pytest.raises(InputError, match=r"needs about 0.2\d GB of memory on cpu .* variables would fit"):
        GPM().fit(chain())


def test_numpy_numbers_are_as_good_as_pythons(tmp_path):
    parameters = {"fdr": np.float32(0.01), "n_jobs": np.int64(1), "random_state": np.int64(3)}
    options = LocalOptions(alpha_enter=np.float64(0.01), most_neighbors=np.int32(5))
    model = GPM(**parameters, options=options).fit(chain())
    assert edges(model) == CHAIN
    assert model.network_.fdr == pytest.approx(0.01)
    assert type(options.most_neighbors) is int
    model.network_.save(tmp_path)
    assert gpmnet.MarkovNetwork.load(tmp_path).facts == model.network_.facts


def test_a_fit_that_fails_leaves_the_one_before():
    model = GPM(fdr=0.01).fit(chain())
    before = dict(vars(model))
    with pytest.raises(InputError, match="no variable 'd'"):
        model.set_params(forbid=[("a", "d")]).fit(chain()[["a", "b"]])
    after = vars(model)
    assert {name for name in after if name.endswith("_")} == {name for name in before if name.endswith("_")}
    for name in (name for name in before if name.endswith("_")):
        assert after[name] is before[name]
    assert model.n_features_in_ == len(model.network_.names) == 4


def test_the_edges_are_told_before_omega_is_computed(monkeypatch):
    calls, describe = [], LocalFound.describe

    def told(network):
        calls.append(network)

    def described(*arguments):
        calls.append("omega")
        return describe(*arguments)

    monkeypatch.setattr(LocalFound, "describe", described)
    frame = chain().assign(twin=lambda f: f["a"])
    model = GPM().fit(frame, on_edges=told)
    early, then = calls
    assert then == "omega"
    columns = [name for name in early.edges.columns if name != "omega"]
    pd.testing.assert_frame_equal(early.edges[columns], model.network_.edges[columns])
    assert early.edges["omega"].isna().all()
    assert model.network_.edges["omega"].notna().sum() == len(early.edges) - 1  # a twin has none
    assert early.facts.warnings == ("Omega and the shapes of the edges are not there yet",)
    assert early.facts.settings == model.network_.facts.settings


def test_a_part_that_the_engine_does_not_have_is_refused():
    with pytest.raises(InputError, match="engine='local' has no penalty; it has options"):
        GPM(penalty="scad").fit(chain())


def test_a_search_that_ends_at_its_cap_says_so_with_the_name():
    rng = np.random.default_rng(0)
    hub = rng.normal(size=500)
    frame = pd.DataFrame({f"leaf{k}": hub + rng.normal(size=500) for k in range(4)}).assign(hub=hub)
    with pytest.warns(
        ConvergenceWarning, match=r"search for neighbors \(most_neighbors=1\) .* 'hub'"
    ) as caught:
        model = GPM(options=LocalOptions(most_neighbors=1)).fit(frame)
    assert len(caught) == 1
    assert not model.converged_
    assert "'hub'" in model.network_.facts.warnings[0]
    assert GPM().fit(chain()).converged_


def test_newtons_method_says_where_it_stopped():
    drawn = simulate("butterfly", kind="discrete", d=4, n=500, seed=0).frame()
    with pytest.warns(ConvergenceWarning, match=r"Newton's method \(newton_steps=1\)"):
        model = GPM(options=LocalOptions(node=NodeOptions(newton_steps=1))).fit(drawn)
    assert not model.converged_
    assert model.n_iter_ >= 1


def test_rounds_of_what_describes_the_edges_count(monkeypatch):
    plain = LocalFound.describe
    monkeypatch.setattr(LocalFound, "describe", lambda *given: replace(plain(*given), n_iter=1000))
    assert GPM().fit(chain()).n_iter_ == 1000
