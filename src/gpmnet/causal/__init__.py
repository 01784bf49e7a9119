"""Directions: searches for directed graphs inside a Markov network.

A Markov network contains every edge of the directed graph that a law comes from, if it comes from one; what else it has
are edges between causes of a common effect. So it tells a search where to look. `pc` tests, `ges` and `boss` score;
all return the class of directed graphs that the independences cannot tell apart (`gpmnet.directed.cpdag.CPDAG`).

Arrows are causes only if no common cause is left out of the table, rows were not selected by what is in it, and what is
independent in the law is separated in the graph (faithfulness). No size of an effect is claimed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpmnet.causal.by_order import boss
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

_HOME = {
    "CPDAG": "gpmnet.directed.cpdag",
    "Discovery": "gpmnet.causal.constraint",
    "GaussianScore": "gpmnet.causal.scores",
    "GeneralisedScore": "gpmnet.causal.generalised_score",
    "Knowledge": "gpmnet.directed.knowledge",
    "LocalScore": "gpmnet.causal.scores",
    "PCOptions": "gpmnet.causal.constraint",
    "boss": "gpmnet.causal.by_order",
    "ges": "gpmnet.causal.greedy",
    "pc": "gpmnet.causal.constraint",
    "register_causal_learn": "gpmnet.causal.causal_learn",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used: baselines share parts of this folder and must start fast."""
    if name not in _HOME:
        raise AttributeError(f"module 'gpmnet.causal' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
