"""Log densities up to a constant, one family a file, and their derivatives and differences."""

from __future__ import annotations

from gpmnet.energies.base import BaseFamily, Coordinates, Energy, EnergyFamily
from gpmnet.energies.deep_kernel import DeepKernel, DeepKernelEnergy
from gpmnet.energies.low_rank import LowRankEnergy
from gpmnet.energies.mlp import MLP, MLPEnergy
from gpmnet.energies.normal import Normal, NormalEnergy, Own
from gpmnet.energies.pairwise import Pairwise, PairwiseEnergy
from gpmnet.energies.total import SumEnergy

# By their words, with their default numbers.
ENERGIES: dict[str, EnergyFamily] = {
    "pairwise": Pairwise(),
    "mlp": MLP(),
    "deep_kernel": DeepKernel(),
    "kernel_pairs": DeepKernel(n_kernels=1, hidden=8, n_points=40, reads=2),
}
BASES: dict[str, BaseFamily] = {"pairwise": Pairwise(), "own": Own(), "normal": Normal()}

__all__ = [
    "BASES",
    "ENERGIES",
    "MLP",
    "BaseFamily",
    "Coordinates",
    "DeepKernel",
    "DeepKernelEnergy",
    "Energy",
    "EnergyFamily",
    "LowRankEnergy",
    "MLPEnergy",
    "Normal",
    "NormalEnergy",
    "Own",
    "Pairwise",
    "PairwiseEnergy",
    "SumEnergy",
]
