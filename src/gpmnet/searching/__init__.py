"""Which variables may be neighbors: the all-pairs screen and the search for neighborhoods."""
