"""One list of cases: every registered simulator in every kind, and the variants that options give."""

import numpy as np
import pytest

from gpmnet.simulate import SIMULATORS, simulate

D = 6  # a multiple of every simulator's step, and small enough to enumerate all states of discrete laws

GIVEN = np.eye(D) + 0.4 * np.eye(D, k=2) + 0.4 * np.eye(D, k=-2)

VARIANTS = [
    ("butterfly", "continuous", {"smooth": True}),
    ("butterfly", "discrete", {"positive": True}),
    ("butterfly", "mixed", {"positive": True, "smooth": True}),
    ("random", "continuous", {"noise": "gaussian"}),
    ("random", "continuous", {"smooth": True}),
    ("random", "continuous", {"naive": True}),
    ("random", "discrete", {"density": 0.3}),
    ("random", "mixed", {"smooth": True}),
    ("random", "mixed", {"smooth": True, "density": 0.8, "max_clique": 5}),
    ("dag", "continuous", {"noise": "gaussian", "density": 0.3}),
    ("dag", "discrete", {"max_parents": 2}),
    ("gaussian", "continuous", {"structure": "chain", "rho": -0.6}),
    ("gaussian", "continuous", {"precision": GIVEN}),
    ("gaussian-grid", "continuous", {"partial": -0.24}),
    ("ising", "discrete", {"coupling": -0.3}),
    ("nonparanormal", "continuous", {"structure": "chain"}),
    ("parity", "discrete", {"block": 3, "flip": 0.2}),
    ("parity", "continuous", {"block": 3, "flip": 0.1}),
    ("product", "continuous", {"noise": 1.0}),
    ("confounded", "mixed", {"law": "noisy exclusive or"}),
    ("confounded", "mixed", {"law": "table of 3"}),
    ("confounded", "continuous", {"law": "curved chain"}),
]
ONE_KIND = {"confounded"}  # a law has one kind, the default law the first

CASES = [
    (name, kind, {})
    for name, simulator in SIMULATORS.items()
    for kind in (simulator.kinds[:1] if name in ONE_KIND else simulator.kinds)
] + VARIANTS


class Case:
    """A simulator with kind and options; call it with n, seed and further options."""

    def __init__(self, name, kind, options):
        self.name, self.kind, self.options = name, kind, options

    def __call__(self, n=50, seed=1, d=D, **more):
        return simulate(self.name, d=d, n=n, seed=seed, kind=self.kind, **self.options, **more)

    def __str__(self):
        given = "-".join(f"{k}={'Q' if k == 'precision' else v}" for k, v in self.options.items())
        return "-".join(filter(None, [self.name, self.kind, given]))


def cases(keep=lambda name, kind: True):
    """Return the cases of a choice of simulators and kinds."""
    return [Case(*case) for case in CASES if keep(*case[:2])]


def joint_table(drawn):
    """Return the joint mass table of an all-discrete law, shape `levels`, by enumerating every state."""
    states = np.indices(drawn.levels).reshape(len(drawn.levels), -1).T
    return np.exp(drawn.log_density(states)).reshape(drawn.levels)


def parametrised(keep):
    return pytest.fixture(params=cases(keep), ids=str)(lambda request: request.param)


joint_mass = pytest.fixture(lambda: joint_table)
case = parametrised(lambda name, kind: True)
# columns with atoms and a density have no joint density; the null and the null pairs have their own tests
case_with_density = parametrised(
    lambda name, kind: name != "confounded" and (name != "null" or kind == "discrete")
)
discrete_case = parametrised(lambda name, kind: kind == "discrete")
# on lattices neighbors depend too weakly for few rows: they have their own tests, with more
dependent_case = parametrised(lambda name, kind: name not in ("null", "confounded", "gaussian-grid", "ising"))
gaussian_case = parametrised(lambda name, kind: name in ("gaussian", "gaussian-grid"))
