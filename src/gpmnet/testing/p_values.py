"""P-values on the log scale, exact far into the tail, and how several become one."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_LOG_PI = math.log(math.pi)


def log_chi2_sf(statistic: Tensor, df: Tensor | int) -> Tensor:
    """Return the log of the chi-square survival function, exact far into the tail."""
    half, x = torch.as_tensor(df, dtype=torch.float64, device=statistic.device) / 2, statistic.double() / 2
    plain = torch.special.gammaincc(half, x.clamp(min=0))
    # Gamma(a, x) ~ x^(a-1) e^-x (1 + (a-1)/x + (a-1)(a-2)/x^2 + ...), used where the function underflows.
    terms, total = torch.ones_like(x), torch.ones_like(x)
    safe = x.clamp(min=1.0)
    for m in range(1, 8):
        terms = terms * (half - m) / safe
        total = total + terms
    tail = (half - 1) * safe.log() - safe - torch.lgamma(half) + total.clamp(min=1e-3).log()
    return torch.where(plain > 1e-280, plain.clamp(min=1e-300).log(), tail)


def cauchy_combination(log_p: Tensor) -> Tensor:
    """Return the log of the Cauchy combination (Liu and Xie 2020) of p-values along the last axis.

    NaN entries are left out; the combination of none is 0 (p = 1).
    """
    present = ~log_p.isnan()
    weight = present.double()
    weight = weight / weight.sum(dim=-1, keepdim=True).clamp(min=1e-12)
    # A p-value of 1 would outweigh any evidence beside it; a cautious part must not have that power.
    lp = torch.where(present, log_p, 0.0).clamp(max=math.log(0.99))
    tan = torch.tan((0.5 - lp.exp()) * torch.pi)
    # In the far tail tan((1/2 - p) pi) = 1 / (p pi); sums are taken relative to the largest term.
    log_term = torch.where(lp < -30, -lp - _LOG_PI, tan.abs().log())
    sign = torch.where((lp < -30) | (tan > 0), 1.0, -1.0)
    top = log_term.masked_fill(~present, -torch.inf).amax(dim=-1, keepdim=True).clamp(min=0.0)
    total = (weight * sign * torch.exp(log_term - top)).sum(dim=-1)
    top = top.squeeze(-1)
    small = 0.5 - torch.atan(total * torch.exp(top.clamp(max=40.0))) / torch.pi
    far = -top - total.clamp(min=1e-300).log() - _LOG_PI
    result = torch.where((top > 20) & (total > 0), far, small.clamp(min=1e-300).log())
    return torch.where(present.any(dim=-1), result, torch.zeros_like(result))


def log_positive_form(weights: Tensor, counts: Tensor) -> Tensor:
    r"""Return the log of :math:`P(\sum_j w_j \chi^2_{c_j} > 0)`, for weights (m,) of both signs and counts (m,) of degrees.

    By the saddlepoint of Lugannani and Rice (Kuonen 1999 for quadratic forms): within 3 per cent of the F distribution
    that a ratio of two independent chi-squares is, also far into the tail; of a single degree it is up to a tenth too
    large. Time O(m) a step, of which there are 80.
    """
    w, c = weights.double(), counts.double()
    least, most = w.min(), w.max()
    if most <= 0 or least >= 0:
        return torch.where(most <= 0, -torch.inf, 0.0).to(w)
    # K(t) = -1/2 sum c log(1 - 2 t w) is convex between its poles; where its slope is 0 is found by bisection.
    low, high = 1 / (2 * least), 1 / (2 * most)
    for _ in range(80):
        t = (low + high) / 2
        rising = (c * w / (1 - 2 * t * w)).sum() > 0
        low, high = torch.where(rising, low, t), torch.where(rising, t, high)
    t = (low + high) / 2
    left = 1 - 2 * t * w
    root = t.sign() * (c * left.log()).sum().clamp(min=0.0).sqrt()  # sqrt(-2 K(t))
    spread = 2 * (c * (w / left).square()).sum()
    if root.abs() < 1e-4:  # the limit at the mean, where the formula is 0 / 0
        skew = 8 * (c * (w / left).pow(3)).sum()
        return (0.5 - skew / (6 * math.sqrt(2 * math.pi) * spread.pow(1.5))).log()
    corrected = root + (t * spread.sqrt() / root).log() / root
    found: Tensor = torch.special.log_ndtr(-corrected)
    return found
