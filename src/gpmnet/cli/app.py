"""The program `gpmnet`. Commands import what they need when they run, so that `--help` is instant."""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from gpmnet import __version__
from gpmnet.cli.bench import bench_app
from gpmnet.cli.causal import causal
from gpmnet.cli.compare import compare
from gpmnet.cli.fit import demo, fit
from gpmnet.cli.options import AsJson, Reading, TablePath, reads_table
from gpmnet.cli.report import report
from gpmnet.cli.simulate import simulate
from gpmnet.errors import ComputationError, InputError, MissingExtraError, one_line, quote

_REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}
"""What the system says of a full, read-only or forbidden disk: nothing that a traceback would explain."""

app = typer.Typer(
    name="gpmnet",
    help="Learn who depends on whom, given everything else, from any table.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command()(fit)
app.command()(report)
app.command()(causal)
app.command()(compare)
app.command()(demo)
app.command()(simulate)
app.add_typer(bench_app)


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
    try:
        Path.cwd()
    except FileNotFoundError:  # libraries behind torch end the process there, with a word of their own files
        raise InputError("the folder in which it was started is gone; enter another one") from None


@app.command()
@reads_table
def describe(
    table: TablePath,
    reading: Reading,
    as_json: AsJson = False,
    every: Annotated[bool, typer.Option("--all", help="Print all columns, however many.")] = False,
) -> None:
    """Say what each column of a table is taken for, and why."""
    from gpmnet.cli.show import show_schema
    from gpmnet.table import describe as describe_table

    schema = describe_table(table, **reading.arguments())
    if as_json:
        typer.echo(json.dumps(schema.to_dict(), indent=1))
    else:
        show_schema(schema, title=str(table), most=None if every else 200)


def run() -> None:
    """Run the program; a user's mistake or a refusal of the system is one line on stderr."""
    # Read when torch brings OpenMP, which no command has done yet: threads that wait shall not keep a core busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # names from the data may not exist in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note
            app()
    except (InputError, MissingExtraError) as error:
        _end(str(error), 2)
    except MemoryError as error:
        _end(one_line(error) or "not enough memory", 1)
    except ComputationError as error:
        _end(one_line(error), 1)
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        where = f"{quote(error.filename)}: " if error.filename else ""
        _end(f"{where}{error.strerror}", 2)


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line, without the place in the source that it comes from."""
    typer.echo(f"gpmnet: note: {one_line(message)}", err=True)


def _end(said: str, code: int) -> None:
    typer.echo(f"gpmnet: {said}", err=True)
    sys.exit(code)
