import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, settings

from gpmnet.columns.features import build_features
from gpmnet.energies import Coordinates
from gpmnet.omega import table_order
from gpmnet.table import load_table
from gpmnet.testing.design import DesignOptions
from gpmnet.testing.double_residual import EdgeTest, TestOptions
from gpmnet.testing.learned import Fold, LearnedTest

settings.register_profile(
    "gpmnet", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("gpmnet")


@pytest.fixture
def write(tmp_path):
    """Write text or bytes to a file of the given name; return its path."""

    def _write(name, content, encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return _write


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


@pytest.fixture
def learned_of():
    """Return the learned test of a frame whose folds' energies are made from the coordinates by `make`."""

    def _learned(frame, make, kinds=None, n_folds=2):
        encoded = load_table(frame, kinds=kinds).encode(0)
        test = EdgeTest(
            build_features(encoded, 3, 30, 0, "cpu", torch.float64), DesignOptions(), TestOptions()
        )
        codes, scores = torch.as_tensor(encoded.codes.astype(np.int64)), torch.as_tensor(encoded.scores)
        coordinates = Coordinates.from_codes(scores.shape[1], tuple(int(m) for m in encoded.n_levels), codes)
        h, order = coordinates.encode(scores, codes), torch.as_tensor(table_order(encoded.is_discrete))
        folds = [Fold(rows, make(coordinates)) for rows in torch.arange(len(h)).chunk(n_folds)]
        return LearnedTest(test, h, order, folds)

    return _learned
