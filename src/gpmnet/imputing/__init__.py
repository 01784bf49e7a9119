"""Complete draws of a table with gaps, and what is said of the gaps."""

from gpmnet.imputing.chained import complete_tables
from gpmnet.imputing.say import gap_notes, n_together, rarely_together, thin_note

__all__ = ["complete_tables", "gap_notes", "n_together", "rarely_together", "thin_note"]
