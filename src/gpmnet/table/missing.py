"""What happens to rows with gaps: one policy a class, all of them in `MISSING`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import check_number
from gpmnet.errors import InputError, quote, quote_all
from gpmnet.parts import Part
from gpmnet.table.raw import RawTable
from gpmnet.table.schema import Schema


class MissingPolicy(Part, ABC):
    """What becomes of a table in which some values are missing: a frozen dataclass of settings."""

    @abstractmethod
    def rows(self, raw: RawTable, schema: Schema) -> NDArray[np.intp]:
        """Return the rows that are kept, in their order, or raise `InputError`."""


@dataclass(frozen=True)
class RefuseGaps(MissingPolicy):
    """Keep all rows, or raise naming the columns with gaps and the choices there are."""

    def rows(self, raw: RawTable, schema: Schema) -> NDArray[np.intp]:
        """Return all rows of a table without gaps."""
        gaps = [column for column in schema.active if column.n_missing]
        if gaps:
            worst = tuple(c.name for c in sorted(gaps, key=lambda c: -c.n_missing))
            complete = len(complete_rows(raw, schema))
            raise InputError(
                f"{len(gaps)} column{'s' * (len(gaps) > 1)} with missing values (NaN): {quote_all(worst)}; choose "
                f'missing="drop" (--missing drop) to keep the {complete:,} complete rows of {schema.n_rows:,}, or '
                'give the columns you can spare the kind "ignored"'
            )
        return np.arange(schema.n_rows)


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

    def rows(self, raw: RawTable, schema: Schema) -> NDArray[np.intp]:
        """Return the complete rows."""
        complete = complete_rows(raw, schema)
        if len(complete) < self.least:
            worst = max(schema.active, key=lambda c: c.n_missing)
            raise InputError(
                f"only {len(complete)} rows of {raw.n_rows:,} are complete; "
                f'{quote(worst.name)} alone lacks {worst.n_missing:,}: give such columns the kind "ignored"'
            )
        return complete


MISSING: dict[str, MissingPolicy] = {"error": RefuseGaps(), "drop": DropRows()}


def complete_rows(raw: RawTable, schema: Schema) -> NDArray[np.intp]:
    """Return the rows without a gap in any active column."""
    complete = np.ones(raw.n_rows, dtype=bool)
    active = {schema.index(column.name) for column in schema.active if column.n_missing}
    for at in active.intersection(raw.labelled):
        complete &= raw.labelled[at].codes >= 0
    in_numbers = np.flatnonzero([at in active for at in raw.number_at])
    complete &= ~np.isnan(raw.numbers[:, in_numbers]).any(axis=1)
    return np.flatnonzero(complete)
