r"""The all-pairs screen: one blocked matrix product ranks every pair.

With whitened features W the statistic of a pair given nothing is :math:`\|W_i^\top W_j\|_F^2 / n`, so the table over all
pairs is the block sum of squares of one product (dK x n)(n x dK). Only the pairs that pass leave a block;
nothing of size d x d is ever kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from scipy.stats import chi2
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.columns.precision import FEW, check_sums
from gpmnet.memory import block_size
from gpmnet.parallel import side_by_side

_LEAST = 64  # variables of a panel: fewer spare nothing


@dataclass(frozen=True, eq=False)
class Hits:
    """Directed pairs (node, candidate) that pass, with a score that ranks a node's candidates, each (m,)."""

    node: Tensor
    candidate: Tensor
    score: Tensor

    @classmethod
    def joined(cls, parts: list[Hits]) -> Hits:
        """Return the hits of several parts as one."""
        return cls(
            torch.cat([part.node for part in parts]),
            torch.cat([part.candidate for part in parts]),
            torch.cat([part.score for part in parts]),
        )

    def take(self, at: Tensor | slice) -> Hits:
        """Return some of the hits, by position or mask."""
        return Hits(self.node[at], self.candidate[at], self.score[at])

    def turned(self) -> Hits:
        """Return them from the other end."""
        return Hits(self.candidate, self.node, self.score)

    def lists(self, d: int) -> Tensor:
        """Return the hits as one row of candidates for each of d nodes, -1 pads."""
        return candidate_lists(self.node, self.candidate, d)


def candidate_lists(node: Tensor, candidate: Tensor, d: int) -> Tensor:
    """Return directed pairs (m,) as one row of candidates for each of d nodes, -1 pads."""
    order = torch.argsort(node, stable=True)
    node, candidate = node[order], candidate[order]
    count = torch.bincount(node, minlength=d)
    slot = torch.arange(len(node), device=node.device) - (torch.cumsum(count, 0) - count)[node]
    table = torch.full((d, max(int(count.max()), 1) if len(node) else 1), -1, device=node.device)
    table[node, slot] = candidate
    return table


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
    return max(_LEAST, block_size(4096 if features.device.type == "cuda" else 384))


def panels(features: Features) -> list[Panel]:
    """Return the whitened features of all variables as panels; memory n (sum of widths) floats."""
    return [
        _panel(features, part, features.phi[:, features.columns(part)].permute(1, 2, 0))
        for group in _groups(features, torch.arange(features.d, device=features.device))
        for part in torch.split(group, panel_size(features))
    ]


def residual_panels(features: Features, blocks: Iterator[tuple[Tensor, Tensor]]) -> Iterator[Panel]:
    """Yield panels of residual features from (nodes, whitened residuals (b, n, K)) of mixed widths."""
    for nodes, residual in blocks:
        for group in _groups(features, nodes):
            at = torch.isin(nodes, group)
            width = int(features.width[group[0]])
            chosen = nodes[at]
            rows = residual[at][:, :, :width].permute(2, 0, 1).reshape(width * len(chosen), -1)
            yield Panel(chosen, width, int(features.coarse(chosen[0])), rows.float().contiguous())


def _groups(features: Features, variables: Tensor) -> list[Tensor]:
    """Split variables by width and kind, so that the blocks of a panel are alike."""
    key = features.alike(variables)
    return [variables[key == k] for k in torch.unique(key)]


def _panel(features: Features, variables: Tensor, block: Tensor) -> Panel:
    width, coarse = int(features.width[variables[0]]), int(features.coarse(variables[0]))
    block = block[:, :width]
    if bool(features.is_discrete[variables[0]]):
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
    alpha: float,
    most: int,
    progress: Callable[[int], None] | None = None,
    forbidden: Tensor | None = None,
) -> Hits:
    """Return the pairs whose fine or coarse statistic passes, at most `most` a node.

    Parameters
    ----------
    left : panels of the nodes (of what neighbors leave of them, where they are known already)
    right : panels of the candidates
    alpha : float
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
    done = 0

    def found() -> Iterator[tuple[Hits, Hits]]:
        nonlocal done
        for at, a in enumerate(left):
            yield panel_hits(a, right[at:] if left is right else right, alpha)
            done += len(a.variables)
            if progress is not None:
                progress(done)

    return merged(found(), left is right, most, forbidden)


def panel_hits(a: Panel, right: list[Panel], alpha: float) -> tuple[Hits, Hits]:
    """Return the hits of a panel with the first of others, and with the rest of them."""
    with _fast_products(right):
        found = _blocks(a, right, alpha)
    return found[0], Hits.joined([found[0].take(slice(0, 0)), *found[1:]])


def merged(parts: Iterable[tuple[Hits, Hits]], symmetric: bool, most: int, forbidden: Tensor | None) -> Hits:
    """Return each node's strongest hits from those of panel after panel, as `panel_hits` says them.

    In a `symmetric` screen a panel comes with itself and those behind it.
    """
    kept: list[Hits] = []
    for own, later in parts:
        found = [own, later]
        if symmetric:
            # Hits of later panels are those panels' too, and what earlier ones found is not final.
            found += [later.turned(), *kept]
            kept = []
        kept.append(_strongest(_permitted(Hits.joined(found), forbidden), most))
    return Hits.joined(kept)


def _permitted(hits: Hits, forbidden: Tensor | None) -> Hits:
    if forbidden is None or not len(forbidden):
        return hits
    ordered = torch.cat([forbidden, forbidden.flip(1)]).to(hits.node)
    base = 1 << 31
    keep = ~torch.isin(hits.node * base + hits.candidate, ordered[:, 0] * base + ordered[:, 1])
    return hits.take(keep)


def _blocks(a: Panel, panels: list[Panel], alpha: float) -> list[Hits]:
    """Return the hits of a panel with each of others."""
    worth = len(panels) if a.rows.device.type == "cpu" else 1
    parts = side_by_side(lambda at: [_block(a, b, alpha) for b in panels[at]], len(panels), worth)
    return [hits for part in parts for hits in part]


def _block(a: Panel, b: Panel, alpha: float) -> Hits:
    n, k, m = a.rows.shape[1], a.width, b.width
    product = (a.rows @ b.rows.T).reshape(k, len(a.variables), m, len(b.variables))
    first_a, first_b = (panel.rows[: min(FEW, len(panel.variables))] for panel in (a, b))
    check_sums(first_a, first_b, product[0, :, 0])
    fine, coarse = _sums(product, a.coarse, b.coarse)
    df, coarse_df = k * m, a.coarse * b.coarse
    far = fine > n * float(chi2.isf(alpha, df))
    if coarse is not fine:
        far |= coarse > n * float(chi2.isf(alpha, coarse_df))
    row, column = far.nonzero(as_tuple=True)
    node, candidate = a.variables[row], b.variables[column]
    score = torch.maximum(
        _normal_score(fine[row, column] / n, df), _normal_score(coarse[row, column] / n, coarse_df)
    )
    return Hits(node, candidate, score).take(node != candidate)


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
    root: Tensor = torch.pow(statistic / df, 1.0 / 3.0)
    return (root - (1.0 - spread)) / math.sqrt(spread)


def _strongest(hits: Hits, most: int) -> Hits:
    """Keep each node's candidates with the highest scores."""
    order = torch.argsort(hits.score, descending=True, stable=True)
    order = order[torch.argsort(hits.node[order], stable=True)]
    node = hits.node[order]
    fresh = torch.ones_like(node, dtype=torch.bool)
    fresh[1:] = node[1:] != node[:-1]
    index = torch.arange(len(node), device=node.device)
    keep = index - torch.cummax(torch.where(fresh, index, 0), dim=0).values < most
    return hits.take(order[keep])


@contextmanager
def _fast_products(panels: list[Panel]) -> Iterator[None]:
    """Allow tensor cores for the screen on a GPU, whose survivors are tested again in double precision."""
    if not panels or panels[0].rows.device.type != "cuda":
        yield
        return
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
