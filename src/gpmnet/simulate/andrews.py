"""Nodes of mixed models: regressions that change with the discrete parents, and multinomial logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError
from gpmnet.simulate.base import Values
from gpmnet.simulate.tables import LARGEST, configuration, draw_codes


@dataclass(frozen=True)
class Split:
    """Which parents are discrete (with how many levels) and which are continuous (0 levels)."""

    levels: tuple[int, ...]

    @property
    def discrete_levels(self) -> list[int]:
        """The numbers of levels of the discrete parents."""
        return [count for count in self.levels if count]

    @property
    def configurations(self) -> int:
        """The number of configurations of the discrete parents."""
        return int(np.prod(self.discrete_levels, dtype=np.int64))

    def configuration(self, parents: Values) -> NDArray[np.intp]:
        """Return the configuration of the discrete parents, (n, k) -> (n,)."""
        columns = [parents[:, at] for at, count in enumerate(self.levels) if count]
        return configuration(columns, self.discrete_levels, len(parents))

    def continuous(self, parents: Values) -> Values:
        """Return the continuous parents."""
        return parents[:, [at for at, count in enumerate(self.levels) if not count]]


@dataclass(frozen=True)
class RegressionNode:
    """x = mean_c + sum_j slope_cj x_j + scale_c e, e ~ N(0, 1); c: what the discrete parents are."""

    split: Split
    mean: Values  # (configurations,)
    slope: Values  # (configurations, continuous parents)
    scale: Values  # (configurations,)

    def _location_scale(self, parents: Values) -> tuple[Values, Values]:
        at = self.split.configuration(parents)
        location = self.mean[at] + (self.slope[at] * self.split.continuous(parents)).sum(axis=1)
        return location, self.scale[at]

    def draw(self, parents: Values, rng: np.random.Generator) -> Values:
        """Draw x given its parents."""
        location, scale = self._location_scale(parents)
        return location + scale * rng.standard_normal(len(parents))

    def log_density(self, values: Values, parents: Values) -> Values:
        """Return log p(x | parents)."""
        location, scale = self._location_scale(parents)
        return np.asarray(-0.5 * ((values - location) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi))


def regression_node(levels: list[int], rng: np.random.Generator) -> RegressionNode:
    """Draw means U(-1, 1), slopes ±U(0.05, 1.5) and scales U(1, 3), anew per configuration."""
    split = _split(levels)
    count, slopes = split.configurations, len(levels) - len(split.discrete_levels)
    sign = rng.choice([-1.0, 1.0], (count, slopes))
    return RegressionNode(
        split,
        mean=rng.uniform(-1.0, 1.0, count),
        slope=sign * rng.uniform(0.05, 1.5, (count, slopes)),
        scale=rng.uniform(1.0, 3.0, count),
    )


@dataclass(frozen=True)
class LogitNode:
    """P(x = m | parents) ∝ exp(a_cm + sum_j b_cmj z_j), z the standardised continuous parents."""

    split: Split
    intercept: Values  # (configurations, M)
    slope: Values  # (configurations, M, continuous parents)
    centre: Values  # (continuous parents,)
    spread: Values  # (continuous parents,)

    def _log_rows(self, parents: Values) -> Values:
        at = self.split.configuration(parents)
        z = (self.split.continuous(parents) - self.centre) / self.spread
        logits = self.intercept[at] + np.einsum("nmj,nj->nm", self.slope[at], z)
        logits -= logits.max(axis=1, keepdims=True)
        return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))

    def draw(self, parents: Values, rng: np.random.Generator) -> Values:
        """Draw x given its parents."""
        return draw_codes(np.exp(self._log_rows(parents)), rng)

    def log_density(self, values: Values, parents: Values) -> Values:
        """Return log P(x | parents)."""
        return np.asarray(self._log_rows(parents)[np.arange(len(values)), values.astype(np.intp)])


def logit_node(parents: Values, levels: list[int], cardinality: int, rng: np.random.Generator) -> LogitNode:
    """Draw intercepts N(0, 1) and slopes ±U(0.5, 2), anew per configuration.

    Level 0 has slope 0: only differences between levels matter, and so none of them can be near 0 throughout.
    """
    split = _split(levels)
    continuous = split.continuous(parents)
    shape = (split.configurations, cardinality, continuous.shape[1])
    slope = rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 2.0, shape)
    slope[:, 0] = 0.0
    return LogitNode(
        split,
        intercept=rng.standard_normal(shape[:2]),
        slope=slope,
        centre=continuous.mean(axis=0),
        spread=continuous.std(axis=0),
    )


def _split(levels: list[int]) -> Split:
    split = Split(tuple(levels))
    if split.configurations > LARGEST:
        raise InputError(f"random: {split.configurations:,} configurations are too many; lower max_clique")
    return split
