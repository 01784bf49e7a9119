"""How rows are encoded, and how a level is replaced."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.energies.energy_cases import LAYOUTS, rows

from gpmnet.energies import Coordinates
from gpmnet.errors import InputError


@given(st.integers(0, 3), st.lists(st.integers(1, 4), max_size=3), st.integers(0, 10_000))
def test_codes_survive_encoding(n_continuous, levels, seed):
    coordinates = Coordinates(n_continuous, tuple(levels))
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(4, n_continuous, generator=g)
    codes = torch.stack([torch.randint(0, m, (4,), generator=g) for m in levels] or [torch.zeros(4)], dim=1)
    h = coordinates.encode(z, codes)
    assert h.shape == (4, coordinates.width)
    assert coordinates.n_variables == n_continuous + len(levels)
    torch.testing.assert_close(h[:, :n_continuous], z)
    if levels:
        assert torch.equal(coordinates.codes(h), codes)
    assert coordinates.codes(h).shape == (4, len(levels))


def test_shares_of_the_rows_centre_the_indicators():
    codes = torch.tensor([[0, 2], [1, 0], [1, 1], [0, 2]])
    coordinates = Coordinates.from_codes(1, (2, 3), codes)
    assert coordinates.shares == (0.5, 0.5, 0.25, 0.25, 0.5)
    h = coordinates.encode(torch.zeros(4, 1, dtype=torch.float64), codes)
    torch.testing.assert_close(h.mean(dim=0), torch.zeros(6, dtype=torch.float64))


def test_replacing_a_block_is_encoding_another_code():
    coordinates = LAYOUTS["mixed"]
    h = rows(coordinates)
    codes = coordinates.codes(h)
    for v, m in enumerate(coordinates.levels):
        for k in range(m):
            other = codes.clone()
            other[:, v] = k
            torch.testing.assert_close(coordinates.replace(h, v, k), coordinates.encode(h[:, :2], other))


def test_impossible_layouts_are_refused():
    with pytest.raises(InputError, match="at least"):
        Coordinates(-1)
    with pytest.raises(InputError, match="at least 1 level"):
        Coordinates(0, (2, 0))
    with pytest.raises(InputError, match="Expected 5 shares"):
        Coordinates(0, (2, 3), (0.5, 0.5))
