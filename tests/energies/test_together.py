"""Products of signs: the transform against sums over sets one by one, and which sets are found."""

import itertools

import pytest
import torch

from gpmnet.energies import Coordinates
from gpmnet.energies.together import acting_together, mean_products
from gpmnet.simulate import simulate


def encoded(simulation):
    """The coordinates of a simulation of one kind, and its rows."""
    values, d = torch.tensor(simulation.values), len(simulation.names)
    if simulation.kinds[0] == "continuous":
        return Coordinates(d), values
    coordinates = Coordinates.from_codes(0, simulation.levels, values.long())
    return coordinates, coordinates.encode(values[:, :0].double(), values.long())


def normal_rows(n, d, seed):
    return torch.randn((n, d), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_transform_is_the_mean_product_of_every_set():
    above = normal_rows(200, 5, 0) > torch.tensor([0.0, 0.5, -0.3, 1.0, 0.0])
    standard = (above.double() - above.double().mean(dim=0)) / above.double().std(dim=0, correction=0)
    found, _ = mean_products(above)
    for code in range(32):
        members = [bit for bit in range(5) if code >> bit & 1]
        torch.testing.assert_close(found[code], standard[:, members].prod(dim=1).mean())


def test_sets_that_rest_on_few_rows_are_known():
    above = torch.zeros((600, 3), dtype=torch.bool)
    above[:5, 0], above[::2, 1], above[::3, 2] = True, True, True
    _, rests = mean_products(above)
    assert rests.tolist() == [True, False] * 4


@pytest.mark.parametrize(
    ("kind", "d"), [(kind, d) for kind in ("discrete", "continuous") for d in (3, 5, 7, 9)]
)
def test_a_parity_is_one_set(kind, d):
    coordinates, h = encoded(simulate("parity", d=d, n=2000, seed=3, kind=kind))
    assert acting_together(coordinates, h, 8) == [tuple(range(d))]


def test_independent_signs_are_rarely_found():
    draws = [acting_together(Coordinates(10), normal_rows(500, 10, seed), 8) for seed in range(100)]
    assert sum(map(bool, draws)) <= 4


def test_pairs_that_do_not_touch_do_not_act_together():
    """Their products have a mean of four, but only because each pair has one of two."""
    z = normal_rows(2000, 4, 1)
    z[:, 1] += 2 * z[:, 0]
    z[:, 3] += 2 * z[:, 2]
    mean, _ = mean_products(z > 0)
    assert abs(float(mean[15])) * 2000**0.5 > 10
    assert acting_together(Coordinates(4), z, 8) == []


def test_neither_do_the_links_of_a_chain():
    z = normal_rows(2000, 8, 4)
    for k in range(1, 8):
        z[:, k] += z[:, k - 1]
    assert acting_together(Coordinates(8), z, 8) == []


def test_only_variables_with_a_sign_and_only_some_tables_are_looked_at():
    codes = torch.tensor(list(itertools.product((0, 1), (0, 1), (0, 1, 2)))).repeat(100, 1)
    codes = torch.cat([codes, (codes[:, :1] + codes[:, 1:2]) % 2], dim=1)
    coordinates = Coordinates.from_codes(0, (2, 2, 3, 2), codes)
    h = coordinates.encode(torch.zeros((len(codes), 0), dtype=torch.float64), codes)
    assert acting_together(coordinates, h, 8) == [(0, 1, 3)]
    assert acting_together(coordinates, h, 0) == []
    many = normal_rows(500, 17, 2)
    many[:, 2] = many[:, 2].abs() * torch.sign(many[:, 0] * many[:, 1])
    assert acting_together(Coordinates(17), many, 8) == []
    assert acting_together(Coordinates(16), many[:, :16], 8) == [(0, 1, 2)]
