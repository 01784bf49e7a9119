r"""`held_out_gain`: how well the edges of a network foretell rows that it has not seen.

For each variable i with neighbors N, a small model :math:`\hat p(x_i \mid x_N)` is fitted to the rows of the network's table
and

.. math:: \sum_i \operatorname{mean}_{rows} \bigl[ \log \hat p(x_i \mid x_N) - \log \hat p(x_i) \bigr]

is taken over the other rows, in nats a row: the pseudo-likelihood less that of independent variables. It is 0 without
an edge; an edge that is missing takes from it, and so does one too many, whose coefficients are noise. The logarithm of
a density or a probability is a proper score, and so is their sum.

The models are the same for every engine: *continuous i*, on the scale of normal scores, normal with a mean that is linear
in z and :math:`z^2` of continuous neighbors and in indicators of discrete ones, with a ridge; *discrete i*, logistic.
They are simpler than the engines' own, which see more forms of dependence: the score ranks graphs, it does not test edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gpmnet.errors import InputError, quote
from gpmnet.table import Table
from gpmnet.table.load import load_raw

if TYPE_CHECKING:
    from gpmnet.network import MarkovNetwork
    from gpmnet.table.raw import RawTable

RIDGE = 1.0
"""Penalty on the squared coefficients, of features with about unit variance; the loss is summed over the rows."""


@dataclass(frozen=True, eq=False)
class _Columns:
    """Normal scores or codes of each variable (by name), NaN or -1 where a row has no known value."""

    scores: dict[str, NDArray[np.float64]]
    codes: dict[str, NDArray[np.intp]]
    levels: dict[str, int]

    def features(self, name: str) -> NDArray[np.float64]:
        """Return the columns that stand for a neighbor (n, k), NaN where it has no known value."""
        if name in self.codes:
            codes = self.codes[name][:, None]
            indicators: NDArray[np.float64] = np.where(
                codes < 0, np.nan, codes == np.arange(1, self.levels[name])
            )
            return indicators
        z = self.scores[name]
        return np.stack([z, (np.square(z) - 1) / np.sqrt(2)], axis=1)


def held_out_gain(network: MarkovNetwork, table: Table, rows: Any) -> float:
    """Return the held-out score of a network's edges.

    Parameters
    ----------
    table : Table
        What the network was learned from.
    rows : path, ndarray or data frame
        Other rows, with the columns of the table; where a value is missing, or is a level that the fit has not seen, what
        needs it is left out.
    """
    raw = load_raw(rows)
    learned, other = _learned(table), _held_out(table, raw)
    total = 0.0
    for name in table.names:
        neighbors = [other_name for other_name in network.neighbors(name) if other_name in table.names]
        if neighbors:
            total += _gain(name, neighbors, learned, other)
    return total


def _gain(name: str, neighbors: list[str], learned: _Columns, other: _Columns) -> float:
    known, new = (
        np.concatenate([columns.features(neighbor) for neighbor in neighbors], axis=1)
        for columns in (learned, other)
    )
    gain = _discrete_gain if name in learned.codes else _continuous_gain
    own = learned.codes if name in learned.codes else learned.scores
    target = other.codes if name in other.codes else other.scores
    rows, usable = (
        np.isfinite(around).all(axis=1) & _is_known(value[name])
        for around, value in ((known, own), (new, target))
    )
    if not (rows.any() and usable.any()):
        return 0.0
    return float(gain(known[rows], own[name][rows], new[usable], target[name][usable]).mean())


def _is_known(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which scores are no NaN, or which codes are not -1."""
    return values >= 0 if values.dtype.kind == "i" else ~np.isnan(values)


def _continuous_gain(
    known: NDArray[np.float64], z: NDArray[Any], new: NDArray[np.float64], z_new: NDArray[Any]
) -> NDArray[np.float64]:
    """Return log density given the neighbors minus that of the standard normal, row by row."""
    centre = known.mean(axis=0)
    x = known - centre
    gram = x.T @ x + RIDGE * np.eye(x.shape[1])
    slope = np.linalg.solve(gram, x.T @ (z - z.mean()))
    left = z - z.mean() - x @ slope
    used = np.trace(np.linalg.solve(gram, x.T @ x)) + 1  # degrees of freedom of the ridge
    variance = float(left @ left) / max(1.0, len(z) - used)
    error = z_new - z.mean() - (new - centre) @ slope
    density: NDArray[np.float64] = -0.5 * np.log(variance) - np.square(error) / (2 * variance)
    density += np.square(z_new) / 2
    return density


def _discrete_gain(
    known: NDArray[np.float64], codes: NDArray[Any], new: NDArray[np.float64], codes_new: NDArray[Any]
) -> NDArray[np.float64]:
    """Return log probability given the neighbors minus that of the shares of the levels, row by row."""
    from sklearn.linear_model import LogisticRegression

    levels, counts = np.unique(codes, return_counts=True)
    model = LogisticRegression(C=1 / RIDGE, max_iter=500).fit(known, codes)
    at = np.searchsorted(levels, codes_new)
    gain: NDArray[np.float64] = model.predict_log_proba(new)[np.arange(len(new)), at]
    gain -= np.log(counts[at] / len(codes))
    return gain


def _learned(table: Table) -> _Columns:
    values = dict(zip(table.names, table.values().T, strict=True))
    return _columns(table, values)


def _held_out(table: Table, raw: RawTable) -> _Columns:
    place = {name: at for at, name in enumerate(raw.names)}
    number = {int(at): k for k, at in enumerate(raw.number_at)}
    values = {}
    for column in table.variables:
        at = place.get(column.name)
        if at is None:
            raise InputError(f"the rows to score have no column {quote(column.name)}")
        if at in number and not column.levels:
            values[column.name] = raw.numbers[:, number[at]].astype(np.float64)
        elif at in number:
            code = {float(level): k for k, level in enumerate(column.levels) if _is_number(level)}
            values[column.name] = np.array(
                [code.get(float(v), -1) for v in raw.numbers[:, number[at]]], float
            )
        elif column.levels:
            labels = raw.labelled[at]
            code_of = {level: k for k, level in enumerate(column.levels)}
            codes = np.array([*(code_of.get(label, -1) for label in labels.labels), -1], dtype=np.float64)
            values[column.name] = codes[labels.codes]
        else:
            raise InputError(
                f"column {quote(column.name)} holds text, where the table of the fit has numbers"
            )
    return _columns(table, values)


def _columns(table: Table, values: dict[str, NDArray[np.float64]]) -> _Columns:
    scores, codes, levels = {}, {}, {}
    fitted = dict(zip(table.names, table.values().T, strict=True))
    for at, column in enumerate(table.variables):
        name = column.name
        if table.is_discrete[at]:
            codes[name], levels[name] = values[name].astype(np.intp), len(column.levels)
        else:
            given = np.where(values[name] < 0, np.nan, values[name]) if column.levels else values[name]
            scores[name] = scores_among(fitted[name], given)
    return _Columns(scores, codes, levels)


def scores_among(known: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal scores of values by their mid-ranks among known ones; NaN stays.

    >>> scores_among(np.array([1.0, 2.0, 2.0, 3.0]), np.array([2.0, 0.0])).round(3)
    array([ 0.  , -1.15])
    """
    ordered = np.sort(known[~np.isnan(known)])
    n = len(ordered)
    below, upto = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    share = np.clip((below + upto) / (2 * n), 0.5 / n, 1 - 0.5 / n)
    found: NDArray[np.float64] = np.where(np.isnan(values), np.nan, ndtri(share))
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
