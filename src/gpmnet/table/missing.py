"""What happens to gaps: one policy a class, all of them in `MISSING`.

A policy has two moments. When a table is loaded, `admit` says what of it is used: which rows, which columns, with which
gaps. What still has gaps then is completed when it is fitted, as `filling` says (`gpmnet.imputing`): several times, each
draw fitted by itself and the answers pooled, or once, to look for neighborhoods in, while tests use the observed rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import check_number, check_type
from gpmnet.errors import InputError, quote, quote_all
from gpmnet.parts import Part
from gpmnet.table.encode import Needs
from gpmnet.table.gaps import (
    complete_rows,
    drawn_values,
    empty_rows,
    gaps_of,
    says_what_helps,
    with_indicators,
    with_levels,
)
from gpmnet.table.raw import RawTable
from gpmnet.table.schema import Column, Schema


@dataclass(frozen=True)
class Admitted:
    """What a policy makes of a table.

    Attributes
    ----------
    raw : RawTable
        What is used of it.
    discrete : tuple of str
        Columns whose kind is now "discrete".
    notes : tuple of str
        What was done, for the warnings of the schema.
    rows : ndarray of int or None
        The rows that are used; None for all.
    """

    raw: RawTable
    discrete: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rows: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class Filling:
    """How a table with gaps is completed when it is fitted.

    Attributes
    ----------
    n_draws : int
        Complete tables that are drawn and fitted.
    sweeps : int
        Times that every column is drawn anew, given the others, before a table counts.
    needs : {"pair", "set"}
        What the rows of a test must have: both variables, or also the whole set that it is given. Elsewhere the draw stands.
    """

    n_draws: int
    sweeps: int
    needs: Needs

    @property
    def n_fits(self) -> int:
        """Draws that are held at once: all that are fitted, or, where one is, also one of those that confirm it."""
        return self.n_draws if self.needs == "pair" else min(2, self.n_draws)


class MissingPolicy(Part, ABC):
    """What becomes of a table in which some values are missing: a frozen dataclass of settings."""

    @abstractmethod
    def admit(self, raw: RawTable, schema: Schema) -> Admitted:
        """Return what is used of a table, or raise `InputError`; it is asked only where an active column has gaps."""

    @property
    def filling(self) -> Filling | None:
        """How the gaps that it leaves are filled in; None where it leaves none."""
        return None


@dataclass(frozen=True)
class RefuseGaps(MissingPolicy):
    """Raise, naming the columns with gaps and the choices there are."""

    def admit(self, raw: RawTable, schema: Schema) -> Admitted:
        """Raise."""
        gaps = gaps_of(schema)
        worst = tuple(c.name for c in sorted(gaps, key=lambda c: -c.n_missing))
        raise InputError(
            f"{len(gaps)} column{'s' * (len(gaps) > 1)} with missing values (NaN): {quote_all(worst)}; "
            f"{says_what_helps(raw, schema)}"
        )


@dataclass(frozen=True)
class DropRows(MissingPolicy):
    """Keep the rows without a gap in any active column.

    Parameters
    ----------
    least : int
        Fewer complete rows than these are refused.
    """

    least: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "least", 2, integer=True)

    def admit(self, raw: RawTable, schema: Schema) -> Admitted:
        """Return the complete rows."""
        return _only(raw, self._complete(raw, schema))

    def _complete(self, raw: RawTable, schema: Schema) -> NDArray[np.intp]:
        complete = np.flatnonzero(complete_rows(raw, schema.active))
        if len(complete) < self.least:
            worst = max(schema.active, key=lambda c: c.n_missing)
            raise InputError(
                f"only {len(complete)} rows of {raw.n_rows:,} are complete; "
                f"{quote(worst.name)} alone lacks {worst.n_missing:,}: {says_what_helps(raw, schema)}"
            )
        return complete


@dataclass(frozen=True)
class MissingLevel(DropRows):
    """Missing is a level of its own of discrete and of short ordered columns; rows with other gaps are dropped.

    Parameters
    ----------
    indicators : bool
        Keep those rows too: a column "NAME is missing" stands beside every other column with gaps, whose gaps are filled
        with draws from its own observed values. What is missing then depends on nothing but the indicator.
    """

    indicators: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self, "indicators", bool)

    def admit(self, raw: RawTable, schema: Schema) -> Admitted:
        """Return the table with levels for what is missing, and without gaps."""
        coded = [column for column in gaps_of(schema) if column.encoding == "codes"]
        others = [column for column in gaps_of(schema) if column.encoding != "codes"]
        changed, names = with_levels(raw, schema, coded), tuple(column.name for column in coded)
        told = _told("a level for what is missing", coded)
        if not others:
            return Admitted(changed, names, told)
        if not self.indicators:
            kept = _only(changed, self._complete(raw, replace(schema, columns=_without(schema, coded))))
            return replace(kept, discrete=names, notes=(*told, *kept.notes))
        changed = with_indicators(changed, others)
        told += _told("an indicator beside it, and draws from its own values in its gaps", others)
        return Admitted(drawn_values(changed, schema, others), names, told)


@dataclass(frozen=True)
class AvailableRows(MissingPolicy):
    """Every test uses the rows that have both variables and the whole set that it is given.

    Parameters
    ----------
    n_draws : int
        Complete draws in which neighborhoods are looked for: members are those of the first that all others confirm.
        Omega and shapes come from the first.
    sweeps : int
        Of each draw.
    """

    n_draws: int = 5
    sweeps: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "n_draws", 1, integer=True)
        check_number(self, "sweeps", 1, integer=True)

    def admit(self, raw: RawTable, schema: Schema) -> Admitted:
        """Return the rows that have any value."""
        return _not_empty(raw, schema)

    @property
    def filling(self) -> Filling:
        """Draws to search in."""
        return Filling(self.n_draws, self.sweeps, "set")


@dataclass(frozen=True)
class Impute(MissingPolicy):
    """Several complete draws from a joint model of all columns, each fitted by itself; the answers are pooled.

    Parameters
    ----------
    n_draws : int
    sweeps : int
        Times that every column is drawn given the others before a draw counts.
    """

    n_draws: int = 5
    sweeps: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "n_draws", 2, integer=True)
        check_number(self, "sweeps", 1, integer=True)

    def admit(self, raw: RawTable, schema: Schema) -> Admitted:
        """Return the rows that have any value."""
        return _not_empty(raw, schema)

    @property
    def filling(self) -> Filling:
        """Several draws."""
        return Filling(self.n_draws, self.sweeps, "pair")


MISSING: dict[str, MissingPolicy] = {
    "error": RefuseGaps(),
    "drop": DropRows(),
    "impute": Impute(),
    "available": AvailableRows(),
    "level": MissingLevel(),
}


def _only(raw: RawTable, rows: NDArray[np.intp]) -> Admitted:
    """Return some of the rows; those with other gaps were left out."""
    if len(rows) == raw.n_rows:
        return Admitted(raw)
    note = f"{len(rows):,} of {raw.n_rows:,} rows kept: the others have missing values"
    return Admitted(raw.take(rows), (), (note,), rows)


def _not_empty(raw: RawTable, schema: Schema) -> Admitted:
    """Return the rows that have any value."""
    empty = empty_rows(raw, schema)
    if not empty.any():
        return Admitted(raw)
    note = f"{int(empty.sum()):,} of {raw.n_rows:,} rows have no value at all and were left out"
    rows = np.flatnonzero(~empty)
    return Admitted(raw.take(rows), (), (note,), rows)


def _told(what: str, columns: list[Column]) -> tuple[str, ...]:
    if not columns:
        return ()
    many = "s" * (len(columns) > 1)
    return (f"{len(columns)} column{many} got {what}: {quote_all([c.name for c in columns])}",)


def _without(schema: Schema, columns: list[Column]) -> tuple[Column, ...]:
    """Return the columns, some of them taken for complete."""
    return tuple(replace(c, n_missing=0) if c in columns else c for c in schema.columns)
