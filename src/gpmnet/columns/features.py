r"""Features of each variable: what the tests correlate, and what they condition on.

A continuous variable with normal score z and rank :math:`u = \Phi(z)` has the bounded features

.. math:: c \tanh(z / c), \quad \cos 2\pi u, \quad \cos 3\pi u, \ldots

orthonormalised over the rows. The first one is all but linear, so that Gaussian data lose nothing; all of them are
bounded, so that sums of their products have normal tails even where a billion pairs are tested. Rows with equal values
have equal features: their mean over the ranks that the rows share; where few rows differ from the rest, unit variance
would make spikes of them, and the features stay smaller. A discrete variable with M levels has M - 1 centred indicators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

from gpmnet.table import Encoded, centred_indicators
from gpmnet.table.encode import name_noise, normal_quantiles

CLIP = 2.5
"""The constant c of the first feature."""
PEAK = 3.0
"""No feature of a continuous variable is larger."""


@dataclass(frozen=True, eq=False)
class Features:
    r"""The columns an engine computes with, on one device.

    Attributes
    ----------
    phi : Tensor of shape (n, D + 1)
        Features of all variables side by side, each variable's block centred and, if continuous, orthonormal
        (:math:`\\Phi_i^\\top \\Phi_i = n I`, less where ties leave spikes); the last column is zero and pads blocks of
        unequal width.
    start, width : Tensor of shape (d,)
        First column and number of columns of each variable's block.
    linear : Tensor of shape (n, L + 1)
        Coordinates of the node models: z of a continuous variable (ties broken at random, since score matching needs
        a density), standardised indicators of a discrete one.
    middle : Tensor of shape (n, L + 1)
        The same with the mean z of the rows that share a value: what the tests condition on.
    linear_start, linear_width : Tensor of shape (d,)
    weights : Tensor of shape (L + 1, R)
        Directions of the node models' joint features, keyed by the variables' names so that column order does not matter.
    shifts : Tensor of shape (R,)
    codes : Tensor of shape (n, d)
        Codes of the discrete variables, zero for the others.
    levels : Tensor of shape (d,)
        Number of levels, zero for continuous variables.
    """

    phi: Tensor
    start: Tensor
    width: Tensor
    linear: Tensor
    middle: Tensor
    linear_start: Tensor
    linear_width: Tensor
    weights: Tensor
    shifts: Tensor
    codes: Tensor
    levels: Tensor

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

    @staticmethod
    def level_spread(share: Tensor) -> Tensor:
        """Return what indicators are divided by in `linear`; rare levels must not dominate a direction."""
        return (share * (1 - share)).sqrt().clamp(min=0.2)

    def columns(self, variables: Tensor) -> Tensor:
        """Return the columns of `phi` of some variables, (..., widest), padded with the zero column."""
        return _padded(self.start, self.width, variables, self.phi.shape[1] - 1)

    def linear_columns(self, variables: Tensor) -> Tensor:
        """Return the columns of `linear` of some variables, padded with the zero column; -1 is no variable."""
        return _padded(self.linear_start, self.linear_width, variables, self.linear.shape[1] - 1)


def _padded(start: Tensor, width: Tensor, variables: Tensor, pad: int) -> Tensor:
    chosen = variables.clamp(min=0)
    widths = torch.where(variables >= 0, width[chosen], 0)
    slots = torch.arange(max(int(widths.max()), 1) if widths.numel() else 1, device=start.device)
    columns = start[chosen][..., None] + slots
    return torch.where(slots < widths[..., None], columns, pad)


def gather(columns: Tensor, index: Tensor) -> Tensor:
    """Return columns (n, D) at index (b, k) as (b, n, k) in double precision."""
    return columns[:, index].permute(1, 0, 2).double()


def joint_arguments(features: Features, sets: Tensor, count: int | None = None) -> Tensor:
    r"""Return what the joint features of sets (b, s; -1 pads) are the tanh of: (b, n, R).

    :math:`w_r^\top x_S / |S|^{1/4} + b_r`, for the first `count` directions r.
    """
    columns = features.linear_columns(sets).flatten(1)
    size = (sets >= 0).sum(dim=1)[:, None, None].double()
    weights = features.weights[columns, :count].double()
    return gather(features.linear, columns) @ weights / size**0.25 + features.shifts[:count].double()


def continuous_features(n: int, k: int) -> NDArray[np.float64]:
    """Return the k features of a continuous variable at its n ordered ranks, orthonormal: shape (n, k)."""
    z = normal_quantiles(n)
    u = (np.arange(n) + 0.5) / n
    raw = np.stack([CLIP * np.tanh(z / CLIP), *(np.cos(np.pi * m * u) for m in range(2, k + 1))], axis=1)
    q, r = np.linalg.qr(raw - raw.mean(axis=0))
    features: NDArray[np.float64] = q * np.sign(np.diag(r)) * np.sqrt(n)
    return features


def build_features(
    encoded: Encoded, k: int, n_joint: int, seed: int, device: str, dtype: torch.dtype
) -> Features:
    """Return the features of an encoded table.

    Memory: n (sum of widths + d) values of `dtype` for `phi` and `linear`, and n d more if columns have ties.
    """
    n, d = encoded.n_rows, len(encoded.names)
    discrete = encoded.is_discrete
    indicators, owner = centred_indicators(encoded.codes, encoded.n_levels)
    levels = np.zeros(d, dtype=np.int64)
    levels[discrete] = encoded.n_levels
    width = np.where(discrete, levels - 1, k)
    linear_width = np.where(discrete, levels - 1, 1)
    start, linear_start = np.cumsum(width) - width, np.cumsum(linear_width) - linear_width
    phi = torch.zeros((n, int(width.sum()) + 1), device=device, dtype=dtype)
    linear = torch.zeros((n, int(linear_width.sum()) + 1), device=device, dtype=dtype)
    if indicators.shape[1]:
        blocks = torch.as_tensor(indicators, device=device, dtype=dtype)
        within = np.arange(len(owner)) - np.searchsorted(owner, owner)
        of = np.flatnonzero(discrete)[owner]
        phi[:, torch.as_tensor(start[of] + within)] = blocks
        share = torch.as_tensor((indicators > 0).mean(axis=0), device=device, dtype=dtype)
        linear[:, torch.as_tensor(linear_start[of] + within)] = blocks / Features.level_spread(share)
    at_ranks = torch.as_tensor(
        np.column_stack([normal_quantiles(n), continuous_features(n, k)]), device=device
    )
    quantiles, table = at_ranks[:, 0].to(dtype), at_ranks[:, 1:].to(dtype)
    continuous = np.flatnonzero(~discrete)
    for chunk in np.array_split(np.arange(len(continuous)), max(1, len(continuous) // 4096)):
        rank = _ranks(torch.as_tensor(encoded.scores[:, chunk], device=device))
        at = continuous[chunk]
        columns = torch.as_tensor(start[at][:, None] + np.arange(k)).reshape(-1)
        phi[:, columns] = table[rank].reshape(n, -1)
        linear[:, torch.as_tensor(linear_start[at])] = quantiles[rank]
    tied = continuous[encoded.tied]
    middle = _average_ties(phi, linear, at_ranks, encoded.groups, start[tied], linear_start[tied])
    codes = torch.zeros((n, d), dtype=torch.int64 if discrete.any() else torch.int8, device=device)
    codes[:, torch.as_tensor(np.flatnonzero(discrete))] = torch.as_tensor(
        encoded.codes.astype(np.int64), device=device
    ).to(codes.dtype)
    weights, shifts = _directions(encoded.names, linear_width, n_joint, seed)
    return Features(
        phi=phi,
        start=torch.as_tensor(start, device=device),
        width=torch.as_tensor(width, device=device),
        linear=linear,
        middle=middle,
        linear_start=torch.as_tensor(linear_start, device=device),
        linear_width=torch.as_tensor(linear_width, device=device),
        weights=torch.as_tensor(weights, device=device, dtype=dtype),
        shifts=torch.as_tensor(shifts, device=device, dtype=dtype),
        codes=codes,
        levels=torch.as_tensor(levels, device=device),
    )


def _average_ties(
    phi: Tensor,
    linear: Tensor,
    at_ranks: Tensor,
    groups: NDArray[np.int32],
    start: NDArray[np.int64],
    linear_start: NDArray[np.int64],
) -> Tensor:
    """Give rows that share a value the same features, in place, and return `Features.middle`.

    `at_ranks`, (n, 1 + k), holds z and the features at each rank; the other arguments are those of the tied variables.
    """
    middle = linear.clone() if len(start) else linear
    slots = np.arange(at_ranks.shape[1] - 1)
    step = max(1, (1 << 23) // at_ranks.numel())  # blocks of 64 MB, of which a few are held at a time
    for first in range(0, len(start), step):
        at = slice(first, first + step)
        group = torch.as_tensor(groups[:, at].astype(np.int64), device=phi.device)
        means = _tied_means(at_ranks, group)
        columns = torch.as_tensor(start[at][:, None] + slots).flatten()
        phi[:, columns] = _orthonormal(means[..., 1:]).flatten(1).to(phi.dtype)
        middle[:, torch.as_tensor(linear_start[at])] = means[..., 0].to(phi.dtype)
    return middle


def _tied_means(values: Tensor, group: Tensor) -> Tensor:
    """Return the means of values at the ranks, (n, k), over the ranks that rows with equal values share: (n, c, k).

    `group`, (n, c), numbers the distinct values of c variables in increasing order.
    """
    count = torch.zeros((int(group.max()) + 1, group.shape[1]), dtype=torch.int64, device=group.device)
    count.scatter_add_(0, group, torch.ones_like(group))
    stop = count.cumsum(dim=0)
    sums = torch.cat([torch.zeros_like(values[:1]), values.cumsum(dim=0)])
    mean = (sums[stop] - sums[stop - count]) / count.clamp(min=1)[..., None]
    return mean.gather(0, group[..., None].expand(-1, -1, values.shape[1]))


def _orthonormal(block: Tensor) -> Tensor:
    """Return features (n, c, k) of c variables, each variable's centred and orthonormal in their order, up to `PEAK`."""
    value = (block - block.mean(dim=0)).permute(1, 2, 0)
    gram = value @ value.mT / value.shape[2]
    gram.diagonal(dim1=1, dim2=2).add_(1e-6)  # few values may leave fewer directions than features
    white = torch.linalg.solve_triangular(torch.linalg.cholesky(gram), value, upper=False)
    white /= (white.abs().amax(dim=2, keepdim=True) / PEAK).clamp(min=1.0)
    return white.permute(2, 0, 1)


def _ranks(scores: Tensor) -> Tensor:
    order = scores.argsort(dim=0)
    return torch.empty_like(order).scatter_(
        0, order, torch.arange(len(scores), device=scores.device)[:, None].expand_as(order)
    )


def _directions(
    names: tuple[str, ...], width: NDArray[np.int64], n_joint: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return normal weights per linear coordinate, hashed from (seed, name, level), and uniform shifts."""
    keys = [f"{name}\0{level}" for name, levels in zip(names, width, strict=True) for level in range(levels)]
    weights = np.zeros((len(keys) + 1, n_joint))
    weights[:-1] = ndtri(_uniform(keys, n_joint, seed))
    return weights, 3.0 * (_uniform(["shift"], n_joint, seed)[0] - 0.5)


def _uniform(keys: list[str], size: int, seed: int) -> NDArray[np.float64]:
    return (name_noise(keys, size, seed) >> np.uint64(11)).astype(np.float64) / 2.0**53 + 2.0**-54
