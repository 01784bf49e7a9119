"""Files and folders that appear whole or not at all.

A folder that is there already is exchanged for the new one in one move, other files in it linked into both before. Where
that cannot be (see `_exchanged`), the new files are made ready in the folder, in one move, and then take their places;
if that is stopped, `settled`, which everything that reads or writes such a folder calls first, does the rest.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpmnet.errors import InputError, one_line, quote
from gpmnet.files.leftovers import clear_files, clear_folders, discard, forget, is_place, new_place
from gpmnet.files.plain import read_plain
from gpmnet.json_data import as_table, as_texts

READY = ".gpmnet-ready"
_MOVES = "moves.json"
_AT_WORKING_FOLDER, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of renameat2


@contextmanager
def whole_folder(out: Path, files: tuple[str, ...]) -> Iterator[Path]:
    """Yield a folder to write into; at the end its files take the place of those of `out`, all at once.

    Those of `files` that were not written this time are removed from a folder that is there already, other files stay.
    If the body raises, nothing changes; an `OSError` becomes an `InputError` of one line.
    """
    out = Path(out).resolve()
    check_folder(out)
    try:
        settled(out)
        there = out.is_dir()
        # Into a mount nothing can be moved from beside it, and beside it may be nothing of ours to write to.
        inside = there and (os.path.ismount(out) or not os.access(out.parent, os.W_OK | os.X_OK))
        place = out if inside else out.parent
        place.mkdir(parents=True, exist_ok=True)
        clear_folders(place, out.name, (*files, _MOVES))
        beside = new_place(place, out.name)
        beside.mkdir()
    except OSError as error:
        raise cannot_write(out, error) from error
    try:
        yield beside
        _flush(beside)
        _put(beside, out, files, there)
    except OSError as error:
        raise cannot_write(out, error) from error
    finally:
        # After an exchange this is the folder of before, which may hold what somebody has put there meanwhile.
        discard(beside, out, (*files, _MOVES))
        forget(beside)


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """Yield a path to write to; at the end that file takes the place of `out`. If the body raises, nothing changes."""
    out = Path(out).resolve()
    if out.is_dir():
        raise InputError(f"{quote(out, 200)} is a folder; a file is needed")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        clear_files(out.parent)
        beside = new_place(out.parent, out.name)
        beside.touch()
    except OSError as error:
        raise cannot_write(out, error) from error
    try:
        yield beside
        _flush_file(beside)
        os.replace(beside, out)
    except OSError as error:
        raise cannot_write(out, error) from error
    finally:
        beside.unlink(missing_ok=True)
        forget(beside)


def check_folder(out: Path) -> None:
    """Raise if results cannot go to a path because it is a file."""
    if os.path.exists(out) and not os.path.isdir(out):
        raise InputError(f"{quote(out, 200)} is a file; a folder is needed")


def cannot_write(out: Path, error: OSError) -> InputError:
    """Return what is said where the system refuses: a full disk, a read-only folder, a limit."""
    return InputError(f"{quote(out, 200)} cannot be written: {error.strerror or one_line(error)}")


def settled(out: Path) -> None:
    """Finish the replacement of a folder's files that was stopped after they were ready, if there is one.

    The folder may come from somebody else: what is ready is a folder and no link to one, its names stay in it, and a file
    is removed only if it is the very one that was there when the list was made, which nobody can list from afar.
    """
    ready = out / READY
    if not ready.is_dir():
        return
    # It is made with this list in it: where that is gone, all was done but removing the folder.
    listed: Any = {}
    try:
        if ready.is_symlink():
            raise InputError("it is a link")
        if os.path.lexists(ready / _MOVES):
            listed = json.loads(read_plain(ready / _MOVES))
        moves = as_table(listed, _MOVES)
        new = [_plain(name) for name in as_texts(moves.get("new", []), "new")]
        gone = [(_plain(name), mark) for name, mark in as_table(moves.get("gone", {}), "gone").items()]
    except (InputError, ValueError, RecursionError) as error:
        raise InputError(
            f"{quote(ready, 200)} is not what a stopped run leaves ({one_line(error)}); remove it"
        ) from error
    for name in new:
        if os.path.lexists(ready / name):  # else it has its place already
            os.replace(ready / name, out / name)
    for name, mark in gone:
        if os.path.lexists(out / name) and _mark(out / name) == mark:
            (out / name).unlink()
    shutil.rmtree(ready)


def _plain(name: str) -> str:
    """Return a name that stays in its folder."""
    if name != os.path.basename(name) or name in ("", ".", "..", _MOVES) or "\0" in name:
        raise InputError(f"{quote(name)} is no file of its folder")
    return name


def _mark(path: Path) -> list[int]:
    """Return what tells a file from any other that may take its place."""
    status = path.lstat()
    return [status.st_ino, status.st_size, status.st_mtime_ns]


def _put(beside: Path, out: Path, files: tuple[str, ...], there: bool) -> None:
    """Let what is in one folder take the place of the files of another."""
    if not there:
        try:
            os.rename(beside, out)
        except OSError as error:
            if not out.exists():
                raise
            raise InputError(
                f"another run has written to {quote(out, 200)} since this one began; its results stay, give another folder"
            ) from error
    elif not _exchanged(beside, out, files):
        _one_after_the_other(beside, out, files)


def _exchanged(beside: Path, out: Path, files: tuple[str, ...]) -> bool:
    """Exchange two folders in one move, with what else is in `out` in both; False, and nothing changed, if that cannot be.

    It cannot where the system has no such move, where the folder is a mount or somebody else's, where this process works
    in it (it, and the shell it came from, would find themselves in the one that is removed), and where it holds folders.
    """
    here, there = beside.stat(), out.stat()
    if beside.parent == out or (here.st_uid, here.st_gid, here.st_dev) != (
        there.st_uid,
        there.st_gid,
        there.st_dev,
    ):
        return False
    try:
        if Path.cwd().is_relative_to(out):
            return False
        others = [entry for entry in os.scandir(out) if entry.name not in files and not is_place(entry.name)]
        if any(entry.is_dir(follow_symlinks=False) for entry in others):
            return False
        for entry in others:
            os.link(entry.path, beside / entry.name, follow_symlinks=False)
    except OSError:
        return False
    shutil.copymode(out, beside)
    if not _exchange(beside, out):
        return False
    for entry in os.scandir(beside):  # the folder of before: what came into it since it was listed
        if entry.name not in files and not is_place(entry.name) and not os.path.lexists(out / entry.name):
            os.rename(entry.path, out / entry.name)
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one move; False if this system or file system cannot."""
    rename = (
        getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    )
    if rename is None:
        return False
    done = rename(_AT_WORKING_FOLDER, os.fsencode(one), _AT_WORKING_FOLDER, os.fsencode(other), _EXCHANGE)
    return int(done) == 0


def _one_after_the_other(beside: Path, out: Path, files: tuple[str, ...]) -> None:
    new = [name for name in files if (beside / name).exists()]
    gone = {name: _mark(out / name) for name in files if name not in new and os.path.lexists(out / name)}
    (beside / _MOVES).write_text(json.dumps({"new": new, "gone": gone}), encoding="utf-8")
    _flush(beside)
    os.rename(beside, out / READY)
    settled(out)


def _flush(folder: Path) -> None:
    """Have the files of a folder on the disk before the folder is moved: a move may get there first."""
    for path in folder.iterdir():
        if path.is_file():
            _flush_file(path)


def _flush_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
