"""A Markdown table of everything measured, made from rows only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gpmnet.bench.rejections import rejection_tables
from gpmnet.bench.style import looks

if TYPE_CHECKING:
    import pandas as pd

MEASURES = (
    ("precision", "precision", 2),
    ("recall", "recall", 2),
    ("f1", "F1", 2),
    ("average_precision", "AP", 2),
    ("recall_visible", "visible recall", 2),
    ("f1_visible", "visible F1", 2),
    ("f1_skeleton", "skeleton F1", 2),
    ("f1_arrows", "arrow F1", 2),
    ("n_evaluations", "tests or scores", 0),
    ("seconds", "seconds", 2),
    ("peak_memory_mb", "MB", 0),
)
ABOUT = """# Benchmark

Each line is a method on a task: mean ± standard deviation over the seeds that gave numbers. *Seeds* is how
many did, of how many; the last column says why the others did not. *Hamming* is the number of wrong pairs and
*empty* that of a graph without edges. *FDR* is the false-discovery rate of methods that have one. *AP* is the
average precision of the ranking of all pairs. *Visible* leaves out true edges that no test given all the rest
can see. *Skeleton* and *arrow F1* are of the class of the directed graph: who is adjacent, and the arrows that it
compels. *Seconds* are those of the fit alone; *MB* is the peak memory of its process.
"""


def summary(rows: pd.DataFrame) -> str:
    """Return the Markdown text for the rows of any number of suites."""
    lines = [ABOUT, _machine(rows), ""]
    for suite, of_suite in rows.groupby("suite", sort=False):
        lines += [f"## {suite}", ""]
        if of_suite["p_values"].notna().any():
            lines += rejection_tables(of_suite, list(looks(of_suite["method"])))
            continue
        if (of_suite["simulator"] == "").all():
            lines += _table(of_suite.sort_values(["task", "method"]), "task")
            continue
        for key, group in groups(of_suite, "simulator options n kind"):
            lines += [f"### {title_of(*key)}", "", *_table(group, "d")]
    return "\n".join(lines).rstrip() + "\n"


def groups(rows: pd.DataFrame, by: str) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Return the rows that agree in some columns (their names, separated by spaces), and the values there."""
    return [(tuple(key), group) for key, group in rows.groupby(by.split(), sort=True)]


def title_of(simulator: str, options: str, n: int, kind: str) -> str:
    """Return one line that names a simulated task without its d."""
    given = ", ".join(f"{key} = {value}" for key, value in json.loads(options).items())
    return ", ".join(part for part in (simulator, kind, given, f"n = {n:,}") if part)


def spread(values: pd.Series[Any], digits: int) -> str:
    """Return mean ± standard deviation; the mean alone of one value, nothing of none.

    >>> import pandas as pd
    >>> spread(pd.Series([1.0, 3.0]), 1), spread(pd.Series([2.0]), 1), spread(pd.Series([float("nan")]), 1)
    ('2.0 ± 1.4', '2.0', '')
    """
    known = values.astype(float).dropna()
    if known.empty:
        return ""
    mean = f"{known.mean():.{digits}f}"
    return mean if len(known) == 1 else f"{mean} ± {known.std():.{digits}f}"


def reasons(rows: pd.DataFrame) -> str:
    """Return why rows have no numbers, each reason once with its seeds, for a cell of a Markdown table."""
    found = rows.loc[rows["status"] != "ok", "reason"].value_counts()
    text = "; ".join(f"{reason} ({count}x)" if count > 1 else str(reason) for reason, count in found.items())
    return text.replace("|", "\\|").replace("\n", " ")


def _table(rows: pd.DataFrame, by: str) -> list[str]:
    measures = [(column, head, digits) for column, head, digits in MEASURES if rows[column].notna().any()]
    heads = [
        by,
        "method",
        "FDR",
        "seeds",
        "Hamming",
        "empty",
        *(head for _, head, _ in measures),
        "no numbers because",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for (size, method, _), group in rows.groupby([by, "method", "method_options"], sort=False):
        good = group[group["status"] == "ok"]
        fdr = "" if group["fdr"].isna().all() else f"{group['fdr'].iloc[0]:g}"
        cells = [
            str(size),
            str(method),
            fdr,
            f"{len(good)}/{len(group)}",
            spread(good["hamming"], 1),
            spread(good["empty_hamming"].drop_duplicates(), 1),
            *(spread(good[column], digits) for column, _, digits in measures),
            reasons(group),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _machine(rows: pd.DataFrame) -> str:
    """Say where and when the rows were made."""
    found = set(rows["versions"].dropna())
    packages = [", ".join(f"{name} {number}" for name, number in json.loads(text).items()) for text in found]
    days = sorted(text[:10] for text in rows["started"])
    cpus = "/".join(str(count) for count in sorted(rows["cpu_count"].dropna().unique()))
    jobs = int(rows["jobs"].max())
    parallel = f"; up to {jobs} cells at a time, which slows each" if jobs > 1 else ""
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    python = "/".join(sorted(rows["python"].unique()))
    return (
        f"{len(rows)} rows of {when}; Python {python}, {cpus} CPUs{parallel}; "
        + " / ".join(sorted(packages))
        + "."
    )
