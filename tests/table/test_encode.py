import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata

from gpmnet.table import centred_indicators, encode, load_table, normal_scores
from gpmnet.table.encode import break_ties, normal_quantiles, values_at_scores

columns = arrays(
    np.float64, st.tuples(st.integers(2, 40), st.integers(1, 5)), elements=st.floats(-1e6, 1e6, width=32)
)


def names(k):
    return tuple(f"x{i}" for i in range(k))


def ranks_and_ties(values, named, seed=0, columns_per_block=512):
    ranks, tied, groups = encode.ranks_and_ties(values, columns_per_block)
    break_ties(ranks, tied, groups, named, seed, columns_per_block)
    return ranks, tied, groups


def scores_of(values, named, seed=0, columns_per_block=512):
    return normal_scores(ranks_and_ties(values, named, seed, columns_per_block)[0])


def test_scores_without_ties_are_the_textbook_ones():
    values = np.random.default_rng(0).standard_normal((501, 7))
    expected = norm.ppf((rankdata(values, axis=0) - 0.5) / 501)
    np.testing.assert_allclose(scores_of(values, names(7)), expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("n", [2, 3, 10, 11])
def test_quantiles_are_symmetric(n):
    quantiles = normal_quantiles(n)
    np.testing.assert_array_equal(quantiles, -quantiles[::-1])
    np.testing.assert_allclose(quantiles, norm.ppf((np.arange(n) + 0.5) / n), atol=1e-12)


@given(columns)
def test_scores_are_a_permutation_of_the_quantiles_and_respect_order(values):
    scores = scores_of(values, names(values.shape[1]))
    expected = normal_quantiles(len(values)).astype(np.float32)
    for x, z in zip(values.T, scores.T, strict=True):
        np.testing.assert_array_equal(np.sort(z), expected)
        assert (np.diff(x[np.argsort(z)]) >= 0).all()


@given(columns)
def test_ranks_are_those_of_the_values_and_of_the_scores(values):
    ranks, tied, groups = ranks_and_ties(values, names(values.shape[1]))
    assert ranks.dtype == np.int32
    for x, rank in zip(values.T, ranks.T, strict=True):
        np.testing.assert_array_equal(np.sort(rank), np.arange(len(x)))
        np.testing.assert_array_equal(x[np.argsort(rank)], np.sort(x))
    for at, group in zip(tied, groups.T, strict=True):
        assert (np.diff(group[np.argsort(ranks[:, at])]) >= 0).all()
    scores = normal_scores(ranks)
    np.testing.assert_array_equal(np.argsort(np.argsort(scores, axis=0), axis=0), ranks)


def test_ranks_and_scores_of_a_table_keep_columns_in_one_piece_and_take_four_bytes_a_cell():
    values = np.round(np.random.default_rng(0).standard_normal((40, 6)), 1)
    values[:, 0] += np.arange(40)
    encoded = load_table(values, kinds=dict.fromkeys(range(6), "continuous"), names=range(6)).encode()
    assert encoded.n_rows == 40
    assert (encoded.ranks.dtype, encoded.scores.dtype) == (np.int32, np.float32)
    assert encoded.ranks.nbytes == encoded.scores.nbytes == 4 * 40 * 6
    assert encoded.ranks.flags.f_contiguous
    assert encoded.scores.flags.f_contiguous
    np.testing.assert_array_equal(encoded.scores, normal_quantiles(40).astype(np.float32)[encoded.ranks])


@given(columns, st.sampled_from([lambda x: 3 * x + 1, lambda x: np.arctan(x / 1e3), lambda x: x**3, np.exp2]))
def test_encoding_is_invariant_to_monotone_maps(values, monotone):
    values = np.round(values / 1e4, 2)  # ties, and values that no map here sends to one number
    np.testing.assert_array_equal(
        scores_of(values, names(values.shape[1])), scores_of(monotone(values), names(values.shape[1]))
    )


@given(columns, st.randoms(use_true_random=False))
def test_permuting_columns_permutes_the_scores(values, random):
    order = list(range(values.shape[1]))
    random.shuffle(order)
    named = names(values.shape[1])
    shuffled = scores_of(values[:, order], tuple(named[i] for i in order))
    np.testing.assert_array_equal(shuffled, scores_of(values, named)[:, order])


def test_permuting_rows_permutes_the_scores_of_columns_without_ties():
    rng = np.random.default_rng(0)
    values, order = rng.standard_normal((90, 4)), rng.permutation(90)
    np.testing.assert_array_equal(scores_of(values[order], names(4)), scores_of(values, names(4))[order])


def test_ties_are_broken_at_random_but_reproducibly():
    values = np.repeat([0.0, 1.0], 500)[:, None]
    a, b, c = (scores_of(values, ("x",), seed)[:, 0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    assert abs(np.corrcoef(a[:500], np.arange(500))[0, 1]) < 0.15  # not the order of the rows
    other = scores_of(values, ("y",))[:, 0]
    assert abs(np.corrcoef(a[:500], other[:500])[0, 1]) < 0.15  # not shared between columns


def test_blocks_do_not_matter():
    values = np.round(np.random.default_rng(0).standard_normal((50, 23)), 1)
    np.testing.assert_array_equal(
        scores_of(values, names(23), columns_per_block=4), scores_of(values, names(23))
    )


@given(columns)
def test_scores_decode_to_the_values(values):
    scores = scores_of(values, names(values.shape[1]))
    for x, z in zip(values.T, scores.T, strict=True):
        np.testing.assert_array_equal(values_at_scores(x, z), x)


@pytest.mark.parametrize("n", [5_000, 50_000])
def test_a_few_scores_decode_to_the_values_without_all_of_them(n):
    """Of the longer column order statistics are found without sorting it."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=n).round(3)
    scores = np.r_[-9.0, 9.0, rng.normal(size=19), 0.0, 0.0]
    at = np.clip(np.rint(norm.cdf(scores) * n - 0.5).astype(int), 0, n - 1)
    np.testing.assert_array_equal(values_at_scores(values, scores), np.sort(values)[at])


def test_indicators_are_centred_and_skip_the_first_level():
    codes = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(np.int16)
    codes[:, 1] %= 2
    indicators, owner = centred_indicators(codes, np.array([3, 2]))
    assert owner.tolist() == [0, 0, 1]
    np.testing.assert_allclose(indicators.mean(axis=0), 0, atol=1e-7)
    for at, (variable, level) in enumerate([(0, 1), (0, 2), (1, 1)]):
        expected = (codes[:, variable] == level).astype(float)
        np.testing.assert_allclose(indicators[:, at], expected - expected.mean(), atol=1e-6)


def test_encoded_table_keeps_the_order_of_the_variables():
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.integers(0, 3, 80), rng.normal(size=80), rng.integers(0, 2, 80), rng.normal(size=80)]
    )
    encoded = load_table(values).encode()
    assert encoded.is_discrete.tolist() == [True, False, True, False]
    np.testing.assert_array_equal(encoded.codes, values[encoded.rows][:, [0, 2]])
    assert encoded.n_levels.tolist() == [3, 2]
    assert np.corrcoef(encoded.scores[:, 1], values[encoded.rows, 3])[0, 1] > 0.98


def mixed(n):
    """Columns of every encoding, with ties, a level that is pooled, and rows that are there twice."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"x": rng.normal(size=n).round(3), "count": rng.poisson(2, n), "few": rng.integers(0, 3, n)}
    )
    frame["text"] = np.where(rng.random(n) < 0.03, "rare", rng.choice(["a", "b"], n))
    return pd.concat([frame, frame[: n // 4]], ignore_index=True)


def test_rows_and_columns_in_another_order_are_encoded_alike():
    frame = mixed(300)
    kinds = {"count": "continuous", "few": "discrete"}
    one = load_table(frame, kinds=kinds).encode(5)
    assert not np.array_equal(one.rows, np.arange(len(frame)))
    order = np.random.default_rng(2).permutation(len(frame))
    other = load_table(frame.iloc[order], kinds=kinds).encode(5)
    for name in ("ranks", "codes", "fine_codes", "tied", "groups"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(frame.to_numpy()[one.rows], frame.to_numpy()[order][other.rows])
    turned = load_table(frame[frame.columns[::-1]], kinds=kinds).encode(5)
    np.testing.assert_array_equal(turned.ranks[:, ::-1], one.ranks)
    np.testing.assert_array_equal(turned.codes[:, ::-1], one.codes)


def test_monotone_maps_of_columns_change_nothing():
    frame = mixed(200)
    mapped = frame.assign(x=np.exp(frame["x"]), count=frame["count"] ** 3)
    kinds = {"count": "continuous"}
    one, other = (load_table(f, kinds=kinds).encode(0) for f in (frame, mapped))
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.ranks, other.ranks)


def test_ties_are_told_by_the_numbers_of_the_distinct_values():
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.normal(size=50), rng.poisson(2, 50), rng.normal(size=50), rng.integers(0, 9, 50)]
    )
    for block in (1, 3, 512):
        _, tied, groups = ranks_and_ties(values, names(4), columns_per_block=block)
        assert tied.tolist() == [1, 3]
        expected = [np.unique(values[:, at], return_inverse=True)[1] for at in tied]
        np.testing.assert_array_equal(groups.T, expected)


def test_some_rows_are_ranked_as_a_table_of_their_own():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "tied": rng.integers(0, 30, 400) / 2})
    frame["text"] = [f"level {k}" for k in np.minimum(rng.geometric(0.1, 400), 40)]
    encoded = load_table(frame, kinds={"tied": "continuous"}).encode(3)
    rows = np.sort(rng.choice(400, 150, replace=False))
    some = encoded.take(rows)
    assert some.n_rows == 150
    np.testing.assert_array_equal(np.sort(some.ranks, axis=0), np.tile(np.arange(150)[:, None], 2))
    for k in range(2):
        np.testing.assert_array_equal(np.argsort(some.ranks[:, k]), np.argsort(encoded.ranks[rows, k]))
    np.testing.assert_array_equal(some.codes, encoded.codes[rows])
    np.testing.assert_array_equal(some.fine_codes, encoded.fine_codes[rows])
    # Groups are numbered without gaps, in the order of the values.
    values = frame["tied"].to_numpy()[encoded.rows[rows]]
    np.testing.assert_array_equal(some.groups[:, 0], np.unique(values, return_inverse=True)[1])
