"""`Explanation`: why two variables are joined, in words, figures and a shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError
from gpmnet.network.joint import JointFinding, finding_between
from gpmnet.network.pairs import ESTIMATES, RESAMPLED
from gpmnet.network.shapes import Axis, joint_shares
from gpmnet.network.text import (
    SIGN_WORDS,
    at_cutoff,
    counted,
    interval_text,
    marginal_text,
    p_text,
    short,
    strength_word,
)
from gpmnet.selection import Cutoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpmnet.network.network import MarkovNetwork

Form = Literal["surface", "lines", "table", "none"]
_THIRDS = ("low", "middle", "high")
_ORDERED = ("continuous", "ordinal")
_MOST_LINES = 4
_HARDLY = 0.2  # of what the clearest category departs from chance: less is not said


@dataclass(frozen=True, eq=False)
class Explanation:
    """What is known of one pair of variables, given all the others.

    Attributes
    ----------
    source, target : str
        The variables, in the order they were asked for.
    kinds : tuple of str
        Their kinds; empty where the network does not know.
    form : {"surface", "lines", "table", "none"}
        Two numeric axes, one, none, or no shape at all.
    x, y : Axis or None
        The grids of source and target.
    values : ndarray of float32, shape (len(x), len(y)), or None
        The interaction of the log density: positive where the two values occur together more often than
        they would if the pair were independent given the rest, negative where less; rows and columns have
        mean zero.
    omega, strength, strength_low, strength_high, sign, p_value, q_value, marginal : float
        NaN where unknown, as they are for a pair that did not come close to an edge; `marginal` is the rank correlation of
        two ordered variables with nothing given.
    stability, stability_forward, stability_backward : float
        Share of half-samples in which the pair is an edge, the arrow source -> target known, and the other one.
    n_rows : int or None
        How many rows the pair rests on.
    cutoff : Cutoff or None
        Up to which q- or p-value the network's pairs are edges.
    is_edge : bool
    duplicate : bool
        Whether one column repeats the other, so that the two were joined without a test.
    joint : JointFinding or None
        Where the two have no edge: that the one depends on a group of near-copies with the other in it.
    """

    source: str
    target: str
    kinds: tuple[str, ...]
    form: Form
    x: Axis | None
    y: Axis | None
    values: NDArray[np.float32] | None
    omega: float
    strength: float
    strength_low: float
    strength_high: float
    sign: float
    p_value: float
    q_value: float
    marginal: float
    stability: float
    stability_forward: float
    stability_backward: float
    n_rows: int | None
    cutoff: Cutoff | None
    is_edge: bool
    duplicate: bool = False
    joint: JointFinding | None = None

    @property
    def fdr(self) -> float | None:
        """False-discovery rate at which the network's edges were chosen; None where they were chosen another way."""
        return self.cutoff.value if self.cutoff is not None and self.cutoff.of == "q" else None

    @property
    def text(self) -> str:
        """The explanation in a few plain sentences."""
        return self._text if self.joint is None else f"{self._text} But {self.joint.text}."

    @property
    def _text(self) -> str:
        both = f"{short(self.source, 40)} and {short(self.target, 40)}"
        if self.duplicate:
            return f"{both}: one column repeats the other, so they are joined without a test."
        at = at_cutoff(self.cutoff)
        if not self.is_edge and math.isnan(self.p_value):
            return f"{both}: no evidence of an edge{at}, given the other variables."
        found = ", ".join([*self._strength_words(), "given the other variables"])
        parts = [found if self.is_edge else f"close, but no edge{at}; {found}"]
        if not (math.isnan(self.p_value) and math.isnan(self.q_value)):
            least = 0.0 if self.cutoff is None else self.cutoff.min_strength
            null = f" for a strength of at most {least:g}" if least else ""
            parts.append(f"{p_text('p', self.p_value)}, {p_text('q', self.q_value)}{null}")
        if not math.isnan(self.stability):
            parts.append(f"an edge in {self.stability:.0%} of the half-samples")
        if self.n_rows is not None:
            parts.append(counted(self.n_rows, "row"))
        said = (f"{both}: {'; '.join(parts)}.", self.direction, marginal_text(self.sign, self.marginal))
        return " ".join(part for part in said if part)

    def _strength_words(self) -> list[str]:
        words = []
        if not math.isnan(self.strength):
            known = interval_text(self.strength_low, self.strength_high)
            within = f", 95% interval {known}" if known else ""
            words.append(f"{strength_word(self.strength)} ({self.strength:.2f}{within})")
        if not math.isnan(self.sign):
            words.append(SIGN_WORDS.get(self.sign, SIGN_WORDS[0.0]))
        return words

    @property
    def direction(self) -> str:
        """What goes with what, as a sentence; empty where neither sign nor shape tells."""
        a, b = short(self.source, 40), short(self.target, 40)
        if self.form == "lines":
            return self._of_lines()
        if self.form == "table":
            return self._of_table()
        ordered = self.form == "surface" or (self.kinds and all(kind in _ORDERED for kind in self.kinds))
        if ordered and abs(self.sign) == 1:
            return f"{'High' if self.sign > 0 else 'Low'} {a} goes with high {b}."
        if self.values is None or min(self.values.shape) < 3:
            return ""
        shares = joint_shares(*self._shape())
        thirds = [_thirds(part.mean(axis=0)) for part in np.array_split(shares, 3, axis=0)]
        said = [
            (f"{_THIRDS[at]} {a}", f"{_THIRDS[int(np.argmax(row))]} {b}") for at, row in enumerate(thirds)
        ]
        return _sentence([(said[0][0].replace("low", "Low", 1), said[0][1]), *said[1:]])

    def _of_lines(self) -> str:
        """Return where on the numeric variable the categories are found, those that most rows bring out."""
        x, y, values = self._shape()
        shares = joint_shares(x, y, values)
        if x.is_numeric:
            categories, number, lines, category_name, number_name = y, x, shares.T, self.target, self.source
        else:
            categories, number, lines, category_name, number_name = x, y, shares, self.source, self.target
        if lines.shape[1] < 3:
            return ""
        weights = categories.weights
        departs = np.abs(lines - np.outer(weights, number.weights)).sum(axis=1)
        own = departs / np.where(weights > 0, weights, 1.0)
        said_of = np.flatnonzero((own >= _HARDLY * own[np.argmax(departs)]) | (len(categories) == 2))
        clearest = said_of[np.argsort(-departs[said_of], kind="stable")[:_MOST_LINES]]
        name = short(number_name, 40)
        said = [
            (short(categories.labels[at], 30), _THIRDS[int(np.argmax(_thirds(lines[at])))])
            for at in sorted(clearest.tolist())
        ]
        said[0] = said[0][0], f"{said[0][1]} {name}"
        return _sentence(said, f"By {short(category_name, 40)}: ")

    def _of_table(self) -> str:
        """Return the combinations that have the most rows too many and too few; a rare category does not stand out."""
        x, y, values = self._shape()
        excess = joint_shares(x, y, values) - np.outer(x.weights, y.weights)
        most, least = (
            np.unravel_index(int(at), excess.shape) for at in (np.argmax(excess), np.argmin(excess))
        )
        together, apart = (
            f"{short(self.source, 40)} = {short(x.labels[i], 30)} and "
            f"{short(self.target, 40)} = {short(y.labels[j], 30)}"
            for i, j in (most, least)
        )
        return f"Together more often than by chance: {together}; less often: {apart}."

    def _shape(self) -> tuple[Axis, Axis, NDArray[np.float32]]:
        if self.x is None or self.y is None or self.values is None:
            raise InputError(
                f"there is no shape of {short(self.source, 40)} and {short(self.target, 40)} to show: "
                "it is estimated for edges only, and by the engines only"
            )
        return self.x, self.y, self.values

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the shape: a heatmap, one line a category, or bars per pair of categories."""
        from gpmnet.network.shape_plot import plot_shape

        self._shape()
        return plot_shape(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON; unknown figures are None."""
        figures = {
            name: None if math.isnan(value := getattr(self, name)) else value
            for name in (*ESTIMATES, *RESAMPLED)
        }
        axes = {
            name: None if axis is None else {"values": list(axis.values), "labels": list(axis.labels)}
            for name, axis in (("x", self.x), ("y", self.y))
        }
        return {
            "source": self.source,
            "target": self.target,
            "kinds": list(self.kinds),
            "form": self.form,
            **axes,
            "values": None if self.values is None else self.values.tolist(),
            **figures,
            "n_rows": self.n_rows,
            "fdr": self.fdr,
            "is_edge": self.is_edge,
            "duplicate": self.duplicate,
            "joint": None if self.joint is None else self.joint.to_dict(),
            "text": self.text,
        }

    def __repr__(self) -> str:
        return f"Explanation({self.text})"

    def _repr_html_(self) -> str:
        from gpmnet.network.html import explanation_html

        return explanation_html(self)


def _thirds(line: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    return np.array([part.mean() for part in np.array_split(line, 3)])


def _sentence(said: list[tuple[str, str]], opening: str = "") -> str:
    """Return what goes with what.

    >>> _sentence([("low a", "high b"), ("high a", "low b")])
    'low a goes with high b, high a with low b.'
    """
    parts = [f"{what} {'goes ' if at == 0 else ''}with {other}" for at, (what, other) in enumerate(said)]
    return opening + ", ".join(parts) + "."


def explain(network: MarkovNetwork, a: str, b: str) -> Explanation:
    """Return what a network knows of a pair."""
    first, second = network.position(a), network.position(b)
    if first == second:
        raise InputError(f"an explanation needs two different variables, not {short(a, 40)!r} twice")
    pairs, at = network.pairs, network.pair_at(a, b)
    figures = {
        name: math.nan if at is None else float(getattr(pairs, name)[at]) for name in (*ESTIMATES, *RESAMPLED)
    }
    if first > second:  # an arrow forward is one from the first of the two
        forth, back = RESAMPLED[1:]
        figures[forth], figures[back] = figures[back], figures[forth]
    is_edge = at is not None and bool(pairs.is_edge[at])
    n_rows = network.n_rows if at is None or math.isnan(pairs.n_rows[at]) else int(pairs.n_rows[at])
    shapes = network.shapes
    grid = None if shapes is None or at is None else shapes.of(at)
    x = y = None
    if shapes is not None and grid is not None:
        x, y = shapes.axes[first], shapes.axes[second]
        grid = grid if first < second else grid.T
    return Explanation(
        source=a,
        target=b,
        kinds=(network.kinds[first], network.kinds[second]) if network.kinds else (),
        form=form_of(x, y),
        x=x,
        y=y,
        values=grid,
        **figures,
        n_rows=n_rows,
        cutoff=network.cutoff,
        is_edge=is_edge,
        duplicate=network.repeats(a, b),
        joint=None if is_edge else finding_between(network, a, b),
    )


def form_of(x: Axis | None, y: Axis | None) -> Form:
    """Return how the shape over two axes is drawn."""
    if x is None or y is None:
        return "none"
    numeric = x.is_numeric + y.is_numeric
    return "surface" if numeric == 2 else "lines" if numeric else "table"
