"""The tables of docs/results.md that are more than means over draws, each from its rows (`benchmarks/results.py`)."""

import pandas as pd

from gpmnet.bench.rejections import rejection_tables
from gpmnet.bench.style import looks
from growth import slopes
from intervals import summary as coverage
from pictures import with_loss
from stability import cost
from stability import summary as by_stability

RULES = ["union", "smaller", "fitting", "or", "and", "cauchy", "joint", "score test", "engine"]
RULES_TEXT = (
    "`union`: given both ends' neighbors; `smaller`: given the smaller set; `fitting`: the union, or the smaller set where "
    "the union is too large; `or`: 2 min p of both ends' sets, `and`: max p, `cauchy`: their Cauchy combination, "
    "`joint`: the sum of -2 log p with its correlation; `score test`: those of both node models given the union; "
    "`engine`: what the engine reports (`selection/two_ended.py`)."
)


def _shown(value):
    return f"{value:.0f}" if value.is_integer() and value < 1e15 else f"{value:g}"


def markdown(frame):
    """Return a frame as a Markdown table."""
    cells = [[str(name) for name in frame.columns]]
    cells += [
        ["" if pd.isna(v) else _shown(v) if isinstance(v, float) else str(v) for v in row]
        for row in frame.to_numpy()
    ]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(frame.columns), *lines[1:]])


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
    by = ["laws", "simulator", "kind", "d", "n"]
    tasks = rows.groupby(by, sort=False).seed.nunique().reset_index(name="draws")
    return (
        f"Simulated tables, {int(rows.n_pairs.iloc[0])} pairs of half-samples; the local engine at the nominal rate, the "
        "dag engine by its score. `share false`: of the edges with at least that stability; `of the true edges`: of those "
        "found in all rows, how many are at least so stable; `bound`: how many low pairs, which are not the false ones, "
        "Shah and Samworth's bound allows in all these tables. Hard laws are those of confounders that act together in a "
        "way which the engines' regressions, and more so the dag engine's score, do not follow. Made by "
        "`python benchmarks/stability.py calibrate`.\n\n"
        f"{markdown(by_stability(rows))}\n\n"
        f"![Share of false edges by stability](results/stability.png)\n\nTables:\n\n{markdown(tasks)}"
    )


def all_rows_table(rows):
    """Return the false and missed edges of the dag engine by how many rows it looked at."""
    by = ["simulator", "kind", "looked_at"]
    means = (
        rows.groupby(by, sort=False)[["edges", "false", "missed", "seconds"]].mean().round(1).reset_index()
    )
    draws = rows.groupby(["simulator", "kind"]).seed.nunique().min()
    return (
        f"Ten variables, {int(rows.rows.iloc[0]):,} rows, means of {draws} draws. `looked_at`: rows behind the score "
        "(`most_rows`). `flag` has a level that one row in 10,000 has, and one edge. Made by "
        f"`python benchmarks/all_rows.py`.\n\n{markdown(means)}"
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
            known = means[means.index < goal].dropna()
            base = known.index.max()
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
