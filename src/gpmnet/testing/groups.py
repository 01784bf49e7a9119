r"""Is a variable dependent on a group of variables, taken together, once a set of others is known?

Near-copies explain each other away: given the rest no single one of them says anything about a variable that all of
them predict. The features of the variable (u, k columns, whitened) and of all members (R, m columns) are regressed on
flexible functions of the set; the statistic is the share of the variable's residuals that the group's explain,

.. math:: q = \frac{\operatorname{tr} U^\top H U}{\operatorname{tr} U^\top U}, \qquad
          H = R\, g(R^\top R / n)\, R^\top / n ,

in two forms of g. *Whitened*, :math:`g(l) = 1 / (l + \rho)`, every direction of the group counts alike: multiple
correlation (Pillai's trace where k > 1), with :math:`\rho` such that at most a quarter of the free rows are spent.
*Principal*, g = 1, the directions count by their variance, so that what near-copies have in common is not drowned by
the directions in which they differ.

**Under the null** :math:`\operatorname{tr} U^\top (H - q I) U` is a weighted sum of chi-squares, and the p-value is
the chance that it is positive: exact F tests for Gaussian data, up to the saddlepoint. The weights are the
eigenvalues of :math:`A^\top S A` with :math:`A A^\top = H` and S the diagonal of the variances of the rows of U given
the set, two thirds fitted and one third the squares themselves, so that a variance that the variable and the group
share is no dependence.

Each form is tested with all features and with the first ones only, and the four p-values are joined by the Cauchy
combination.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.columns.features import Features, gather, level_spread
from gpmnet.columns.whitening import whitener
from gpmnet.testing.design import Designs
from gpmnet.testing.p_values import cauchy_combination, log_positive_form
from gpmnet.testing.regression import Regression
from gpmnet.testing.residuals import floor

MOST_MEMBERS = 64
"""Of a larger group this many members, evenly chosen, stand for it."""
_RIDGE = (
    1e-4  # variance of a direction, of unit features, below which what a set leaves of it is only rounding
)
_SPENT = 1 / 4  # of the free rows, that the directions of a group may take
_TRUST = 1 / 3  # share of the squares themselves in the variances of rows


@dataclass(frozen=True)
class GroupTest:
    """The test of one variable and a group given a set.

    Attributes
    ----------
    log_p : float
        Log p-value.
    strength : float
        Multiple correlation of the variable's and the group's first features given the set, less what chance gives
        (the root of the adjusted R^2); of a variable with several first features the largest canonical one.
    information : float
        How much the rows can say given the set, as a number of rows; see `gpmnet.testing.base.PairTests`.
    """

    log_p: float
    strength: float
    information: float


def against_group(designs: Designs, variable: int, group: Tensor, given: Tensor) -> GroupTest:
    """Return the test of a variable against a group (m,) given a set (s,); none of them shares a member.

    Time O(n (p^2 + M^2) + M^3), memory O(n (p + M)), for p columns of the set's design and M features of the group's
    members, of whom at most `MOST_MEMBERS` are looked at.
    """
    if len(group) > MOST_MEMBERS:
        group = group[torch.linspace(0, len(group) - 1, MOST_MEMBERS, device=group.device).long()]
    features, sets = designs.features, given[None]
    ends = [torch.tensor([end], device=given.device) for end in (variable, int(group[0]))]
    regression = designs.regress(sets, ends)
    own = _residuals(features, regression, ends[0])
    theirs = _residuals(features, regression, group)
    free = float(regression.left[0]) * features.n
    log_ps = []
    for coarse in (False, True):
        if coarse and own.first.all() and theirs.first.all():
            continue
        u, r = own.taken(coarse), theirs.taken(coarse)
        log_ps += _log_ps(u, r, _spread(regression, u), free)
    strength = _strength(own.taken(True), theirs.taken(True), free)
    left = own.share() * theirs.share()
    return GroupTest(float(cauchy_combination(torch.stack(log_ps))), strength, float(left.mean()) * free)


@dataclass(frozen=True, eq=False)
class _Left:
    """Residual features (n, k) of some variables side by side, which of them a coarse look uses (k,), their variance."""

    value: Tensor
    first: Tensor
    variance: float

    def taken(self, coarse: bool) -> Tensor:
        """Return the coarse or all features."""
        return self.value[:, self.first] if coarse else self.value

    def share(self) -> Tensor:
        """Return, row by row, the squared residuals as a share of the variance, (n,)."""
        return self.value.square().sum(dim=1) / max(self.variance, 1e-12)


def _residuals(features: Features, regression: Regression, variables: Tensor) -> _Left:
    columns = features.columns(variables)
    slots = torch.arange(columns.shape[1], device=columns.device)
    used = slots < features.width[variables][:, None]
    first = slots < features.coarse(variables)[:, None]
    raw = gather(features.phi, columns[used][None])
    discrete = features.is_discrete[variables][:, None].expand_as(used)[used]
    # Rare levels must not become spikes; continuous features have unit variance, or less where ties leave spikes.
    share = (raw[0] > 0).double().mean(dim=0)
    raw = raw / torch.where(discrete, level_spread(share), 1.0)
    return _Left(regression.residuals(raw)[0], first[used], float(raw.square().mean(dim=1).sum()))


def _whitened(u: Tensor) -> Tensor:
    gram = u.mT @ u / len(u)
    return u @ whitener(gram, floor(gram.new_ones(u.shape[1])))


def _spread(regression: Regression, u: Tensor) -> Tensor:
    """Return the variances of rows given the set, with mean one, (n,)."""
    size = _whitened(u).square().mean(dim=1)
    size = size / size.mean()
    fitted = 1 + regression.fitted((size - 1)[None, :, None])[0, :, 0]
    return (1 - _TRUST) * fitted.clamp(min=0.1) + _TRUST * size


def _log_ps(u: Tensor, r: Tensor, spread: Tensor, free: float) -> list[Tensor]:
    n = len(u)
    u = _whitened(u)
    value, vector = torch.linalg.eigh(r.mT @ r / n)
    value = value.clamp(min=0.0)
    rotated = r @ vector
    scores = (u.mT @ rotated / n).square().sum(dim=0)
    inner = rotated.mT @ (rotated * spread[:, None]) / n
    total = float(u.square().mean(dim=0).sum())
    ridge = _enough(value, _SPENT * free)
    found = []
    for g in (1 / (value + ridge), torch.ones_like(value)):
        h = value * g
        share = float((scores * g).sum()) / total
        weights = torch.linalg.eigvalsh(inner * g.sqrt()[:, None] * g.sqrt()[None, :]).clamp(min=0.0)
        h, weights = h.sort().values, weights.sort().values
        alive = h > 1e-9 * h.max().clamp(min=1e-300)
        h, weights = h[alive], weights[alive]
        signed = torch.cat([weights * (1 - share / h), weights.new_full((1,), -share)])
        rest = max(1.0, free - len(h))
        counts = u.shape[1] * torch.cat([torch.ones_like(h), h.new_full((1,), rest)])
        found.append(log_positive_form(signed, counts))
    return found


def _enough(value: Tensor, most: float) -> float:
    """Return the ridge that leaves directions of these variances at most so many degrees of freedom."""
    low, high = math.log(_RIDGE), math.log(max(2 * _RIDGE, float(value.sum()) / most))
    if float((value / (value + _RIDGE)).sum()) <= most:
        return _RIDGE
    for _ in range(40):
        middle = (low + high) / 2
        few = float((value / (value + math.exp(middle))).sum()) <= most
        low, high = (low, middle) if few else (middle, high)
    return math.exp(high)


def _strength(u: Tensor, r: Tensor, free: float) -> float:
    n = len(u)
    value, vector = torch.linalg.eigh(r.mT @ r / n)
    ridge = _enough(value.clamp(min=0.0), _SPENT * free)
    white = r @ vector / (value.clamp(min=0.0) + ridge).sqrt()
    largest = min(1.0, float(torch.linalg.matrix_norm(_whitened(u).mT @ white / n, ord=2)) ** 2)
    spent = float((value / (value + ridge)).sum()) + u.shape[1] - 1
    chance = min(0.9, spent / free)
    return math.sqrt(max(0.0, (largest - chance) / (1 - chance)))
