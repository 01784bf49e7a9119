import numpy as np
import pytest
import torch

from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.energies import Coordinates
from gpmnet.omega import table_order
from gpmnet.table import load_table
from gpmnet.testing.base import BoundTest
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual


@pytest.fixture
def learned_of():
    """Return the learned test of a frame whose folds' energies are made from the coordinates by `make`."""

    from gpmnet.testing.learned import Fold, LearnedTest

    def _learned(frame, make, kinds=None, n_folds=2):
        encoded = load_table(frame, kinds=kinds).encode(0)
        encoded = encoded.take(np.argsort(encoded.rows))  # as the frame has them
        features = build_features(encoded, feature_functions(3), "cpu", torch.float64)
        test = BoundTest(DoubleResidual(), Designs(features, DesignOptions()))
        codes, scores = torch.as_tensor(encoded.codes.astype(np.int64)), torch.as_tensor(encoded.scores)
        coordinates = Coordinates.from_codes(scores.shape[1], tuple(int(m) for m in encoded.n_levels), codes)
        h, order = coordinates.encode(scores, codes), torch.as_tensor(table_order(encoded.is_discrete))
        folds = [Fold(rows, make(coordinates)) for rows in torch.arange(len(h)).chunk(n_folds)]
        return LearnedTest(test, h, order, folds)

    return _learned
