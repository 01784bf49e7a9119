"""Models of one variable given its neighbors, behind Omega and the surfaces of edges."""
