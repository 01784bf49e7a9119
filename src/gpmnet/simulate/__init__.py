"""Samples whose true Markov network is known: one family a file, all of them in `SIMULATORS`."""

from gpmnet.simulate.base import Simulation, Simulator
from gpmnet.simulate.butterfly import Butterfly
from gpmnet.simulate.confounded import Confounded
from gpmnet.simulate.copula_chain import CopulaChain
from gpmnet.simulate.gaussian import Gaussian
from gpmnet.simulate.gaussian_grid import GaussianGrid
from gpmnet.simulate.ising import Ising
from gpmnet.simulate.nonparanormal import Nonparanormal
from gpmnet.simulate.null import Null
from gpmnet.simulate.parity import Parity
from gpmnet.simulate.product import Product
from gpmnet.simulate.random_dag import RandomDag
from gpmnet.simulate.random_graph import RandomGraph
from gpmnet.simulate.registry import SIMULATORS, simulate

__all__ = [
    "SIMULATORS",
    "Butterfly",
    "Confounded",
    "CopulaChain",
    "Gaussian",
    "GaussianGrid",
    "Ising",
    "Nonparanormal",
    "Null",
    "Parity",
    "Product",
    "RandomDag",
    "RandomGraph",
    "Simulation",
    "Simulator",
    "simulate",
]
