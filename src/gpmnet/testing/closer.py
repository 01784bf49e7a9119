r"""A closer look at pairs that seem dependent: does what their regressions missed explain it?

Cosines of members, products of a few and functions of linear indices follow most shapes. What they leave of some is common
to all variables that have the shape, a false edge:

- a curve that grows towards the ends, several times: :math:`z_1^2 + z_2^2 + z_3^2`. Squares and cubes of the scores join,
  and functions of the *polynomial index* of each end, its regression on them;
- a threshold of a sum, :math:`1(w^\top z > c)`: the linear index has the direction only as far as lines follow steps. One
  *neuron* an end, :math:`a + b\, \sigma(w^\top z + c)`, is fitted by least squares, its steepness with it;
- a jump that something rides on, :math:`\operatorname{sign}(z_1) z_2`: thresholds of each member, alone and times every
  member, of which those join that what is left shows a clear sign of (a cumulated sum of residuals, Stute 1997). Each is
  placed again by the rows around it.

From 1,000 rows on more is looked at, since less misfit is enough for a false edge: curves of a rider jump with it, absolute
differences of members (the largest of several is made of comparisons), and functions of the *whole index*, what all this
says of an end: every feature of :math:`x = g(f(z) + \text{noise})` is a function of f.

All this costs more than the regression before it, so it is for pairs that would be rejected. The p-value after the closer
look counts if it is the larger one.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gpmnet.columns.tabulated import standardised
from gpmnet.testing.blocks import DenseBlock
from gpmnet.testing.indices import index_functions
from gpmnet.testing.regression import Regression

_FITTED_BY = 1 << 13  # rows by which neurons are fitted, in equal steps
_CHOSEN_BY = 1 << 12  # rows by which jumps are chosen
_STEEP = (2.0, 8.0)  # of neurons at the start: a bend, a step
_STEPS = 8
_ROUGHLY = 1 << 11  # rows by which neurons are fitted first
_PROJECTED = 24  # jumps that come closest, of which the regression is taken away
_MOST_JUMPS = 8
_CLEAR = 4.0  # standard errors: the largest of some thousand
_STRETCHES = 64  # of the thresholds of a member
_LEAST = 1e-3  # variance of a jump
_MOST_CURVES, _ROWS_A_CURVE = 8, 1000  # functions of a rider that jump with it
_MOST_COMPARED = 6  # members: pairs of more are many
_NEAR = 512  # rows on either side of a jump among which it is placed again


def look_closer(
    regression: Regression, scores: Tensor, indicators: Tensor, first: Tensor, left: Tensor, n_index: int
) -> Regression:
    """Return regressions with the columns that a closer look adds.

    Parameters
    ----------
    regression : Regression
        On b sets.
    scores, indicators : Tensor of shape (b, k, n) and (b, m, n)
        The scores of their continuous members, and the levels of discrete ones.
    first : Tensor of shape (b, t, n)
        The first features of the targets.
    left : Tensor of shape (b, q, n)
        What the regressions leave of all features of the targets.
    n_index : int
        Cosines of the polynomial index, 0 for none.

    Notes
    -----
    Time O(b (n p (q + J) + r (k + m)^2 (q + t S))) for p columns, J = 24 jumps, S = 24 steps and r rows, 8,192 at most;
    memory O(b n (p + J)).
    """
    lines = torch.cat([scores, indicators], dim=1)
    powers = torch.cat([standardised(scores**e) for e in (2, 3)], dim=1)
    start = standardised(_predicted(lines, first, regression.ridge))
    made = [powers, _neurons(lines, first, start)]
    many_rows = _n_curves(regression.n) > 0
    if many_rows and scores.shape[1] <= _MOST_COMPARED:
        i, j = torch.triu_indices(scores.shape[1], scores.shape[1], 1)
        made.append(standardised((scores[:, i] - scores[:, j]).abs()))
    if n_index:
        index = standardised(_predicted(torch.cat([lines, powers], dim=1), first, regression.ridge))
        made.append(index_functions(index, n_index).flatten(1, 2))
    wider = regression.with_columns(DenseBlock(torch.cat(made, dim=1)))
    wider = _with_jumps(wider, lines, left)
    if many_rows and n_index:
        index = standardised(wider.fitted(first.mT).mT)
        wider = wider.with_columns(DenseBlock(index_functions(index, n_index)[:, :, 1:].flatten(1, 2)))
    return wider


def _with_jumps(regression: Regression, lines: Tensor, left: Tensor) -> Regression:
    """Return regressions with the jumps of lines (b, k, n) that what is left (b, q, n) of targets shows."""
    jumps = _jumps(regression, lines, left - regression.fitted(left.mT).mT)
    if jumps is None:
        return regression
    wider = regression.with_columns(DenseBlock(jumps.columns(lines)))
    jumps, has_moved = jumps.placed(lines, left - wider.fitted(left.mT).mT)
    moved = jumps.kept(has_moved)
    if moved is not None:
        wider = wider.with_columns(DenseBlock(moved.columns(lines)))
    count = _n_curves(regression.n)
    return wider.with_columns(DenseBlock(jumps.curves(lines, count))) if count else wider


def n_fitted(n: int, n_lines: int, n_scores: int, n_targets: int, n_index: int) -> int:
    """Return how many numbers a closer look at n rows fits.

    Those inside of neurons, indices and jumps count like coefficients.
    """
    jumps = _MOST_JUMPS * (2 + _n_curves(n))
    fitted = n_targets * (n_lines + 2 + n_lines + 2 * n_scores + n_index) + 2 * n_scores + jumps
    if not _n_curves(n):
        return fitted
    compared = n_scores * (n_scores - 1) // 2 if n_scores <= _MOST_COMPARED else 0
    return fitted + compared + n_targets * max(0, n_index - 1)


def _n_curves(n: int) -> int:
    """Return how many functions of a rider jump with it, with n rows."""
    return min(_MOST_CURVES, n // _ROWS_A_CURVE)


def _weights(columns: Tensor, targets: Tensor, ridge: float) -> Tensor:
    """Return the coefficients (b, t, p) of ridge regressions of targets (b, t, n) on columns (b, p, n)."""
    n = targets.shape[2]
    gram = (columns @ columns.mT).double() / n
    gram.diagonal(dim1=1, dim2=2).add_(ridge)
    found: Tensor = torch.linalg.solve(gram, (columns @ targets.mT).double() / n)
    return found.mT


def _predicted(columns: Tensor, targets: Tensor, ridge: float) -> Tensor:
    """Return what such regressions say of the targets, (b, t, n)."""
    return _weights(columns, targets, ridge).to(columns.dtype) @ columns


def _neurons(lines: Tensor, targets: Tensor, start: Tensor) -> Tensor:
    """Return one neuron for each target (b, t, n) on lines (b, p, n), standardised, (b, t, n).

    `start`, (b, t, n), is a standardised combination of the lines: the first direction.
    """
    b, t, n = targets.shape
    x = _with_one(lines.repeat_interleave(t, dim=0))
    y, s = (value.flatten(0, 1) for value in (targets, start))
    direction = _weights(x, (s - s.median(dim=1, keepdim=True).values)[:, None], 1e-6)[:, 0]
    rough, fine = (slice(None, None, -(-n // rows)) for rows in (_ROUGHLY, _FITTED_BY))
    fits = [
        _least_squares(x[..., rough].double(), y[..., rough].double(), steep * direction) for steep in _STEEP
    ]
    loss = torch.stack([fit[1] for fit in fits])
    best = torch.stack([fit[0] for fit in fits])[loss.argmin(dim=0), torch.arange(b * t, device=x.device)]
    if n > _ROUGHLY:
        best, _ = _least_squares(x[..., fine].double(), y[..., fine].double(), best)
    return standardised(torch.sigmoid((best[:, None].to(x.dtype) @ x)[:, 0]).reshape(b, t, n))


def _least_squares(x: Tensor, y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    r"""Fit :math:`y \approx a + b\, \sigma(w^\top x)` by Levenberg and Marquardt's method, a and b exact after every step.

    x (c, p, n), y (c, n), start (c, p); returns the weights and the losses (c,).
    """
    damping = torch.full_like(y[:, 0], 1e-2)
    now = _Neuron.of(x, y, weight)
    for _ in range(_STEPS):
        gate = (now.slope[:, None] * now.unit * (1 - now.unit))[:, None, :] * x
        design = torch.cat([gate, torch.ones_like(gate[:, :1]), now.unit[:, None]], dim=1)
        gram = design @ design.mT
        scale = gram.diagonal(dim1=1, dim2=2)
        gram = gram + torch.diag_embed(damping[:, None] * scale + 1e-9 * scale.amax(dim=1, keepdim=True))
        move = torch.linalg.solve(gram, design @ now.left[..., None])[..., 0]
        tried = _Neuron.of(x, y, now.weight + move[:, : x.shape[1]])
        better = tried.loss < now.loss
        now = tried.where(better, now)
        damping = torch.where(better, damping / 4, damping * 4).clamp(1e-8, 1e8)
    return now.weight, now.loss


class _Neuron(NamedTuple):
    """Weights (c, p), values (c, n), slopes (c,) and what is left of the targets (c, n)."""

    weight: Tensor
    unit: Tensor
    slope: Tensor
    left: Tensor

    @classmethod
    def of(cls, x: Tensor, y: Tensor, weight: Tensor) -> _Neuron:
        """Return the neurons of some weights, fitted to y by a constant and a slope."""
        unit = torch.sigmoid((weight[:, None] @ x)[:, 0])
        centred = unit - unit.mean(dim=1, keepdim=True)
        slope = (centred * y).sum(dim=1) / centred.square().sum(dim=1).clamp(min=1e-9)
        return cls(weight, unit, slope, y - y.mean(dim=1, keepdim=True) - slope[:, None] * centred)

    @property
    def loss(self) -> Tensor:
        """Squared losses, (c,)."""
        return self.left.square().sum(dim=1)

    def where(self, keep: Tensor, other: _Neuron) -> _Neuron:
        """Return these where `keep`, (c,) of bool, and the other ones elsewhere."""
        row = keep[:, None]
        pairs = zip((row, row, keep, row), self, other, strict=True)
        return _Neuron(*(torch.where(which, mine, theirs) for which, mine, theirs in pairs))


class _Jumps(NamedTuple):
    """Jumps of b designs, (b, c) each: numbers of lines, thresholds, riders (0 is none), and whether a design has it."""

    line: Tensor
    cut: Tensor
    rider: Tensor
    has: Tensor

    def kept(self, has: Tensor) -> _Jumps | None:
        """Return those that `has`, (b, c) of bool, says, in as few places as hold them; None if there are none."""
        count = int(has.sum(dim=1).max())
        if not count:
            return None
        order = has.int().argsort(dim=1, descending=True, stable=True)[:, :count]
        return _Jumps(*(x.gather(1, order) for x in (self.line, self.cut, self.rider, has)))

    def columns(self, lines: Tensor) -> Tensor:
        """Return the jumps of lines (b, k, n) as columns, standardised, (b, c, n); zero where a design does not have one."""
        above = _take(lines, self.line) > self.cut[..., None]
        return standardised(above * _take(_with_one(lines), self.rider)) * self.has[..., None]

    def curves(self, lines: Tensor, count: int) -> Tensor:
        """Return the same jumps of functions of their riders, (b, c * count, n).

        Features of a target bend what it follows: where that jumps with a rider, they jump with curves of it.
        """
        above = (_take(lines, self.line) > self.cut[..., None]) & (self.has & (self.rider > 0))[..., None]
        functions = index_functions(_take(_with_one(lines), self.rider), count + 1)[:, :, 1:]
        return standardised((functions * above[:, :, None]).flatten(1, 2))

    def placed(self, lines: Tensor, left: Tensor) -> tuple[_Jumps, Tensor]:
        """Return the jumps at the places that what they leave (b, q, n) asks for, and which of them have moved, (b, c).

        A jump that is some rows away from where it should be leaves all of itself in the rows between: sums from the
        threshold outwards show it where sums over all rows do not.
        """
        n = lines.shape[2]
        value, order = _take(lines, self.line).sort(dim=2)
        at = torch.searchsorted(value, self.cut[..., None], right=True)
        scaled = left / left.square().mean(dim=2, keepdim=True).clamp(min=1e-12).sqrt()
        rider = _take(_with_one(lines), self.rider)
        found = []
        for step in (1, -1):
            steps = torch.arange(min(_NEAR, n), device=lines.device)
            place = at + step * steps if step > 0 else at - 1 - steps
            inside = (place >= 0) & (place < n)
            row = order.gather(2, place.clamp(0, n - 1))
            ridden = rider.gather(2, row) * inside
            gain = torch.zeros_like(ridden)
            for feature in scaled.unbind(dim=1):
                there = feature[:, None].expand_as(rider).gather(2, row)
                gain = torch.maximum(gain, (there * ridden).cumsum(dim=2).square())
            gain = gain / ridden.square().cumsum(dim=2).clamp(min=1e-6)
            # Between equal values there is no threshold.
            beyond = value.gather(2, (place + step).clamp(0, n - 1))
            here = value.gather(2, place.clamp(0, n - 1))
            found.append((torch.where(beyond != here, gain, 0.0), torch.where(here > beyond, beyond, here)))
        gain, cut = (torch.cat(x, dim=2) for x in zip(*found, strict=True))
        best, which = gain.max(dim=2)
        moved = self.has & (best > _CLEAR**2)
        return self._replace(cut=torch.where(moved, cut.gather(2, which[..., None])[..., 0], self.cut)), moved


def _jumps(regression: Regression, lines: Tensor, left: Tensor) -> _Jumps | None:
    """Return the jumps that what is left (b, q, n) of targets shows."""
    step = -(-regression.n // _CHOSEN_BY)
    line, cut, rider = _closest(lines[:, :, ::step], left[:, :, ::step])
    jumps = _Jumps(line, cut, rider, torch.ones_like(line, dtype=torch.bool))
    columns = jumps.columns(lines)
    return jumps.kept(_forward(columns - regression.fitted(columns.mT).mT, left, regression))


def _closest(lines: Tensor, left: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the jumps with the largest t-values for anything left: numbers of lines, thresholds, riders, (b, c) each.

    Every threshold is tried, by sums cumulated in the order of a line; of a stretch of them the best one counts.
    """
    (b, k, n), q = lines.shape, left.shape[1]
    ridden = _with_one(lines)
    h = k + 1
    # Over some of the rows residuals have a mean and a slope, which the lowest thresholds would be chosen for.
    left = left - _predicted(ridden, left, 1e-6)
    scale = left.square().mean(dim=2).clamp(min=1e-12).sqrt()
    products = ((left / scale[:, :, None])[:, :, None] * ridden[:, None]).flatten(1, 2)
    summed = torch.cat([products, ridden, ridden**2], dim=1)
    size = -(-(n - 1) // _STRETCHES)
    found, cuts = [], []
    for line in lines.unbind(dim=1):
        value, order = line.sort(dim=1)
        above = summed.gather(2, order.flip(1)[:, None].expand_as(summed)).cumsum(dim=2).flip(2)[:, :, 1:] / n
        variance = above[:, -h:] - above[:, q * h : -h].square()
        variance = torch.where(value[:, None, 1:] > value[:, None, :-1], variance, 0.0)
        t = above[:, : q * h].reshape(b, q, h, n - 1).abs().amax(dim=1)
        t = t * torch.where(variance > _LEAST, variance.clamp(min=_LEAST).rsqrt(), 0.0)
        t = torch.nn.functional.pad(t, (0, -(n - 1) % size)).reshape(b, h, -1, size)
        best, at = t.max(dim=3)
        at = (at + size * torch.arange(t.shape[2], device=at.device)).clamp(max=n - 1)
        found.append(best)
        cuts.append(value[:, None].expand(b, h, n).gather(2, at))
    t = torch.stack(found, dim=1).flatten(1)
    place = t.topk(min(_PROJECTED, t.shape[1]), dim=1).indices
    stretches = found[0].shape[2]
    cut = torch.stack(cuts, dim=1).flatten(1).gather(1, place)
    return place // (h * stretches), cut, place // stretches % h


def _with_one(lines: Tensor) -> Tensor:
    return torch.cat([torch.ones_like(lines[:, :1]), lines], dim=1)


def _take(rows: Tensor, at: Tensor) -> Tensor:
    """Return some of the rows (b, p, n), by their numbers (b, c)."""
    return rows[torch.arange(len(rows), device=rows.device)[:, None], at]


def _forward(columns: Tensor, left: Tensor, regression: Regression) -> Tensor:
    """Return which columns (b, c, n), free of what was regressed on, join, best first as long as one is clear: (b, c)."""
    n, free = columns.shape[2], regression.left * regression.n
    gram, moment = ((columns @ x.mT).double() / n for x in (columns, left))
    own, squares = gram.diagonal(dim1=1, dim2=2).clone(), left.double().square().mean(dim=2)
    chosen = torch.zeros(columns.shape[:2], dtype=torch.bool, device=columns.device)
    rows = torch.arange(len(columns), device=columns.device)
    for _ in range(_MOST_JUMPS):
        now = gram.diagonal(dim1=1, dim2=2)
        usable = (now > 0.1 * own) & (now > 1e-2) & ~chosen
        t = (moment.square() / squares[:, None, :].clamp(min=1e-12)).amax(dim=2) / now.clamp(min=1e-9)
        t = torch.where(usable, t, 0.0) * free[:, None]
        best, at = t.max(dim=1)
        clear = best > _CLEAR**2
        if not clear.any():
            break
        chosen[rows[clear], at[clear]] = True
        pivot = gram[rows, at] / now[rows, at].clamp(min=1e-9)[:, None] * clear[:, None]
        said = moment[rows, at]
        squares = squares - said.square() / now[rows, at].clamp(min=1e-9)[:, None] * clear[:, None]
        moment = moment - pivot[..., None] * said[:, None, :]
        gram = gram - pivot[:, :, None] * gram[rows, at][:, None, :]
    return chosen
