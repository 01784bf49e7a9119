r"""The columns that tests and node models compute with, for all variables of a table side by side.

A continuous variable has features: functions of its normal score (`gpmnet.columns.functions`), orthonormalised over
the rows. The first one is all but linear, so that Gaussian data lose nothing; all of them are bounded, so that sums of
their products have normal tails even where a billion pairs are tested. Rows with equal values have equal features
(`gpmnet.columns.ties`). A discrete variable with M levels has M - 1 centred indicators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.columns.functions import Family, Scores, values
from gpmnet.columns.ties import bounded_orthonormal, tied_means
from gpmnet.table import Encoded, centred_indicators
from gpmnet.table.encode import normal_quantiles

LONG = 1 << 18
"""Rows beyond which features are looked up in single precision."""


@dataclass(frozen=True, eq=False)
class Features:
    r"""The columns an engine computes with, on one device.

    Attributes
    ----------
    names : tuple of str
        The d variables.
    family : sequence of ColumnFunction
        The K functions behind the features of a continuous variable.
    phi : Tensor of shape (n, D + 1)
        Features of all variables side by side, each variable's block centred and, if continuous, orthonormal
        (:math:`\Phi_i^\top \Phi_i = n I`, less where ties leave spikes); the last column is zero and pads blocks of
        unequal width.
    start, width : Tensor of shape (d,)
        First column and number of columns of each variable's block.
    scores : Tensor of shape (n, L + 1)
        Coordinates of the node models: z of a continuous variable (ties broken at random, since score matching needs
        a density), standardised indicators of a discrete one; the last column is zero.
    mid_scores : Tensor of shape (n, L + 1)
        The same with the mean z of the rows that share a value: what the tests condition on.
    score_start, score_width : Tensor of shape (d,)
    codes : Tensor of shape (n, d)
        Codes of the discrete variables, zero for the others.
    levels : Tensor of shape (d,)
        Number of levels, zero for continuous variables.
    fine_codes : Tensor of shape (n, d)
    fine_levels : Tensor of shape (d,)
        The same before rare levels were pooled: what the tests condition on.
    """

    names: tuple[str, ...]
    family: Family
    phi: Tensor
    start: Tensor
    width: Tensor
    scores: Tensor
    mid_scores: Tensor
    score_start: Tensor
    score_width: Tensor
    codes: Tensor
    levels: Tensor
    fine_codes: Tensor
    fine_levels: Tensor

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.phi.shape[0]

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.start.shape[0]

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.phi.device

    @property
    def is_discrete(self) -> Tensor:
        """Which variables are discrete, (d,)."""
        return self.levels > 0

    def columns(self, variables: Tensor) -> Tensor:
        """Return the columns of `phi` of some variables, (..., widest), padded with the zero column."""
        return _padded(self.start, self.width, variables, self.phi.shape[1] - 1)

    def score_columns(self, variables: Tensor) -> Tensor:
        """Return the columns of `scores` of some variables, padded with the zero column; -1 is no variable."""
        return _padded(self.score_start, self.score_width, variables, self.scores.shape[1] - 1)

    def of(self, variables: Tensor) -> Tensor:
        """Return the features of one variable a batch entry, (b,) to (b, n, widest), in double precision."""
        return gather(self.phi, self.columns(variables))

    def coarse(self, variables: Tensor) -> Tensor:
        """Return how many features a coarse look at variables uses: the first, or all of a discrete variable's."""
        levels = self.levels[variables]
        return torch.where(levels > 0, levels - 1, 1)

    def alike(self, variables: Tensor) -> Tensor:
        """Return a number that variables of one kind and width share, (...)."""
        return self.width[variables] * 2 + self.is_discrete[variables]


def _padded(start: Tensor, width: Tensor, variables: Tensor, pad: int) -> Tensor:
    chosen = variables.clamp(min=0)
    widths = torch.where(variables >= 0, width[chosen], 0)
    slots = torch.arange(max(int(widths.max()), 1) if widths.numel() else 1, device=start.device)
    columns = start[chosen][..., None] + slots
    return torch.where(slots < widths[..., None], columns, pad)


def gather(columns: Tensor, index: Tensor) -> Tensor:
    """Return columns (n, D) at index (b, k) as (b, n, k) in double precision."""
    return columns[:, index].permute(1, 0, 2).double()


def level_spread(share: Tensor) -> Tensor:
    """Return what indicators are divided by in `Features.scores`; rare levels must not dominate a direction."""
    return (share * (1 - share)).sqrt().clamp(min=0.2)


def rank_features(n: int, family: Family) -> NDArray[np.float64]:
    """Return the features of a continuous variable without ties at its n ordered ranks, orthonormal: shape (n, k)."""
    raw = values(family, Scores(torch.as_tensor(normal_quantiles(n)))).numpy()
    q, r = np.linalg.qr(raw - raw.mean(axis=0))
    features: NDArray[np.float64] = q * np.sign(np.diag(r)) * np.sqrt(n)
    return features


class FeatureLookup:
    """Normal scores and features of continuous variables by their ranks, one variable at a time.

    Memory: n (k + 1) numbers, of single precision where rows are many, and as many again while a variable is looked up.

    Parameters
    ----------
    n : int
        Rows.
    family : sequence of ColumnFunction
        The k functions behind the features.
    """

    def __init__(self, n: int, family: Family) -> None:
        self.family = family
        self._at_ranks = np.empty((n, 1 + len(family)), dtype=np.float64 if n <= LONG else np.float32)
        self._at_ranks[:, 0] = normal_quantiles(n)
        if n <= LONG:
            self._at_ranks[:, 1:] = rank_features(n, family)
        else:
            self._fill_in_pieces()

    def of(self, encoded: Encoded, variable: int, features: int) -> NDArray[np.floating]:
        """Return z of a continuous variable, the mean one where rows share a value, and its first features, side by side."""
        table, slot = self._at_ranks[:, : 1 + features], np.searchsorted(encoded.tied, variable)
        if slot == len(encoded.tied) or encoded.tied[slot] != variable:
            return table[encoded.ranks[:, variable]]
        group = encoded.groups[:, slot]
        count = np.bincount(group)
        means = np.add.reduceat(table, np.cumsum(count) - count, axis=0, dtype=np.float64) / count[:, None]
        if features:
            share = torch.as_tensor(count / len(group))
            means[:, 1:] = bounded_orthonormal(torch.as_tensor(means[:, None, 1:]), share)[:, 0].numpy()
        return means.astype(table.dtype, copy=False)[group]

    def _fill_in_pieces(self) -> None:
        """Fill in the features of `rank_features` by sums over pieces of the ranks, not by a decomposition of all."""
        z, k = normal_quantiles(len(self._at_ranks)), len(self.family)
        pieces = [slice(at, at + LONG) for at in range(0, len(z), LONG)]

        def raw(piece: slice) -> NDArray[np.float64]:
            return np.asarray(values(self.family, Scores(torch.as_tensor(z[piece]))).numpy())

        mean = sum((raw(piece).sum(axis=0) for piece in pieces), np.zeros(k)) / len(z)
        gram = np.zeros((k, k))
        for piece in pieces:
            centred = raw(piece) - mean
            gram += centred.T @ centred / len(z)
        white = np.linalg.inv(np.linalg.cholesky(gram)).T
        for piece in pieces:
            self._at_ranks[piece, 1:] = (raw(piece) - mean) @ white


def build_features(encoded: Encoded, family: Family, device: str, dtype: torch.dtype) -> Features:
    """Return the features of an encoded table.

    Memory: n (sum of widths + d) values of `dtype` for `phi` and `scores`, and n d more if columns have ties.
    """
    d, discrete = len(encoded.names), encoded.is_discrete
    levels = np.zeros(d, dtype=np.int64)
    levels[discrete] = encoded.n_levels
    blocks = _Blocks(np.where(discrete, levels - 1, len(family)), np.where(discrete, levels - 1, 1))
    phi, scores = blocks.empty(encoded.n_rows, device, dtype)
    _write_discrete(encoded, blocks, phi, scores)
    mid_scores = _write_continuous(encoded, family, blocks, phi, scores)
    fine_levels = levels.copy()
    fine_levels[discrete] = encoded.n_fine_levels
    codes = _among_all(encoded.codes, discrete, device)
    pooled = bool((fine_levels > levels).any())
    return Features(
        names=encoded.names,
        family=family,
        phi=phi,
        start=torch.as_tensor(blocks.start, device=device),
        width=torch.as_tensor(blocks.width, device=device),
        scores=scores,
        mid_scores=mid_scores,
        score_start=torch.as_tensor(blocks.score_start, device=device),
        score_width=torch.as_tensor(blocks.score_width, device=device),
        codes=codes,
        levels=torch.as_tensor(levels, device=device),
        fine_codes=_among_all(encoded.fine_codes, discrete, device) if pooled else codes,
        fine_levels=torch.as_tensor(fine_levels, device=device),
    )


def _among_all(codes: NDArray[np.int16], discrete: NDArray[np.bool_], device: str) -> Tensor:
    """Return the codes of the discrete variables among all d, (n, d), zero for the others."""
    dtype = torch.int64 if discrete.any() else torch.int8
    found = torch.zeros((len(codes), len(discrete)), dtype=dtype, device=device)
    at = torch.as_tensor(np.flatnonzero(discrete))
    found[:, at] = torch.as_tensor(codes.astype(np.int64), device=device).to(dtype)
    return found


@dataclass(frozen=True, eq=False)
class _Blocks:
    """How many columns of `phi` and of `scores` each variable has, (d,) each."""

    width: NDArray[np.int64]
    score_width: NDArray[np.int64]

    @property
    def start(self) -> NDArray[np.int64]:
        return np.cumsum(self.width) - self.width

    @property
    def score_start(self) -> NDArray[np.int64]:
        return np.cumsum(self.score_width) - self.score_width

    def empty(self, n: int, device: str, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return `phi` and `scores` full of zeros."""
        sizes = (int(width.sum()) + 1 for width in (self.width, self.score_width))
        phi, scores = (torch.zeros((n, size), device=device, dtype=dtype) for size in sizes)
        return phi, scores


def _write_discrete(encoded: Encoded, blocks: _Blocks, phi: Tensor, scores: Tensor) -> None:
    indicators, owner = centred_indicators(encoded.codes, encoded.n_levels)
    if not indicators.shape[1]:
        return
    value = torch.as_tensor(indicators, device=phi.device, dtype=phi.dtype)
    within = np.arange(len(owner)) - np.searchsorted(owner, owner)
    of = np.flatnonzero(encoded.is_discrete)[owner]
    phi[:, torch.as_tensor(blocks.start[of] + within)] = value
    share = torch.as_tensor((indicators > 0).mean(axis=0), device=phi.device, dtype=phi.dtype)
    scores[:, torch.as_tensor(blocks.score_start[of] + within)] = value / level_spread(share)


def _write_continuous(
    encoded: Encoded, family: Family, blocks: _Blocks, phi: Tensor, scores: Tensor
) -> Tensor:
    """Fill in the continuous variables, and return `Features.mid_scores`."""
    n, k, device = encoded.n_rows, len(family), phi.device
    at_ranks = torch.as_tensor(
        np.column_stack([normal_quantiles(n), rank_features(n, family)]), device=device
    )
    quantiles, table = at_ranks[:, 0].to(phi.dtype), at_ranks[:, 1:].to(phi.dtype)
    continuous = np.flatnonzero(~encoded.is_discrete)
    for chunk in np.array_split(np.arange(len(continuous)), max(1, len(continuous) // 4096)):
        rank = torch.as_tensor(encoded.ranks[:, chunk].astype(np.int64), device=device)
        at = continuous[chunk]
        columns = torch.as_tensor(blocks.start[at][:, None] + np.arange(k)).reshape(-1)
        phi[:, columns] = table[rank].reshape(n, -1)
        scores[:, torch.as_tensor(blocks.score_start[at])] = quantiles[rank]
    mid_scores = scores.clone() if len(encoded.tied) else scores
    tied = continuous[encoded.tied]
    step = max(1, (1 << 23) // at_ranks.numel())  # blocks of 64 MB, of which a few are held at a time
    for first in range(0, len(tied), step):
        at = tied[first : first + step]
        group = torch.as_tensor(encoded.groups[:, first : first + step].astype(np.int64), device=device)
        means = tied_means(at_ranks, group)
        columns = torch.as_tensor(blocks.start[at][:, None] + np.arange(k)).flatten()
        phi[:, columns] = bounded_orthonormal(means[..., 1:]).flatten(1).to(phi.dtype)
        mid_scores[:, torch.as_tensor(blocks.score_start[at])] = means[..., 0].to(phi.dtype)
    return mid_scores
