"""The result of a fit: an immutable Markov network."""

from gpmnet.network.network import DENSE_UP_TO, MarkovNetwork, Pairs

__all__ = ["DENSE_UP_TO", "MarkovNetwork", "Pairs"]
