"""Pairs as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gpmnet.network.pairs import Pairs
from gpmnet.network.resampling import figures_of

if TYPE_CHECKING:
    from gpmnet.network.network import MarkovNetwork


def pair_frame(network: MarkovNetwork, pairs: Pairs) -> pd.DataFrame:
    """Return pairs of a network, most certain first, with the names of their ends and every figure that there is."""
    names, pairs = np.array(network.names, dtype=object), pairs.take(pairs.order())
    ends = {"source": pairs.first, "target": pairs.second}
    # As objects: the string type of pandas cannot hold every name.
    columns: dict[str, Any] = {end: pd.Series(names[at], dtype=object) for end, at in ends.items()}
    columns |= {name: getattr(pairs, name) for name in figures_of(network)}
    if not np.isnan(pairs.n_rows).any():
        columns["n_rows"] = pairs.n_rows.astype(np.int64)
    if network.directions is not None:
        columns |= network.directions.columns(names[pairs.first], names[pairs.second])
    return pd.DataFrame(columns)
