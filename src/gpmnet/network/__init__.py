"""The result of a fit: an immutable Markov network."""

from gpmnet.network.compare import Comparison
from gpmnet.network.explain import Explanation
from gpmnet.network.network import DENSE_UP_TO, MarkovNetwork
from gpmnet.network.pairs import Pairs
from gpmnet.network.shapes import Axis, Shapes

__all__ = ["DENSE_UP_TO", "Axis", "Comparison", "Explanation", "MarkovNetwork", "Pairs", "Shapes"]
