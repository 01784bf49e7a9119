"""Keep result rows for the docs, and write docs/results.md from them.

    python benchmarks/results.py add NAME DIR [DIR ...]   # rows of benchmark folders -> docs/results/NAME.csv, in place
                                                          # of those of the same methods
    python benchmarks/results.py write                    # docs/results/*.csv -> docs/results.md and its pictures

No figure in that page is typed: change the rows, not the page.
"""

import sys
from pathlib import Path

import pandas as pd

from gpmnet.bench.rows import load_rows
from groups import ALONE, SAID
from pictures import pictures, save
from result_tables import (
    all_rows_table,
    cells_won,
    ci_table,
    cost_table,
    gaps_null_table,
    gaps_table,
    growth_table,
    honest_table,
    intervals_table,
    markdown,
    plan_table,
    rules_table,
    stability_table,
)

RESULTS = Path(__file__).parents[1] / "docs" / "results"
KEEP = [
    "suite", "task", "simulator", "kind", "options", "d", "n", "seed", "method", "fdr", "status", "reason",
    "hamming", "empty_hamming", "n_edges", "n_true", "precision", "recall", "f1", "f1_visible", "fdr_realised",
    "f1_skeleton", "f1_arrows", "n_evaluations", "seconds", "peak_memory_mb", "jobs", "cpu_count", "versions",
    "started", "p_values",
]  # fmt: skip
TITLES = {
    "fig1": ("Butterfly, d = 4..20, n = 1000", ["kind", "d", "method"]),
    "butterfly500": ("Butterfly, d = 20, n = 500", ["kind", "d", "method"]),
    "fig1-baselines": (
        "Butterfly, d = 4 and 6, n = 1000: the paper's baselines and two rivals",
        ["kind", "d", "method"],
    ),
    "fig2": ("Random graphs, d = 20, n = 1000, 27 edges", ["kind", "fdr", "method"]),
    "dag300": (
        "Random graphs, d = 20, n = 300, 27 edges: the dag engine beside hill climbing",
        ["kind", "method"],
    ),
    "n10000": ("Random graphs, d = 20, n = 10,000, 27 edges", ["kind", "method"]),
    "null": ("Independent columns of all kinds, d = 1000: every edge is false", ["n", "method"]),
    "gaussian": ("Where linear methods are right: d = 20, n = 1000", ["simulator", "method"]),
    "fig1-deep": ("The deep engine: Butterfly, d = 4..20, n = 1000", ["kind", "d", "method"]),
    "fig2-deep": (
        "The deep engine: random graphs, d = 4..20, n = 1000, beside the paper's baselines",
        ["kind", "d", "method"],
    ),
    "penalties": ("The deep engine: penalties, Butterfly continuous, tested edges", ["method", "d"]),
    "penalties_support": (
        "Penalties by themselves: what is not exactly zero, no test deciding, Butterfly continuous",
        ["penalty", "d"],
    ),
    "parity": (
        "No pairwise signal: parity and products, n = 2000",
        ["simulator", "kind", "options", "d", "method"],
    ),
    "honest": (
        "Null pairs behind confounding of many shapes: share of draws that are rejected",
        [],
    ),
    "arrangements": (
        "Null pairs behind missed neighbors (`tests/recovery/test_local.py`): share of draws with p up to a rate",
        [],
    ),
    "intervals": ("Intervals of strength", ["pairs_of", "neighbors", "n"]),
    "speed": (
        "CPU seconds on simulated tables after common ones, one thread (`benchmarks/speed.py`; before: commit cb1576f)",
        ["table", "state"],
    ),
    "omega1": ("Edges by Omega alone: Butterfly, n = 1000", ["kind", "d", "method"]),
    "omega2": ("Edges by Omega alone: random graphs, n = 1000", ["kind", "d", "method"]),
    "penalties_omega": (
        "Edges by Omega alone: penalties of the pairwise family, Butterfly continuous",
        ["method", "d"],
    ),
    "omega_scale": ("Edges by Omega alone: large Butterfly networks, n = 1000", ["device", "d"]),
    "ci": (
        "The test by itself: share of null pairs, and of dependent ones, with p up to 0.05 (`benchmarks/ci.py`)",
        [],
    ),
    "tables": ("Tables with a known graph", ["task", "method"]),
    "missing": ("Missing values: F1 and realised FDR with gaps", []),
    "missing_null": ("Missing values: share of null pairs with p up to a rate", []),
    "groups": ("Rows in groups: share of null pairs with p up to a rate", []),
    "grids": ("Laws that come from no directed graph: n = 1000", ["simulator", "method"]),
    "causal": (
        "Directions: random directed graphs, n = 1000; `f1` of the moral graph, `n_evaluations`: tests or scores",
        ["d", "kind", "method"],
    ),
    "scale": ("Large Butterfly networks, n = 1000", ["device", "d"]),
    "stability": ("Stability of edges: how many are false", []),
    "stability_speed": ("Stability of edges: what half-samples cost", []),
    "many_rows": ("More rows than memory", []),
    "all_rows": ("The dag engine on more and more rows of long tables", []),
    "twelve": ("Twelve variables, Butterfly continuous, n = 1000, beside GraphicalLassoCV", ["draw"]),
    "twelve-deep": ("The deep engine on twelve variables, beside GraphicalLassoCV", ["draw"]),
    "deep_growth": ("The deep engine: training time, 300 steps of the sliced objective", ["device", "d"]),
    "growth": ("Growth of the time with variables and with rows", ["axis"]),
    "combine": (
        "Which p-value of a pair: d = 20, seeds from 400 on",
        ["fdr", "simulator", "kind", "n", "rule"],
    ),
}


def add(name, folders):
    rows = pd.concat([load_rows(Path(folder)) for folder in folders], ignore_index=True)
    rows = rows[[column for column in KEEP if column in rows and rows[column].notna().any()]]
    if "p_values" in rows:
        text = rows["p_values"].map(lambda p: " ".join(f"{x:.5g}" for x in p), na_action="ignore")
        rows = rows.assign(p_values=text)
    path = RESULTS / f"{name}.csv"
    if path.exists():  # rows of methods that were not run again stay
        old = pd.read_csv(path, keep_default_na=False, na_values=[""])
        rows = pd.concat([old[~old["method"].isin(rows["method"].unique())], rows], ignore_index=True)
    RESULTS.mkdir(exist_ok=True)
    rows.sort_values(["kind", "d", "n", "method", "seed"]).to_csv(path, index=False)


def table(rows, by):
    """Return one line a group: means over draws, and why there are no numbers where there are none."""
    if "rule" in rows:
        return rules_table(rows)
    if "way" in rows:
        return gaps_null_table(rows) if "law" in rows else gaps_table(rows)
    if "effect" in rows:
        return ci_table(rows)
    if "axis" in rows:
        return growth_table(rows)
    if "p_values" in rows:
        return honest_table(rows)
    if "pairs_of" in rows:
        return intervals_table(rows)
    if "stability" in rows:
        return stability_table(rows)
    if "looked_at" in rows:
        return all_rows_table(rows)
    if ALONE in rows:
        return f"{SAID}\n\n{markdown(rows.drop(columns=['draws', 'seed', 'cpu_s']).round(3))}"
    if "half_s" in rows:
        return cost_table(rows)
    if "bare_product_seconds" in rows:
        return f"{markdown(rows.round(5))}\n\n{plan_table(rows)}"
    if "penalty" in rows:
        columns = ["hamming", "edges", "true_edges", "average_precision", "lam"]
        return markdown(rows.groupby(by, sort=False)[columns].mean().round(3).reset_index())
    if "status" not in rows:
        return markdown(rows.round(5))
    good = rows[rows["status"] == "ok"]
    summary = good.groupby(by, dropna=False).agg(
        draws=("seed", "size"),
        hamming=("hamming", "mean"),
        empty=("empty_hamming", "mean"),
        precision=("precision", "mean"),
        recall=("recall", "mean"),
        f1=("f1", "mean"),
        realised_fdr=("fdr_realised", "mean"),
        seconds=("seconds", "median"),
    )
    if "f1_visible" in good and good["f1_visible"].notna().any():
        summary["f1_visible"] = good.groupby(by, dropna=False)["f1_visible"].mean()
    for column in ("f1_skeleton", "f1_arrows", "n_evaluations"):
        if column in good and good[column].notna().any():
            summary[column] = good.groupby(by, dropna=False)[column].mean()
    if (good["n_true"] == 0).all():
        summary["draws_with_an_edge"] = good[good["n_edges"] > 0].groupby(by).size()
        summary["draws_with_an_edge"] = summary["draws_with_an_edge"].fillna(0).astype(int)
        summary = summary.drop(columns=["precision", "recall", "f1", "realised_fdr", "empty"])
    text = markdown(summary.round(3).reset_index())
    gaps = (
        rows[rows["status"] != "ok"].groupby([*by, "reason"], dropna=False).size().reset_index(name="draws")
    )
    return text if gaps.empty else f"{text}\n\nWithout numbers:\n\n{markdown(gaps)}"


def pictures_first(text, shown):
    """Return a section: what is to be said, its pictures, and its tables folded below."""
    lines = [f"**{line.lstrip('# ')}**" if line.startswith("###") else line for line in text.split("\n")]
    shown = [line for line in lines if line.startswith("![")] + shown
    lines = [line for line in lines if not line.startswith("![")]
    start = next(at for at, line in enumerate(lines) if line.startswith(("|", "**")))
    said, rows = "\n".join(lines[:start]).strip(), "\n".join(lines[start:]).strip()
    if not shown:
        return f"{said}\n\n{rows}".strip()
    folded = f"<details>\n<summary>The figures</summary>\n\n{rows}\n\n</details>"
    return "\n\n".join(part for part in (said, *shown, folded) if part)


def write():
    parts = [
        "# Results\n",
        "Generated by `python benchmarks/results.py write` from the rows in `docs/results/`. Means over draws;",
        "`empty` is the Hamming distance of the empty graph; `seconds` is the median of the fit alone, with one",
        "thread while other cells ran beside it unless a table says otherwise. `gpm` is the local engine; its settings were",
        "chosen on draws with seeds below 1000; its rows here are of seeds from 1000 on, the baselines of 0, 1,",
        "2, ... where the two were not run together. Two rules (given which sets a pair is tested; on how many rows a",
        "neighbor that acts together with another must rest) were changed after runs of the tables had shown low recall on",
        "sparse discrete data; they were then chosen on other draws (docs/local.md). The tables are therefore not untouched",
        "by them. Rows of the local engine are of it as it is, but those of missed neighbors, a few of the null pairs",
        "with 300 rows and a tenth of the intervals, made before a closer look took up more from 1,000 rows on",
        "(`testing/closer.py`); those of the test by itself, arrows of 10 and 20 variables and a million variables, of its",
        "former rule for pairs; and growth, networks of 1,000 variables,",
        "the deep engine with tests, and rules, which are older.\n",
    ]
    for name, (title, by) in TITLES.items():
        path = RESULTS / f"{name}.csv"
        if path.exists():
            rows = pd.read_csv(path, keep_default_na=False, na_values=[""])
            rates = sorted(rows["fdr"].dropna().unique()) if "fdr" in rows else []
            nominal = (
                f" Nominal FDR of methods that have one: {', '.join(f'{x:g}' for x in rates)}.\n"
                if rates
                else ""
            )
            text = table(rows, by)
            if name == "fig2-deep":
                text += "\n\nCells (kind, d) in which gpm-deep's mean Hamming distance is lower, equal, higher:\n\n"
                text += cells_won(rows)
            shown = [f"![{title}](results/{file})" for file in save(pictures(name, rows), RESULTS)]
            parts += [f"## {title}\n", nominal, pictures_first(text, shown), ""]
    (RESULTS.parent / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["add"] and len(sys.argv) > 3:
        add(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:] == ["write"]:
        write()
    else:
        sys.exit(__doc__)
