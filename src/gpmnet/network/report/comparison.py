"""The comparison of two networks as one HTML file without any script."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpmnet.files import whole_file
from gpmnet.network.compare import Row, by_difference
from gpmnet.network.report.render import environment, styles
from gpmnet.network.report.words import label, strength_words
from gpmnet.network.text import MINUS, counted, short, sign_mark

if TYPE_CHECKING:
    from gpmnet.network.compare import Comparison

_MOST = 500
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def comparison_page(comparison: Comparison, names: tuple[str, str]) -> str:
    """Return the page."""
    rows = by_difference(comparison)
    most = max((abs(row.difference) for row in rows), default=0.0) or 1.0
    test = comparison.test
    return (
        environment()
        .get_template("comparison.html")
        .render(
            policy=_POLICY,
            names=[short(name, 120) for name in names],
            counts=[
                ["edges of both", len(comparison.common)],
                ["only here", len(comparison.only_here)],
                ["only there", len(comparison.only_there)],
                ["signs flipped", len(comparison.flipped)],
            ],
            jaccard=f"{comparison.jaccard:.2f}",
            test="" if test is None else f"{test.text[0].upper()}{test.text[1:]}.",
            has_p=test is not None,
            left_out=_left_out(comparison),
            rows=[_cells(row, most) for row in rows[:_MOST]],
            more=max(0, len(rows) - _MOST),
            **styles(),
        )
    )


def _left_out(comparison: Comparison) -> str:
    names = len(comparison.names_only_here) + len(comparison.names_only_there)
    if not names:
        return ""
    return (
        f"{counted(names, 'variable')} of one network alone, with {counted(comparison.n_left_out, 'edge')}, "
        f"{'is' if names == 1 else 'are'} left out."
    )


def _cells(row: Row, most: float) -> dict[str, Any]:
    figures = [
        "" if math.isnan(strength) else f"{strength_words(strength)} {sign_mark(sign)}".strip()
        for strength, sign in zip(row.strengths, row.signs, strict=True)
    ]
    return {
        "source": label(row.edge[0], 80),
        "target": label(row.edge[1], 80),
        "where": row.where,
        "here": figures[0],
        "there": figures[1],
        "difference": f"{row.difference:+.2f}".replace("-", MINUS),
        "share": f"{50 * abs(row.difference) / most:.1f}",
        "more": row.difference > 0,
        "p": "" if math.isnan(row.p_value) else f"{row.p_value:.3g}",
    }


def write_comparison(comparison: Comparison, path: str | Path, names: tuple[str, str]) -> Path:
    """Write the page to a file, whole or not at all; return its path."""
    page = comparison_page(comparison, names)
    with whole_file(Path(path)) as beside:
        beside.write_text(page, encoding="utf-8", errors="replace", newline="\n")
    return Path(path)
