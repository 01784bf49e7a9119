"""Directed graphs and their classes: scores, the search for the best order, and what data can say about directions."""

from gpmnet.directed.cpdag import CPDAG

__all__ = ["CPDAG"]
