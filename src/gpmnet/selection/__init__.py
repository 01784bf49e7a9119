"""Which pairs become edges: the p-value of a pair after the search, false-discovery rates, penalty paths."""

from gpmnet.selection.edges import Chosen, Cutoff, choose_edges
from gpmnet.selection.fdr import benjamini_hochberg, log_benjamini_hochberg

__all__ = ["Chosen", "Cutoff", "benjamini_hochberg", "choose_edges", "log_benjamini_hochberg"]
