"""A word of caution about a network with so many edges that it says little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpmnet.network.text import counted

SMALLEST = 5
"""Networks of fewer variables are not looked at: of six pairs or fewer, many may well be edges."""
DENSE = 0.5
"""Share of the pairs above which a network is dense: what it says is in its missing edges, and where most pairs are
edges, most variables have more than half of the others for neighbors, and little separates anything."""
WEAK = 0.2
"""Edges below this strength share less than 4% of their variance."""


def density_note(d: int, strength: NDArray[np.float64], min_strength: float = 0.0) -> tuple[str, ...]:
    """Return one sentence about a network of d variables and edges of some strengths (m,), none where it is not dense.

    >>> density_note(5, np.array([0.05, 0.1, 0.15, 0.18, 0.6, 0.7]))[0]
    '6 of the 10 pairs are edges, 4 of them weaker than 0.2; min_strength=0.2 (--min-strength 0.2) keeps the stronger ones'
    >>> density_note(5, np.array([0.6, 0.7]))
    ()
    """
    pairs = d * (d - 1) // 2
    if d < SMALLEST or len(strength) <= DENSE * pairs:
        return ()
    weak = int(np.count_nonzero(strength < WEAK))
    found = f"{len(strength):,} of the {counted(pairs, 'pair')} are edges"
    if not weak or min_strength >= WEAK:
        return (f"{found}, so that few variables are separated by others",)
    return (
        f"{found}, {weak:,} of them weaker than {WEAK:g}; min_strength={WEAK:g} (--min-strength {WEAK:g}) keeps the "
        "stronger ones",
    )
