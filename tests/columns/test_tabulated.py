"""Tabulated functions of columns are those computed when they are asked for."""

import numpy as np
import pandas as pd
import torch

from gpmnet.columns import tabulated
from gpmnet.columns.tabulated import Tabulated


def test_gathered_and_computed_functions_agree(features_of, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    frame.insert(1, "group", rng.integers(0, 3, 80))
    frame["count"] = rng.poisson(9, 80).astype(float)
    f = features_of(frame, {"count": "continuous"})
    members = torch.tensor([[0, 2], [4, 3]])
    kept = Tabulated.of(f, 7)
    monkeypatch.setattr(tabulated, "_MOST", 0)
    computed = Tabulated.of(f, 7)
    assert kept.table is not None
    assert computed.table is None
    for n_cosines in (0, 3, 7):
        one, other = (torch.cat(x.additive(members, n_cosines), dim=2) for x in (kept, computed))
        torch.testing.assert_close(one, other)
    for degrees in (1, 2, 5):
        torch.testing.assert_close(kept.interacting(members, degrees), computed.interacting(members, degrees))
