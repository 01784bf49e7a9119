r"""Joint features of a neighborhood in a node model: :math:`\tanh(w_r^\top x_N / |N|^{1/4} + b_r)`, random directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

from gpmnet.columns.features import Features, gather
from gpmnet.table.order import name_noise


@dataclass(frozen=True, eq=False)
class JointDirections:
    """The directions w and shifts b of R joint features.

    Attributes
    ----------
    weights : Tensor of shape (L + 1, R)
        Of each column of `Features.scores`, keyed by the variables' names so that column order does not matter.
    shifts : Tensor of shape (R,)
    """

    weights: Tensor
    shifts: Tensor

    @classmethod
    def of(cls, features: Features, count: int, seed: int) -> JointDirections:
        """Return normal weights, hashed from (seed, name, level), and uniform shifts."""
        widths = features.score_width.tolist()
        keys = [
            f"{name}\0{level}"
            for name, width in zip(features.names, widths, strict=True)
            for level in range(width)
        ]
        weights = np.zeros((len(keys) + 1, count))
        weights[:-1] = ndtri(_uniform(keys, count, seed))
        shifts = 3.0 * (_uniform(["shift"], count, seed)[0] - 0.5)
        return cls(torch.as_tensor(weights).to(features.scores), torch.as_tensor(shifts).to(features.scores))

    @property
    def count(self) -> int:
        """Number R of directions."""
        return len(self.shifts)

    def arguments(self, features: Features, sets: Tensor) -> Tensor:
        """Return what the joint features of sets (b, s; -1 pads) are the tanh of: (b, n, R)."""
        columns = features.score_columns(sets).flatten(1)
        size = (sets >= 0).sum(dim=1)[:, None, None].double()
        weights = self.weights[columns].double()
        return gather(features.scores, columns) @ weights / size**0.25 + self.shifts.double()


def _uniform(keys: list[str], size: int, seed: int) -> NDArray[np.float64]:
    return (name_noise(keys, size, seed) >> np.uint64(11)).astype(np.float64) / 2.0**53 + 2.0**-54
