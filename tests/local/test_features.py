import numpy as np
import pandas as pd
import torch
from scipy.stats import kurtosis

from gpmnet.local.features import continuous_features


def test_continuous_features_are_orthonormal_and_bounded():
    features = continuous_features(1001, 4)
    np.testing.assert_allclose(features.T @ features / 1001, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-10)
    assert np.abs(features).max() < 3
    # products of two independent features then have nearly normal sums: their kurtosis is far below 9
    assert (kurtosis(features, fisher=False) ** 2).max() < 5.5


def test_the_first_feature_is_all_but_linear():
    from gpmnet.table.encode import normal_quantiles

    assert np.corrcoef(continuous_features(1000, 3)[:, 0], normal_quantiles(1000))[0, 1] > 0.99


def test_blocks_and_padding(features_of):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 4, 90), "b": rng.normal(size=90), "c": rng.integers(0, 2, 90)})
    f = features_of(frame)
    assert f.width.tolist() == [3, 3, 1]
    columns = f.columns(torch.tensor([[0, 2], [1, -1]]))
    assert columns.tolist() == [[[0, 1, 2], [6, 7, 7]], [[3, 4, 5], [7, 7, 7]]]
    assert (f.phi[:, 7] == 0).all()
    hot = (frame["a"].to_numpy()[:, None] == [1, 2, 3]).astype(float)
    np.testing.assert_allclose(f.phi[:, :3], hot - hot.mean(axis=0), atol=1e-6)


def test_the_order_of_columns_does_not_matter(features_of):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    there, back = features_of(frame), features_of(frame[["c", "a", "b"]])
    torch.testing.assert_close(there.weights[[2, 0, 1]], back.weights[:3])
    torch.testing.assert_close(there.phi[:, [6, 7, 8, 0, 1, 2, 3, 4, 5]], back.phi[:, :9])
