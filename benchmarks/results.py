"""Keep result rows for the docs, and write docs/results.md from them.

    python benchmarks/results.py add NAME DIR [DIR ...]   # rows of benchmark folders -> docs/results/NAME.csv, in place
                                                          # of those of the same methods
    python benchmarks/results.py write                    # docs/results/*.csv -> docs/results.md and its pictures

No figure in that page is typed: change the rows, not the page.
"""

import sys
from pathlib import Path

import pandas as pd

from gpmnet.bench.rejections import rejection_tables
from gpmnet.bench.rows import load_rows
from gpmnet.bench.style import looks
from groups import ALONE, SAID
from growth import slopes
from intervals import summary as coverage
from pictures import pictures, save, with_loss
from stability import cost
from stability import summary as by_stability

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
    "twelve": ("Twelve variables, Butterfly continuous, n = 1000, beside GraphicalLassoCV", ["draw"]),
    "twelve-deep": ("The deep engine on twelve variables, beside GraphicalLassoCV", ["draw"]),
    "deep_growth": ("The deep engine: training time, 300 steps of the sliced objective", ["device", "d"]),
    "growth": ("Growth of the time with variables and with rows", ["axis"]),
    "combine": (
        "Which p-value of a pair: d = 20, seeds from 400 on",
        ["fdr", "simulator", "kind", "n", "rule"],
    ),
}


RULES = ["union", "smaller", "fitting", "or", "and", "cauchy", "joint", "score test", "engine"]
RULES_TEXT = (
    "`union`: given both ends' neighbors; `smaller`: given the smaller set; `fitting`: the union, or the smaller set where "
    "the union is too large; `or`: 2 min p of both ends' sets, `and`: max p, `cauchy`: their Cauchy combination, "
    "`joint`: the sum of -2 log p with its correlation; `score test`: those of both node models given the union; "
    "`engine`: what the engine reports (`selection/two_ended.py`)."
)


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


def markdown(frame):
    """Return a frame as a Markdown table."""
    cells = [[str(name) for name in frame.columns]]
    cells += [
        ["" if pd.isna(v) else f"{v:g}" if isinstance(v, float) else str(v) for v in row]
        for row in frame.to_numpy()
    ]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(frame.columns), *lines[1:]])


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


def gaps_table(rows):
    """Return F1 with the realised FDR in brackets, one column a policy, and the means of what is lost."""
    rows = rows.assign(fdr_realised=1 - rows["precision"])
    cells = with_loss(rows)
    order = [policy for policy in ("drop", "available", "impute", "level") if policy in set(cells["policy"])]

    def said(row):
        return f"{row['f1']:.2f} ({row['fdr_realised']:.2f})"

    by = ["task", "way", "share", "policy"]
    each = cells.groupby(by)[["f1", "fdr_realised"]].mean().apply(said, axis=1).unstack("policy")[order]
    complete = rows[rows["share"] == 0].groupby("task")[["f1", "fdr_realised"]].mean().apply(said, axis=1)
    each.insert(0, "complete", complete.reindex(each.index.get_level_values("task")).to_numpy())
    mean = cells.groupby(["way", "share", "policy"]).agg(
        tables=("task", "nunique"),
        seeds=("seed", "nunique"),
        f1_lost=("lost", "mean"),
        realised_fdr=("fdr_realised", "mean"),
        seconds=("seconds", "median"),
    )
    return (
        "Cells are removed from complete tables at random, or depending on another column; F1, and in brackets the share of "
        "false edges, of the local engine at FDR 0.05. Made by `python benchmarks/missing.py graphs`.\n\n"
        f"{markdown(each.reset_index())}\n\nMeans over tables and seeds (`seconds`: medians, of different machines, some of "
        "them busy); `f1_lost` is F1 of the complete table less that with gaps:\n\n"
        f"{markdown(mean.round(3).reset_index())}"
    )


def gaps_null_table(rows):
    """Return the shares of rejected null pairs, one line a law, way, share and policy."""
    return (
        "x and y depend on s alone, all three and two columns beside them have gaps; x and y are tested given s. Made by "
        f"`python benchmarks/missing.py null`.\n\n{markdown(rows.round(3))}"
    )


def ci_table(rows):
    """Return the shares of rejected pairs of the test by itself, null pairs first."""
    parts = []
    for effect, title in ((False, "Null pairs:"), (True, "With an effect of 3 / sqrt(n):")):
        some = rows[rows["effect"] == effect].assign(
            cell=lambda r: r["method"] + ", n = " + r["n"].astype(str)
        )
        order = [f"{m}, n = {n}" for m in ("ours", "rcit", "fisher-z") for n in sorted(rows["n"].unique())]
        shares = some.pivot_table(index="law", columns="cell", values="at_0.05")
        parts += [title + "\n", markdown(shares[[c for c in order if c in shares]].reset_index()), ""]
    null = rows[(rows["method"] == "ours") & ~rows["effect"]]
    parts += ["Null pairs, ours, p up to 0.01:\n"]
    parts += [markdown(null.pivot_table(index="law", columns="n", values="at_0.01").reset_index())]
    return "\n".join(parts)


def rules_table(rows):
    """Return mean Hamming distance with mean false edges in brackets, one column a rule."""
    by = ["fdr", "simulator", "kind", "n"]
    rows = rows.replace({"rule": {"rao": "score test"}})  # its name in older rows
    means = rows.groupby([*by, "rule"])[["hamming", "false"]].mean()
    cells = means.apply(lambda row: f"{row['hamming']:.1f} ({row['false']:.1f})", axis=1).unstack("rule")
    order = [rule for rule in RULES if rule in cells]
    about = rows.groupby(by).agg(draws=("seed", "nunique"), edges=("true_edges", "mean"))
    text = markdown(about.round(1).join(cells[order]).reset_index())
    return f"Mean Hamming distance (false edges) of one search, tested in different ways.\n\n{RULES_TEXT}\n\n{text}"


def intervals_table(rows):
    """Return the coverage of the intervals of strength, one line a law, way and number of rows."""
    return (
        "True edges of random networks of six variables; 95% intervals. `neighbors`: tested given the true ones of both "
        "ends, or as the engine finds them; `tested`: share of the true edges that have an interval; `coverage`: share of "
        "the intervals that hold the true strength, the others are too high or too low; `width` and `bias`: means of the "
        "interval's width and of the strength less the true one; `refuted`: share of the true edges with a p-value up to "
        "that if `min_strength` is their true strength, which should be at most that. "
        f"Made by `python benchmarks/intervals.py`.\n\n{markdown(coverage(rows).reset_index())}"
    )


def stability_table(rows):
    """Return the share of false edges by their stability."""
    tasks = rows.groupby(["simulator", "kind", "d", "n"], sort=False).seed.nunique().reset_index(name="draws")
    return (
        f"Simulated tables, {int(rows.n_pairs.iloc[0])} pairs of half-samples; the local engine at the nominal rate, the "
        "dag engine by its score. `share false`: of the edges with at least that stability; `of the true edges`: of those "
        "found in all rows, how many are at least so stable. Made by `python benchmarks/stability.py calibrate`.\n\n"
        f"{markdown(by_stability(rows))}\n\n"
        f"![Share of false edges by stability](results/stability.png)\n\nTables:\n\n{markdown(tasks)}"
    )


def cost_table(rows):
    """Return what half-samples cost beside one fit, and what is asked of them."""
    return (
        "Butterfly network, one machine. `seconds` are of the whole fit, `half_s` of its half-samples, `cpu_s` of all "
        "processes; `start_s`, which is not in them, is what it took to start these. `busy` is the share of its cores that "
        "was had while half-samples (or a fit with one thread) ran: below 0.9 something else ran beside them. Made by "
        "`python benchmarks/stability.py speed FOLDER --record`.\n\n"
        f"{markdown(cost(rows))}\n\nRows:\n\n{markdown(rows)}"
    )


def plan_table(rows):
    """Return what larger fits would take, from smaller ones: the product grows with d squared, the rest with d."""
    lines = []
    for device, some in rows.groupby("device", sort=False):
        means = some.groupby("d")[["fit_seconds", "bare_product_seconds"]].mean()
        for goal in (100_000, 1_000_000):
            known = means[means.index < goal]
            base = known.index.max()
            if known.loc[base].isna().any():  # a fit without its bare product: nothing to go by
                continue
            product, fit = known.loc[base, "bare_product_seconds"], known.loc[base, "fit_seconds"]
            predicted = product * (goal / base) ** 2 + (fit - product) * goal / base
            measured = means.loc[goal, "fit_seconds"] if goal in means.index else float("nan")
            line = {"device": device, "d": goal, "from d": base, "predicted seconds": round(predicted)}
            lines.append(line | {"measured seconds": measured, "features, GB": 56 * 1000 * goal / 1e9})
    return (
        "On paper: the seconds of a larger fit from those of a smaller one, the bare product growing with the square of the "
        "variables and all else in proportion; `features` is what is held of 1,000 rows (56 bytes a row and variable).\n\n"
        + markdown(pd.DataFrame(lines))
    )


def honest_table(rows):
    """Return the shares of rejected null pairs, one table for each number of rows."""
    lists = rows["p_values"].map(lambda text: [float(p) for p in text.split()], na_action="ignore")
    return (
        "x and y depend on the confounders alone. `gpm` is the whole engine, which must find the confounders; the other "
        "tests are told them. Made by `gpmnet bench run honest -o DIR`.\n\n"
        + "\n".join(rejection_tables(rows.assign(p_values=lists), list(looks(rows["method"])))).rstrip()
    )


def growth_table(rows):
    """Return the points, the fitted slopes and the figure."""
    columns = [
        "axis", "simulator", "kind", "d", "n", "fdr", "seed", "threads", "status", "test_seconds", "fit_seconds",
        "hamming", "true_edges", "f1", "peak_gb", "reason",
    ]  # fmt: skip
    shown = rows[[column for column in columns if column in rows]].round(4)
    return (
        f"{markdown(shown)}\n\nLog-log slopes:\n\n{markdown(slopes(rows))}\n\n![Growth](results/growth.png)"
    )


def cells_won(rows, ours="gpm-deep"):
    """Return, for each other method, in how many cells (kind, d) our mean Hamming distance is lower, equal or higher."""
    mean = rows[rows["status"] == "ok"].groupby(["method", "kind", "d"])["hamming"].mean()
    lines = []
    for method in [m for m in mean.index.levels[0] if m != ours]:
        pair = pd.concat([mean[ours], mean[method]], axis=1, keys=["ours", "theirs"]).dropna()
        gap = pair["ours"] - pair["theirs"]
        missing = rows[(rows["method"] == method) & (rows["status"] != "ok")].groupby(["kind", "d"]).ngroups
        lines.append(
            {"against": method, "lower": int((gap < 0).sum()), "equal": int((gap == 0).sum()),
             "higher": int((gap > 0).sum()), "cells without numbers": missing}
        )  # fmt: skip
    return markdown(pd.DataFrame(lines))


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
