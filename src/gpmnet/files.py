"""Folders of results that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpmnet.errors import InputError, quote


@contextmanager
def whole_folder(out: Path, files: tuple[str, ...]) -> Iterator[Path]:
    """Yield a folder to write into; at the end its files move to `out`.

    A new folder appears in one move. In a folder that is there already, each of `files` is replaced in one move,
    those that were not written this time are removed, and other files stay. If the body raises, nothing changes.
    """
    out = Path(out).resolve()
    if out.exists() and not out.is_dir():
        raise InputError(f"{quote(out)} is a file; a folder is needed")
    there = out.is_dir()
    # Inside a folder that is there: it may be a mount, into which nothing can be moved from beside it.
    beside = (out if there else out.parent) / f".{out.name}.{os.getpid()}.part"
    try:
        beside.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{quote(out)} cannot be written: {error.strerror}") from error
    try:
        yield beside
        if there:
            for name in files:
                if (beside / name).exists():
                    os.replace(beside / name, out / name)
                else:
                    (out / name).unlink(missing_ok=True)
        else:
            os.replace(beside, out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """Yield a path to write to; at the end that file takes the place of `out`. If the body raises, nothing changes."""
    out = Path(out).resolve()
    if out.is_dir():
        raise InputError(f"{quote(out)} is a folder; a file is needed")
    beside = out.parent / f".{out.name[:100]}.{os.getpid()}.part"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        beside.touch()
    except OSError as error:
        raise InputError(f"{quote(out)} cannot be written: {error.strerror}") from error
    try:
        yield beside
        os.replace(beside, out)
    finally:
        beside.unlink(missing_ok=True)
