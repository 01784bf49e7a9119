"""How often null pairs are rejected, from rows only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

RATES = (0.05, 0.01)
"""The p-values up to which a pair counts as rejected."""
MOST = {"smooth": {0.05: 0.08, 0.01: 0.03}, "jump": {0.05: 0.15, 0.01: 0.03}}
"""By the shape of the confounding: the largest share of rejections that is still called honest."""
ABOUT = (
    "Share of draws in which a pair that is no edge is rejected, at a p-value of at most 0.05 / 0.01. **Bold**: more "
    "than an honest test should have (smooth confounding 0.08 / 0.03, jumps 0.15 / 0.03; a limit has no such "
    "figure); a share of m draws moves in steps of 1/m."
)


def rejections(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one line for each task, n and method with p-values: how many draws, and the share up to each rate.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"task": "smooth/sine", "n": 300, "method": "gpm", "status": "ok"}
    >>> rejections(pd.DataFrame([row | {"p_values": [0.5, 0.03]}, row | {"p_values": [0.001, 0.9]}]))
              task    n method  draws  0.05  0.01
    0  smooth/sine  300    gpm      4   0.5  0.25
    """
    import pandas as pd

    good = rows[rows["status"] == "ok"]
    lines: list[dict[str | float, object]] = []
    for (task, n, method), group in good.groupby(["task", "n", "method"]):
        p = np.concatenate([np.asarray(values, dtype=np.float64) for values in group["p_values"]])
        shares = {rate: float((p <= rate).mean()) for rate in RATES}
        lines.append({"task": task, "n": n, "method": method, "draws": len(p)} | shares)
    return pd.DataFrame(lines, columns=["task", "n", "method", "draws", *RATES])


def most(task: str, rate: float) -> float:
    """Return the largest share that is still called honest; tasks are named shape/law.

    >>> most("jump/step", 0.05), most("limit/dependent rows", 0.05)
    (0.15, 1.0)
    """
    return MOST.get(task.partition("/")[0], {}).get(rate, 1.0)


def rejection_tables(rows: pd.DataFrame, methods: list[str], heading: str = "###") -> list[str]:
    """Return the lines of a Markdown table for each n: a line per law, a column per method."""
    found = rejections(rows)
    lines = [ABOUT, ""]
    for n, part in found.groupby("n"):
        draws = int(part["draws"].max())
        lines += [f"{heading} n = {n:,}, {draws} draws", "", f"| law | {' | '.join(methods)} |"]
        lines.append("|" + "---|" * (1 + len(methods)))
        at = {(line["task"], line["method"]): line for line in part.to_dict("records")}
        for task in sorted(part["task"].unique()):
            cells = [_cell(task, at.get((task, method)), draws) for method in methods]
            lines.append(f"| {task} | {' | '.join(cells)} |")
        lines.append("")
    return [*lines, *_gaps(rows)]


def _cell(task: str, line: dict[object, float] | None, draws: int) -> str:
    if line is None:
        return ""
    shares = [
        f"**{line[rate]:.2f}**" if line[rate] > most(task, rate) else f"{line[rate]:.2f}" for rate in RATES
    ]
    fewer = f" ({line['draws']} draws)" if line["draws"] < draws else ""
    return " / ".join(shares) + fewer


def _gaps(rows: pd.DataFrame) -> list[str]:
    """Say which blocks of draws have no numbers, and why, each reason once."""
    absent = rows[rows["status"] != "ok"]
    lines = []
    for (method, n, reason), group in absent.groupby(["method", "n", "reason"]):
        laws = sorted(group["task"].unique())
        where = ", ".join(laws) if len(laws) <= 4 else f"{len(laws)} laws"
        lines.append(
            f"- No numbers of {method} at n = {n:,} ({where}, {len(group)} blocks of draws): {reason}".replace(
                "|", "\\|"
            )
        )
    return [*lines, ""] if lines else []
