"""Columns of a Parquet file that workers sort: the same table, whoever looked at them."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.table.test_streamed import same_encoding, same_table

from gpmnet import GPM
from gpmnet.errors import InputError
from gpmnet.jobs import Given, Where
from gpmnet.table import facts, load_table, space, spread, spread_over, streamed
from gpmnet.table.load import load_raw
from gpmnet.table.spread import _Column, _columns_task
from gpmnet.table.understand import understand


@pytest.fixture
def long(monkeypatch):
    """Make every table a long one."""
    monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(facts, "LONG_ROWS", 0)
    monkeypatch.setattr(streamed, "STREAMED_BYTES", 0)


def write(path, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_t(2, size=n)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": np.exp(a + rng.normal(size=n)),
            "small": rng.normal(size=n).astype(np.float32),
            "count": rng.poisson(30, n),
            "few": rng.integers(0, 3, n),
            "rating": rng.integers(0, 9, n),
            "day": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
            "half zero": np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
            "text": rng.choice(["u", "v", "w"], n),
            "number as text": [f"{value:.3f}" for value in rng.normal(size=n)],
            "counter": np.arange(n),
            "constant": np.ones(n),
        }
    )
    frame["a again"] = -frame["a"]
    frame["gaps"] = np.where(rng.random(n) < 0.1, np.nan, frame["b"] + rng.normal(size=n))
    frame.to_parquet(path, row_group_size=700)


@pytest.fixture
def sorted_here(monkeypatch):
    """Return a list that grows with every column that this process sorts."""
    seen, real = [], facts.long_facts
    monkeypatch.setattr(facts, "long_facts", lambda values: seen.append(1) or real(values))
    return seen


def load(path, where, **how):
    with spread_over(where):
        return load_table(path, **how)


def test_the_table_that_workers_look_at_is_the_same(cluster, tmp_path, long, sorted_here):
    path = tmp_path / "t.parquet"
    write(path)
    here = load_table(path, kinds={"gaps": "ignored"})
    cluster.start_workers(1)
    sorted_here.clear()
    one = load(path, Where(1, cluster.address), kinds={"gaps": "ignored"})
    assert len(sorted_here) == 2  # text and dates are numbers in the table, and none in the file
    cluster.start_workers(2)
    three = load(path, Where(3, cluster.address), kinds={"gaps": "ignored"})
    for other in (one, three):
        same_table(here, other)
        assert np.array_equal(here.sums, other.sums)
        same_encoding(here.encode(3, 500), other.encode(3, 500))


def test_gaps_and_errors_are_those_of_one_process(cluster, tmp_path, long):
    path = tmp_path / "t.parquet"
    write(path)
    where = Where(1, cluster.address)
    cluster.start_workers(1)
    same_table(load_table(path, missing="drop"), load(path, where, missing="drop"))
    with pytest.raises(InputError, match="'constant' has 1 distinct value"):
        load(path, where, kinds={"constant": "continuous"})


def test_a_fit_of_a_path_spreads_its_columns(cluster, tmp_path, long, sorted_here):
    path = tmp_path / "t.parquet"
    write(path)
    pd.read_parquet(path)[["a", "b", "small", "few"]].to_parquet(path)
    cluster.start_workers(2)
    alone = GPM(n_jobs=1).fit(path).network_
    sorted_here.clear()
    found = GPM(cluster=cluster.address, workers=2).fit(path).network_
    assert not sorted_here
    assert found.candidates.to_csv() == alone.candidates.to_csv()


def test_places_of_columns_are_those_of_the_file(cluster, tmp_path, long, sorted_here):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(400, 3)).astype(np.float32), columns=["", "b", "c"])
    frame.to_parquet(tmp_path / "single.parquet")
    frame.insert(0, "code", 2**60 + np.arange(400) % 3)  # its spellings count: no number in the table
    frame.set_index(rng.permutation(400)).to_parquet(tmp_path / "codes.parquet")
    cluster.start_workers(1)
    for name in ("single.parquet", "codes.parquet"):
        here = load_table(tmp_path / name)
        sorted_here.clear()
        there = load(tmp_path / name, Where(1, cluster.address))
        assert not sorted_here
        same_table(here, there)
        assert np.array_equal(here.sums, there.sums)


def replaced(path):
    write(path, n=3000, seed=1)


def shorter(path):
    write(path, n=100)


@pytest.mark.parametrize("change", [replaced, shorter, os.unlink, lambda path: path.write_bytes(b"PAR1")])
def test_a_file_that_workers_cannot_read_is_looked_at_here(cluster, tmp_path, long, sorted_here, change):
    path = tmp_path / "t.parquet"
    write(path)
    raw = load_raw(path)
    alone = understand(raw, {})
    cluster.start_workers(1)
    sorted_here.clear()
    change(path)
    with (
        spread_over(Where(1, cluster.address)),
        pytest.warns(UserWarning, match="sorted by this process: not every worker"),
    ):
        found = understand(raw, {})
    assert len(sorted_here) == raw.numbers.shape[1]
    assert found.schema == alone.schema


def test_a_file_of_other_rows_or_one_that_is_damaged_is_not_read(tmp_path, long):
    path = tmp_path / "t.parquet"
    write(path)
    file = load_raw(path).file
    asked = [[_Column(0, "a", None, False)]]
    assert _columns_task(Given(file), asked, 0)["n_distinct"].tolist() == [3000]
    assert _columns_task(Given(replace(file, n_rows=2999)), asked, 0) == {}
    path.write_bytes(b"x" * file.size)
    os.utime(path, ns=(file.modified, file.modified))
    assert _columns_task(Given(file), asked, 0) == {}


def test_columns_that_a_worker_has_no_memory_for_are_left_to_others(tmp_path, monkeypatch, long):
    def full(values):
        raise MemoryError("Unable to allocate 5.72 MiB")

    path = tmp_path / "t.parquet"
    write(path)
    monkeypatch.setattr(spread, "long_facts", full)
    assert _columns_task(Given(load_raw(path).file), [[_Column(0, "a", None, False)]], 0) == {}
