import math

import numpy as np
import pandas as pd
import torch

from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.selection.joint import JointRule, joint_hypotheses
from gpmnet.table import load_table
from gpmnet.testing.base import BoundTest
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual


def rule_of(columns, neighbors, n_group):
    """Return the rule over v, then the group, then the others, with some neighbors of v."""
    encoded = load_table(pd.DataFrame(columns)).encode(0)
    features = build_features(encoded, feature_functions(3), "cpu", torch.float64)
    d = features.d
    candidates = torch.arange(d).repeat(d, 1)
    candidates.fill_diagonal_(-1)
    members = torch.full((d, 3), -1)
    members[0, : len(neighbors)] = torch.tensor(neighbors, dtype=torch.int64)
    test = BoundTest(DoubleResidual(), Designs(features, DesignOptions()))
    return JointRule(test, (tuple(range(1, 1 + n_group)),), members, candidates, 0.1, 12)


def confounded(seed=0, n=400, own=0.0):
    rng = np.random.default_rng(seed)
    w, base = rng.normal(size=(2, n))
    base = w + 0.7 * base
    columns = {"v": w + own * base + 0.7 * rng.normal(size=n)}
    columns |= {f"g{k}": base + 0.2 * rng.normal(size=n) for k in range(4)}
    return columns | {"w": w, "noise": rng.normal(size=n)}


def test_what_the_search_missed_becomes_a_rival():
    missed = rule_of(confounded(), [1], 4)(0, 0)  # the search kept a member of the group in the place of w
    assert missed.log_p_wide < math.log(1e-10)
    assert missed.log_p > math.log(0.01)
    assert missed.rivals == (5,)
    known = rule_of(confounded(), [5], 4)(0, 0)
    assert known.log_p > math.log(0.01)


def test_a_group_with_a_rival_that_does_not_explain_it_stays():
    found = rule_of(confounded(own=0.8), [1], 4)(0, 0)
    assert found.rivals == (5,)
    assert found.log_p < math.log(1e-10)
    assert found.log_p_wide < found.log_p
    assert (found.variable, found.group) == (0, 0)


def test_who_is_tested_against_whom():
    groups = ((0, 1), (2, 3))
    close = [(4, 0), (4, 1), (2, 0), (5, 3)]
    assert joint_hypotheses(groups, close, [], []) == [(4, 0), (2, 0), (0, 1), (5, 1)]
    assert joint_hypotheses(groups, close, [(1, 4)], []) == [(2, 0), (0, 1), (5, 1)]
    # An edge between two groups says it for all their members; a forbidden pair concerns its own variables alone.
    assert joint_hypotheses(groups, close, [(1, 3)], []) == [(4, 0), (5, 1)]
    assert joint_hypotheses(groups, close, [], [(5, 2), (0, 3)]) == [(4, 0), (2, 0)]
    assert joint_hypotheses((), close, [], []) == []
