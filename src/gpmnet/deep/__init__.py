"""The joint engine: one energy for all variables, fitted by regularised score matching, tested by cross-fitting."""
