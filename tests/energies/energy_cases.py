"""Energies with random parameters, and densities written out by hand, for the tests of energies, objectives and Omega."""

import itertools

import torch

from gpmnet.energies import (
    MLP,
    Coordinates,
    DeepKernel,
    DeepKernelEnergy,
    Energy,
    MLPEnergy,
    NormalEnergy,
    Pairwise,
    PairwiseEnergy,
    SumEnergy,
)
from gpmnet.energies.together import TogetherEnergy

LAYOUTS = {
    "continuous": Coordinates(3),
    "discrete": Coordinates(0, (2, 3, 2), (0.3, 0.7, 0.2, 0.3, 0.5, 0.6, 0.4)),
    "mixed": Coordinates(2, (2, 3, 1), (0.3, 0.7, 0.2, 0.3, 0.5, 1.0)),
}

BUILDERS = {
    "mlp": lambda coordinates: MLPEnergy(coordinates, MLP(hidden=6)),
    "mlp2": lambda coordinates: MLPEnergy(coordinates, MLP(hidden=5, depth=2, beta=2.0)),
    "deep_kernel": lambda coordinates: DeepKernelEnergy(
        coordinates, DeepKernel(n_kernels=2, hidden=4, n_points=7)
    ),
    "kernel_pairs": lambda coordinates: DeepKernelEnergy(
        coordinates, DeepKernel(n_kernels=2, hidden=3, n_points=5, reads=2)
    ),
    "pairwise": lambda coordinates: PairwiseEnergy(coordinates, Pairwise()),
    "pairwise5": lambda coordinates: PairwiseEnergy(coordinates, Pairwise(n_functions=5)),
    "together": lambda coordinates: TogetherEnergy(coordinates, [(0, 1, 2), (2, 0)]),
    "normal": lambda coordinates: NormalEnergy(coordinates, learned=True),
    "sum": lambda coordinates: SumEnergy(
        NormalEnergy(coordinates),
        MLPEnergy(coordinates, MLP(hidden=4)),
        PairwiseEnergy(coordinates, Pairwise()),
    ),
}


def rows(coordinates, n=5, seed=1):
    """Encoded random rows in float64."""
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(n, coordinates.n_continuous, generator=g, dtype=torch.float64)
    codes = torch.stack(
        [torch.randint(0, m, (n,), generator=g) for m in coordinates.levels] or [torch.zeros(n)], dim=1
    )
    return coordinates.encode(z, codes)


def random_energy(name, coordinates, seed=0):
    """A family with all parameters drawn at random, in float64."""
    g = torch.Generator().manual_seed(seed)
    energy = BUILDERS[name](coordinates).double()
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=g, dtype=torch.float64))
    if isinstance(energy, DeepKernelEnergy):
        energy.init_from(rows(coordinates, 9), g)
    return energy


class Written(Energy):
    """A log density given as a function of z (..., dc) and the indicators (..., S)."""

    def __init__(self, coordinates, function):
        super().__init__(coordinates)
        self.function = function

    def forward(self, h):
        return self.function(h[..., : self.coordinates.n_continuous], self.indicators(h))


def mass(log_table):
    """The energy of a mass function of discrete variables, given its log as a table with one axis each."""
    coordinates = Coordinates(0, tuple(log_table.shape))

    def log_mass(_, hot):
        value = log_table
        parts = hot.split(coordinates.levels, dim=-1)
        letters = "abcdefg"[: len(parts)]
        axes = ",".join(f"...{c}" for c in letters)
        return torch.einsum(f"{letters},{axes}->...", value, *parts)

    return Written(coordinates, log_mass)


def states(coordinates):
    """All states of the discrete variables, as encoded rows without continuous part."""
    codes = torch.tensor(list(itertools.product(*(range(m) for m in coordinates.levels))))
    return coordinates.encode(torch.zeros(len(codes), 0, dtype=torch.float64), codes)
