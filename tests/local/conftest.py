import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet.local.edge_test import EdgeTest, TestOptions
from gpmnet.local.features import build_features
from gpmnet.local.nuisance import DesignOptions
from gpmnet.table import load_table


@pytest.fixture
def features_of():
    """Return the features of a frame or array."""

    def _features(data, kinds=None, k=3, seed=0):
        frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame(np.asarray(data)).add_prefix("x")
        encoded = load_table(frame, kinds=kinds).encode(seed)
        return build_features(encoded, k, 20, seed, "cpu", torch.float64)

    return _features


@pytest.fixture
def test_of(features_of):
    """Return the edge test of a frame or array."""

    def _test(data, kinds=None, interactions=True):
        return EdgeTest(features_of(data, kinds), DesignOptions(), TestOptions(interactions))

    return _test
