"""The same answers on a GPU; skipped where there is none."""

import numpy as np
import pytest
import torch

from gpmnet import GPM
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalOptions
from gpmnet.simulate import simulate

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
@pytest.mark.parametrize("all_pairs_up_to", [100, 5])
def test_cuda_agrees_with_cpu(kind, all_pairs_up_to):
    frame = simulate("random", kind=kind, d=16, n=800, seed=0).frame()
    options = LocalOptions(all_pairs_up_to=all_pairs_up_to)
    cpu, cuda = (GPM(device=device, options=options).fit(frame) for device in ("cpu", "cuda"))
    np.testing.assert_array_equal(cpu.network_.adjacency, cuda.network_.adjacency)
    np.testing.assert_array_equal(cpu.network_.pairs.first, cuda.network_.pairs.first)
    np.testing.assert_allclose(
        np.log(cpu.network_.pairs.p_value), np.log(cuda.network_.pairs.p_value), rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(cpu.omega_, cuda.omega_, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_the_support_of_omega_from_listed_pairs_is_the_same(kind):
    frame = simulate("butterfly", kind=kind, d=20, n=800, seed=0).frame()
    options = DeepOptions(all_pairs_up_to=0)
    cpu, cuda = (
        GPM("deep", decide="omega", energy="pairwise", device=device, options=options).fit(frame)
        for device in ("cpu", "cuda")
    )
    np.testing.assert_array_equal(cpu.network_.adjacency, cuda.network_.adjacency)
    np.testing.assert_allclose(cpu.omega_, cuda.omega_, rtol=0.02, atol=1e-3)
