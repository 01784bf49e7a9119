r"""Rao's score test of a node model, beside the double-residual test of `gpmnet.testing`.

To the fitted model of node i given a set N, add the direction :math:`\psi_i(x_i) \otimes \varphi_j(x_j)`. With the
per-row gradients G of the loss in that direction, U in the fitted parameters, A the Hessian in the latter and B the
cross Hessian,

.. math:: g = G - U A^{-1} B^\top, \qquad n\, \bar g^\top S^{-1} \bar g \ \sim\ \chi^2_{K_i K_j} .

*Continuous i*: the score-matching loss, S the second moment of g over the rows, :math:`\psi` the functions that tests
correlate. *Discrete i*: the pseudo-likelihood, S the model's own information.
The link to :math:`f_{ij} = 0` is exact, but the test leans on the node model being right.

As in the double-residual test, a coarse test of the first features stands beside the fine one of all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gpmnet.checks import check_type
from gpmnet.columns.features import Features
from gpmnet.columns.functions import OWN_FUNCTIONS, Scores, firsts, seconds
from gpmnet.nodes.models import NodeFitter, NodeModels, NodeOptions
from gpmnet.objectives.linear_logits import information, level_probabilities
from gpmnet.testing.base import ConditionalTest, PairTests
from gpmnet.testing.design import Designs
from gpmnet.testing.double_residual import DoubleResidual
from gpmnet.testing.p_values import cauchy_combination, log_chi2_sf

_DEAD = 1e-3  # share of a direction's variance below which what the fit leaves of it is only rounding


@dataclass(frozen=True)
class ScoreTest(ConditionalTest):
    """Rao's test from the node models of both ends, Cauchy-combined.

    Attributes
    ----------
    node : NodeOptions
        The node models.
    described : DoubleResidual
        Says strength, sign and information of a pair, which the score test does not have.
    """

    node: NodeOptions = field(default_factory=NodeOptions)
    described: DoubleResidual = field(default_factory=DoubleResidual)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self, "node", NodeOptions)
        check_type(self, "described", DoubleResidual)

    def pairs(self, designs: Designs, first: Tensor, second: Tensor, given: Tensor) -> PairTests:
        """Return the full test of pairs (B,) given sets (B, s; -1 pads)."""
        tests = self.described.pairs(designs, first, second, given)
        return tests.with_log_p(self.log_p(designs.features, first, second, given))

    def rank(self, designs: Designs, nodes: Tensor, candidates: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (B, C) of nodes against their candidates (-1 pads), from the nodes' models alone."""
        node, slot = (candidates >= 0).nonzero(as_tuple=True)
        fitter = NodeFitter(designs.features, self.node)
        log_p = torch.zeros(candidates.shape, dtype=torch.float64, device=nodes.device)
        found = directed_log_p(fitter, nodes[node], candidates[node, slot], given[node])
        log_p[node, slot] = cauchy_combination(found)
        return log_p

    def log_p(self, features: Features, first: Tensor, second: Tensor, given: Tensor) -> Tensor:
        """Return log p-values (B,) of pairs given sets (B, s; -1 pads)."""
        fitter = NodeFitter(features, self.node)
        ends = [directed_log_p(fitter, a, b, given) for a, b in ((first, second), (second, first))]
        return cauchy_combination(torch.cat(ends, dim=1))


def directed_log_p(fitter: NodeFitter, node: Tensor, candidate: Tensor, given: Tensor) -> Tensor:
    """Return log p-values (B, 2) of candidates from the models of nodes given sets (B, s; -1 pads).

    The second column, the coarse test, is NaN where it would be the fine one again.
    """
    features = fitter.features
    result = torch.full((len(node), 2), torch.nan, dtype=torch.float64, device=features.device)
    levels = [*features.levels.tolist(), -1]
    groups: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
    rows = zip(node.tolist(), candidate.tolist(), given.tolist(), strict=True)
    for row, (i, j, members) in enumerate(rows):
        ordered = sorted((k for k in members if k >= 0), key=lambda k: (levels[k], k))
        shape = (levels[i], levels[j], *(levels[k] for k in ordered))
        groups.setdefault(shape, []).append((row, ordered))
    for shape, items in groups.items():
        size = fitter.batch_size(shape[0], shape[1:])
        for start in range(0, len(items), size):
            part = items[start : start + size]
            at = torch.tensor([row for row, _ in part], device=features.device)
            around = torch.tensor([members for _, members in part], device=features.device).long()
            models = fitter.fit(node[at], around.reshape(len(part), -1))
            result[at] = _batch(models, features.of(candidate[at]), shape[1])
    return result


def _batch(models: NodeModels, added: Tensor, candidate_levels: int) -> Tensor:
    """Return the fine and the coarse log p-values (b, 2) of candidates with features (b, n, K)."""
    n = added.shape[1]
    gradient, spread, scale = (_logit_terms if models.levels else _score_terms)(models, added)
    fine = _log_p(gradient, spread, scale, n)
    own, other = (1 if not m else m - 1 for m in (models.levels, candidate_levels))
    coarse = (torch.arange(gradient.shape[1] // added.shape[2]) < own)[:, None]
    keep = (coarse & (torch.arange(added.shape[2]) < other)).reshape(-1).nonzero()[:, 0]
    if len(keep) == gradient.shape[1]:
        return torch.stack([fine, torch.full_like(fine, torch.nan)], dim=1)
    keep = keep.to(added.device)
    spread, scale = (x[:, keep][:, :, keep] for x in (spread, scale))
    return torch.stack([fine, _log_p(gradient[:, keep], spread, scale, n)], dim=1)


def _score_terms(models: NodeModels, added: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean (b, q), second moment and unprojected second moment (b, q, q) of g, continuous nodes."""
    basis, z = models.basis.value, models.z
    s = Scores(z)
    own, own_slope = firsts(OWN_FUNCTIONS, s), seconds(OWN_FUNCTIONS, s)
    family = models.basis.features.family
    new, new_slope = firsts(family, s), seconds(family, s)
    score = ((own * (basis @ models.theta.mT)).sum(dim=-1) - z)[..., None]
    u, g = _products(own, basis), _products(new, added)
    hessian, cross = _mean_product(u, u), _mean_product(g, u)
    raw = _products(score * new + new_slope, added)
    left = raw - _products(score * own + own_slope, basis) @ _explained(hessian, cross, models.penalty).mT
    return left.mean(dim=1), _mean_product(left, left), _mean_product(raw, raw)


def _logit_terms(models: NodeModels, added: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the same for discrete nodes, with the moments that the model implies."""
    basis = models.basis.value
    b, n, p = basis.shape
    probability = level_probabilities(basis @ models.theta.mT)
    hot = torch.zeros_like(probability).scatter_(2, models.codes()[..., None], 1.0)
    design = torch.cat([basis, added], dim=2)
    slope = ((hot - probability)[..., 1:].mT @ design / n).reshape(b, -1)
    whole = information(probability, design)
    is_new = (torch.arange(design.shape[2], device=basis.device) >= p).repeat(models.levels - 1)
    new, old = is_new.nonzero()[:, 0], (~is_new).nonzero()[:, 0]
    raw, cross, hessian = whole[:, new][:, :, new], whole[:, new][:, :, old], whole[:, old][:, :, old]
    part = _explained(hessian, cross, models.penalty)
    gradient = slope[:, new] - (part @ slope[:, old, None])[..., 0]
    spread = raw - part @ cross.mT - cross @ part.mT + part @ hessian @ part.mT
    return gradient, spread, raw


def _products(left: Tensor, right: Tensor) -> Tensor:
    """Return the products of two rows' entries, (b, n, k) and (b, n, p) to (b, n, k p)."""
    return (left[..., :, None] * right[..., None, :]).flatten(2)


def _mean_product(a: Tensor, b: Tensor) -> Tensor:
    return a.mT @ b / a.shape[1]


def _explained(hessian: Tensor, cross: Tensor, penalty: Tensor) -> Tensor:
    """Return B A^-1 (b, q, p), A with the penalties of the fit."""
    factor = torch.linalg.cholesky(hessian + torch.diag_embed(penalty + 1e-9))
    return torch.cholesky_solve(cross.mT, factor).mT


def _log_p(gradient: Tensor, spread: Tensor, scale: Tensor, n: int) -> Tensor:
    """Return the log p-value of n g' S^-1 g; what the fit explains to the last bit counts as nothing."""
    floor = scale.diagonal(dim1=1, dim2=2)
    floor = torch.where(floor > 0, 1e-8 * floor, 1.0)
    root = torch.linalg.cholesky(scale + torch.diag_embed(floor))
    white = torch.linalg.solve_triangular(root, gradient[..., None], upper=False)
    half = torch.linalg.solve_triangular(root, spread, upper=False)
    inner = torch.linalg.solve_triangular(root, half.mT, upper=False)
    value, vector = torch.linalg.eigh((inner + inner.mT) / 2)
    rotated = (vector.mT @ white)[..., 0]
    statistic = n * (rotated.square() / value.clamp(min=_DEAD)).sum(dim=1)
    return log_chi2_sf(statistic, gradient.shape[1])
