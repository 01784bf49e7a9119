import numpy as np
import pandas as pd
import torch
from scipy.stats import kurtosis

from gpmnet.columns.features import rank_features
from gpmnet.columns.functions import feature_functions
from gpmnet.nodes.joint import JointDirections


def test_continuous_features_are_orthonormal_and_bounded():
    features = rank_features(1001, feature_functions(4))
    np.testing.assert_allclose(features.T @ features / 1001, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-10)
    assert np.abs(features).max() < 3
    # products of two independent features then have nearly normal sums: their kurtosis is far below 9
    assert (kurtosis(features, fisher=False) ** 2).max() < 5.5


def test_the_first_feature_is_all_but_linear():
    from gpmnet.table.encode import normal_quantiles

    assert np.corrcoef(rank_features(1000, feature_functions(3))[:, 0], normal_quantiles(1000))[0, 1] > 0.99


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
    weights = [JointDirections.of(f, 5, seed=0).weights for f in (there, back)]
    torch.testing.assert_close(weights[0][[2, 0, 1]], weights[1][:3])
    torch.testing.assert_close(there.phi[:, [6, 7, 8, 0, 1, 2, 3, 4, 5]], back.phi[:, :9])


def test_rows_with_equal_values_have_equal_features_whatever_the_seed(features_of):
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.poisson(3, 300) + 0.0, np.maximum(rng.normal(size=300), 0), rng.normal(size=300)]
    )
    frame = pd.DataFrame(values, columns=["count", "zeros", "free"])
    kinds = dict.fromkeys(frame, "continuous")
    one, other = (features_of(frame, kinds, seed=seed) for seed in (0, 1))
    torch.testing.assert_close(one.phi, other.phi)
    torch.testing.assert_close(one.mid_scores, other.mid_scores)
    for at, name in enumerate(frame):
        first = frame.groupby(name)[name].transform(lambda group: group.index[0]).tolist()
        torch.testing.assert_close(one.phi[:, 3 * at : 3 * at + 3], one.phi[first][:, 3 * at : 3 * at + 3])
        torch.testing.assert_close(one.mid_scores[:, at], one.mid_scores[first][:, at])
        gram = one.phi[:, 3 * at : 3 * at + 3].T @ one.phi[:, 3 * at : 3 * at + 3] / 300
        torch.testing.assert_close(gram, gram.diagonal().diag(), atol=1e-3, rtol=0)
        assert gram.diagonal().max() <= 1 + 1e-6
        assert gram[0, 0] > 0.9
    assert one.phi.abs().max() <= 3
    assert not torch.equal(one.scores, other.scores)  # a density needs the noise
    order = np.argsort(frame["count"])
    assert (np.diff(one.mid_scores[order, 0]) >= -1e-12).all()


def test_scores_of_ties_are_the_mean_over_ways_to_break_them(features_of):
    frame = pd.DataFrame({"count": np.random.default_rng(1).poisson(2, 60), "other": np.arange(60.0)})
    kinds = dict.fromkeys(frame, "continuous")
    broken = [features_of(frame, kinds, seed=seed).scores[:, 0] for seed in range(500)]
    torch.testing.assert_close(
        features_of(frame, kinds).mid_scores[:, 0], torch.stack(broken).mean(dim=0), atol=0.06, rtol=0
    )
