r"""The generalised precision matrix of an energy.

For a row x the local interaction f of a pair is a mixed derivative or difference of L = log pi (level 0 is the reference):

=====================  ======================================================================================
two continuous i, j    :math:`f = \partial^2 L / \partial z_i \partial z_j`
two discrete i, j      :math:`f_{kl} = [L(0, 0) - L(k, 0)] - [L(0, l) - L(k, l)]`, k, l > 0, the others as in x
discrete i, cont. j    :math:`f_k = \partial L(0) / \partial z_j - \partial L(k) / \partial z_j`, k > 0
=====================  ======================================================================================

.. math:: \Omega_{ij} = \Big(E \sum f^2\Big)^{1/2},

the root for every kind of pair and the expectation over the given rows: those of the table, or draws of the model, with
weights if asked. It is 0 exactly where the two are independent given the rest. On the diagonal a continuous variable has
f = d2L/dz2, a discrete one 0. Variables stand in the order of the coordinates, continuous before discrete; `table_order`
undoes it.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from gpmnet.energies.base import BUDGET, Energy
from gpmnet.memory import block_size


def squared_omega(energy: Energy, h: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return E sum f^2 of every pair, differentiable in the energy's parameters.

    Parameters
    ----------
    energy : Energy
    h : Tensor of shape (n, D)
        Rows, such as a minibatch.
    weights : Tensor of shape (n,), optional
        Weights of the rows, with sum 1; equal unless given.

    Returns
    -------
    Tensor of shape (d, d)

    Notes
    -----
    Holds (n, dc, dc), (n, S, dc) and (n, S, S).
    """
    if weights is None:
        weights = h.new_full((len(h),), 1 / max(1, len(h)))
    return _by_variables(
        energy, [torch.tensordot(weights, f.square(), dims=1) for f in interactions(energy, h)]
    )


@torch.no_grad()
def shared_interactions(one: Energy, other: Energy, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return E sum f g, E sum f^2 and E sum g^2 of every pair, f and g being the local interactions of two energies: (d, d).

    The last two are Omega squared; where the energies were fitted to different rows, the noise of f and g has mean 0 in the
    first. Time and memory those of Omega of both.
    """
    size = max(1, block_size(BUDGET) // max(one.row_size(), other.row_size()))
    d = one.coordinates.n_variables
    total = h.new_zeros((3, d, d), dtype=torch.float64)
    for rows in torch.split(h, size):
        f, g = interactions(one, rows), interactions(other, rows)
        for k, (a, b) in enumerate(((f, g), (f, f), (g, g))):
            sums = [torch.einsum("n...,n...->...", x, y) for x, y in zip(a, b, strict=True)]
            total[k] += _by_variables(one, sums)
    both, first, second = (total / max(1, len(h))).unbind()
    return both, first, second


def interactions(energy: Energy, h: Tensor) -> tuple[Tensor, ...]:
    """Return the local interactions f of rows (n, D): (n, dc, dc), and with levels (n, S, dc) and (n, S, S).

    Contrasts of levels are differences of four values: in single precision one that is 0 comes out as about 1e-6.
    """
    curvature = energy.hessian(h)
    if energy.coordinates.n_discrete == 0:
        return (curvature,)
    first = energy.first
    scores = energy.level_scores(h)
    pairs = energy.pair_logits(h)
    contrast = pairs - pairs[:, first]
    return curvature, scores - scores[:, first], contrast - contrast[:, :, first]


def _by_variables(energy: Energy, sums: list[Tensor]) -> Tensor:
    """Return sums over interactions, shaped as those of a row, as one matrix of the variables: (d, d)."""
    if len(sums) == 1:
        return sums[0]
    continuous, mixed, discrete = sums
    owner, n_discrete = energy.owner, energy.coordinates.n_discrete
    mixed = mixed.new_zeros((n_discrete, mixed.shape[1])).index_add(0, owner, mixed)
    for axis in (0, 1):
        shape = [n_discrete, n_discrete if axis else energy.coordinates.n_levels]
        discrete = discrete.new_zeros(shape).index_add(axis, owner, discrete)
    return torch.cat([torch.cat([continuous, mixed.mT], dim=1), torch.cat([mixed, discrete], dim=1)])


@torch.no_grad()
def generalised_precision(
    energy: Energy, h: Tensor, weights: Tensor | None = None, chunk: int | None = None
) -> Tensor:
    """Return Omega over all rows (n, D): (d, d), in the order of the coordinates.

    Parameters
    ----------
    energy : Energy
    h : Tensor of shape (n, D)
    weights : Tensor of shape (n,), optional
        Weights of the rows, such as importance weights of draws from the model; any positive scale, equal unless given.
    chunk : int, optional
        Rows at a time; as many as keep each temporary below 64 MiB in float32 unless given.

    Examples
    --------
    >>> from gpmnet.energies import Coordinates, NormalEnergy
    >>> generalised_precision(NormalEnergy(Coordinates(2)), torch.randn(5, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    coordinates = energy.coordinates
    weights = torch.ones_like(h[:, 0]) if weights is None else weights
    weights = weights / weights.sum()
    size = chunk or max(1, block_size(BUDGET) // energy.row_size())
    total = h.new_zeros((coordinates.n_variables, coordinates.n_variables))
    for start in range(0, len(h), size):
        at = slice(start, start + size)
        total += squared_omega(energy, h[at], weights[at])
    return total.sqrt()


def standardised_omega(
    omega: NDArray[np.float64],
    own: NDArray[np.float64],
    is_discrete: NDArray[np.bool_],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> NDArray[np.float64]:
    r"""Return :math:`\Omega_{ij} / \sqrt{\Omega_{ii} \Omega_{jj}}` of pairs, at most 1: (m,).

    It is ``|partial correlation|`` for Gaussian data. A discrete variable has no entry on the diagonal; 4 stands for it, the
    log odds ratio at which the odds of a balanced binary pair leave little to chance.

    Parameters
    ----------
    omega : ndarray of shape (m,)
    own : ndarray of shape (d,)
        The diagonal.
    is_discrete : ndarray of bool, shape (d,)
    first, second : ndarray of int, shape (m,)
    """
    root = np.sqrt(np.where(is_discrete, 4.0, own.clip(1e-12)))
    found: NDArray[np.float64] = np.minimum(omega / (root[first] * root[second]), 1.0)
    return found


def table_order(is_discrete: ArrayLike) -> NDArray[np.intp]:
    """Return where each variable of a table stands in the order of the coordinates, continuous before discrete.

    Examples
    --------
    >>> order = table_order([True, False, True])
    >>> order
    array([1, 0, 2])

    An Omega in that order is ``omega[np.ix_(order, order)]`` in the table's.
    """
    flags = np.asarray(is_discrete, dtype=bool)
    order = np.empty(len(flags), dtype=np.intp)
    order[np.argsort(flags, kind="stable")] = np.arange(len(flags))
    return order
