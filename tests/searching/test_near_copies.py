import numpy as np
import pandas as pd
import torch

from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.searching.near_copies import FEWEST_ROWS, near_copies
from gpmnet.table import load_table


def groups_of(columns, candidates=None):
    table = load_table(pd.DataFrame(columns))
    features = build_features(table.encode(0), feature_functions(3), "cpu", torch.float64)
    if candidates is None:
        candidates = torch.arange(features.d).repeat(features.d, 1)
        candidates.fill_diagonal_(-1)
    return [{table.names[at] for at in group} for group in near_copies(features, candidates)]


def drawn(n=300, seed=0):
    rng = np.random.default_rng(seed)
    base, other = rng.normal(size=(2, n))
    state = rng.integers(0, 4, n)
    moved = np.where(rng.random(n) < 0.02, rng.integers(0, 4, n), state)
    return {
        "a": base,
        "b": base + 0.2 * rng.normal(size=n),
        "c": np.exp(base + 0.2 * rng.normal(size=n)),  # ranks decide
        "d": -base + 0.2 * rng.normal(size=n),
        "far": base + rng.normal(size=n),
        "other": other,
        "state": np.char.add("s", state.astype(str)),
        "moved": np.char.add("t", moved.astype(str)),
        "level": state
        + 0.01 * rng.normal(size=n),  # what a category determines need not determine the category
        "half": np.where(other > 0, "up", "down"),
    }


def test_groups_are_what_nearly_determines_each_other():
    assert groups_of(drawn()) == [{"a", "b", "c", "d"}, {"moved", "state"}]


def test_the_order_of_the_columns_and_the_sides_of_the_candidates_do_not_matter():
    columns = drawn()
    turned = dict(reversed(columns.items()))
    assert sorted(map(sorted, groups_of(turned))) == sorted(map(sorted, groups_of(columns)))
    d = len(columns)
    upper = torch.where(torch.arange(d) > torch.arange(d)[:, None], torch.arange(d), -1)
    assert groups_of(columns, upper) == groups_of(columns)
    assert groups_of(columns, torch.full((d, 1), -1)) == []  # who is no candidate is not compared


def test_a_chain_is_not_one_group():
    rng = np.random.default_rng(1)
    chain = [rng.normal(size=500)]
    while len(chain) < 20:
        chain.append(0.96 * chain[-1] + np.sqrt(1 - 0.96**2) * rng.normal(size=500))
    found = groups_of({f"x{k:02d}": x for k, x in enumerate(chain)})
    assert max(map(len, found)) <= 5
    for group in found:
        places = sorted(int(name[1:]) for name in group)
        assert places[-1] - places[0] <= 4


def test_few_rows_have_no_groups():
    columns = {name: values[: FEWEST_ROWS - 1] for name, values in drawn().items() if name in "abcd"}
    assert groups_of(columns) == []
    assert groups_of({name: values[: FEWEST_ROWS + 5] for name, values in drawn().items() if name in "abcd"})
