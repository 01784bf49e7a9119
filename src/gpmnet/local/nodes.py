r"""Node models: the conditional density of one variable given its neighbours, and Omega from it.

For node i with neighbours N,

.. math:: \log \pi(x_i \mid x_N) = \log q_0(x_i) + \varphi_i(x_i)^\top \Theta\, F(x_N) + \mathrm{const}.

*Continuous i.* With the score :math:`s = -z_i + \varphi_i'(z_i)^\top \Theta F` the loss
:math:`\tfrac12 s^2 + \partial s / \partial z_i` (Hyvärinen) is quadratic in Theta: one linear solve. The features are
:math:`z, z^2/2` and two bounded functions, so that Gaussian conditionals are exact.

*Discrete i.* Logits :math:`\Theta F`, fitted by Newton steps on the penalised pseudo-likelihood.

The local interaction f of a pair is the mixed derivative or difference of the log density (continuous: derivative in z;
discrete: difference against level 0), and :math:`\Omega_{ij} = (E \sum f^2)^{1/2}` over the rows, averaged over both ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.local.features import Features

_N_COSINES = 2  # of each neighbour; Omega is a mean over rows and needs less detail than a test
_BUDGET = 1 << 24


@dataclass(frozen=True)
class NodeOptions:
    """Ridge penalties of the node models, relative to the scale of their Hessians."""

    score_ridge: float = 1e-3
    logistic_ridge: float = 1e-3
    newton_steps: int = 25


@dataclass(frozen=True, eq=False)
class NeighbourBasis:
    """F(x_N) of a batch of nodes with equally shaped neighbourhoods, and how it changes with each member.

    Attributes
    ----------
    value : Tensor of shape (b, n, p)
        First column 1.
    """

    features: Features
    members: Tensor
    value: Tensor

    def derivative(self, slot: int) -> Tensor:
        """Return dF / dz of the continuous member in a slot: (b, n, p)."""
        f = self.features
        z = _column(f.linear, f.linear_start[self.members[:, slot]])
        result = torch.zeros_like(self.value)
        at = 1 + slot * _width(f, self.members)
        u = torch.special.ndtr(z)
        density = torch.exp(-0.5 * z.square()) / (2 * torch.pi) ** 0.5
        result[:, :, at] = 1.0
        for m in range(1, _N_COSINES + 1):
            result[:, :, at + m] = -m * torch.pi * torch.sin(m * torch.pi * u) * density
        return result

    def at_level(self, slot: int, level: int) -> Tensor:
        """Return F with the discrete member in a slot set to a level: (b, n, p)."""
        f = self.features
        result = self.value.clone()
        at = 1 + slot * _width(f, self.members)
        member = self.members[:, slot]
        share = _level_shares(f, member)
        for k in range(share.shape[1]):
            result[:, :, at + k] = (float(level == k + 1) - share[:, k])[:, None]
        return result


def _column(columns: Tensor, index: Tensor) -> Tensor:
    return columns[:, index].T.double()


def _width(features: Features, members: Tensor) -> int:
    levels = features.levels[members.clamp(min=0)]
    return max(1 + _N_COSINES, int(levels.max()) - 1)


def _level_shares(features: Features, variables: Tensor) -> Tensor:
    """Return the shares of rows in levels 1, 2, ... of discrete variables: (b, widest - 1)."""
    width = int(features.levels[variables].max()) - 1
    codes = features.codes[:, variables].T.long()
    return torch.stack([(codes == k).double().mean(dim=1) for k in range(1, width + 1)], dim=1)


def neighbour_basis(features: Features, members: Tensor) -> NeighbourBasis:
    """Return the basis of a batch of neighbourhoods (b, s), all of the same kinds slot by slot."""
    n, b = features.n, len(members)
    width = _width(features, members)
    value = torch.zeros((b, n, 1 + members.shape[1] * width), dtype=torch.float64, device=members.device)
    value[:, :, 0] = 1.0
    for slot in range(members.shape[1]):
        at, member = 1 + slot * width, members[:, slot]
        if bool(features.levels[member[0]] > 0):
            columns = features.columns(member)
            value[:, :, at : at + columns.shape[1]] = features.phi[:, columns].permute(1, 0, 2).double()
        else:
            z = _column(features.linear, features.linear_start[member])
            phase = torch.pi * torch.special.ndtr(z)
            value[:, :, at] = z
            for m in range(1, _N_COSINES + 1):
                value[:, :, at + m] = torch.cos(m * phase)
    return NeighbourBasis(features, members, value)


def score_functions(z: Tensor) -> tuple[Tensor, Tensor]:
    r"""Return first and second derivatives of the node's own features z, z²/2, tanh z, e^{-z²/2}: (..., 4)."""
    tanh, bell = torch.tanh(z), torch.exp(-0.5 * z.square())
    sech = 1 - tanh.square()
    first = torch.stack([torch.ones_like(z), z, sech, -z * bell], dim=-1)
    second = torch.stack(
        [torch.zeros_like(z), torch.ones_like(z), -2 * tanh * sech, (z.square() - 1) * bell], dim=-1
    )
    return first, second


def fit_scores(z: Tensor, basis: Tensor, ridge: float) -> Tensor:
    """Return Theta (b, 4, p), the minimiser of the score-matching loss of nodes with scores z (b, n)."""
    b, n, p = basis.shape
    first, second = score_functions(z)
    k = first.shape[-1]
    gradient = (first[..., :, None] * basis[..., None, :]).reshape(b, n, k * p)
    hessian = gradient.mT @ gradient / n
    target = (z[..., None] * gradient).mean(dim=1) - (second[..., :, None] * basis[..., None, :]).mean(
        dim=1
    ).reshape(b, k * p)
    scale = hessian.diagonal(dim1=1, dim2=2)
    hessian = hessian + torch.diag_embed(ridge * torch.where(scale > 0, scale, 1.0))
    factor = torch.linalg.cholesky(hessian)
    return torch.cholesky_solve(target[..., None], factor)[..., 0].reshape(b, k, p)


def fit_logits(codes: Tensor, n_levels: int, basis: Tensor, options: NodeOptions) -> Tensor:
    """Return Theta (b, n_levels - 1, p) of multinomial logistic models of codes (b, n), level 0 the reference."""
    b, n, p = basis.shape
    m = n_levels - 1
    hot = torch.stack([(codes == k).double() for k in range(1, n_levels)], dim=-1)
    theta = basis.new_zeros((b, m, p))
    scale = basis.square().mean(dim=1)
    penalty = options.logistic_ridge * torch.where(scale > 0, scale, 1.0)
    penalty[:, 0] = 1e-9

    def value(at: Tensor) -> Tensor:
        logits = torch.cat([basis.new_zeros((b, n, 1)), basis @ at.mT], dim=-1)
        fit = logits.gather(2, codes[..., None])[..., 0] - torch.logsumexp(logits, dim=-1)
        return fit.mean(dim=1) - 0.5 * (penalty[:, None, :] * at.square()).sum(dim=(1, 2))

    reached = value(theta)
    for _ in range(options.newton_steps):
        share = _softmax(basis @ theta.mT)
        gradient = (hot - share).mT @ basis / n - penalty[:, None, :] * theta
        hessian = basis.new_zeros((b, m, p, m, p))
        for k in range(m):
            for j in range(k + 1):
                weight = share[..., k] * (float(k == j) - share[..., j])
                hessian[:, k, :, j] = hessian[:, j, :, k] = (basis * weight[..., None]).mT @ basis / n
        hessian = hessian.reshape(b, m * p, m * p) + torch.diag_embed(penalty.repeat(1, m) + 1e-9)
        factor = torch.linalg.cholesky(hessian)
        step = torch.cholesky_solve(gradient.reshape(b, m * p, 1), factor).reshape(b, m, p)
        for _ in range(30):  # halve the step of the nodes that it would make worse
            tried = value(theta + step)
            worse = tried < reached - 1e-12
            if not bool(worse.any()):
                break
            step = torch.where(worse[:, None, None], step / 2, step)
        theta, reached = theta + step, tried
        if float(step.abs().max()) < 1e-8:
            break
    return theta


def _softmax(logits: Tensor) -> Tensor:
    """Return probabilities of levels 1, 2, ... where level 0 has logit 0."""
    return torch.softmax(torch.cat([torch.zeros_like(logits[..., :1]), logits], dim=-1), dim=-1)[..., 1:]


def edge_omegas(
    features: Features, neighbours: list[list[int]], options: NodeOptions
) -> tuple[dict[tuple[int, int], float], Tensor]:
    """Return Omega squared of each directed pair (node, neighbour), and of each continuous node with itself.

    Parameters
    ----------
    neighbours : list of list of int
        The neighbours of every node.

    Returns
    -------
    squared : dict
        E f^2 by (node, neighbour), from the node's model.
    own : Tensor of shape (d,)
        E (d^2 L / dz^2)^2 of continuous nodes, 0 of discrete ones.
    """
    squared: dict[tuple[int, int], float] = {}
    own = torch.zeros(features.d, dtype=torch.float64)
    levels = features.levels.tolist()
    groups: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
    own[features.levels.cpu() == 0] = 1.0  # alone, a normal score has log density -z^2/2
    for node, members in enumerate(neighbours):
        if not members:
            continue
        ordered = sorted(members, key=lambda j: (levels[j], j))
        groups.setdefault((levels[node], *(levels[j] for j in ordered)), []).append((node, ordered))
    for shape, items in groups.items():
        widest = max(1 + _N_COSINES, *(m - 1 for m in shape[1:]))
        own_width = 4 if shape[0] == 0 else shape[0] - 1
        size = max(1, _BUDGET // (features.n * (1 + widest * (len(shape) - 1)) * own_width))
        for start in range(0, len(items), size):
            part = items[start : start + size]
            nodes = torch.tensor([node for node, _ in part], device=features.device)
            around = torch.tensor([ordered for _, ordered in part], device=features.device)
            values, diagonal = _squared(features, nodes, around, options)
            own[nodes.cpu()] = diagonal.cpu()
            for (node, ordered), row in zip(part, values.tolist(), strict=True):
                squared |= {(node, j): value for j, value in zip(ordered, row, strict=True)}
    return squared, own


def _squared(
    features: Features, nodes: Tensor, members: Tensor, options: NodeOptions
) -> tuple[Tensor, Tensor]:
    """Return E f^2 (b, s) of a batch of nodes of one shape with their members, and of continuous nodes alone."""
    basis = neighbour_basis(features, members)
    levels = int(features.levels[nodes[0]])
    if levels == 0:
        z = _column(features.linear, features.linear_start[nodes])
        theta = fit_scores(z, basis.value, options.score_ridge)
        first, second = score_functions(z)

        def contract(design: Tensor) -> Tensor:
            return (first * (design @ theta.mT)).sum(dim=-1, keepdim=True)

        own = ((second * (basis.value @ theta.mT)).sum(dim=-1) - 1).square().mean(dim=1)
    else:
        theta = fit_logits(features.codes[:, nodes].T.long(), levels, basis.value, options)

        def contract(design: Tensor) -> Tensor:
            return design @ theta.mT

        own = torch.zeros(len(nodes), dtype=torch.float64, device=nodes.device)
    columns = []
    for slot in range(members.shape[1]):
        n_levels = int(features.levels[members[0, slot]])
        if n_levels == 0:
            f = contract(basis.derivative(slot)).square().sum(dim=-1)
        else:
            base = contract(basis.at_level(slot, 0))
            moved = [
                (contract(basis.at_level(slot, k)) - base).square().sum(dim=-1) for k in range(1, n_levels)
            ]
            f = torch.stack(moved).sum(dim=0)
        columns.append(f.mean(dim=1))
    squared = torch.stack(columns, dim=1) if columns else torch.zeros((len(nodes), 0), dtype=torch.float64)
    return squared, own
