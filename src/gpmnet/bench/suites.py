"""The suites by name: which simulators, which sizes, which methods, at which false-discovery rate.

Suites that count Hamming distance on small graphs run at a false-discovery rate of 0.01 (at a rate q even a
perfect method has about q / (1 - q) false edges per true one), those of 10,000 variables and more at 0.001.
Methods without such a rate keep the threshold of their own tests. ``--fdr`` changes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpmnet.simulate.base import ALL_KINDS
from gpmnet.simulate.confounded import LAWS

SMALL = tuple(range(4, 21, 2))
ENGINES = ("gpm", "gpm-deep", "gpm-dag")
PAPER = ("glasso", "npn", "kci", "gs", "sing")
RIVALS = ("pc-rcit", "hc")


@dataclass(frozen=True)
class Grid:
    """A simulator with everything its tasks go through: kinds x d x n x seeds.

    With a `pair`, a cell is a block of `draws` seeds, and what counts is the p-value of that pair.
    """

    simulator: str
    kinds: tuple[str, ...]
    d: tuple[int, ...]
    n: tuple[int, ...] = (1000,)
    seeds: int = 5
    options: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    pair: tuple[str, str] | None = None
    draws: int = 1


@dataclass(frozen=True)
class Suite:
    """Grids and the methods to run on them; no methods means all, no grids means tables from a folder.

    `fewer_seeds` is for methods that are too slow for all draws; seeds that were asked for are run all the same.
    """

    summary: str
    grids: tuple[Grid, ...] = ()
    methods: tuple[str, ...] = ()
    fdr: float = 0.01
    fewer_seeds: dict[str, int] = field(default_factory=dict)

    @property
    def of_pairs(self) -> bool:
        """Whether its tasks are null pairs."""
        return any(grid.pair for grid in self.grids)


DRAWS_OF_A_CELL = 25
"""Null pairs in one process: enough that starting it does not count, few enough that little is lost by a kill."""


def null_pair(law: str) -> Grid:
    """Return the grid of a null pair behind confounders, with one free column; its tasks are named shape/law."""
    of = LAWS[law]
    return Grid(
        "confounded", (of.kind,), (len(of.levels) + 1,), (300, 1000, 5000), 200, {"law": law},
        name=f"{of.shape}/{law}", pair=("x", "y"), draws=DRAWS_OF_A_CELL,
    )  # fmt: skip


SUITES: dict[str, Suite] = {
    "fig1": Suite(
        "Butterfly, three kinds, d = 4..20, n = 1000: Hamming distance.",
        (Grid("butterfly", ALL_KINDS, SMALL),),
        (*ENGINES, *PAPER, *RIVALS),
    ),
    "fig2": Suite(
        "Random graphs, three kinds, d = 4..20, n = 1000: Hamming distance.",
        (Grid("random", ALL_KINDS, SMALL),),
        (*ENGINES, *PAPER, *RIVALS),
    ),
    "table1": Suite(
        "Running time of all methods on 12 variables, Butterfly continuous, n = 1000.",
        (Grid("butterfly", ("continuous",), (12,), seeds=3),),
    ),
    "fig3": Suite(
        "Running time on large graphs: Butterfly continuous, d = 250..5000 step 250 and 10,000, n = 1000.",
        (Grid("butterfly", ("continuous",), (*range(250, 5001, 250), 10_000), seeds=1),),
        ("gpm", "gpm-deep", "glasso", "npn"),
        fdr=0.001,
    ),
    "n10000": Suite(
        "Butterfly and random graphs, three kinds, d = 4..20, n = 10,000: Hamming distance.",
        (Grid("butterfly", ALL_KINDS, SMALL, (10_000,)), Grid("random", ALL_KINDS, SMALL, (10_000,))),
        (*ENGINES, *PAPER, *RIVALS),
    ),
    "penalties": Suite(
        "Penalties of the deep engine on Butterfly continuous, d = 4..20, n = 1000.",
        (Grid("butterfly", ("continuous",), SMALL),),
        ("gpm-deep-l1", "gpm-deep-adaptive", "gpm-deep-scad", "gpm-deep-mcp",
         "gpm-omega-l1", "gpm-omega-adaptive", "gpm-omega-pairs", "gpm-omega-mcp"),
    ),
    "null": Suite(
        "Independent columns, d = 1000, n = 1000 and 300: every edge is false.",
        (Grid("null", ("mixed",), (1000,), (1000, 300), seeds=20),),
        ("gpm", "partial-corr"),
        fdr=0.05,
    ),
    "honest": Suite(
        "Null pairs behind confounding of many shapes, n = 300, 1000, 5000: share of draws that are rejected.",
        tuple(null_pair(law) for law in LAWS),
        ("gpm", "kci-test", "rcit-test", "gcm-test"),
        fdr=0.05,
        fewer_seeds={"kci-test": 50},
    ),
    "gaussian": Suite(
        "Where linear methods are right: Gaussian chain, copula chain, nonparanormal; d = 20, n = 1000.",
        (
            Grid("gaussian", ("continuous",), (20,), options={"structure": "chain"}),
            Grid("copula-chain", ("continuous",), (20,)),
            Grid("nonparanormal", ("continuous",), (20,)),
        ),
        (*ENGINES, "partial-corr", "glasso", "glasso-ebic", "npn", "npn-ebic"),
    ),
    "grids": Suite(
        "Laws of no directed graph: Gaussian grid 5 x 5, Ising grid 4 x 4; n = 1000: fill-in edges.",
        (
            Grid("gaussian-grid", ("continuous",), (25,), seeds=20),
            Grid("ising", ("discrete",), (16,), seeds=20),
        ),
        ("gpm", "gpm-dag", "gpm-dag-tested"),
    ),
    "parity": Suite(
        "No pairwise signal: parity of three, five, seven, nine and of four blocks of three, and products; n = 2000.",
        (
            Grid("parity", ("discrete", "continuous"), (3, 5, 7, 9), (2000,)),
            Grid("parity", ("discrete", "continuous"), (12,), (2000,), options={"block": 3}),
            Grid("product", ("continuous",), (3, 9), (2000,)),
        ),
        (*ENGINES, *RIVALS, "rcit"),
    ),
    "scale": Suite(
        "As far as it goes: Butterfly and Gaussian chain, d = 1000, 10,000 and 100,000, n = 1000, float32.",
        (
            Grid(
                "butterfly", ("continuous",), (1000, 10_000, 100_000), seeds=1, options={"dtype": "float32"}
            ),
            Grid(
                "gaussian", ("continuous",), (1000, 10_000, 100_000), seeds=1,
                options={"structure": "chain", "dtype": "float32"},
            ),
        ),
        ("gpm",),
        fdr=0.001,
    ),
    "causal": Suite(
        "Random directed graphs, three kinds, d = 10, 20 and 50, n = 1000: directions inside the network and without it.",
        (Grid("dag", ALL_KINDS, (10, 20, 50), seeds=10),),
        ("pc-inside", "pc-inside-separator", "pc-all", "ges-inside", "ges-all", "ges-gs-inside", "gs", "pc-kci", "pc-rcit",
         "gpm", "gpm-dag"),
        fdr=0.05,
        fewer_seeds={"pc-kci": 2, "ges-gs-inside": 2, "gs": 2},
    ),
    "tables": Suite(
        "Every table with a known graph in a folder of folders, given by --tables DIR.",
        (),
        (*ENGINES, "hc", "pc-rcit", "rcit", "partial-corr", "glasso", "npn"),
        fdr=0.05,
    ),
}  # fmt: skip
