"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from gpmnet.errors import InputError, quote

TablePath = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A .csv, .tsv, .txt (also .gz), .parquet or .xlsx file.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL=KIND,...",
        help="Overrule kinds: continuous, ordinal, discrete or ignored. For names with a comma give JSON: "
        '\'{"a,b": "discrete"}\'.',
    ),
]
Na = Annotated[str, typer.Option(metavar="A,B", help="Spellings that mean missing in every column.")]
Transpose = Annotated[
    bool, typer.Option("--transpose", help="Variables are in rows, their names in the first column.")
]
Separator = Annotated[str | None, typer.Option(help="Field separator; found by itself unless given.")]
TextEncoding = Annotated[
    str | None, typer.Option("--encoding", help="Text encoding; found by itself unless given.")
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
]
Sheet = Annotated[
    str | None, typer.Option(help="Sheet of an .xlsx file by its name; the first unless given.")
]
MaxGb = Annotated[
    float | None,
    typer.Option(
        help="Refuse a file that unpacks to more gigabytes. [default: 4, and a hundred times the file]"
    ),
]
MaxColumns = Annotated[int, typer.Option(help="Refuse a file with more columns.")]
RawCsv = Annotated[
    bool,
    typer.Option(
        "--raw-csv",
        help="Names in CSV results as they are; else those that a spreadsheet would run as a formula get an apostrophe.",
    ),
]
OpenReport = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
Title = Annotated[
    str, typer.Option(metavar="TEXT", help="Heading of the report; the name of the table unless given.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors, and show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@dataclass(frozen=True)
class Reading:
    """How a table is read: the options that every command with a TABLE has."""

    kinds: Kinds = None
    na: Na = ""
    transpose: Transpose = False
    separator: Separator = None
    encoding: TextEncoding = None
    header: Header = None
    sheet: Sheet = None
    max_gb: MaxGb = None
    max_columns: MaxColumns = 200_000

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `gpmnet.table.load_table` and `describe`."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return given | {"kinds": parse_kinds(self.kinds), "na": parse_list(self.na)}


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Reading`; it receives them as the argument `reading`."""
    hints, shared = (get_type_hints(thing, include_extras=True) for thing in (command, Reading))
    own = [
        parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(command).parameters.items()
        if name != "reading"
    ]
    names = [field.name for field in fields(Reading)]
    added = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=shared[field.name])
        for field in fields(Reading)
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        reading = Reading(**{name: given.pop(name) for name in names})
        command(**given, reading=reading)

    run.__signature__ = Signature([*own, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
    return run


def parse_list(text: str) -> list[str]:
    """Split at commas.

    >>> parse_list("NA, -")
    ['NA', '-']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_kinds(given: list[str] | None) -> dict[str, str]:
    """Return kinds by column from `a=discrete,b=ordinal` or from a JSON object.

    >>> parse_kinds(["a=discrete,b=ordinal"])
    {'a': 'discrete', 'b': 'ordinal'}
    """
    kinds: dict[str, str] = {}
    for text in given or []:
        if text.lstrip().startswith("{"):
            try:
                kinds |= {str(name): str(kind) for name, kind in json.loads(text).items()}
            except json.JSONDecodeError as error:
                raise InputError(f"--kinds is not valid JSON: {error}") from error
            continue
        for part in parse_list(text):
            name, equals, kind = part.rpartition("=")
            if not equals:
                raise InputError(f"--kinds expects COL=KIND, got {quote(part)}")
            kinds[name.strip()] = kind.strip()
    return kinds
