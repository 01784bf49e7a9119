"""The colours of the pictures: those of Okabe and Ito, which people with any colour vision can tell apart."""

from __future__ import annotations

BLUE, RED, GREY = "#0072B2", "#D55E00", "#777777"
PALE, BLANK = "#BBBBBB", "#E8E8E8"
"""What is there but not meant, and where there is nothing."""
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
SIGN_COLOURS = {1.0: BLUE, -1.0: RED, 0.0: GREY}
KIND_COLOURS = {"continuous": "#56B4E9", "ordinal": "#009E73", "discrete": "#E69F00"}
SEQUENTIAL = ("#FFFFFF", "#9CCBE8", BLUE, "#00263F")
"""From nothing to much."""
DIVERGING = (RED, "#F7C9A9", "#FFFFFF", "#A9D1EA", BLUE)
"""From less to more, white in the middle."""
