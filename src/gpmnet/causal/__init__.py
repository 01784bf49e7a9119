"""Directions: searches for directed graphs inside a Markov network.

A Markov network contains every edge of the directed graph that a law comes from, if it comes from one; what else it has
are edges between causes of a common effect. So it tells a search where to look. `pc` tests, `ges` and `boss` score;
all return the class of directed graphs that the independences cannot tell apart (`gpmnet.causal.CPDAG`).

Arrows are causes only if no common cause is left out of the table, rows were not selected by what is in it, and what is
independent in the law is separated in the graph (faithfulness). No size of an effect is claimed.
"""

from gpmnet.causal.boss import boss
from gpmnet.causal.causal_learn import register_causal_learn
from gpmnet.causal.constraint import Discovery, PCOptions, pc
from gpmnet.causal.generalised_score import GeneralisedScore
from gpmnet.causal.greedy import ges
from gpmnet.causal.scores import GaussianScore, LocalScore
from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.knowledge import Knowledge

__all__ = [
    "CPDAG",
    "Discovery",
    "GaussianScore",
    "GeneralisedScore",
    "Knowledge",
    "LocalScore",
    "PCOptions",
    "boss",
    "ges",
    "pc",
    "register_causal_learn",
]
