"""Sums in single precision are compared with double at run time: rounding passes, wrong products do not."""

import numpy as np
import pytest
import torch

from gpmnet import GPM
from gpmnet.columns import tabulated
from gpmnet.columns.precision import check_sums
from gpmnet.errors import ComputationError
from gpmnet.searching import screen


def rows(n, p=8, seed=0):
    value = torch.randn(p, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    value[1] = value[0]
    return ((value - value.mean(dim=1, keepdim=True)) / value.std(dim=1, keepdim=True)).float()


def cut(value):
    """Return numbers with the 10 bits that tensor cores keep of a fraction."""
    return (value.view(torch.int32) & ~((1 << 13) - 1)).view(torch.float32)


@pytest.mark.parametrize("n", [10, 1000, 50_000])
def test_rounding_passes_that_of_tensor_cores_too(n):
    one, two = rows(n), rows(n, seed=1)
    two[0] = one[0]
    check_sums(one, two, one @ two.T)
    check_sums(one, two, cut(one) @ cut(two).T)


@pytest.mark.parametrize("n", [100, 50_000])
def test_what_is_no_rounding_is_refused(n):
    one, two = rows(n), rows(n, seed=1)
    for wrong in (
        one.flip(0) @ two.T,
        (one @ two.T) * 1.5 + n**0.5,
        one[:, : n // 2] @ two[:, : n // 2].T,
        torch.full((8, 8), torch.nan),
    ):
        with pytest.raises(ComputationError, match="differ from those in double precision"):
            check_sums(one, two, wrong)


@pytest.mark.parametrize("module", [screen, tabulated])
def test_a_fit_looks(monkeypatch, module):
    """Both where pairs are screened and where moments of long tables are kept."""
    looks = []
    plain = module.check_sums
    monkeypatch.setattr(module, "check_sums", lambda *given: looks.append(given) or plain(*given))
    rng = np.random.default_rng(0)
    few = GPM().set_params(options__all_pairs_up_to=2) if module is screen else GPM()
    few.fit(rng.normal(size=(100, 4) if module is screen else (4200, 3)))
    assert looks
