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
    """Yield a folder beside `out` to write into; at the end its files move to `out`.

    A new folder appears in one move. In a folder that is there already, each of `files` is replaced in one move,
    those that were not written this time are removed, and other files stay. If the body raises, nothing changes.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{quote(out)} is a file; a folder is needed")
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f".{out.name}.{os.getpid()}.part")
    beside.mkdir()
    try:
        yield beside
        if out.is_dir() and any(out.iterdir()):
            for name in files:
                if (beside / name).exists():
                    os.replace(beside / name, out / name)
                else:
                    (out / name).unlink(missing_ok=True)
        else:
            os.replace(beside, out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
