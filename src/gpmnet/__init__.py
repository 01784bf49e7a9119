"""Markov networks from any table: continuous, discrete or mixed columns, no distribution assumed."""

__version__ = "0.1.0.dev0"

__all__ = ["__version__"]
