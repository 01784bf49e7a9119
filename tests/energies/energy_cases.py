"""Energies with random parameters, and densities written out by hand, for the tests of energies, objectives and Omega."""

import itertools

import torch

from gpmnet.energies import DeepKernel, Energy, Layout, Mlp, Normal, Pairwise, Sum

LAYOUTS = {
    "continuous": Layout(3),
    "discrete": Layout(0, (2, 3, 2), (0.3, 0.7, 0.2, 0.3, 0.5, 0.6, 0.4)),
    "mixed": Layout(2, (2, 3, 1), (0.3, 0.7, 0.2, 0.3, 0.5, 1.0)),
}

BUILDERS = {
    "mlp": lambda layout: Mlp(layout, hidden=6),
    "mlp2": lambda layout: Mlp(layout, hidden=5, depth=2, beta=2.0),
    "deep_kernel": lambda layout: DeepKernel(layout, n_kernels=2, hidden=4, n_points=7),
    "pairwise": Pairwise,
    "pairwise5": lambda layout: Pairwise(layout, n_functions=5),
    "normal": lambda layout: Normal(layout, learned=True),
    "sum": lambda layout: Sum(Normal(layout), Mlp(layout, hidden=4), Pairwise(layout)),
}


def rows(layout, n=5, seed=1):
    """Encoded random rows in float64."""
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(n, layout.n_continuous, generator=g, dtype=torch.float64)
    codes = torch.stack(
        [torch.randint(0, m, (n,), generator=g) for m in layout.levels] or [torch.zeros(n)], dim=1
    )
    return layout.encode(z, codes)


def random_energy(name, layout, seed=0):
    """A family with all parameters drawn at random, in float64."""
    g = torch.Generator().manual_seed(seed)
    energy = BUILDERS[name](layout).double()
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=g, dtype=torch.float64))
    if isinstance(energy, DeepKernel):
        energy.init_from(rows(layout, 9), g)
    return energy


class Written(Energy):
    """A log density given as a function of z (..., dc) and the indicators (..., S)."""

    def __init__(self, layout, function):
        super().__init__(layout)
        self.function = function

    def forward(self, h):
        return self.function(h[..., : self.layout.n_continuous], self.indicators(h))


def mass(log_table):
    """The energy of a mass function of discrete variables, given its log as a table with one axis each."""
    layout = Layout(0, tuple(log_table.shape))

    def log_mass(_, hot):
        value = log_table
        parts = hot.split(layout.levels, dim=-1)
        letters = "abcdefg"[: len(parts)]
        axes = ",".join(f"...{c}" for c in letters)
        return torch.einsum(f"{letters},{axes}->...", value, *parts)

    return Written(layout, log_mass)


def states(layout):
    """All states of the discrete variables, as encoded rows without continuous part."""
    codes = torch.tensor(list(itertools.product(*(range(m) for m in layout.levels))))
    return layout.encode(torch.zeros(len(codes), 0, dtype=torch.float64), codes)
