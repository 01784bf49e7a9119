"""The result of a fit: an immutable Markov network."""

from gpmnet.network.compare import Comparison
from gpmnet.network.explain import Explanation
from gpmnet.network.facts import Facts, Origin
from gpmnet.network.joint import JointFinding
from gpmnet.network.matrix import DENSE_UP_TO
from gpmnet.network.network import MarkovNetwork
from gpmnet.network.pairs import Pairs
from gpmnet.network.resampling import Resampling
from gpmnet.network.shapes import Axis, Shapes

__all__ = [
    "DENSE_UP_TO",
    "Axis",
    "Comparison",
    "Explanation",
    "Facts",
    "JointFinding",
    "MarkovNetwork",
    "Origin",
    "Pairs",
    "Resampling",
    "Shapes",
]
