"""Pairs of a network as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpmnet.network.pairs import STATISTICS, Pairs

if TYPE_CHECKING:
    import pandas as pd

    from gpmnet.network.network import MarkovNetwork


def pairs_frame(network: MarkovNetwork, pairs: Pairs) -> pd.DataFrame:
    """Return pairs by name with their statistics, most certain first; with those of `Directions`, where there are any."""
    import pandas as pd

    names = np.array(network.names, dtype=object)
    pairs = pairs.take(pairs.order())
    ends = {"source": pairs.first, "target": pairs.second}
    # As objects: the string type of pandas cannot hold every name.
    columns: dict[str, Any] = {end: pd.Series(names[at], dtype=object) for end, at in ends.items()}
    columns |= {name: getattr(pairs, name) for name in STATISTICS}
    if network.directions is not None:
        columns |= network.directions.columns(names[pairs.first], names[pairs.second])
    return pd.DataFrame(columns)
