"""Directed graphs and their classes: what data can say about directions, and what follows from it."""

from gpmnet.directed.cpdag import CPDAG

__all__ = ["CPDAG"]
