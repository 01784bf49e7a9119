"""Samples whose true Markov network is known: one family a file, all of them in `SIMULATORS`."""

from gpmnet.simulate.base import Simulation
from gpmnet.simulate.registry import SIMULATORS, simulate

__all__ = ["SIMULATORS", "Simulation", "simulate"]
