"""How rows are encoded, and how a level is replaced."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.energies.energy_cases import LAYOUTS, rows

from gpmnet.energies import Layout
from gpmnet.errors import InputError


@given(st.integers(0, 3), st.lists(st.integers(1, 4), max_size=3), st.integers(0, 10_000))
def test_codes_survive_encoding(n_continuous, levels, seed):
    layout = Layout(n_continuous, tuple(levels))
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(4, n_continuous, generator=g)
    codes = torch.stack([torch.randint(0, m, (4,), generator=g) for m in levels] or [torch.zeros(4)], dim=1)
    h = layout.encode(z, codes)
    assert h.shape == (4, layout.width)
    assert layout.n_variables == n_continuous + len(levels)
    torch.testing.assert_close(h[:, :n_continuous], z)
    if levels:
        assert torch.equal(layout.codes(h), codes)
    assert layout.codes(h).shape == (4, len(levels))


def test_shares_of_the_rows_centre_the_indicators():
    codes = torch.tensor([[0, 2], [1, 0], [1, 1], [0, 2]])
    layout = Layout.from_codes(1, (2, 3), codes)
    assert layout.shares == (0.5, 0.5, 0.25, 0.25, 0.5)
    h = layout.encode(torch.zeros(4, 1, dtype=torch.float64), codes)
    torch.testing.assert_close(h.mean(dim=0), torch.zeros(6, dtype=torch.float64))


def test_replacing_a_block_is_encoding_another_code():
    layout = LAYOUTS["mixed"]
    h = rows(layout)
    codes = layout.codes(h)
    for v, m in enumerate(layout.levels):
        for k in range(m):
            other = codes.clone()
            other[:, v] = k
            torch.testing.assert_close(layout.replace(h, v, k), layout.encode(h[:, :2], other))


def test_level_rows_are_what_replaces_a_block():
    layout = LAYOUTS["mixed"]
    h, table = rows(layout), layout.level_rows()
    starts = layout.starts
    for v, m in enumerate(layout.levels):
        block = layout.blocks[v]
        for k in range(m):
            row = table[starts[v] + k]
            inside = slice(starts[v], starts[v] + m)
            torch.testing.assert_close(layout.replace(h, v, k)[:, block], row[inside].expand(len(h), -1))
            assert float(row.abs().sum()) == pytest.approx(float(row[inside].abs().sum()))


def test_impossible_layouts_are_refused():
    with pytest.raises(InputError, match="at least"):
        Layout(-1)
    with pytest.raises(InputError, match="at least 1 level"):
        Layout(0, (2, 0))
    with pytest.raises(InputError, match="Expected 5 shares"):
        Layout(0, (2, 3), (0.5, 0.5))
