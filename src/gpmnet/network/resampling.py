"""`Resampling`: what half-samples say of a whole network, and what follows from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gpmnet.errors import InputError
from gpmnet.json_data import as_count, as_number, as_table
from gpmnet.network.pairs import RESAMPLED, STATISTICS
from gpmnet.selection.stability import expected_low

if TYPE_CHECKING:
    from gpmnet.network.network import MarkovNetwork


@dataclass(frozen=True)
class Resampling:
    """How the half-samples behind the stability of edges were drawn, and how many edges they had.

    Attributes
    ----------
    n_pairs : int
        Pairs of halves that share no row.
    n_rows : int
        Rows of a half.
    mean_edges : float
        Edges of a half, on average; required ones are not counted.
    n_tests : int
        Pairs of variables that could be edges, required ones not counted.

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
        return (
            f"stability is the share of {2 * self.n_pairs} half-samples of {self.n_rows:,} rows in which a pair is an edge; "
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
        if not counts["n_pairs"]:
            raise InputError("the half-samples are none")
        return cls(mean_edges=as_number(said.get("mean_edges"), "mean_edges"), **counts)


def figures_of(network: MarkovNetwork) -> tuple[str, ...]:
    """Return the names of the columns that a table of a network's edges has."""
    if network.resampling is None:
        return STATISTICS
    return (*STATISTICS, *(RESAMPLED if network.directions is not None else RESAMPLED[:1]))
