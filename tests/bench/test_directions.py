"""Searches for directions as methods: what a row says of them."""

import numpy as np
import pytest

from gpmnet.bench.cell import measure
from gpmnet.bench.methods import find_method
from gpmnet.bench.score import directions
from gpmnet.bench.suites import SUITES
from gpmnet.bench.task import Problem, SimulatedTask
from gpmnet.causal import CPDAG
from gpmnet.graphs import from_parents, moralise
from gpmnet.table import load_table


@pytest.fixture
def collider():
    """a -> c <- b, c -> e."""
    dag = from_parents([np.array(p, dtype=np.intp) for p in ([], [], [0, 1], [2])])
    table = load_table(np.random.default_rng(0).normal(size=(20, 4)))
    return Problem(table, ("a", "b", "c", "e"), moralise(dag), dag=dag)


def test_the_right_class_has_full_marks_also_in_another_order(collider):
    truth = CPDAG.from_dag(collider.dag.toarray(), collider.names)
    order = [2, 0, 3, 1]
    turned = CPDAG(
        [truth.names[at] for at in order],
        truth.directed[np.ix_(order, order)],
        truth.undirected[np.ix_(order, order)],
    )
    for graph in (truth, turned):
        assert directions(collider.dag, collider.names, graph) == {"f1_skeleton": 1.0, "f1_arrows": 1.0}


def test_wrong_directions_are_counted(collider):
    chain = np.zeros((4, 4), dtype=bool)
    chain[0, 2] = chain[2, 1] = chain[2, 3] = True  # the same skeleton, no collider: no arrow is compelled
    found = directions(collider.dag, collider.names, CPDAG.from_dag(chain, collider.names))
    assert (found["f1_skeleton"], found["f1_arrows"]) == (1.0, 0.0)


@pytest.mark.parametrize("method", ["pc-inside", "pc-inside-separator", "pc-all", "ges-inside", "ges-all"])
def test_each_method_gives_a_row(method):
    task = SimulatedTask(name="dag", simulator="dag", kind="continuous", d=5, n=200, seed=0)
    found = find_method(method)
    row = measure(task, found, found.options)
    assert row["status"] == "ok"
    assert row["n_evaluations"] > 0
    assert 0 <= row["f1_arrows"] <= 1
    assert row["f1_skeleton"] > 0


@pytest.mark.parametrize("method", ["gpm-dag", "gpm-dag-tested"])
def test_the_dag_engine_has_directions_too(method):
    task = SimulatedTask(name="dag", simulator="dag", kind="continuous", d=5, n=200, seed=0)
    found = find_method(method)
    row = measure(task, found, found.options)
    assert row["status"] == "ok"
    assert row["f1_skeleton"] > 0
    assert 0 <= row["f1_arrows"] <= 1
    assert "fdr" not in found.with_fdr(0.01)


def test_a_score_for_numbers_refuses_categories():
    task = SimulatedTask(name="dag", simulator="dag", kind="mixed", d=5, n=100, seed=0)
    method = find_method("ges-inside")
    assert measure(task, method, method.options)["status"] == "skipped"


def test_the_suite_names_methods_that_exist():
    for name in SUITES["causal"].methods:
        find_method(name)
