"""The suite of null pairs: blocks of draws, p-values of one pair, shares of rejections."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from gpmnet import GPM
from gpmnet.baselines import PAIR_TESTS, GcmTest, KciTest, PairTest, RcitTest
from gpmnet.bench import METHODS, SUITES, Cell, Filters, Method, load_rows, run_cells, select, write_report
from gpmnet.bench.cell import measure
from gpmnet.bench.figures import rejected
from gpmnet.bench.pairs import PairTask, question
from gpmnet.bench.rejections import MOST, rejection_tables, rejections
from gpmnet.bench.rows import write_row
from gpmnet.errors import InputError
from gpmnet.network import MarkovNetwork
from gpmnet.network.network import Pairs
from gpmnet.simulate.confounded import LAWS


def task(law="text of 8", n=60, seed=0, draws=2):
    kind, d = LAWS[law].kind, len(LAWS[law].levels) + 1
    return PairTask(
        name=law, simulator="confounded", kind=kind, d=d, n=n, seed=seed, options={"law": law},
        pair=("x", "y"), draws=draws,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False)
class Remembers(PairTest):
    """Answers with its seed, and checks what it is asked."""

    name = "remembers"

    def p_value(self, values, i, j, given):
        assert (i, j, given) == (0, 1, (2,))
        assert np.array_equal(values, task().sample(self.random_state).drawn.values)
        return self.random_state / 100


def test_a_block_has_one_p_value_for_each_seed():
    found = measure(task(seed=7, draws=3), Method("remembers", "a fake", Remembers), {})
    assert (found["status"], found["p_values"]) == ("ok", [0.07, 0.08, 0.09])
    assert 0 <= found["seconds"] < 1


def test_a_test_with_a_cap_says_why_it_did_not_run():
    found = measure(task(), Method("remembers", "a fake", Remembers), {"max_rows": 59})
    assert found == {"status": "skipped", "reason": "remembers is run on at most 59 rows, these are 60"}
    assert measure(task(), Method("remembers", "a fake", Remembers), {"max_rows": 60})["status"] == "ok"
    assert KciTest().supports(1000) == (True, "")
    assert not KciTest().supports(1001)[0]


def test_the_pair_is_tested_given_the_true_neighbors_of_both_ends():
    assert task("threshold of four").sample(0).given == (2, 3, 4, 5)
    assert task("curved chain").sample(0).given == (2, 4)


class FixedNetwork:
    """Finds the pairs it was told, whatever the table."""

    def __init__(self, *pairs):
        self.pairs = pairs

    def fit(self, table):
        assert table.names == ("x", "y", "z1", "free1")
        assert table.is_discrete.tolist() == [False, False, True, False]
        first, second, p = zip(*self.pairs, strict=True)
        self.network_ = MarkovNetwork(table.names, Pairs.of(first, second, [False] * len(p), p_value=p))
        return self


def test_a_network_answers_for_its_pair_and_with_1_where_it_never_came_close():
    sample = task(n=400).sample(0)
    assert question(FixedNetwork((0, 1, 0.03), (0, 2, 0.5)), sample)() == 0.03
    assert question(FixedNetwork((0, 2, 0.5)), sample)() == 1.0


def test_the_engine_sees_levels_as_text():
    column = task(n=400).sample(0).table().schema["z1"]
    assert (column.kind, column.levels[:2]) == ("discrete", ("level 0", "level 1"))


def test_the_engine_answers_as_by_hand():
    sample = task("sine", n=200).sample(5)
    network = GPM().fit(sample.drawn.frame()).network_
    at = network.pair_at("x", "y")
    found = measure(task("sine", n=200, seed=5, draws=1), METHODS["gpm"], METHODS["gpm"].options)
    assert found["p_values"] == [1.0 if at is None else network.pairs.p_value[at]]


def test_the_suite_is_all_laws_in_blocks():
    cells, remarks = select("honest")
    of = {(c.method.name, c.task.name, c.task.n): [] for c in cells}
    for cell in cells:
        of[cell.method.name, cell.task.name, cell.task.n] += range(
            cell.task.seed, cell.task.seed + cell.task.draws
        )
    assert {key[1] for key in of} == {f"{law.shape}/{name}" for name, law in LAWS.items()}
    assert {key[2] for key in of} == {300, 1000, 5000}
    for (method, _, _), seeds in of.items():
        assert seeds == list(range(50 if method == "kci-test" else 200))
    assert remarks == ["kci-test runs on 50 draws of each task; --seeds K runs all methods on K"]
    assert len({cell.key for cell in cells}) == len(cells)
    block = SUITES["honest"].grids[0].draws
    assert all(count % block == 0 for count in SUITES["honest"].fewer_seeds.values())


def test_seeds_that_are_asked_for_are_run_by_all_methods():
    cells, remarks = select("honest", Filters(seeds=60, first_seed=1000, n=(300,), tasks=("smooth/sine",)))
    blocks = {(c.method.name, c.task.seed, c.task.draws) for c in cells}
    assert blocks == {
        (method, first, draws)
        for method in SUITES["honest"].methods
        for first, draws in ((1000, 25), (1025, 25), (1050, 10))
    }
    assert remarks == []
    later, _ = select(
        "honest", Filters(methods=("kci-test",), first_seed=1000, n=(300,), tasks=("smooth/sine",))
    )
    assert [c.task.seed for c in later] == [1000, 1025], "fewer draws, from the first that was asked for"


@pytest.mark.parametrize(
    ("suite", "filters", "words"),
    [
        ("honest", {"methods": ("npn",)}, "npn gives no p-values of pairs, .* suite honest; these can: gpm"),
        ("fig1", {"methods": ("kci-test",)}, "kci-test tests one given pair and finds no graph, so it"),
        ("honest", {"d": (4,)}, "--d: smooth/sum of four has 6 columns and free ones, got 4"),
        ("honest", {"tasks": ("cube",)}, "nothing to run"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(suite, filters, words):
    with pytest.raises(InputError, match=words):
        select(suite, Filters(**filters))


def test_suites_of_all_methods_leave_out_tests_of_one_pair():
    methods = {cell.method.name for cell in select("table1")[0]}
    assert methods == {name for name, method in METHODS.items() if method.finds_graph}
    assert not methods & set(PAIR_TESTS)


def row(p_values, law="smooth/sine", n=300, method="gpm", seed=0, status="ok", reason=""):
    return {
        "key": f"{law.replace('/', '-')}{n}{method}{seed}", "suite": "honest", "task": law, "simulator": "nowhere",
        "kind": "continuous", "options": "{}", "d": 4, "n": n, "seed": seed, "method": method, "method_options": "{}",
        "status": status, "reason": reason, "p_values": p_values, "versions": '{"gpmnet": "9.9"}', "python": "3.11",
        "started": "2020-01-02T03:04:05", "cpu_count": 2, "jobs": 1, "fdr": 0.05, "seconds": 0.1,
    }  # fmt: skip


@pytest.fixture
def directory(tmp_path):
    """Rows of a simulator that does not exist: nothing but rows can be read."""
    late = "at most 1,000 rows | odd"
    rows = [
        row([0.05, 0.5, 0.009, 0.9]),
        row([1.0] * 6, seed=4),
        row([0.2, 0.03], method="rcit-test"),
        row([0.2] * 9 + [0.02], n=5000),
        row(None, n=5000, method="kci-test", status="skipped", reason=late),
        row([0.04] * 3 + [0.9] * 7, law="limit/dependent rows"),
        row([0.04] + [0.9] * 9, law="jump/step"),
    ]
    for each in rows:
        write_row(tmp_path, each)
    return tmp_path


def test_shares_are_over_all_draws_of_all_blocks(directory):
    rows = load_rows(directory)
    found = rejections(rows).set_index(["task", "n", "method"])
    assert found.loc[("smooth/sine", 300, "gpm")].tolist() == [10, 0.2, 0.1]
    assert found.loc[("smooth/sine", 300, "rcit-test")].tolist() == [2, 0.5, 0.0]
    assert found.loc[("smooth/sine", 5000, "gpm")].tolist() == [10, 0.1, 0.0]
    assert len(found) == 5


def test_the_table_marks_what_is_too_much_and_says_what_is_missing(directory):
    text = "\n".join(rejection_tables(load_rows(directory), ["gpm", "kci-test", "rcit-test"]))
    assert "### n = 300, 10 draws" in text
    assert "| smooth/sine | **0.20** / **0.10** |  | **0.50** / 0.00 (2 draws) |" in text
    assert "| jump/step | 0.10 / 0.00 |  |  |" in text, "0.10 is honest for a jump"
    assert "| smooth/sine | **0.10** / 0.00 |  |  |" in text, "and not for a curve"
    assert "| limit/dependent rows | 0.30 / 0.00 |  |  |" in text, "a limit has no such figure"
    assert (
        r"- No numbers of kci-test at n = 5,000 (smooth/sine, 1 blocks of draws): at most 1,000 rows \| odd"
        in text
    )
    assert {law.shape for law in LAWS.values()} == {*MOST, "limit"}


def test_summary_and_figures_come_from_rows(directory):
    names = [path.name for path in write_report(directory)]
    assert names == ["summary.md", "honest-0.05.png", "honest-0.01.png"]
    assert "| smooth/sine | **0.20** / **0.10** |" in (directory / "summary.md").read_text()
    few, many = rejected("honest", load_rows(directory), 0.05).axes
    assert few.get_title() == "n = 300"
    drawn = [np.asarray(line.get_xdata(), dtype=float).tolist() for line in few.get_lines()]
    assert [0.1, 0.3, 0.2] in drawn, "gpm: step, dependent rows, sine"
    assert [0.5] in drawn
    assert [0.15, 0.15] in drawn
    assert [0.08, 0.08] in drawn
    assert "no numbers for KCI test" in many.get_xlabel()


def test_rows_of_pairs_go_through_a_file(directory):
    rows = load_rows(directory).set_index("key")
    assert list(rows.loc["smooth-sine300rcit-test0", "p_values"]) == [0.2, 0.03]
    assert rows["p_values"].isna().sum() == 1


def test_from_run_to_report(tmp_path):
    filters = Filters(
        methods=("gpm", "gcm-test"), n=(120,), seeds=3, tasks=("smooth/linear", "jump/text of 3")
    )
    cells, _ = select("honest", filters)
    assert run_cells(cells, tmp_path) == 4
    assert run_cells(cells, tmp_path) == 0, "it is complete"
    rows = load_rows(tmp_path)
    assert rows["status"].tolist() == ["ok"] * 4
    assert {len(p) for p in rows["p_values"]} == {3}
    assert all(0 <= p <= 1 for values in rows["p_values"] for p in values)
    (again,) = [c for c in cells if (c.task.name, c.method.name) == ("jump/text of 3", "gcm-test")]
    expected = rows[(rows["task"] == "jump/text of 3") & (rows["method"] == "gcm-test")]["p_values"].iloc[0]
    assert measure(again.task, again.method, again.options)["p_values"] == pytest.approx(expected, rel=1e-9)
    assert len(write_report(tmp_path)) == 3
    assert "n = 120, 3 draws" in (tmp_path / "summary.md").read_text()


def test_the_key_knows_the_block():
    def key(**more):
        return Cell("honest", task(**more), METHODS["gpm"], {}).key

    assert key() == key()
    assert len({key(), key(draws=3), key(seed=2), key(n=61)}) == 4


# The tests of one pair.


def confounded(n, seed, effect=0.0):
    """Binary and continuous ends of a smooth confounder, joined where there is an effect."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    x = z + rng.standard_normal(n)
    y = (rng.random(n) < expit(z + effect * x)).astype(float)
    return np.column_stack([x, y, z])


def test_gcm_is_calibrated_and_sees_an_effect():
    p = np.array([GcmTest(random_state=s).p_value(confounded(400, s), 0, 1, (2,)) for s in range(40)])
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert (
        np.mean([GcmTest().p_value(confounded(400, s, effect=1.5), 0, 1, (2,)) < 0.01 for s in range(5)]) == 1
    )


def test_gcm_without_a_set_is_the_test_of_a_rank_correlation():
    """By hand: centred ranks, their products, mean over standard error."""
    values = confounded(200, 3)
    x, y = (stats.rankdata(column) - 100.5 for column in values.T[:2])
    z = np.sqrt(200) * np.mean(x * y) / np.std(x * y)
    assert GcmTest().p_value(values, 0, 1, ()) == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_gcm_depends_on_its_seed_only_and_not_on_the_scale():
    values = confounded(150, 1)
    p = GcmTest(random_state=2).p_value(values, 0, 1, (2,))
    assert GcmTest(random_state=2).p_value(values, 0, 1, (2,)) == p
    assert GcmTest(random_state=3).p_value(values, 0, 1, (2,)) != p
    stretched = np.column_stack([np.exp(values[:, 0]), values[:, 1], values[:, 2]])
    assert GcmTest(random_state=2).p_value(stretched, 0, 1, (2,)) == pytest.approx(p)


def test_gcm_without_variation_is_an_error():
    values = confounded(60, 0)
    values[:, 1] = 1.0
    with pytest.raises(
        FloatingPointError, match="GCM has no p-value: the residuals of columns 0 and 1 do not vary"
    ):
        GcmTest().p_value(values, 0, 1, ())


def test_kernel_tests_are_those_of_the_baselines():
    pytest.importorskip("causallearn")
    from gpmnet.baselines.ci_tests import kci_test, rcit_test

    values = confounded(150, 2)
    assert KciTest().p_value(values, 0, 1, (2,)) == kci_test(values)(0, 1, (2,))
    assert RcitTest(random_state=4).p_value(values, 0, 1, (2,)) == rcit_test(values, 4)(0, 1, (2,))
