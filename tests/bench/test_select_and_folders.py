import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from gpmnet.bench import METHODS, SUITES, Filters, find_tables, select
from gpmnet.bench.score import score
from gpmnet.bench.task import Problem
from gpmnet.cli.simulate import write_simulation
from gpmnet.errors import InputError
from gpmnet.graphs import undirected
from gpmnet.network import MarkovNetwork
from gpmnet.network.network import Pairs
from gpmnet.simulate import SIMULATORS, simulate
from gpmnet.table import load_table


def sizes(cells):
    return {(c.task.kind, c.task.d, c.task.n, c.task.seed, c.method.name) for c in cells}


def test_every_suite_names_what_exists():
    for name, suite in SUITES.items():
        assert set(suite.methods) <= set(METHODS), name
        for grid in suite.grids:
            simulator = SIMULATORS[grid.simulator]
            assert set(grid.kinds) <= set(simulator.kinds), name
            assert set(grid.options) <= set(simulator.options), name
            assert all(d % simulator.step == 0 for d in grid.d), name
            assert (grid.pair is None) == (grid.draws == 1), name
            drawn = simulate(grid.simulator, d=grid.d[0], n=12, kind=grid.kinds[0], **grid.options)
            assert drawn.values.shape == (12, grid.d[0])


def test_a_suite_is_its_grid():
    cells, _ = select("fig1")
    suite = SUITES["fig1"]
    assert len(cells) == 3 * 9 * 5 * len(suite.methods)
    assert {c.options["fdr"] for c in cells if "fdr" in c.options} == {0.01}
    assert len({c.key for c in cells}) == len(cells)


def test_filters_replace_sizes_and_choose_kinds():
    filters = Filters(("npn", "partial-corr"), d=(4, 30), n=(500,), seeds=1, kinds=("mixed",), fdr=0.2)
    cells, _ = select("fig2", filters)
    expected = {("mixed", d, 500, 0, m) for d in (4, 30) for m in ("npn", "partial-corr")}
    assert sizes(cells) == expected
    assert {c.options.get("fdr") for c in cells} == {None, 0.2}
    both, _ = select("null", Filters(("partial-corr",), n=(40,), d=(10,), seeds=2))
    assert len(both) == 2, "two grids that became the same are one"


@pytest.mark.parametrize(
    ("name", "filters", "words"),
    [
        ("fig9", {}, "no suite or folder is called 'fig9'; suites are fig1"),
        ("tables", {}, "needs --tables DIR"),
        ("fig1", {"d": (5,)}, "--d: butterfly needs a multiple of 2, got 5"),
        ("penalties", {"kinds": ("mixed",)}, "nothing to run"),
        ("fig1", {"tasks": ("bn_*",)}, "nothing to run"),
    ],
)
def test_what_cannot_be_selected(name, filters, words):
    with pytest.raises(InputError, match=words):
        select(name, Filters(**filters))


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"methods": ("lasso",)}, "no method is called 'lasso'; there are gpm"),
        ({"kinds": ("odd",)}, "--kinds must be among continuous, discrete, mixed, got 'odd'"),
        ({"seeds": 0}, "--seeds is how many, at least 1; got 0"),
        ({"fdr": 1.0}, "--fdr must be between 0 and 1, got 1"),
        ({"n": (100, -1)}, "--n must be positive, got -1"),
    ],
)
def test_filters_check_themselves(filters, words):
    with pytest.raises(InputError, match=words):
        Filters(**filters)


def test_a_written_simulation_is_the_same_task(tmp_path):
    drawn = simulate("random", d=6, n=60, seed=2, kind="mixed")
    write_simulation(drawn, tmp_path / "one")
    (task,), remarks = find_tables(tmp_path / "one")
    assert (task.name, task.kind, task.d, task.n, remarks) == ("one", "mixed", 6, 60, [])
    problem = task.problem()
    assert (problem.truth != drawn.truth).nnz == 0
    assert problem.table.is_discrete.tolist() == [kind == "discrete" for kind in drawn.kinds]
    assert np.allclose(problem.table.values(), drawn.values)


@pytest.fixture
def folder(tmp_path):
    """Two tables and their truth, a folder without truth, and a variable called NA."""
    rng = np.random.default_rng(0)
    path = tmp_path / "tables" / "pair"
    path.mkdir(parents=True)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "NA", "c"])
    frame.assign(same=1).to_csv(path / "data_40.csv", index=False)
    frame.assign(same=1).to_parquet(path / "data_40.parquet")
    frame.head(20).assign(same=1).to_csv(path / "data_20.csv", index=False)
    (path / "edges.csv").write_text("source,target\na,NA\nc,NA\nNA,a\n")
    (path / "edges_detail.csv").write_text("source,target,cmi_given_rest_nats\na,NA,0.2\nc,NA,0\n")
    (tmp_path / "tables" / "no_truth").mkdir()
    frame.to_csv(tmp_path / "tables" / "no_truth" / "data.csv", index=False)
    (tmp_path / "tables" / "readme.txt").write_text("x")
    return tmp_path / "tables"


def test_folders_of_tables_are_tasks(folder):
    tasks, remarks = find_tables(folder)
    assert [(t.name, t.d, t.n, t.path.suffix) for t in tasks] == [
        ("pair/20", 4, 20, ".csv"),
        ("pair/40", 4, 40, ".parquet"),
    ]
    assert remarks == ["no_truth has no truth.csv or edges.csv: left out"]
    problem = tasks[1].problem()
    assert problem.names == ("a", "NA", "c", "same")
    assert problem.truth.toarray().astype(int).tolist() == [
        [0, 1, 0, 0],
        [1, 0, 1, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
    ]
    assert problem.hidden.toarray().nonzero()[0].tolist() == [1, 2]
    cells, _ = select(str(folder), Filters(("glasso",), n=(40,)))
    assert [(c.suite, c.task.name) for c in cells] == [("tables", "pair/40")]


def test_a_changed_table_is_another_task_and_a_moved_one_is_not(folder):
    before = find_tables(folder)[0][0].definition()
    moved = folder.rename(folder.with_name("elsewhere"))
    assert find_tables(moved)[0][0].definition() == before
    (moved / "pair" / "edges.csv").write_text("source,target\na,NA\n")
    assert json.dumps(find_tables(moved)[0][0].definition()) != json.dumps(before)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("edges.csv", "from,to\na,c\n", "has no column source, target; it has from, to"),
        ("edges.csv", "source,target\na,zzz\n", "names 'zzz', which is no column of the table"),
        ("edges.csv", "source,target\na,a\n", "joins 'a' with itself"),
        ("schema.csv", "name,type\na,odd\n", "has the type 'odd'; known are continuous"),
    ],
)
def test_wrong_folders_say_what_is_wrong(folder, file, content, words):
    (folder / "pair" / file).write_text(content)
    with pytest.raises(InputError, match=words):
        find_tables(folder)


def test_a_folder_without_tasks_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no task"):
        find_tables(tmp_path)


def graph(d, *pairs):
    rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return undirected(d, rows, columns)


def test_hidden_edges_are_neither_missed_nor_false():
    names = ("a", "b", "c", "ignored")
    table = load_table(np.random.default_rng(0).normal(size=(20, 3)), names=names[:3])
    problem = Problem(table, names, graph(4, (0, 1), (0, 2)), hidden=graph(4, (0, 2)))
    found = MarkovNetwork.from_adjacency(names[:3], [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    measures = score(problem, SimpleNamespace(network_=found, weights_=None))
    assert (measures["hamming"], measures["n_true"], measures["precision"], measures["recall"]) == (
        1,
        2,
        1.0,
        0.5,
    )
    assert (measures["n_visible"], measures["recall_visible"], measures["f1_visible"]) == (1, 0.0, 0.0)
    assert np.isnan(measures["average_precision"])
    everything = MarkovNetwork.from_adjacency(names[:3], [[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    assert score(problem, SimpleNamespace(network_=everything))["f1_visible"] == 1.0


def test_networks_are_matched_by_name_and_ranked_by_their_p_values():
    problem = Problem(None, ("a", "b", "c", "d"), graph(4, (0, 1), (2, 3)))
    # another order of the names, and 'b' left out
    pairs = Pairs.of(
        [0, 0, 1], [1, 2, 2], [True, False, False], p_value=[1e-9, 0.5, 0.01], strength=[0.9, 0.1, 0.3]
    )
    model = SimpleNamespace(network_=MarkovNetwork(("d", "c", "a"), pairs))
    measures = score(problem, model)
    assert (measures["hamming"], measures["n_edges"], measures["recall"]) == (1, 1, 0.5)
    # (c, d) is first of the ranking, (a, b) among the three pairs without a place in it: all six count
    assert measures["average_precision"] == pytest.approx(0.5 * 1 + 0.5 * 2 / 6)
