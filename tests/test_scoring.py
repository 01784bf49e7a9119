"""The held-out score: against closed forms, and inside scikit-learn's tools."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from gpmnet import GPM, MarkovNetwork
from gpmnet.errors import InputError
from gpmnet.scoring import held_out_gain, scores_among
from gpmnet.table import load_table


def gaussian(n, seed, r=0.6):
    rng = np.random.default_rng(seed)
    a, noise, c = rng.normal(size=(3, n))
    return pd.DataFrame({"a": a, "b": r * a + np.sqrt(1 - r**2) * noise, "c": c})


def network(*edges, names="abc"):
    d = len(names)
    adjacency = np.zeros((d, d), dtype=bool)
    for a, b in edges:
        i, j = names.index(a), names.index(b)
        adjacency[i, j] = adjacency[j, i] = True
    return MarkovNetwork.from_adjacency(tuple(names), adjacency)


def test_of_gaussians_the_gain_is_the_mutual_information_at_both_ends():
    table, rows = load_table(gaussian(8000, 0)), gaussian(8000, 1)
    expected = 2 * -0.5 * np.log(1 - 0.6**2)
    assert held_out_gain(network("ab"), table, rows) == pytest.approx(expected, abs=0.03)
    assert held_out_gain(network(), table, rows) == 0.0


def test_of_categories_the_gain_is_the_mutual_information():
    rng = np.random.default_rng(0)
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    cells = rng.choice(4, p=joint.ravel(), size=12000)
    frame = pd.DataFrame({"a": np.array(["x", "y"])[cells // 2], "b": np.array(["u", "v"])[cells % 2]})
    expected = 2 * (joint * np.log(joint / 0.25)).sum()
    found = held_out_gain(network("ab", names="ab"), load_table(frame[:6000]), frame[6000:])
    assert found == pytest.approx(expected, abs=0.03)


def test_the_true_graph_beats_one_with_less_and_one_with_more():
    rng = np.random.default_rng(0)
    few, rows = gaussian(60, 2), gaussian(5000, 3)
    noise = {f"n{k}": rng.normal(size=60) for k in range(9)}
    table = load_table(few.assign(**noise))
    rows = rows.assign(**{name: rng.normal(size=5000) for name in noise})
    names = table.names
    true, more = np.zeros((12, 12), dtype=bool), np.ones((12, 12), dtype=bool) & ~np.eye(12, dtype=bool)
    true[0, 1] = true[1, 0] = True
    gains = [
        held_out_gain(MarkovNetwork.from_adjacency(names, graph), table, rows)
        for graph in (true, more, np.zeros_like(true))
    ]
    assert gains[0] > 0.2
    assert gains[0] > gains[1]
    assert gains[2] == 0.0


def test_gaps_and_unseen_levels_are_left_out():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 400)
    frame = pd.DataFrame({"a": rng.normal(size=400) + (sex == "f"), "sex": sex})
    graph = MarkovNetwork.from_adjacency(("a", "sex"), [[0, 1], [1, 0]])
    table = load_table(frame[:200])
    whole = held_out_gain(graph, table, frame[200:])
    gaps = pd.DataFrame({"a": [np.nan] * 50, "sex": ["m"] * 50})
    assert held_out_gain(graph, table, pd.concat([frame[200:], gaps])) == pytest.approx(whole)
    odd = frame[200:].assign(sex="never seen")
    assert held_out_gain(graph, table, odd) == 0.0
    some = pd.concat([frame[200:], odd, frame[200:].assign(sex=None)])
    assert held_out_gain(graph, table, some) == pytest.approx(whole)
    with pytest.raises(InputError, match="no column 'sex'"):
        held_out_gain(graph, table, frame.rename(columns={"sex": "gender"}))
    with pytest.raises(InputError, match="'a' holds text"):
        held_out_gain(graph, table, frame.assign(a="text"))


def test_scores_are_those_of_mid_ranks():
    known = np.arange(1.0, 10.0)
    np.testing.assert_allclose(scores_among(known, known), norm.ppf((known - 0.5) / 9))


def test_a_grid_search_chooses_by_it():
    frame = gaussian(300, 0)
    search = GridSearchCV(GPM(), {"threshold": [1e-30, 0.01]}, cv=2).fit(frame)
    assert search.best_params_ == {"threshold": 0.01}
    assert search.best_score_ > 0.2
    assert search.score(gaussian(300, 5)) == pytest.approx(search.best_estimator_.score(gaussian(300, 5)))


def test_a_pipeline_keeps_names_and_takes_kinds():
    frame = gaussian(200, 0).assign(grade=np.random.default_rng(1).integers(1, 6, 200))
    frame.loc[3, "a"] = np.nan
    steps = Pipeline([("fill", SimpleImputer().set_output(transform="pandas")), ("gpm", GPM())])
    steps.fit(frame, gpm__kinds={"grade": "discrete"})
    found = steps["gpm"].network_
    assert found.names == ("a", "b", "c", "grade")
    assert found.kinds[3] == "discrete"
    assert steps.score(frame) > 0.2


def test_gaps_in_the_table_of_the_fit_are_left_out_too():
    frame = gaussian(300, 0)
    frame.loc[::10, "a"] = np.nan
    model = GPM(missing="available").fit(frame)
    assert model.network_.neighbors("a") == ("b",)
    assert 0.2 < model.score(gaussian(2000, 1)) < 0.7
