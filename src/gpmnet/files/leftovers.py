"""Where a result is written before it is moved, and what stopped processes have left of such places.

The name of a place says whose it is: `.NAME.HOST-PROCESS-RANDOM.part`. The random part keeps a leftover from ever being in
the way; the rest tells which ones nobody is writing to any more.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

_OLD_SECONDS = 86_400.0  # writing takes seconds: whatever the process, nobody writes for a day
_NAME = re.compile(
    r"\.(?P<stem>.*)\.(?:(?P<host>[0-9a-f]{8})-(?P<process>[0-9]+)-[0-9a-f]{8}|[0-9]+)\.part", re.DOTALL
)
_LONGEST_STEM = 60  # of bytes: a name may have 255
_LONGEST_NAME = 250
_in_use: set[Path] = set()
_cleared: set[Path] = set()


def new_place(folder: Path, name: str) -> Path:
    """Return a path in a folder for a result of some name that is not finished; `forget` it in the end."""
    path = folder / f".{_stem(name)}.{_host()}-{os.getpid()}-{secrets.token_hex(4)}.part"
    _in_use.add(path)
    return path


def forget(path: Path) -> None:
    """Note that a place is in use no more."""
    _in_use.discard(path)


def is_place(name: str) -> bool:
    """Whether a file or folder has the name of such a place.

    >>> is_place(".out.0123abcd-77-89abcdef.part"), is_place("out.part")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def clear_folders(folder: Path, name: str, ours: tuple[str, ...]) -> None:
    """Remove what stopped processes have left of folders of some name; what cannot be removed stays, in nobody's way.

    Only the files of names `ours` go, other places in it, and links to files that are in the result too: a folder that
    was exchanged for the result may hold what somebody else has put there.
    """
    for path in _listed(folder):
        found = _NAME.fullmatch(path.name)
        if found and found["stem"] == _stem(name) and path.is_dir() and _is_stale(path, found):
            discard(path, folder / name, ours)


def clear_files(folder: Path) -> None:
    """Remove the files that stopped processes have left in a folder, once a process."""
    if folder in _cleared:
        return
    _cleared.add(folder)
    for path in _listed(folder):
        found = _NAME.fullmatch(path.name)
        # Of a shorter name, as older versions gave, nobody knows whether it is ours.
        if found and found["host"] and path.is_file() and not path.is_symlink() and _is_stale(path, found):
            _unlink(path)


def _listed(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder)]
    except OSError:  # not to be listed: nothing is to be cleared
        return []


def discard(path: Path, result: Path, ours: tuple[str, ...]) -> None:
    """Remove what is ours of the folder of a result that is not finished, and the folder if that was all."""
    if not path.is_dir():
        return
    for inside in list(path.iterdir()):
        if inside.name in ours or is_place(inside.name) or _is_link_to(inside, result / inside.name):
            shutil.rmtree(inside, ignore_errors=True) if inside.is_dir() else _unlink(inside)
    with suppress(OSError):  # it holds what is not ours
        path.rmdir()


def beside_name(name: str, ending: str) -> str:
    """Return the name of a file that stands beside a folder and is that folder's alone, however long its name is.

    >>> beside_name("out", ".resume")
    'out.resume'
    >>> len(beside_name("x" * 255, ".resume")), beside_name("x" * 255, "") == beside_name("x" * 254, "")
    (76, False)
    """
    spelled = os.fsencode(name)
    if len(spelled) + len(ending) <= _LONGEST_NAME:
        return name + ending
    return f"{_stem(name)}-{hashlib.blake2b(spelled, digest_size=4).hexdigest()}{ending}"


def _stem(name: str) -> str:
    # In the encoding of the file system, where half a character is no name.
    return os.fsencode(name)[:_LONGEST_STEM].decode(sys.getfilesystemencoding(), "ignore")


def _host() -> str:
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _is_stale(path: Path, said: re.Match[str]) -> bool:
    """Whether nobody writes to a place any more, by what its name said."""
    if path in _in_use:
        return False
    try:
        old = time.time() - path.lstat().st_mtime > _OLD_SECONDS
    except OSError:  # gone meanwhile
        return False
    if said["host"] != _host():  # of another machine, or of a version that did not say
        return old
    process = int(said["process"])
    return old or process == os.getpid() or not _runs(process)


def _runs(process: int) -> bool:
    import psutil

    return bool(psutil.pid_exists(process))


def _is_link_to(path: Path, other: Path) -> bool:
    try:
        if path.is_symlink():
            return other.is_symlink() and os.readlink(path) == os.readlink(other)
        return os.path.samefile(path, other)
    except OSError:
        return False


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
