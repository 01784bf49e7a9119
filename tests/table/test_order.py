"""The order of rows by what they hold, against the same sums and hashes in whole numbers of Python."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpmnet.table import order
from gpmnet.table.order import add_columns, by_sums, row_order

TOP = 1 << 64


def names(k):
    return tuple(f"x{i}" for i in range(k))


def key(name):
    return int.from_bytes(hashlib.blake2b(f"0\0{name}".encode(), digest_size=8).digest(), "little") | 1


def mixed(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % TOP
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % TOP
    return x ^ (x >> 31)


def slow_sums(named, values):
    return [sum(key(name) * int(v) for name, v in zip(named, row, strict=True)) % TOP for row in values]


@pytest.mark.parametrize("cells", [3, 1 << 18])
def test_sums_are_those_of_all_numbers_times_the_keys_of_their_names(monkeypatch, cells):
    monkeypatch.setattr(order, "_CELLS", cells)
    monkeypatch.setattr(order, "_COLUMNS", 2)
    values = np.random.default_rng(0).integers(-1, 2**31 - 1, (17, 5)).astype(np.int32)
    sums = np.full(17, 5, dtype=np.uint64)
    add_columns(sums, names(5), values)
    assert [(int(found) - 5) % TOP for found in sums] == slow_sums(names(5), values)
    add_columns(sums, names(5), values, times=-1)
    assert (sums == 5).all()


@given(st.lists(st.integers(0, 3) | st.integers(0, TOP - 1), min_size=1, max_size=60))
def test_rows_stand_by_a_hash_of_their_sums_and_equal_ones_by_their_numbers(sums):
    seen, hashed = {}, []
    for x in sums:
        seen[x] = seen.get(x, -1) + 1
        hashed.append(mixed((mixed(x) + seen[x]) % TOP))
    expected = sorted(range(len(sums)), key=lambda at: (hashed[at], at))
    assert by_sums(np.array(sums, dtype=np.uint64)).tolist() == expected


@given(st.integers(1, 60), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_is_that_of_their_contents(n, levels, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, levels, (n, 3)).astype(np.int32)
    shuffled = values[rng.permutation(n)]
    one, other = (row_order([(names(3), v)], n) for v in (values, shuffled))
    assert sorted(one) == list(range(n))
    np.testing.assert_array_equal(values[one], shuffled[other])


def test_the_order_of_rows_says_nothing_about_their_values():
    values = np.random.default_rng(0).permutation(20_000).astype(np.int32)
    placed = values[row_order([(("x",), values[:, None])], len(values))]
    assert abs(np.corrcoef(placed, np.arange(len(placed)))[0, 1]) < 4 / len(placed) ** 0.5
    assert abs(np.corrcoef(placed[1:], placed[:-1])[0, 1]) < 4 / len(placed) ** 0.5
