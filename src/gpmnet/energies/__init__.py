"""Log densities up to a constant, one family a file, and their derivatives and differences."""

from __future__ import annotations

from collections.abc import Callable

import torch

from gpmnet.energies.base import Energy, Layout
from gpmnet.energies.deep_kernel import DeepKernel
from gpmnet.energies.low_rank import LowRankEnergy
from gpmnet.energies.mlp import Mlp
from gpmnet.energies.normal import Normal
from gpmnet.energies.pairwise import Pairwise
from gpmnet.energies.total import Sum

# By name, from a layout and the source of starting weights.
ENERGIES: dict[str, Callable[[Layout, torch.Generator | None], Energy]] = {
    "pairwise": lambda layout, generator: Pairwise(layout),
    "mlp": lambda layout, generator: Mlp(layout, generator=generator),
    "deep_kernel": lambda layout, generator: DeepKernel(layout, generator=generator),
}

__all__ = ["ENERGIES", "DeepKernel", "Energy", "Layout", "LowRankEnergy", "Mlp", "Normal", "Pairwise", "Sum"]
