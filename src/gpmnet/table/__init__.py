"""Any table in, typed columns out: what each column was taken for, why, and how it reaches the engines."""

from gpmnet.table.dependence import Block, Grouping
from gpmnet.table.encode import Encoded, centred_indicators, normal_scores
from gpmnet.table.gaps import LEAST_TOGETHER
from gpmnet.table.load import describe, load_table
from gpmnet.table.missing import (
    MISSING,
    Admitted,
    AvailableRows,
    DropRows,
    Filling,
    Impute,
    MissingLevel,
    MissingPolicy,
    RefuseGaps,
)
from gpmnet.table.schema import Column, Schema
from gpmnet.table.spread import spread_over
from gpmnet.table.table import Table

__all__ = [
    "LEAST_TOGETHER",
    "MISSING",
    "Admitted",
    "AvailableRows",
    "Block",
    "Column",
    "DropRows",
    "Encoded",
    "Filling",
    "Grouping",
    "Impute",
    "MissingLevel",
    "MissingPolicy",
    "RefuseGaps",
    "Schema",
    "Table",
    "centred_indicators",
    "describe",
    "load_table",
    "normal_scores",
    "spread_over",
]
