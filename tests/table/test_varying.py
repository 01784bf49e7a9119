import numpy as np
import pandas as pd

from gpmnet.table import load_table
from gpmnet.table.varying import varying


def frame():
    rng = np.random.default_rng(0)
    n = 60
    rare = np.zeros(n)
    rare[:3] = [1.5, 2.5, 3.5]
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "rare": rare,
            "three": ["u", "v", "w"] * (n // 3),
            "once": ["q"] * (n - 2) + ["z"] * 2,
        }
    )


def rows_of(encoded, wanted):
    return np.flatnonzero(np.isin(encoded.rows, wanted))


def test_what_does_not_vary_is_left_out_and_codes_have_no_gaps():
    table = load_table(frame(), kinds={"rare": "continuous", "once": "discrete"})
    encoded = table.encode(0)
    wanted = [k for k in range(3, 58) if k % 3 != 1]  # no row with a rare value, with z, or with v
    (half,), at = varying([encoded.take(rows_of(encoded, wanted))])
    assert half.names == ("x", "three")
    assert at.tolist() == [0, 2]
    assert half.is_discrete.tolist() == [False, True]
    assert half.n_levels.tolist() == [2]
    assert sorted(set(half.codes[:, 0])) == sorted(set(half.fine_codes[:, 0])) == [0, 1]
    expected = np.argsort(np.argsort(frame()["x"].to_numpy()[half.rows]))
    assert half.ranks[:, 0].tolist() == expected.tolist()
    assert half.tied.tolist() == []
    assert half.groups.shape == (len(wanted), 0)


def test_a_table_in_which_all_varies_stays_as_it_is():
    encoded = load_table(frame(), kinds={"rare": "continuous", "once": "discrete"}).encode(0)
    (half,), at = varying([encoded])
    assert (half.names, at.tolist()) == (encoded.names, [0, 1, 2, 3])
    for name in ("ranks", "codes", "fine_codes", "n_levels", "tied", "groups"):
        assert np.array_equal(getattr(half, name), getattr(encoded, name)), name
