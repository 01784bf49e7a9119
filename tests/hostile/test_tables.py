"""Tables that nobody asks for and everybody has: each runs to the end, report and all, or is refused in one line."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM, MarkovNetwork
from gpmnet.errors import CollinearWarning
from gpmnet.table import describe

N = 300


def draws(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.fixture
def fit(gpmnet, tmp_path):
    """Run the program on a frame: what it prints, and the network; everything it writes can be read again."""

    def run(frame, *options, **written):
        path = tmp_path / "t.csv"
        frame.to_csv(path, index=False, **written)
        code, out, err = gpmnet("fit", path, "-o", tmp_path / "out", *options)
        assert (code, err) == (0, "")
        assert (tmp_path / "out" / "report.html").stat().st_size > 100_000
        return " ".join(out.split()), MarkovNetwork.load(tmp_path / "out")

    return run


@pytest.fixture
def refused(gpmnet, tmp_path):
    """Run the program on a file; return the one line with which it refuses."""

    def run(path, *options):
        code, out, err = gpmnet("fit", path, "-o", tmp_path / "out", *options)
        assert (code, out) == (2, "")
        assert err.startswith("gpmnet: ")
        assert err.count("\n") == 1
        assert not (tmp_path / "out").exists()
        return err

    return run


@pytest.mark.parametrize("n", [2, 3, 5, 12, 19])
def test_a_handful_of_rows(fit, n):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc")).assign(
        d=rng.choice(["x", "y"], n), e=rng.integers(0, 3, n)
    )
    said, network = fit(frame)
    assert f"{n} rows show all but perfect dependence only" in said
    assert network.n_edges == 0


def test_twenty_rows_need_no_caution(fit):
    assert "all but perfect" not in fit(pd.DataFrame(draws(20, 3), columns=list("abc")))[0]


@pytest.mark.parametrize("d", [40, 150])
def test_fewer_rows_than_variables(fit, d):
    x = draws(30, d)
    x[:, 1] = x[:, 0] + 0.1 * x[:, 1]
    _, network = fit(pd.DataFrame(x).add_prefix("x"))
    assert network.neighbors("x0") == ("x1",)
    assert network.n_edges <= 3


def test_two_columns(fit):
    a, b = draws(2, N)
    assert fit(pd.DataFrame({"a": a, "b": a + b}))[1].n_edges == 1


def test_all_columns_but_one_are_constant(refused, write):
    text = "a,b,c\n" + "".join(f"{x},1,x\n" for x in draws(50))
    assert "fewer than two usable columns remain ('b': constant; 'c': constant)" in refused(
        write("t.csv", text)
    )


def _relations():
    a, b, c = draws(3, N)
    x, y = np.round(np.exp(draws(2, N, seed=1)), 2)
    levels, more = np.random.default_rng(2).integers(0, [[3], [2]], (2, N))
    share = np.random.default_rng(3).dirichlet([1, 2, 3], N)
    return {
        "sum": ({"a": a, "b": b, "total": a + b, "c": c}, "'a', 'b', 'total' determine each other"),
        "money": ({"a": x, "b": y, "total": (x + y).round(2)}, "'a', 'b', 'total' determine each other"),
        "product": ({"a": a, "b": b, "wave": np.sin(a) * b}, "'wave' is determined by 'a', 'b'"),
        "shares": (dict(zip("pqr", share.T, strict=True)), "'p', 'q', 'r' determine each other"),
        "levels": (
            {"x": [f"x{i}" for i in levels], "y": [f"y{i}" for i in more]}
            | {"both": [f"{i}{j}" for i, j in zip(levels, more, strict=True)], "c": c},
            "'both' is determined by 'x', 'y'",
        ),
        "cut": (
            {"age": a, "old": np.where(a > 0.5, "yes", "no"), "c": a + c},
            "'old' is determined by 'age'",
        ),
    }


@pytest.mark.parametrize("case", list(_relations()))
def test_columns_that_others_determine_are_named(fit, case):
    """No singular matrix, edges to what they are made of, and a warning, also in Python."""
    data, expected = _relations()[case]
    frame = pd.DataFrame(data)
    said, network = fit(frame)
    assert expected in said
    assert network.n_edges >= 1
    with pytest.warns(CollinearWarning, match=expected.replace("(", "\\(")):
        GPM().fit(frame)


def test_an_exact_relation_of_levels_has_a_strength_of_one_and_a_narrow_interval(fit):
    network = fit(pd.DataFrame(_relations()["levels"][0]))[1]
    assert network.edges["strength"].min() > 0.999
    assert network.edges["strength_low"].min() > 0.9


def test_strong_edges_are_no_relations():
    a, b, c = draws(3, N)
    frame = pd.DataFrame({"a": a, "b": a + 0.4 * b, "c": a + 0.4 * c})
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        network = GPM().fit(frame).network_
    assert network.edges["strength"].max() > 0.6
    assert not any("determine" in str(warning.message) for warning in seen)


def test_zeros_counts_rounded_and_bounded_columns(fit):
    """Those that go with each other are found, the others are not."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 600))
    frame = pd.DataFrame(
        {
            "zeros": np.where(a > 0.8, np.exp(a), 0.0),
            "count": rng.poisson(np.exp(0.9 * a)),
            "rounded": b.round(),
            "bounded": np.clip(b + rng.normal(size=600), -1, 1),
            "rare": rng.poisson(0.02, 600),
        }
    )
    edges = fit(frame)[1].edges
    found = {frozenset(pair) for pair in zip(edges["source"], edges["target"], strict=True)}
    assert found == {frozenset({"zeros", "count"}), frozenset({"rounded", "bounded"})}


@pytest.mark.parametrize("outlier", [1e300, -1e308, 5e-324])
def test_one_outlier_changes_next_to_nothing(fit, outlier):
    a, b, c = draws(3, N)
    frame = pd.DataFrame({"a": a, "b": a + b, "c": c})
    before = fit(frame)[1].edges["strength"].to_numpy()
    frame.loc[3, "a"] = outlier
    np.testing.assert_allclose(fit(frame)[1].edges["strength"], before, atol=0.05)


def test_ten_thousand_levels_are_left_out_by_name(fit):
    frame = pd.DataFrame({"a": draws(20_000), "b": draws(20_000, seed=1)})
    frame["code"] = [f"v{k % 10_000}" for k in range(20_000)]
    said, network = fit(frame)
    assert "left out: code (too many levels: 10,000" in said or "left out: code (identifier" in said
    assert network.names == ("a", "b")


def test_a_category_seen_once(fit):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"a": rng.normal(size=N), "x": rng.choice(["u", "v"], N), "y": rng.choice(["u", "v"], N)}
    )
    frame.loc[0, ["x", "y"]] = ["once", "only"]
    assert fit(frame)[1].n_edges == 0  # one row in which both are rare is no dependence


def test_numbers_and_words_in_one_column_are_told(fit):
    values = [f"{x:.3f}" for x in draws(N)]
    values[7] = "high"
    said, network = fit(pd.DataFrame({"mixed": values, "a": draws(N), "b": draws(N, seed=1)}))
    assert "left out: mixed" in said
    assert "nearly all values are numbers; 'high' is not" in said
    assert network.names == ("a", "b")


def test_names_of_50_000_characters(fit):
    names = ["x" * 50_000, "x" * 49_999 + "y", "z" * 50_000]
    x = draws(100, 3)
    x[:, 1] += 2 * x[:, 0]
    said, network = fit(pd.DataFrame(x, columns=names))
    assert len(said) < 2_000
    assert network.neighbors(names[0]) == (names[1],)


def test_a_header_of_numbers(fit, write, gpmnet, tmp_path):
    said, network = fit(pd.DataFrame(draws(100, 4), columns=["2019", "2020", "2021", "2022"]))
    assert network.names == ("2019", "2020", "2021", "2022")
    assert "the first line, '2019, 2020, 2021, 2022', was taken for names" in said
    counts = np.random.default_rng(6).integers(0, 40, (50, 3))
    text = "17,3,88\n" + "".join(f"{a},{b},{c}\n" for a, b, c in counts)
    code, out, _ = gpmnet("fit", write("c.csv", text), "-o", tmp_path / "counts")
    assert code == 0
    assert "the first line, '17, 3, 88', is a row; header=True (--header) takes it for names" in " ".join(
        out.split()
    )


@pytest.mark.parametrize("years", [("2001", "2002", "2003"), ("1990", "2005", "2020"), ("1", "2", "3")])
def test_years_behind_a_word_are_names(fit, years):
    counts = np.random.default_rng(6).integers(100, 3000, (70, 3))
    frame = pd.DataFrame(counts, columns=list(years))
    frame.insert(0, "country", [f"c{k % 7}" for k in range(70)])
    assert fit(frame)[1].names == ("country", *years)
    spans = pd.DataFrame(np.sort(counts % 120 + 1900, axis=1)).drop_duplicates()
    spans = spans[(np.diff(spans, axis=1) > 0).all(axis=1)].astype(str)
    spans.insert(0, "c", [f"c{k % 7}" for k in range(len(spans))])  # rows of years that rise are no names
    spans.columns = spans.iloc[0]
    assert fit(spans.iloc[1:])[1].names == ("x1", "x2", "x3", "x4")


def test_row_numbers_are_left_out_or_named(fit):
    order = np.random.default_rng(7).permutation(N)
    frame = pd.DataFrame({"rownames": order + 1, "a": draws(N), "b": draws(N, seed=1)})
    said, network = fit(frame)
    assert "left out: rownames" in said
    assert network.names == ("a", "b")
    said, network = fit(frame.rename(columns={"rownames": "place"}))
    assert "'place' holds 300 consecutive whole numbers, each once" in said
    assert "place" in network
    said, network = fit(frame.sort_values("rownames").rename(columns={"rownames": "place"}))
    assert "left out: place (a running counter" in said


@pytest.mark.parametrize(
    "name", ["rownames", "row.names", "Row Number", "rownum", "row_no", "Unnamed: 0", "index", "row"]
)
def test_what_numbers_of_rows_are_called(name):
    frame = pd.DataFrame({name: np.random.default_rng(8).permutation(N), "a": draws(N), "rowing": draws(N)})
    schema = describe(frame)
    assert schema[name].kind == "ignored"
    assert schema["rowing"].kind == "continuous"


def test_links_are_read_and_never_written_through(fit, gpmnet, tmp_path, refused):
    frame = pd.DataFrame(draws(60, 3), columns=list("abc"))
    frame.to_csv(tmp_path / "real.csv", index=False)
    (tmp_path / "link.csv").symlink_to("real.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    assert "symbolic links" in refused(tmp_path / "loop.csv")
    assert "no ordinary file" in refused(tmp_path / "zero.csv")
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    out = tmp_path / "results"
    out.mkdir()
    for name in ("edges.csv", "network.json", "report.html", "run.json"):
        (out / name).symlink_to("../victim.txt")
    code, *_ = gpmnet("fit", tmp_path / "link.csv", "-o", out)
    assert code == 0
    assert victim.read_text() == "mine"
    assert not any((out / name).is_symlink() for name in os.listdir(out))
    beside = tmp_path / "beside"
    beside.symlink_to(out)
    code, *_ = gpmnet("fit", tmp_path / "link.csv", "-o", beside)
    assert code == 0
    assert beside.is_symlink()


def test_dependent_rows_by_option(gpmnet, fit, write, tmp_path):
    x = np.repeat(draws(150, 3), 2, axis=0)
    frame = pd.DataFrame(x, columns=list("abc")).assign(who=[f"p{k // 2}" for k in range(300)])
    said, _ = fit(frame[["a", "b", "c"]])
    assert "150 of 300 rows repeat an earlier one" in said
    said, network = fit(frame, "--groups", "who")
    assert "the 150 groups by column 'who' for independent" in said
    assert "repeat an earlier one" not in said
    assert network.names == ("a", "b", "c")
    assert network.facts.settings["groups"] == "column 'who'"
    assert "150 groups by blocks of 2 rows" in fit(frame[["a", "b", "c"]], "--block-rows", 2)[0]
    code, _, err = gpmnet(
        "fit", write("t.csv", frame.to_csv()), "-o", tmp_path / "o", "--groups", "a", "--block-rows", 3
    )
    assert code == 2
    assert "give one of them" in err


def test_a_long_line_inside_a_file(refused, write):
    text = "a,b\n1,2\n" + ",".join(["1"] * 300_000) + "\n"
    assert "line 3: 300000 fields where 2 are expected" in refused(write("t.csv", text))
