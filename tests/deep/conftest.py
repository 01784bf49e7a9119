import numpy as np
import pytest
import torch

from gpmnet.deep.learned import Fold, LearnedTest
from gpmnet.energies import Layout
from gpmnet.local.edge_test import EdgeTest, TestOptions
from gpmnet.local.features import build_features
from gpmnet.local.nuisance import DesignOptions
from gpmnet.omega import table_order
from gpmnet.table import load_table


@pytest.fixture
def learned_of():
    """Return the learned test of a frame whose folds' energies are made from the layout by `make`."""

    def _learned(frame, make, kinds=None, n_folds=2):
        encoded = load_table(frame, kinds=kinds).encode(0)
        test = EdgeTest(
            build_features(encoded, 3, 30, 0, "cpu", torch.float64), DesignOptions(), TestOptions()
        )
        codes, scores = torch.as_tensor(encoded.codes.astype(np.int64)), torch.as_tensor(encoded.scores)
        layout = Layout.from_codes(scores.shape[1], tuple(int(m) for m in encoded.n_levels), codes)
        h, order = layout.encode(scores, codes), torch.as_tensor(table_order(encoded.is_discrete))
        folds = [Fold(rows, make(layout)) for rows in torch.arange(len(h)).chunk(n_folds)]
        return LearnedTest(test, h, order, folds)

    return _learned
