"""Columns of a Parquet file that workers sort: the same table, whoever looked at them."""

import os

import numpy as np
import pandas as pd
import pytest
from tests.table.test_streamed import same_encoding, same_table

from gpmnet import GPM
from gpmnet.errors import InputError
from gpmnet.jobs import Where
from gpmnet.table import facts, load_table, space, spread_over, streamed
from gpmnet.table.load import load_raw
from gpmnet.table.understand import understand


@pytest.fixture
def long(monkeypatch):
    """Make every table a long one."""
    monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(facts, "LONG_ROWS", 0)
    monkeypatch.setattr(streamed, "STREAMED_BYTES", 0)


def write(path, n=3000):
    rng = np.random.default_rng(0)
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


@pytest.mark.parametrize("change", [lambda path: os.utime(path, ns=(0, 0)), os.unlink])
def test_a_file_that_workers_do_not_see_is_looked_at_here(cluster, tmp_path, long, change):
    path = tmp_path / "t.parquet"
    write(path)
    raw = load_raw(path)
    alone = understand(raw, {})
    cluster.start_workers(1)
    change(path)
    with spread_over(Where(1, cluster.address)):
        assert understand(raw, {}).schema == alone.schema
