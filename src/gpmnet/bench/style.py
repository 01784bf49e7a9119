"""How a method looks in every figure: the same name, colour and marker, so that figures can be compared.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart; markers and line
styles say the same once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE, GREY = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#777777",
)  # fmt: skip


@dataclass(frozen=True)
class Look:
    """Name, colour, marker and line style of a method."""

    label: str
    colour: str
    marker: str
    line: str = "-"


LOOKS = {
    "gpm": Look("GPM (local)", RED, "o"),
    "gpm-dag": Look("GPM (dag)", PURPLE, "s"),
    "gpm-dag-tested": Look("GPM (dag), tested", PURPLE, "v", "--"),
    "gpm-deep": Look("GPM (deep)", BLUE, "s"),
    "gpm-omega": Look("GPM (Omega)", BLUE, "^", "--"),
    "gpm-omega-pairs": Look("GPM (Omega of pairs)", BLUE, "H", ":"),
    "gpm-omega-l1": Look("GPM (Omega of pairs), l1", ORANGE, "H", ":"),
    "gpm-omega-adaptive": Look("GPM (Omega of pairs), adaptive l1", GREEN, "H", ":"),
    "gpm-omega-mcp": Look("GPM (Omega of pairs), MCP", PURPLE, "H", ":"),
    "gpm-kernels": Look("GPM (kernels of pairs)", ORANGE, "D", "-."),
    "gpm-paper": Look("GPM (as published)", ORANGE, "P", ":"),
    "gpm-deep-l1": Look("GPM (deep), l1", ORANGE, "v"),
    "gpm-deep-adaptive": Look("GPM (deep), adaptive l1", GREEN, "^"),
    "gpm-deep-scad": Look("GPM (deep), SCAD", BLUE, "p", "--"),
    "gpm-deep-mcp": Look("GPM (deep), MCP", PURPLE, "P"),
    "glasso": Look("GLASSO", GREY, "v"),
    "glasso-ebic": Look("GLASSO, EBIC", GREY, "^", "--"),
    "npn": Look("NPN", SKY, "<"),
    "npn-ebic": Look("NPN, EBIC", SKY, ">", "--"),
    "kci": Look("KCI + IAMB", GREEN, "P"),
    "rcit": Look("RCIT + IAMB", GREEN, "p", "--"),
    "pc-rcit": Look("PC, RCIT", PURPLE, "D"),
    "pc-rcot": Look("PC, RCoT", PURPLE, "d", "--"),
    "kci-test": Look("KCI test", GREEN, "D"),
    "rcit-test": Look("RCIT test", PURPLE, "^", "--"),
    "gcm-test": Look("GCM test", BLUE, "X", ":"),
    "gs": Look("GS", ORANGE, "X"),
    "sing": Look("SING", BLACK, "*"),
    "hc": Look("Hill climbing", BLUE, "h", ":"),
    "partial-corr": Look("Partial correlations", ORANGE, "8", ":"),
}
OTHERS = [(colour, marker) for marker in "ovs^D" for colour in (BLACK, ORANGE, SKY, GREEN, BLUE, PURPLE)]


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """Return the look of each method, known ones first and in their usual order."""
    given = set(methods)
    known = {name: look for name, look in LOOKS.items() if name in given}
    unknown = sorted(given - known.keys())
    return known | {name: Look(name, *OTHERS[at % len(OTHERS)], "-.") for at, name in enumerate(unknown)}
