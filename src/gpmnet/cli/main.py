"""The program `gpmnet`. Commands import what they need when they run, so that `--help` is instant."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gpmnet import __version__
from gpmnet.errors import InputError, MissingExtraError, quote

app = typer.Typer(
    name="gpmnet",
    help="Learn who depends on whom, given everything else, from any table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gpmnet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def describe(
    table: TablePath,
    kinds: Kinds = None,
    na: Na = "",
    transpose: Transpose = False,
    separator: Separator = None,
    encoding: TextEncoding = None,
    header: Header = None,
    as_json: AsJson = False,
    every: Annotated[bool, typer.Option("--all", help="Print all columns, however many.")] = False,
) -> None:
    """Say what each column of a table is taken for, and why."""
    from gpmnet.cli.show import show_schema
    from gpmnet.table import describe as describe_table

    options = reading_options(transpose, separator, encoding, header)
    schema = describe_table(table, kinds=parse_kinds(kinds), na=parse_list(na), **options)
    if as_json:
        typer.echo(json.dumps(schema.to_dict(), ensure_ascii=False, indent=1))
    else:
        show_schema(schema, title=str(table), most=None if every else 200)


@app.command()
def demo() -> None:
    """Describe a real mixed table that comes with scikit-learn; nothing is downloaded."""
    from gpmnet.cli.demo import demo_table
    from gpmnet.cli.show import show_schema
    from gpmnet.table import describe as describe_table

    name, frame = demo_table()
    show_schema(describe_table(frame), title=name, most=None)


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


def reading_options(
    transpose: bool, separator: str | None, encoding: str | None, header: bool | None
) -> dict[str, Any]:
    """Return the options of reading a file that were given."""
    separator = {"\\t": "\t", "tab": "\t", "space": r"\s+"}.get(separator, separator) if separator else None
    if separator is not None and len(separator) != 1 and separator != r"\s+":
        raise InputError(f"--separator must be one character, tab or space; got {quote(separator)}")
    return {"transpose": transpose, "separator": separator, "encoding": encoding, "header": header}


def main() -> None:
    """Run the program; a user's mistake is one line on stderr and exit code 2."""
    try:
        app()
    except (InputError, MissingExtraError) as error:
        typer.echo(f"gpmnet: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("gpmnet: stopped", err=True)
        sys.exit(1)
