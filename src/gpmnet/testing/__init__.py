"""Conditional independence: design matrices of conditioning sets, and tests of pairs given them."""
