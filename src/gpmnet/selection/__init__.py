"""Which pairs become edges."""

from gpmnet.selection.fdr import benjamini_hochberg

__all__ = ["benjamini_hochberg"]
