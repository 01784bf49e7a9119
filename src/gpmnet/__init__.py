"""Markov networks from any table: continuous, discrete or mixed columns, no distribution assumed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpmnet.comparing import compare
    from gpmnet.estimator import GPM, fit
    from gpmnet.network import MarkovNetwork
    from gpmnet.table import Block
    from gpmnet.testing.ci import CITest, ci_test

__version__ = "0.1.0.dev0"

__all__ = ["GPM", "Block", "CITest", "MarkovNetwork", "__version__", "ci_test", "compare", "fit"]

_HOME = {
    "GPM": "gpmnet.estimator",
    "compare": "gpmnet.comparing",
    "fit": "gpmnet.estimator",
    "MarkovNetwork": "gpmnet.network",
    "Block": "gpmnet.table",
    "CITest": "gpmnet.testing.ci",
    "ci_test": "gpmnet.testing.ci",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that `import gpmnet` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'gpmnet' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
