"""What each column of a table was taken for, and why.

A column has one of four kinds:

==========  =====================================================  =================================
kind        meaning                                                reaches the engines as
==========  =====================================================  =================================
continuous  numbers whose order and distance matter                normal scores
ordinal     ordered categories and counts                          codes up to five levels, above
                                                                   that randomised normal scores
discrete    categories without an order, booleans, few numbers     codes
ignored     constants, identifiers, free text, nothing but gaps    not at all
==========  =====================================================  =================================

An ordinal column of at most five levels loses nothing as categories, while random ranks would blur it; with
more levels the smooth functions of its scores cost fewer degrees of freedom than one per level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar, get_args

from gpmnet.errors import InputError, UnknownColumnError, quote, quote_all
from gpmnet.json_data import as_count, as_flag, as_list, as_number, as_table, as_text, as_texts

Kind = Literal["continuous", "ordinal", "discrete", "ignored"]
Encoding = Literal["scores", "codes", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
T = TypeVar("T")
W = TypeVar("W", bound=str)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its kind, the reason for it, and what was done to its values.

    Attributes
    ----------
    name : str
        Unique within the schema.
    kind : {"continuous", "ordinal", "discrete", "ignored"}
    why : str
        The reason for the kind, in words.
    encoding : {"scores", "codes", "none"}
        How the column reaches the engines.
    n_missing, n_distinct : int
        Rows without a value, and distinct values among the others.
    levels : tuple of str
        Labels of the codes 0, 1, ... of a column encoded as codes, or of the positions 0, 1, ... that are
        the numbers of a long ordered category; empty for numbers.
    low, high : float or None
        Range of a column of numbers that is not encoded as codes.
    duplicate_of : str or None
        The column that stands for this one; a duplicate is not fitted, and the network joins the two.
    notes : tuple of str
        What else a reader should know: pooled levels, spellings kept as categories.
    dates : bool
        Whether the numbers are days since 1970.
    """

    name: str
    kind: Kind
    why: str
    encoding: Encoding = "none"
    n_missing: int = 0
    n_distinct: int = 0
    levels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    duplicate_of: str | None = None
    notes: tuple[str, ...] = ()
    dates: bool = False

    @property
    def active(self) -> bool:
        """Whether the column is a variable of the network's fit (not ignored, not a duplicate)."""
        return self.kind != "ignored" and self.duplicate_of is None

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, and whether the column is active."""
        lists = {"levels": list(self.levels), "notes": list(self.notes)}
        return asdict(self) | lists | {"active": self.active}

    @classmethod
    def from_dict(cls, data: Any) -> Column:
        """Return the column that `to_dict` wrote; raise where anything in it is not of its type."""
        facts = as_table(data, "a column")
        name = as_text(facts.get("name"), "the name of a column")
        of = f"column {quote(name)}"

        def known(key: str, read: Callable[[Any, str], T], default: T) -> T:
            return default if facts.get(key) is None else read(facts[key], f"{of}, {key}")

        return cls(
            name,
            _one_of(KINDS, facts.get("kind"), f"{of}, kind"),
            known("why", as_text, ""),
            _one_of(ENCODINGS, facts.get("encoding", "none"), f"{of}, encoding"),
            known("n_missing", as_count, 0),
            known("n_distinct", as_count, 0),
            known("levels", as_texts, ()),
            None if facts.get("low") is None else as_number(facts["low"], f"{of}, low"),
            None if facts.get("high") is None else as_number(facts["high"], f"{of}, high"),
            known("duplicate_of", as_text, "") or None,
            known("notes", as_texts, ()),
            known("dates", as_flag, False),
        )


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table in their order, with warnings that concern the table as a whole."""

    columns: tuple[Column, ...]
    n_rows: int
    warnings: tuple[str, ...] = ()
    _position: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        position = {column.name: i for i, column in enumerate(self.columns)}
        if len(position) != len(self.columns):
            raise InputError("column names must be unique within a schema")
        object.__setattr__(self, "_position", position)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        if name not in self._position:
            raise InputError(f"no column {quote(name)}; the columns are {quote_all(self.names)}")
        return self.columns[self._position[name]]

    def index(self, name: str) -> int:
        """Return the position of a column in the table as it was given."""
        self[name]
        return self._position[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, ignored ones included."""
        return tuple(column.name for column in self.columns)

    @property
    def active(self) -> tuple[Column, ...]:
        """The columns that take part in a fit."""
        return tuple(column for column in self.columns if column.active)

    @property
    def duplicates(self) -> dict[str, str]:
        """Each duplicated column's name with the name of the column that stands for it."""
        return {c.name: c.duplicate_of for c in self.columns if c.duplicate_of is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON."""
        return {
            "n_rows": self.n_rows,
            "warnings": list(self.warnings),
            "columns": [column.to_dict() for column in self.columns],
        }

    @classmethod
    def from_dict(cls, data: Any) -> Schema:
        """Return the schema that `to_dict` wrote; raise where anything in it is not of its type.

        >>> schema = Schema((Column("age", "continuous", "numbers", low=1.0, high=90.0),), 20)
        >>> Schema.from_dict(schema.to_dict()) == schema
        True
        """
        facts = as_table(data, "the schema")
        columns = as_list(facts.get("columns", []), "the columns of the schema")
        schema = cls(
            tuple(Column.from_dict(column) for column in columns),
            as_count(facts.get("n_rows"), "the rows of the schema"),
            as_texts(facts.get("warnings", []), "the warnings of the schema"),
        )
        for name, first in schema.duplicates.items():
            if first == name or first not in schema._position:
                raise InputError(f"column {quote(name)} is said to repeat {quote(first)}, which cannot be")
        return schema


def _one_of(words: tuple[W, ...], value: Any, what: str) -> W:
    for word in words:
        if word == value:
            return word
    raise InputError(f"{what}: one of {', '.join(words)} is expected, not {quote(value)}")


def check_kinds(kinds: Mapping[Any, str] | None, names: tuple[str, ...]) -> dict[str, Kind]:
    """Return the overruling kinds, or raise naming the column or kind that does not exist."""
    if kinds is not None and not isinstance(kinds, Mapping):
        raise InputError(f'kinds must be a dict such as {{"age": "ordinal"}}, not a {type(kinds).__name__}')
    known = set(names)
    missing = tuple(str(key) for key in kinds or () if str(key) not in known)
    if missing:
        raise UnknownColumnError(
            f"kinds names the column {quote(missing[0])}, but the columns are {quote_all(names)}", missing
        )
    checked: dict[str, Kind] = {}
    for key, kind in (kinds or {}).items():
        name = str(key)  # as the names of a frame are
        matching = [k for k in KINDS if k == kind]
        if not matching:
            raise InputError(f"kind {quote(kind)} of column {quote(name)} is not one of {', '.join(KINDS)}")
        checked[name] = matching[0]
    return checked
