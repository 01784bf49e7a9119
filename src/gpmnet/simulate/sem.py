"""Continuous nodes: a random neural network of the parents plus noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln

from gpmnet.simulate.base import Values

HIDDEN = 100
SIGNAL_SD = 2.0  # against noise of standard deviation 1
GAMMA_SHAPE = 5.0


@dataclass(frozen=True)
class Noise:
    """A noise of standard deviation 1."""

    draw: Callable[[int, np.random.Generator], Values]
    log_density: Callable[[Values], Values]


def _draw_exponential(n: int, rng: np.random.Generator) -> Values:
    return rng.standard_exponential(n)


def _log_exponential(e: Values) -> Values:
    return np.where(e >= 0, -e, -np.inf)


def _draw_gaussian(n: int, rng: np.random.Generator) -> Values:
    return rng.standard_normal(n)


def _log_gaussian(e: Values) -> Values:
    return np.asarray(-0.5 * e * e - 0.5 * np.log(2 * np.pi))


def _draw_gamma(n: int, rng: np.random.Generator) -> Values:
    return np.asarray(rng.standard_gamma(GAMMA_SHAPE, n) / np.sqrt(GAMMA_SHAPE))


def _log_gamma(e: Values) -> Values:
    rate = np.sqrt(GAMMA_SHAPE)
    inside = np.where(e > 0, e, 1.0)
    log_density = (
        GAMMA_SHAPE * np.log(rate) - gammaln(GAMMA_SHAPE) + (GAMMA_SHAPE - 1) * np.log(inside) - rate * e
    )
    return np.where(e > 0, log_density, -np.inf)


# gamma(5) starts like e^4, smoothly enough at 0 for the second derivatives of its log to be square integrable
NOISES: dict[str, Noise] = {
    "exponential": Noise(_draw_exponential, _log_exponential),
    "gaussian": Noise(_draw_gaussian, _log_gaussian),
    "gamma": Noise(_draw_gamma, _log_gamma),
}


@dataclass(frozen=True)
class NetworkNode:
    """x = signal_scale (f(z) - signal_centre) + e with f(z) = v' sigmoid(W' z); z: standardised parents."""

    noise: str
    centre: Values  # (k,)
    spread: Values  # (k,)
    weights: Values  # (k, hidden)
    output: Values  # (hidden,)
    signal_centre: float = 0.0
    signal_scale: float = 1.0

    def signal(self, parents: Values) -> Values:
        """Return the part of x that the parents determine."""
        if parents.shape[1] == 0:
            return np.zeros(len(parents))
        raw = expit((parents - self.centre) / self.spread @ self.weights) @ self.output
        return np.asarray(self.signal_scale * (raw - self.signal_centre))

    def draw(self, parents: Values, rng: np.random.Generator) -> Values:
        """Draw x given its parents."""
        return self.signal(parents) + NOISES[self.noise].draw(len(parents), rng)

    def log_density(self, values: Values, parents: Values) -> Values:
        """Return log p(x | parents)."""
        return NOISES[self.noise].log_density(values - self.signal(parents))


def network_node(parents: Values, noise: str, naive: bool, rng: np.random.Generator) -> NetworkNode:
    """Draw a node law; all weights are independent, uniform on [0.5, 2] with a random sign.

    Raw inputs (`naive`) are far from 0 or widely spread, where sigmoids are flat: the functions turn into
    steps and plateaus. Standardised inputs and a standardised signal keep every function smooth and every
    node equally noisy.
    """
    k = parents.shape[1]
    weights, output = _signed(rng, (k, HIDDEN)), _signed(rng, (HIDDEN,))
    if naive or k == 0:
        return NetworkNode(noise, np.zeros(k), np.ones(k), weights, output)
    raw = NetworkNode(noise, parents.mean(axis=0), parents.std(axis=0), weights, output)
    signal = raw.signal(parents)
    return NetworkNode(
        noise, raw.centre, raw.spread, weights, output, float(signal.mean()), SIGNAL_SD / float(signal.std())
    )


def _signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    return np.asarray(rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape))
