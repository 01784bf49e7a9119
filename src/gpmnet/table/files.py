"""Opening files: whether there is one, of which format, and in which encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import stat
import zlib
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from gpmnet.errors import InputError, one_line, quote
from gpmnet.table.reading import Reading

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet", ".pq", ".xlsx")
_MOST_TIMES = 1032  # nothing that gzip has packed is more times as long
_UNREADABLE = (OSError, EOFError, zlib.error)
# Longer marks first: that of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def check_file(path: Path) -> str:
    """Return the suffix that tells the format, or raise if there is no such file or format."""
    compressed = path.suffix.lower() == ".gz"
    suffix = (path.with_suffix("") if compressed else path).suffix.lower()
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        hint = "" if suffix in SUFFIXES else f", and no table format is called {quote(path)}"
        raise InputError(f"no such file: {quote(path)}{hint}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise InputError(f"{quote(path)} cannot be opened: {reason}") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{quote(path)} is a folder; give a file")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"{quote(path)} is no ordinary file; a table is read more than once, so save it to one"
        )
    if suffix not in SUFFIXES and suffix != "":
        raise InputError(
            f"unknown format {quote(suffix)} of {quote(path)}; known are {' '.join(SUFFIXES)} "
            "(and .gz after the name of a text file)"
        )
    if compressed and suffix not in (*TEXT_SUFFIXES, ""):
        raise InputError(f"{quote(path)}: only text files are read compressed; unpack it first")
    if status.st_size == 0:
        raise InputError(f"{quote(path)} is empty")
    return suffix


def open_text(path: Path, encoding: str) -> TextIO:
    """Open a text file, compressed or not, line ends untouched."""
    return io.TextIOWrapper(_open(path), encoding=encoding, newline="")


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def find_encoding(path: Path, reading: Reading) -> tuple[str, list[str]]:
    """Return the encoding in which the whole file can be read, and remarks on it; raise if it unpacks to too much."""
    given = reading.encoding
    _check_size(path, reading)
    if given is not None:
        try:
            name = codecs.lookup(given).name
            encoding = "utf-8-sig" if name == "utf-8" else name  # a byte-order mark is no part of a name
            readable = _decodes(path, encoding)
        except LookupError as error:
            raise InputError(f"unknown encoding {quote(given)}") from error
        if not readable:
            raise InputError(f"{quote(path)} is not text in {given}")
        return encoding, []
    start = _start(path)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if start.startswith(mark):
            if not _decodes(path, encoding):
                raise InputError(f"{quote(path)} starts as {encoding} text does, but cannot be read as such")
            return encoding, []
    if _decodes(path, "utf-8"):
        return "utf-8", []
    if _decodes(path, "cp1252"):
        return "cp1252", ["the file is not UTF-8; it was read as Windows-1252"]
    raise InputError(f"{quote(path)} is not text in UTF-8 or Windows-1252; say its encoding")


def _check_size(path: Path, reading: Reading) -> None:
    """Raise if a text is too long, after unpacking no more of it than is allowed."""
    most = reading.most_bytes(path)
    if path.suffix.lower() != ".gz":
        reading.check_bytes(path, path.stat().st_size, "text")
        return
    if path.stat().st_size * _MOST_TIMES <= most:
        return
    size = 0
    try:
        with _open(path) as file:
            while size <= most and (chunk := file.read(1 << 20)):
                size += len(chunk)
    except _UNREADABLE as error:
        raise InputError(f"{quote(path)} cannot be read: {one_line(error)}") from error
    reading.check_bytes(path, size, "compressed text", exact=False)


def _start(path: Path) -> bytes:
    try:
        with _open(path) as file:
            return file.read(4)
    except _UNREADABLE as error:
        raise InputError(f"{quote(path)} cannot be read: {one_line(error)}") from error


def _decodes(path: Path, encoding: str) -> bool:
    try:
        with open_text(path, encoding) as file:
            while chunk := file.read(1 << 20):
                if "\0" in chunk:
                    raise InputError(f"{quote(path)} holds NUL bytes: it is not a text table")
    except UnicodeError:
        return False
    except _UNREADABLE as error:
        raise InputError(f"{quote(path)} cannot be read: {one_line(error)}") from error
    return True
