"""A toy part of each kind, added the way CONTRIBUTING.md says: one class, and one line where it has a word of its own."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from gpmnet import GPM
from gpmnet.baselines import BASELINES, Baseline
from gpmnet.columns.functions import feature_functions
from gpmnet.energies import ENERGIES, Energy, EnergyFamily
from gpmnet.engines import ENGINES
from gpmnet.engines.base import Description, Engine, Found
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalOptions
from gpmnet.graphs import undirected
from gpmnet.nodes.score_test import ScoreTest
from gpmnet.objectives import OBJECTIVES, Objective
from gpmnet.penalties import PENALTIES, Penalty
from gpmnet.selection.pair_rule import PairRule, ends, union
from gpmnet.simulate import SIMULATORS, simulate
from gpmnet.simulate.base import Simulation, Simulator, column_names
from gpmnet.table import MISSING, Admitted, MissingPolicy, load_table
from gpmnet.testing.base import ConditionalTest, PairTests

QUICK = DeepOptions(steps=20, lam=2.0)


def chain(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": b + rng.normal(size=n), "d": rng.normal(size=n)})


def edges(model):
    return {"".join(sorted(pair)) for pair in model.network_.edges[["source", "target"]].to_numpy().tolist()}


@dataclass(frozen=True)
class Ridge(Penalty):
    """lam w^2 / 2: shrinks and never selects."""

    def value(self, omega):
        return self.lam * omega**2 / 2

    def derivative(self, omega):
        return self.lam * abs(omega)

    def prox(self, omega, step):
        return omega / (1 + step * self.lam)


def test_a_penalty(monkeypatch):
    monkeypatch.setitem(PENALTIES, "ridge", Ridge())
    for penalty in ("ridge", Ridge(2.0)):
        model = GPM("deep", penalty=penalty, energy="pairwise", options=QUICK).fit(chain())
        assert {"ab", "bc"} <= edges(model)
        assert (model.omega_[np.triu_indices(4, 1)] >= 0).all()
    assert GPM("deep", penalty="ridge").set_params(penalty__lam=3.0).penalty == Ridge(3.0)


@dataclass(frozen=True)
class Squares(EnergyFamily):
    """A quadratic form of the rows, times a scale."""

    scale: float = 1.0

    def build(self, coordinates, rows, generator):
        return SquaresEnergy(coordinates, self.scale).to(rows)


class SquaresEnergy(Energy):
    def __init__(self, coordinates, scale):
        super().__init__(coordinates)
        self.scale = scale
        self.form = torch.nn.Parameter(torch.zeros(coordinates.width, coordinates.width))

    def forward(self, h):
        return -self.scale * (h @ (self.form + self.form.mT) * h).sum(dim=-1)


def test_an_energy(monkeypatch):
    monkeypatch.setitem(ENERGIES, "squares", Squares())
    model = GPM("deep", energy="squares", options=QUICK).fit(chain())
    assert {"ab", "bc"} <= edges(model)
    assert GPM("deep", energy="squares").set_params(energy__scale=0.5).energy == Squares(0.5)


@dataclass(frozen=True)
class ScaledScore(Objective):
    """The score-matching loss, weighted."""

    weight: float = 1.0

    def __call__(self, energy, h, generator=None):
        return self.weight * OBJECTIVES["mixed"](energy, h, generator)


def test_an_objective(monkeypatch):
    monkeypatch.setitem(OBJECTIVES, "scaled", ScaledScore())
    one, other = (GPM("deep", objective=o, options=QUICK).fit(chain()) for o in ("scaled", "mixed"))
    np.testing.assert_allclose(one.omega_, other.omega_, rtol=1e-5, atol=1e-6)
    assert GPM("deep", objective=ScaledScore(2.0)).set_params(objective__weight=3.0).objective.weight == 3.0


@dataclass(frozen=True)
class Step:
    """1 above a score: what smooth functions see badly."""

    at: float

    def value(self, s):
        return (s.z > self.at).to(s.z)

    def first(self, s):
        return torch.zeros_like(s.z)

    second = first


def test_a_column_feature():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    y = np.where(x > 1.6, 1.2, 0.0) + rng.normal(size=1000)
    options = LocalOptions(functions=(*feature_functions(3), Step(1.6)))
    plain, stepped = (
        GPM(options=o).fit(np.column_stack([x, y])).network_.pairs.p_value[0] for o in (None, options)
    )
    assert stepped < plain


@dataclass(frozen=True)
class PartialCorrelation(ConditionalTest):
    """The partial correlation of normal scores given the set, by Fisher's z."""

    floor: float = 0.0

    def pairs(self, designs, first, second, given):
        z = designs.features.mid_scores.double()
        start = designs.features.score_start
        tests = PairTests.unknown(len(first), first.device)
        for at in range(len(first)):
            around = z[:, start[given[at][given[at] >= 0]]]
            around = torch.cat([torch.ones_like(z[:, :1]), around], dim=1)
            ends_of = torch.stack([z[:, start[first[at]]], z[:, start[second[at]]]], dim=1)
            left = ends_of - around @ torch.linalg.lstsq(around, ends_of).solution
            r = float((left[:, 0] * left[:, 1]).sum() / left.norm(dim=0).prod())
            n = len(z) - around.shape[1]
            log_p = np.log(2) + stats.norm.logsf(abs(np.arctanh(r)) * np.sqrt(n - 2))
            row = torch.tensor(
                [[log_p], [max(abs(r), self.floor)], [n**-0.5], [0.0], [np.sign(r)], [float(n)], [len(z)]],
                dtype=torch.float64,
            )
            tests.put(torch.tensor([at]), PairTests(*row))
        return tests


def test_a_conditional_independence_test():
    model = GPM(fdr=0.01, options=LocalOptions(test=PartialCorrelation())).fit(chain())
    assert edges(model) == {"ab", "bc"}
    assert model.network_.edges["strength"].between(0.4, 0.9).all()


def test_the_score_test_stands_in_for_the_double_residual():
    """On all kinds of column, in the search and in the pair p-values."""
    drawn = simulate("butterfly", kind="mixed", d=6, n=600, seed=0)
    kinds = dict(zip(drawn.names, drawn.kinds, strict=True))
    usual, score = (
        GPM(fdr=0.01, options=options).fit(drawn.frame(), kinds=kinds)
        for options in (None, LocalOptions(test=ScoreTest()))
    )
    np.testing.assert_array_equal(score.network_.adjacency, drawn.truth.toarray())
    np.testing.assert_array_equal(usual.network_.adjacency, drawn.truth.toarray())
    assert not np.array_equal(usual.network_.pairs.p_value, score.network_.pairs.p_value)


@dataclass(frozen=True)
class GivenBoth(PairRule):
    """One test, given both neighborhoods."""

    def __call__(self, test, members, first, second, limits):
        return test.pairs(first, second, union(*ends(members, first, second)))


def test_a_pair_rule():
    model = GPM(fdr=0.01, options=LocalOptions(rule=GivenBoth())).fit(chain(seed=1))
    assert edges(model) == {"ab", "bc"}


@dataclass(frozen=True)
class MarginalEngine(Engine):
    """Plain correlations of ranks."""

    def memory(self, n_rows, n_levels):
        return 8 * n_rows * len(n_levels)

    def fit(self, problem):
        z = problem.encoded.scores
        first, second = np.triu_indices(problem.d, 1)
        r = np.corrcoef(z.T)[first, second]
        log_p = np.log(2) + stats.norm.logsf(np.abs(np.arctanh(r)) * np.sqrt(problem.n - 3))
        problem.progress("correlations", 1, 1)
        error, excess = np.full_like(r, (problem.n - 3) ** -0.5), np.zeros_like(r)
        learned, rows = {"correlations": r}, np.full_like(r, problem.n)
        return MarginalFound(first, second, log_p, np.abs(r), error, excess, np.sign(r), rows, 1, (), learned)


@dataclass(frozen=True, eq=False)
class MarginalFound(Found):
    def describe(self, is_edge, shown):
        d = int(self.second.max()) + 1
        flat = [np.zeros((21, 21), dtype=np.float32) for _ in shown]
        return Description(np.where(is_edge, self.strength, np.nan), np.ones(d), flat)


@pytest.mark.parametrize("engine", ["marginal", MarginalEngine()])
def test_an_engine(monkeypatch, engine, tmp_path):
    monkeypatch.setitem(ENGINES, "marginal", MarginalEngine)
    seen = []
    model = GPM(engine, fdr=0.01).fit(chain(), progress=lambda *what: seen.append(what))
    assert edges(model) == {"ab", "bc", "ac"}
    assert model.correlations_.shape == (6,)
    assert model.converged_
    assert [what for what in seen if what[0] not in ("read", "encode")] == [("correlations", 1, 1)]
    model.network_.save(tmp_path)
    model.network_.report(tmp_path / "report.html")


@dataclass(kw_only=True, eq=False)
class Everything(Baseline):
    """Joins all pairs."""

    name: ClassVar[str] = "everything"

    def _graph(self, table):
        d = len(table.names)
        return ~np.eye(d, dtype=bool), None


def test_a_baseline(monkeypatch):
    monkeypatch.setitem(BASELINES, Everything.name, Everything)
    assert BASELINES["everything"]().fit(load_table(chain())).network_.n_edges == 6


@dataclass(frozen=True)
class FirstRows(MissingPolicy):
    """Keep the rows before the first gap."""

    most: int = 10**6

    def admit(self, raw, schema):
        gaps = np.isnan(raw.numbers).any(axis=1)
        return Admitted(raw.take(np.arange(min(self.most, int(gaps.argmax())))))


def test_a_missing_value_policy(monkeypatch):
    monkeypatch.setitem(MISSING, "first", FirstRows())
    frame = chain()
    frame.loc[200, "a"] = np.nan
    assert GPM(missing="first").fit(frame).network_.n_rows == 200
    assert load_table(frame, missing=FirstRows(most=150)).n_rows == 150


@dataclass(frozen=True)
class Pair(Simulator):
    """One pair of dependent normals."""

    name: ClassVar[str] = "pair"
    slope: float = 1.0

    def _draw(self, d, n, seed, kind):
        values = np.random.default_rng(seed).normal(size=(n, d))
        values[:, 1] += self.slope * values[:, 0]
        truth = undirected(d, np.array([0]), np.array([1]))
        parameters = self._parameters(d, n, seed, kind)
        return Simulation(self.name, column_names(d), values, (kind,) * d, truth, parameters, (0,) * d)


def test_a_simulator(monkeypatch):
    monkeypatch.setitem(SIMULATORS, "pair", Pair())
    drawn = simulate("pair", d=3, n=200, seed=1, slope=2.0)
    np.testing.assert_array_equal(GPM(fdr=0.01).fit(drawn.frame()).network_.adjacency, drawn.truth.toarray())


def test_every_kind_of_part_in_contributing_is_tried_here():
    import re
    from pathlib import Path

    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("| to add a |") :].split("\n\n")[0]
    kinds = re.findall(r"^\| ([\w -]+) \|", table, re.MULTILINE)
    here = Path(__file__).read_text(encoding="utf-8")
    for kind in kinds:
        if kind in ("to add a", "example"):
            continue
        assert re.search(rf"def test_an?_{re.sub('[ -]', '_', kind)}\b", here), kind
