"""What holds for every baseline."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from gpmnet.baselines import BASELINES, GesGs, Glasso, HillClimb, KciIamb, PartialCorrelations, PcRcit, Sing
from gpmnet.errors import InputError, MissingExtraError

# The packages of the extra; the others are there wherever gpmnet is.
NEEDS = {
    name: baseline.module.partition(".")[0]
    for name, baseline in BASELINES.items()
    if baseline.package in ("causal-learn", "pgmpy", "TransportMaps")
}
SMALL = {"sing": {"order": 1}, "gs": {"folds": 3}}


def small(name, **options):
    if NEEDS.get(name) and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    return BASELINES[name](**SMALL.get(name, {}), **options)


@pytest.fixture
def gaussian(make_table):
    """An edge 0 - 1 that no method can miss, and a column alone."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 150))
    return make_table(x, x + 0.4 * rng.normal(size=150), z)


def test_names():
    assert list(BASELINES) == [
        *("glasso", "glasso-ebic", "npn", "npn-ebic", "kci", "rcit", "pc-rcit", "pc-rcot"),
        *("gs", "sing", "hc", "partial-corr"),
    ]
    assert all(name == baseline.name for name, baseline in BASELINES.items())
    assert all(bool(baseline.module) == bool(baseline.package) for baseline in BASELINES.values())
    assert set(NEEDS) == {"kci", "rcit", "pc-rcit", "pc-rcot", "gs", "sing", "hc"}


@pytest.mark.parametrize("name", BASELINES)
def test_fit_gives_a_network_with_the_obvious_edge(name, gaussian):
    model = small(name, random_state=3)
    assert model.supports(gaussian) == (True, "")
    assert model.fit(gaussian) is model
    network = model.network_
    assert network.names == gaussian.names
    assert network.adjacency.dtype == bool
    assert network.adjacency[0, 1]
    assert np.array_equal(network.adjacency, network.adjacency.T)
    if model.weights_ is not None:
        assert model.weights_.shape == (3, 3)
        assert np.array_equal(model.weights_, model.weights_.T)
        assert not model.weights_.diagonal().any()
        assert np.isfinite(model.weights_).all()
        assert model.weights_[0, 1] == model.weights_.max() > 0


@pytest.mark.parametrize("name", BASELINES)
def test_the_same_seed_gives_the_same_answer(name, gaussian):
    first, second = (small(name, random_state=5)._graph(gaussian) for _ in range(2))
    assert np.array_equal(first[0], second[0])
    assert (first[1] is None and second[1] is None) or np.array_equal(first[1], second[1])


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "sing"])
def test_mixed_tables_run(name, make_table):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 200)
    b = np.where(rng.random(200) < 0.9, a, rng.integers(0, 3, 200))
    table = make_table(a, b, rng.normal(size=200), discrete=[0, 1])
    model = small(name)
    assert model.supports(table) == (True, "")
    assert model._graph(table)[0][0, 1]


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda data: data[:5], "5 rows"),
        (lambda data: data[:, :1], "1 variable"),
        (lambda data: np.where(np.arange(3) == 1, 7.0, data), "column 'a column 1' is constant"),
        (lambda data: np.where(data == data[2, 2], np.nan, data), "column 'a column 2' has missing"),
    ],
)
def test_a_table_that_cannot_be_used_has_a_reason_and_fit_raises_it(
    name, spoil, reason, gaussian, make_table
):
    table = make_table(*spoil(gaussian.values()).T)
    model = BASELINES[name]()
    able, said = model.supports(table)
    assert not able
    if name != "gs" or "rows" not in reason:
        assert reason in said
    with pytest.raises(InputError, match=f"The baseline '{name}' cannot use this table: "):
        model.fit(table)


def test_as_many_variables_as_rows_have_no_partial_correlations(make_table):
    able, reason = PartialCorrelations().supports(make_table(*np.random.default_rng(0).normal(size=(20, 20))))
    assert not able
    assert reason == "20 rows are not more than 20 variables"


def test_bdeu_needs_discrete_columns(gaussian):
    assert HillClimb(score="bdeu").supports(gaussian) == (False, "BDeu is for discrete columns only")
    assert not HillClimb(score="bic-andrews").supports(gaussian)[0]


@pytest.mark.parametrize(
    "model",
    [
        Glasso(selection="aic"),
        Glasso(gamma=-1),
        Glasso(max_iter=0),
        KciIamb(alpha=0.0),
        KciIamb(rule="xor"),
        PcRcit(alpha=1.0),
        PcRcit(max_conditioning=-1),
        GesGs(folds=1),
        GesGs(ridge=0),
        Sing(order=0),
        Sing(delta=-1.0),
        Sing(ordering="reverse-cholesky"),
        HillClimb(score="aic"),
        HillClimb(max_parents=0),
        PartialCorrelations(fdr=2),
    ],
    ids=repr,
)
def test_wrong_options_are_found_by_fit_and_named(model, gaussian):
    with pytest.raises(InputError, match=rf"^{model.name}: \w+ must be .*; got '"):
        model.fit(gaussian)


@pytest.mark.parametrize(("name", "module"), NEEDS.items())
def test_a_missing_package_names_the_extra(name, module, gaussian, monkeypatch):
    for loaded in [known for known in sys.modules if known.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gpmnet\[baselines\]'"):
        BASELINES[name]().fit(gaussian)


def test_importing_the_registry_imports_no_heavy_package():
    code = "import sys, gpmnet.baselines; print([m for m in {heavy} if m in sys.modules])"
    heavy = ["causallearn", "pgmpy", "TransportMaps", "sklearn", "torch", "pandas"]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; " + code.format(heavy=heavy)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
