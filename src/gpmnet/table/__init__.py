"""Any table in, typed columns out: what each column was taken for, why, and how it reaches the engines."""

from gpmnet.table.dependence import Block, Grouping
from gpmnet.table.encode import Encoded, centred_indicators, normal_scores
from gpmnet.table.missing import MISSING, DropRows, MissingPolicy, RefuseGaps
from gpmnet.table.schema import Column, Schema
from gpmnet.table.table import Table, describe, load_table

__all__ = [
    "MISSING",
    "Block",
    "Column",
    "DropRows",
    "Encoded",
    "Grouping",
    "MissingPolicy",
    "RefuseGaps",
    "Schema",
    "Table",
    "centred_indicators",
    "describe",
    "load_table",
    "normal_scores",
]
