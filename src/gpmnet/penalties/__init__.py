"""Penalties on the entries of Omega, one a file."""

from __future__ import annotations

from gpmnet.penalties.adaptive import Adaptive
from gpmnet.penalties.base import Penalty
from gpmnet.penalties.l1 import L1
from gpmnet.penalties.mcp import MCP
from gpmnet.penalties.scad import SCAD

# By their words, with their default numbers.
PENALTIES: dict[str, Penalty] = {"l1": L1(), "adaptive": Adaptive(), "scad": SCAD(), "mcp": MCP()}

__all__ = ["L1", "MCP", "PENALTIES", "SCAD", "Adaptive", "Penalty"]
