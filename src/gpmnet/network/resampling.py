"""`Resampling`: what half-samples say of a whole network, and what follows from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpmnet.errors import InputError
from gpmnet.json_data import as_count, as_number, as_table
from gpmnet.network.pairs import RESAMPLED, STATISTICS
from gpmnet.selection.stability import expected_low

if TYPE_CHECKING:
    from gpmnet.engines.resampled import Frequencies
    from gpmnet.network.network import MarkovNetwork


@dataclass(frozen=True)
class Resampling:
    """How the half-samples behind the stability of edges were drawn, and how many edges they had.

    Attributes
    ----------
    n_pairs : int
        Pairs of halves that share no row.
    n_rows : int
        Rows of a half, on average where groups of rows are drawn.
    mean_edges : float
        Edges of a half, on average; required ones are not counted.
    n_tests : int
        Pairs of variables that could be edges, required ones not counted.
    n_groups : int
        Groups of a half, where rows belong together; 0 where single rows are drawn.

    Examples
    --------
    >>> drawn = Resampling(n_pairs=50, n_rows=500, mean_edges=20.0, n_tests=4950)
    >>> round(drawn.expected_low(0.9), 2), round(drawn.expected_low(0.9, unimodal=True), 2)
    (0.1, 0.03)
    """

    n_pairs: int
    n_rows: int
    mean_edges: float
    n_tests: int
    n_groups: int = 0

    def expected_low(self, stability: float, unimodal: bool = False) -> float:
        """Return a bound on the expected number of low pairs among all with at least some stability.

        Low are the pairs with no more than an average pair's chance of being chosen in a half. It says nothing of false
        pairs that are chosen more often than that, and it is no false-discovery rate; see `gpmnet.selection.stability`.

        Parameters
        ----------
        stability : float
            Above 1/2; below there is no bound (infinity).
        unimodal : bool
            Use the sharper bound for unimodal distributions.
        """
        if not 0 <= stability <= 1:
            raise InputError(f"stability must be from 0 to 1; got {stability}")
        return expected_low(stability, self.mean_edges, self.n_tests, self.n_pairs if unimodal else None)

    @property
    def text(self) -> str:
        """How stability was measured, and the bound, as a sentence."""
        low = self.expected_low(0.9)
        rows = f"{self.n_rows:,} rows"
        drawn = f"{self.n_groups:,} whole groups (about {rows})" if self.n_groups else rows
        return (
            f"stability is the share of {2 * self.n_pairs} half-samples of {drawn} in which a pair is an edge; "
            f"at 0.9 and more at most {low:.2g} pairs are expected that have no more than an average pair's chance in a half"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; `from_dict` reads it back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Resampling:
        """Return what plain data say, or raise saying what is wrong with them."""
        said = as_table(data, "the half-samples")
        counts = {name: as_count(said.get(name), name) for name in ("n_pairs", "n_rows", "n_tests")}
        counts["n_groups"] = as_count(said.get("n_groups", 0), "n_groups")  # before groups there was none
        if not counts["n_pairs"]:
            raise InputError("the half-samples are none")
        return cls(mean_edges=as_number(said.get("mean_edges"), "mean_edges"), **counts)


def with_shares(
    network: MarkovNetwork, drawn: Resampling, found: Frequencies, names: tuple[str, ...], directed: bool
) -> MarkovNetwork:
    """Return a network whose pairs have the shares of half-samples in which they are edges.

    Parameters
    ----------
    names : tuple of str
        The variables whose positions `found` has; a column that repeats another one is not among them.
    directed : bool
        Whether the shares of arrows mean something.
    """
    place = {name: at for at, name in enumerate(names)}
    at = np.array([place.get(name, -1) for name in network.names], dtype=np.intp)
    pairs, d = network.pairs, len(names)
    first, second = at[pairs.first], at[pairs.second]
    known = (first >= 0) & (second >= 0)
    # Positions among the variables keep the order of the network's names: first stays first.
    shares = found.of(first[known], second[known], d)
    columns = {name: np.full(len(pairs), np.nan) for name in RESAMPLED}
    for name, share in zip(RESAMPLED if directed else RESAMPLED[:1], shares, strict=False):
        columns[name][known] = share
    often = np.isin(found.first * d + found.second, first[known] * d + second[known])
    missed = int(np.count_nonzero(~often & (found.share > 0.5)))
    more = f"{missed:,} pairs that did not come close in all rows are edges in most half-samples"
    notes = (*network.facts.warnings, drawn.text, *([more] if missed else []))
    facts = replace(network.facts, warnings=notes)
    return replace(network, pairs=replace(pairs, **columns), resampling=drawn, facts=facts)


def figures_of(network: MarkovNetwork) -> tuple[str, ...]:
    """Return the names of the columns that a table of a network's edges has."""
    if network.resampling is None:
        return STATISTICS
    return (*STATISTICS, *(RESAMPLED if network.directions is not None else RESAMPLED[:1]))
