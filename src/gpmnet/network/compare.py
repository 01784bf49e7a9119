"""Two networks side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpmnet.errors import InputError
from gpmnet.frozen import FrozenMap
from gpmnet.network.text import counted, short

if TYPE_CHECKING:
    import pandas as pd

    from gpmnet.network.network import MarkovNetwork

Edge = tuple[str, str]


@dataclass(frozen=True)
class DifferenceTest:
    """Whether two networks differ by more than chance; see `gpmnet.comparing`.

    Attributes
    ----------
    total : float
        Sum of the absolute differences (see `difference`) over the edges of either network, of fits to the variables that
        both tables have.
    p_value : float
        Share of the deals, this one included, with a total at least as large.
    differences, p_values : mapping
        Edge -> its own difference and p-value, not corrected for the number of edges.
    permutations : int
    dealt : str
        What was dealt out: "rows", or "groups of rows".
    """

    total: float
    p_value: float
    differences: Mapping[Edge, float]
    p_values: Mapping[Edge, float]
    permutations: int
    dealt: str = "rows"

    def __post_init__(self) -> None:
        for name in ("differences", "p_values"):
            object.__setattr__(self, name, FrozenMap(getattr(self, name)))

    @property
    def text(self) -> str:
        """The result in one sentence."""
        return (
            f"the strengths differ by {self.total:.2f} in all: p = {self.p_value:.3g} "
            f"by {counted(self.permutations, 'permutation')} of the {self.dealt} between the tables"
        )


@dataclass(frozen=True)
class Comparison:
    """Edges of two networks by name, over the variables that both have.

    Attributes
    ----------
    common, only_here, only_there : tuple of (name, name)
        Edges of both networks, of the first alone, of the second alone.
    flipped : tuple of (name, name)
        Common edges whose sign is + in one network and - in the other.
    names_only_here, names_only_there : tuple of str
        Variables of one network alone; their edges cannot be compared
    n_left_out : int
        and are counted here.
    strengths, signs : mapping
        Edge -> (here, there), NaN where a network does not have the pair or the figure.
    test : DifferenceTest or None
        Whether the difference could be chance, where both tables were given to `gpmnet.comparing.compare`.

    Examples
    --------
    >>> from gpmnet import MarkovNetwork
    >>> here = MarkovNetwork.from_adjacency("abc", [[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> there = MarkovNetwork.from_adjacency("abd", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> here.compare(there)
    Comparison(1 common edge, 0 only here, 0 only there, 0 signs flipped; Jaccard 1.00, Hamming 0;
      only here: 'c'; only there: 'd'; 2 edges with them left out)
    """

    common: tuple[Edge, ...]
    only_here: tuple[Edge, ...]
    only_there: tuple[Edge, ...]
    flipped: tuple[Edge, ...]
    names_only_here: tuple[str, ...]
    names_only_there: tuple[str, ...]
    n_left_out: int
    strengths: Mapping[Edge, tuple[float, float]]
    signs: Mapping[Edge, tuple[float, float]]
    test: DifferenceTest | None = None

    @property
    def hamming(self) -> int:
        """Number of pairs that are an edge in just one of the two."""
        return len(self.only_here) + len(self.only_there)

    @property
    def jaccard(self) -> float:
        """Common edges among the edges of either; 1 where neither has any."""
        either = len(self.common) + self.hamming
        return len(self.common) / either if either else 1.0

    def to_frame(self) -> pd.DataFrame:
        """Return one row an edge of either: source, target, here, there, both signs and strengths; of a test the p-value."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for edges, here, there in (
            (self.common, True, True), (self.only_here, True, False), (self.only_there, False, True)
        ):  # fmt: skip
            for edge in edges:
                row: dict[str, Any] = {"source": edge[0], "target": edge[1], "here": here, "there": there}
                row["sign_here"], row["sign_there"] = self.signs[edge]
                row["strength_here"], row["strength_there"] = self.strengths[edge]
                if self.test is not None:
                    row["p_value"] = self.test.p_values.get(edge, np.nan)
                rows.append(row)
        columns = [
            "source",
            "target",
            "here",
            "there",
            "sign_here",
            "sign_there",
            "strength_here",
            "strength_there",
        ]
        return pd.DataFrame(rows, columns=columns + ([] if self.test is None else ["p_value"]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and texts, ready for JSON; unknown figures are None."""
        rows = self.to_frame().to_dict("records")
        test = self.test
        return {
            "n_common": len(self.common),
            "n_only_here": len(self.only_here),
            "n_only_there": len(self.only_there),
            "n_flipped": len(self.flipped),
            "jaccard": self.jaccard,
            "hamming": self.hamming,
            "names_only_here": list(self.names_only_here),
            "names_only_there": list(self.names_only_there),
            "n_left_out": self.n_left_out,
            "edges": [
                {name: None if value != value else value for name, value in row.items()} for row in rows
            ],
            "test": None
            if test is None
            else {"total": test.total, "p_value": test.p_value, "permutations": test.permutations},
        }

    def report(self, path: str | Path, names: tuple[str, str] = ("here", "there")) -> Path:
        """Write the comparison as one HTML file; `names` are what the two networks are called."""
        from gpmnet.network.report.comparison import write_comparison

        return write_comparison(self, path, names)

    def __repr__(self) -> str:
        text = (
            f"Comparison({counted(len(self.common), 'common edge')}, {len(self.only_here):,} only here, "
            f"{len(self.only_there):,} only there, {counted(len(self.flipped), 'sign')} flipped; "
            f"Jaccard {self.jaccard:.2f}, Hamming {self.hamming:,}"
        )
        for where, names in (("here", self.names_only_here), ("there", self.names_only_there)):
            if names:
                text += f";\n  only {where}: {_listed(names)}"
        if self.n_left_out:
            text += f"; {counted(self.n_left_out, 'edge')} with them left out"
        return text + (f";\n  {self.test.text})" if self.test is not None else ")")

    def _repr_html_(self) -> str:
        from gpmnet.network.html import comparison_html

        return comparison_html(self)


@dataclass(frozen=True)
class Row:
    """One edge of either network: where it is, its figures (here, there), and their difference as `difference` has it."""

    edge: Edge
    where: str
    strengths: tuple[float, float]
    signs: tuple[float, float]
    difference: float
    p_value: float


def difference(strengths: tuple[float, float], signs: tuple[float, float]) -> float:
    """Return the strength there minus that here, with their signs where both have one.

    A pair that came close to an edge has its strength; one that did not counts as 0.

    >>> difference((0.5, 0.25), (1.0, 1.0)), difference((0.5, 0.25), (1.0, -1.0)), difference((0.5, np.nan), (0.0, np.nan))
    (-0.25, -0.75, -0.5)
    """
    here, there = np.nan_to_num(strengths)
    both = all(abs(sign) == 1 for sign in signs)
    return float(there * signs[1] - here * signs[0]) if both else float(there - here)


def by_difference(comparison: Comparison) -> list[Row]:
    """Return the edges of either network, those that differ most first."""
    flipped = set(comparison.flipped)
    places = ((comparison.common, "both"), (comparison.only_here, "here"), (comparison.only_there, "there"))
    rows = []
    for edges, where in places:
        for edge in edges:
            strengths, signs = comparison.strengths[edge], comparison.signs[edge]
            p_value = np.nan if comparison.test is None else comparison.test.p_values.get(edge, np.nan)
            said = "both, flipped" if edge in flipped else where
            rows.append(Row(edge, said, strengths, signs, difference(strengths, signs), p_value))
    return sorted(rows, key=lambda row: -abs(row.difference))


def _listed(names: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(repr(short(name, 30)) for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def compare(here: MarkovNetwork, there: MarkovNetwork) -> Comparison:
    """Return what two networks share and where they differ, by the names of the variables."""
    if not hasattr(there, "pairs"):
        raise InputError(f"a network is compared with another network, not with {type(there).__name__}")
    both = set(here.names) & set(there.names)
    place = {name: at for at, name in enumerate(here.names)}
    figures = [_figures(network, both, place) for network in (here, there)]
    edges = [{edge for edge, (is_edge, _, _) in found.items() if is_edge} for found in figures]
    unknown = (False, np.nan, np.nan)
    seen = edges[0] | edges[1]
    strengths, signs = (
        {e: (figures[0].get(e, unknown)[k], figures[1].get(e, unknown)[k]) for e in seen} for k in (1, 2)
    )

    def ordered(chosen: Iterable[Edge]) -> tuple[Edge, ...]:
        return tuple(sorted(chosen, key=lambda edge: (place[edge[0]], place[edge[1]])))

    common = ordered(edges[0] & edges[1])
    return Comparison(
        common=common,
        only_here=ordered(edges[0] - edges[1]),
        only_there=ordered(edges[1] - edges[0]),
        flipped=tuple(edge for edge in common if signs[edge][0] * signs[edge][1] == -1),
        names_only_here=tuple(name for name in here.names if name not in both),
        names_only_there=tuple(name for name in there.names if name not in both),
        n_left_out=here.n_edges + there.n_edges - len(edges[0]) - len(edges[1]),
        strengths=FrozenMap(strengths),
        signs=FrozenMap(signs),
    )


def _figures(
    network: MarkovNetwork, both: set[str], place: dict[str, int]
) -> dict[Edge, tuple[bool, float, float]]:
    """Return (is_edge, strength, sign) of each pair over the shared variables, named in the order of `place`."""
    pairs, found = network.pairs, {}
    for a, b, *figures in zip(
        pairs.first.tolist(), pairs.second.tolist(), pairs.is_edge.tolist(),
        pairs.strength.tolist(), pairs.sign.tolist(), strict=True,
    ):  # fmt: skip
        ends = network.names[a], network.names[b]
        if ends[0] in both and ends[1] in both:
            first, second = sorted(ends, key=place.__getitem__)
            found[first, second] = (figures[0], figures[1], figures[2])
    return found
