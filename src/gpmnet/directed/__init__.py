"""Directed graphs: scores of a variable given its parents, and the search for the best order of the variables."""
