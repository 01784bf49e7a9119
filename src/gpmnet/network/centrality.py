"""How much a variable is joined to the rest: strength, expected influence and bridge strength."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from gpmnet.network.network import MarkovNetwork
    from gpmnet.network.pairs import Pairs


def sums_at_nodes(d: int, edges: Pairs, community: Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """Return three sums over the edges of each of d variables, by name.

    * strength: of the strengths;
    * expected_influence: of the strengths with their signs (an edge without a single sign adds nothing);
    * bridge: of the strengths of edges to other communities.

    An edge of unknown strength, as methods without one have, adds nothing.

    >>> from gpmnet.network import Pairs
    >>> edges = Pairs.of([0, 1], [1, 2], strength=[0.5, 0.25], sign=[1, -1])
    >>> {name: values.tolist() for name, values in sums_at_nodes(3, edges, [0, 0, 1]).items()}
    {'strength': [0.5, 0.75, 0.25], 'expected_influence': [0.5, 0.25, -0.25], 'bridge': [0.0, 0.25, 0.25]}
    """
    strength = np.nan_to_num(edges.strength, nan=0.0)
    groups = np.asarray(community)
    leaves = groups[edges.first] != groups[edges.second]
    ends = np.r_[edges.first, edges.second]
    weights = {
        "strength": strength,
        "expected_influence": strength * np.nan_to_num(edges.sign, nan=0.0),
        "bridge": strength * leaves,
    }
    return {
        name: np.bincount(ends, np.r_[weight, weight], minlength=d).astype(np.float64)
        for name, weight in weights.items()
    }


def centrality_frame(network: MarkovNetwork) -> pd.DataFrame:
    """Return one row a variable, the most joined first: edges, the sums of `sums_at_nodes`, community.

    Communities are numbered from 1, in the order of `MarkovNetwork.communities`.
    """
    import pandas as pd

    place = {name: at for at, group in enumerate(network.communities()) for name in group}
    community = [place[name] for name in network.names]
    edges = network.pairs.take(np.flatnonzero(network.pairs.is_edge))
    columns = {
        "variable": pd.Series(np.array(network.names, dtype=object), dtype=object),
        "edges": np.array(list(network.degree.values()), dtype=np.intp),
        **sums_at_nodes(len(network.names), edges, community),
        "community": np.array(community, dtype=np.intp) + 1,
    }
    return (
        pd.DataFrame(columns)
        .sort_values(["strength", "edges"], ascending=False, kind="stable")
        .reset_index(drop=True)
    )
