"""Figures and summary of a folder of rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpmnet.bench.rejections import RATES
from gpmnet.bench.rows import load_rows
from gpmnet.bench.summary import summary
from gpmnet.files import whole_file

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SUMMARY = "summary.md"


def write_report(directory: str | Path) -> list[Path]:
    """Write ``summary.md`` and a figure per suite beside the rows; return their paths.

    Nothing but the rows is read, so figures can be drawn anywhere and again.
    """
    directory = Path(directory)
    rows = load_rows(directory)
    written = [directory / SUMMARY]
    with whole_file(written[0]) as beside:
        beside.write_text(summary(rows), encoding="utf-8")
    for suite, of_suite in rows.groupby("suite", sort=False):
        for name, figure in draw(str(suite), of_suite).items():
            written.append(directory / f"{name}.png")
            with whole_file(written[-1]) as beside:
                figure.savefig(beside, format="png", dpi=150)
    return written


def draw(suite: str, rows: pd.DataFrame) -> dict[str, Figure]:
    """Return the figures of a suite by name; which ones follows from what its rows measure."""
    from gpmnet.bench import figures  # matplotlib, which the processes that run cells do not need

    good = rows[rows["status"] == "ok"]
    if good.empty:
        return {}
    if good["p_values"].notna().any():
        return {f"{suite}-{rate:g}": figures.rejected(suite, rows, rate) for rate in RATES}
    if (rows["simulator"] == "").all():
        return {suite: figures.f1_by_table(suite, rows)}
    if (good["n_true"] == 0).all():
        return {suite: figures.false_edges(suite, rows)}
    if suite == "table1":
        return {suite: figures.seconds_by_method(suite, rows)}
    if suite in ("fig3", "scale"):
        return {
            suite: figures.against_d(suite, rows, "seconds"),
            f"{suite}-f1": figures.against_d(suite, rows, "f1"),
        }
    if rows["d"].nunique() == 1:
        return {suite: figures.hamming_by_task(suite, rows)}
    return {suite: figures.against_d(suite, rows, "hamming")}
