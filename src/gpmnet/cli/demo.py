"""The demo's table: real, mixed, and already on every machine that has scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def demo_table() -> tuple[str, pd.DataFrame]:
    """Return the wine recognition data: 178 wines, 13 chemical measurements, and the cultivar as text."""
    from sklearn.datasets import load_wine

    data = load_wine(as_frame=True)
    frame = data.data.rename(columns={"od280/od315_of_diluted_wines": "od280_od315"})
    frame["cultivar"] = data.target.map({0: "cultivar A", 1: "cultivar B", 2: "cultivar C"})
    return "wine recognition data (178 wines of three cultivars, 13 measurements)", frame
