r"""The all-pairs screen: one blocked matrix product ranks every pair.

With whitened features W the statistic of a pair given nothing is :math:`\|W_i^\top W_j\|_F^2 / n`, so the table over all
pairs is the block sum of squares of one product (dK x n)(n x dK). Only the pairs past the level leave a block;
nothing of size d x d is ever kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from scipy.stats import chi2
from torch import Tensor

from gpmnet.columns.features import Features


@dataclass(frozen=True, eq=False)
class Hits:
    """Directed pairs (node, candidate) past the level, with a score that ranks a node's candidates."""

    node: Tensor
    candidate: Tensor
    score: Tensor


@dataclass(frozen=True, eq=False)
class Panel:
    """Whitened features of some variables of one width, feature by feature.

    Attributes
    ----------
    variables : Tensor of shape (m,)
    width : int
        Features of each.
    coarse : int
        How many of them the coarse statistic uses.
    rows : Tensor of shape (width * m, n), float32
        Feature k of variable v is row k m + v.
    """

    variables: Tensor
    width: int
    coarse: int
    rows: Tensor


def panel_size(features: Features) -> int:
    """Return how many variables a panel holds: products that fit a processor's cache, or fill a GPU."""
    return 4096 if features.device.type == "cuda" else 384


def panels(features: Features) -> list[Panel]:
    """Return the whitened features of all variables as panels; memory n (sum of widths) floats."""
    return [
        _panel(features, part, features.phi[:, features.columns(part)].permute(1, 2, 0))
        for group in _groups(features, torch.arange(features.d, device=features.device))
        for part in group.split(panel_size(features))
    ]


def residual_panels(features: Features, blocks: Iterator[tuple[Tensor, Tensor]]) -> Iterator[Panel]:
    """Yield panels of residual features from (nodes, whitened residuals (b, n, K)) of mixed widths."""
    for nodes, residual in blocks:
        for group in _groups(features, nodes):
            at = torch.isin(nodes, group)
            width = int(features.width[group[0]])
            chosen = nodes[at]
            rows = residual[at][:, :, :width].permute(2, 0, 1).reshape(width * len(chosen), -1)
            yield Panel(chosen, width, _coarse(features, chosen), rows.float().contiguous())


def _groups(features: Features, variables: Tensor) -> list[Tensor]:
    """Split variables by width and kind, so that the blocks of a panel are alike."""
    key = features.width[variables] * 2 + (features.levels[variables] > 0)
    return [variables[key == k] for k in key.unique()]


def _coarse(features: Features, variables: Tensor) -> int:
    return int(features.width[variables[0]]) if bool(features.levels[variables[0]] > 0) else 1


def _panel(features: Features, variables: Tensor, block: Tensor) -> Panel:
    width, coarse = int(features.width[variables[0]]), _coarse(features, variables)
    block = block[:, :width]
    if coarse > 1 or bool(features.levels[variables[0]] > 0):
        gram = block.double() @ block.double().mT / features.n
        gram.diagonal(dim1=1, dim2=2).add_(
            1.0 / features.n
        )  # a level of one row must not count as much as one of many
        block = torch.linalg.solve_triangular(torch.linalg.cholesky(gram), block.double(), upper=False)
    rows = block.permute(1, 0, 2).reshape(width * len(variables), features.n).float().contiguous()
    return Panel(variables, width, coarse, rows)


def screen(
    left: Iterator[Panel] | list[Panel],
    right: list[Panel],
    level: float,
    most: int,
    progress: Callable[[int], None] | None = None,
    forbidden: Tensor | None = None,
) -> Hits:
    """Return the pairs whose fine or coarse statistic passes the level, at most `most` a node.

    Parameters
    ----------
    left : panels of the nodes (of what neighbors leave of them, where they are known already)
    right : panels of the candidates
    level : float
        P-value to pass.
    progress : callable, optional
        Called with the number of nodes done.
    forbidden : Tensor of shape (m, 2), optional
        Pairs that are left out before a node's strongest are kept.

    Notes
    -----
    Time 2 n (sum of node widths) (sum of candidate widths) operations, half of it where `left` is `right`: each product
    then serves both ends. Memory one product of two panels, and `most` hits a node.
    """
    symmetric = left is right
    kept: list[Hits] = []
    done = 0
    with _fast_products():
        for at, a in enumerate(left):
            found = [_block(a, b, level) for b in (right[at:] if symmetric else right)]
            if symmetric:
                # Hits of later panels are those panels' too, and what earlier ones found is not final.
                found += [Hits(hit.candidate, hit.node, hit.score) for hit in found[1:]] + kept
                kept = []
            kept.append(_strongest(_permitted(_joined(found), forbidden), most))
            done += len(a.variables)
            if progress is not None:
                progress(done)
    return _joined(kept)


def _joined(parts: list[Hits]) -> Hits:
    return Hits(*(torch.cat([getattr(p, name) for p in parts]) for name in ("node", "candidate", "score")))


def _permitted(hits: Hits, forbidden: Tensor | None) -> Hits:
    if forbidden is None or not len(forbidden):
        return hits
    ordered = torch.cat([forbidden, forbidden.flip(1)]).to(hits.node)
    base = 1 << 31
    keep = ~torch.isin(hits.node * base + hits.candidate, ordered[:, 0] * base + ordered[:, 1])
    return Hits(hits.node[keep], hits.candidate[keep], hits.score[keep])


def _block(a: Panel, b: Panel, level: float) -> Hits:
    n, k, m = a.rows.shape[1], a.width, b.width
    product = (a.rows @ b.rows.T).reshape(k, len(a.variables), m, len(b.variables))
    fine, coarse = _sums(product, a.coarse, b.coarse)
    df, coarse_df = k * m, a.coarse * b.coarse
    far = fine > n * float(chi2.isf(level, df))
    if coarse is not fine:
        far |= coarse > n * float(chi2.isf(level, coarse_df))
    row, column = far.nonzero(as_tuple=True)
    node, candidate = a.variables[row], b.variables[column]
    score = torch.maximum(
        _normal_score(fine[row, column] / n, df), _normal_score(coarse[row, column] / n, coarse_df)
    )
    other = node != candidate
    return Hits(node[other], candidate[other], score[other])


def _sums(product: Tensor, coarse_k: int, coarse_m: int) -> tuple[Tensor, Tensor]:
    """Return the sums of squares over all features and over the coarse ones, plane by plane."""
    k, _, m, _ = product.shape
    coarse = product[0, :, 0].square()
    rest = [(i, j) for i in range(k) for j in range(m) if i or j]
    inner = [(i, j) for i, j in rest if i < coarse_k and j < coarse_m]
    for i, j in inner:
        coarse.addcmul_(product[i, :, j], product[i, :, j])
    outer = [pair for pair in rest if pair not in inner]
    if not outer:
        return coarse, coarse
    fine = coarse.clone()
    for i, j in outer:
        fine.addcmul_(product[i, :, j], product[i, :, j])
    return fine, coarse


def _normal_score(statistic: Tensor, df: int) -> Tensor:
    """Return the Wilson-Hilferty normal score, which makes statistics of different degrees comparable."""
    spread = 2.0 / (9.0 * df)
    return ((statistic / df).pow(1.0 / 3.0) - (1.0 - spread)) / spread**0.5


def _strongest(hits: Hits, most: int) -> Hits:
    """Keep each node's candidates with the highest scores."""
    order = torch.argsort(hits.score, descending=True, stable=True)
    order = order[torch.argsort(hits.node[order], stable=True)]
    node = hits.node[order]
    fresh = torch.ones_like(node, dtype=torch.bool)
    fresh[1:] = node[1:] != node[:-1]
    index = torch.arange(len(node), device=node.device)
    keep = index - torch.cummax(torch.where(fresh, index, 0), dim=0).values < most
    return Hits(node[keep], hits.candidate[order][keep], hits.score[order][keep])


@contextmanager
def _fast_products() -> Iterator[None]:
    """Allow tensor cores for the screen, whose survivors are tested again in double precision."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
