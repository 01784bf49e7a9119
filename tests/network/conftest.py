import numpy as np
import pytest

from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.directions import Directions, MoralEdge
from gpmnet.network import Axis, Facts, MarkovNetwork, Origin, Pairs, Shapes
from gpmnet.selection import Cutoff
from gpmnet.table import Schema

HOSTILE = (
    "<script>alert(1)</script>",
    "quote\" and 'apostrophe' & ]]>",
    "line one\nline two\r\nthree\rfour\tfive",
    "\U0001f600 emoji",
    "x" * 300,
    "=1+1",
    "-2",
    "@SUM(A1)",
    "control \x00\x01\x1b[31m\x7f\x9f",
    "lone \ud800 surrogate \ufffe\uffff",
    "back\\slash \\u0041 \\\\ \\",
    "$\\frac{1}$ {{ 7*7 }} %s",
    " ",
    "",
)


def centred(grid):
    grid = grid - grid.mean(axis=0)
    return (grid - grid.mean(axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def hostile():
    """A chain over names and kinds that no format likes, one pair of which only came close."""
    d = len(HOSTILE)
    first = np.arange(d - 1)
    is_edge = first != 3
    return MarkovNetwork(
        HOSTILE,
        Pairs.of(first, first + 1, is_edge, strength=first / d, p_value=first / 1e9, q_value=first / 1e8),
        tuple("discrete" if at % 2 else "continuous" for at in range(d)),
        n_rows=50,
        cutoff=Cutoff(0.05),
    )


@pytest.fixture
def shaped():
    """Four variables with a surface, lines, a table, a pair that came close, and one that did not."""
    x = tuple(np.linspace(1.0, 3.0, 9).tolist())
    number = Axis(x, tuple(f"{value:g}" for value in x))
    steps = np.linspace(-1, 1, 9)
    grids = (
        centred(np.outer(steps, -steps)),  # density - alcohol
        centred(np.outer(steps, [1.0, -1.0])),  # density - <colour>
        centred(np.array([[0.4, -0.4, 0.1], [-0.4, 0.4, 0.0]])),  # <colour> - grade
    )
    pairs = Pairs.of(
        [0, 0, 0, 2], [1, 2, 3, 3], [True, True, False, True],
        omega=[1.5, 0.7, np.nan, 0.2], strength=[0.62, 0.35, 0.12, 0.2], sign=[-1, 0, 1, 0],
        p_value=[0.0, 1e-5, 0.03, 0.001], q_value=[0.0, 1e-4, 0.21, 0.01],
    )  # fmt: skip
    axes = {
        0: number,
        1: number,
        2: Axis((), ("red $x^", "<b>white")),
        3: Axis((), ("a", "b", "c")),
    }
    return MarkovNetwork(
        ("density", "alcohol", "<colour>", "grade"), pairs,
        ("continuous", "continuous", "discrete", "discrete"), 1599, Cutoff(0.05),
        Shapes(axes, np.array([0, 1, 3]), grids),
        Facts(Schema((), 1599), {"fdr": 0.05}, origin=Origin("wine.csv")),
    )  # fmt: skip


@pytest.fixture
def directed():
    """a -> <c> <- b, and <c> -> e."""
    names = ("a", "b", "<c>", "e")
    arrows = np.zeros((4, 4), dtype=bool)
    arrows[0, 2] = arrows[1, 2] = arrows[2, 3] = True
    graph = CPDAG.from_dag(arrows, names)
    edges = (
        MoralEdge(0, 1, "co-parents", 12.5, (2,)),
        MoralEdge(0, 2, "arc", 80.0, ()),
        MoralEdge(1, 2, "arc", 70.0, ()),
        MoralEdge(2, 3, "arc", 60.0, ()),
    )
    pairs = Pairs.of([0, 0, 1, 2], [1, 2, 2, 3], strength=[0.2, 0.7, 0.6, 0.5])
    return MarkovNetwork(names, pairs, directions=Directions(graph, edges))
