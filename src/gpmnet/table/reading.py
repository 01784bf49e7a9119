"""How a file is to be read: what overrules what it shows by itself, and how much of it is unpacked at most.

A few megabytes may stand for gigabytes: compressed text, repeated values in Parquet, one cell in a far corner of a
sheet. How much it would be is told before it is unpacked, and refused where it is more than the limits say.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpmnet.checks import check_number
from gpmnet.errors import InputError, quote

MOST_COLUMNS = 200_000
_DEFAULT_GB, _ALWAYS_GB, _TIMES = 4.0, 0.25, 100.0
_CHARACTERS_A_COLUMN = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """The options of `gpmnet.table.load_table` and `describe` for files.

    Attributes
    ----------
    separator : str, optional
        One character, "tab" or "space".
    encoding, header : optional
        As the separator, found from the file's first lines unless given.
    transpose : bool
        The file has one variable a row, its name in the first column (gene expression tables).
    sheet : str or int, optional
        Sheet of an Excel file, by name or by position from 0; the first unless given.
    max_gb : float, optional
        A file that unpacks to more gigabytes is refused: of text its length, of Parquet and Excel 8 bytes a number and 64
        any other cell. Unless given it is 4, and for what is larger than a quarter at most a hundred times the file itself.
    max_columns : int
        A file with more columns is refused.
    """

    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    transpose: bool = False
    sheet: str | int | None = None
    max_gb: float | None = None
    max_columns: int = MOST_COLUMNS

    def __post_init__(self) -> None:
        check_number(self, "max_columns", 2, integer=True)
        if self.max_gb is not None:
            check_number(self, "max_gb", 0, 1e6, open_low=True)

    def most_bytes(self, path: Path) -> int:
        """Return how much a file may unpack to."""
        if self.max_gb is not None:
            return int(self.max_gb * 1e9)
        return int(min(_DEFAULT_GB * 1e9, max(_ALWAYS_GB * 1e9, _TIMES * path.stat().st_size)))

    def check_bytes(self, path: Path, size: int, what: str, exact: bool = True) -> None:
        """Raise if a file would unpack to too much; `what` says how that is known."""
        most = self.most_bytes(path)
        if size <= most:
            return
        much = f"{size / 1e9:,.2f} GB" if exact else f"more than {most / 1e9:,.2f} GB"
        raise InputError(
            f"{quote(path)} has {path.stat().st_size / 1e6:,.1f} MB and unpacks to {much} ({what}); the limit for it is "
            f"{most / 1e9:,.2f} GB. If it is what it should be, raise the limit with max_gb (--max-gb)"
        )

    def check_columns(self, path: Path, count: int) -> None:
        """Raise if a file has too many columns."""
        if count > self.max_columns:
            raise InputError(
                f"{quote(path)} has {count:,} columns or more; the limit is {self.max_columns:,}. If its first line is what "
                "it should be, raise the limit with max_columns (--max-columns); is it a table with variables in columns?"
            )

    @property
    def longest_line(self) -> int:
        """Characters that one of the first lines of a text may have."""
        return max(1 << 25, _CHARACTERS_A_COLUMN * self.max_columns)
