import sys

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, settings

from gpmnet.cli import main
from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.table import load_table
from gpmnet.testing.base import BoundTest
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual

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
        encoded = encoded.take(np.argsort(encoded.rows))  # an oracle computes from the frame, row by row
        return build_features(encoded, feature_functions(k), "cpu", torch.float64)

    return _features


@pytest.fixture
def test_of(features_of):
    """Return the edge test of a frame or array."""

    def _test(data, kinds=None, interactions=True):
        return BoundTest(DoubleResidual(interactions), Designs(features_of(data, kinds), DesignOptions()))

    return _test


@pytest.fixture
def gpmnet(monkeypatch, capsys):
    """Run the program in this process: (exit code, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gpmnet", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        return (code, *capsys.readouterr())

    return run
