"""One run at a time writes to a folder, and knows before it begins that it can."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpmnet.errors import InputError, quote
from gpmnet.files.leftovers import beside_name, forget, new_place
from gpmnet.files.whole import cannot_write, check_folder


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Keep other runs away from a folder while the body runs; raise if it cannot be written, or another run has it.

    The claim is a locked file beside the folder (in it, where the folder above cannot be written), which the system
    unlocks whenever the process ends: a killed run keeps nobody out. Where files cannot be locked, there is no claim.
    """
    out = Path(out).resolve()
    missing = check_writable(out)
    try:
        path, descriptor = _locked_file(out)
    except OSError as error:
        raise cannot_write(out, error) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)
        _remove_empty(missing)


def check_writable(out: Path) -> list[Path]:
    """Raise if no results can be written to a folder; return the folders above it that it had to make, innermost first."""
    out = Path(out).resolve()
    check_folder(out)
    missing = [folder for folder in out.parents if not os.path.exists(folder)]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if os.path.isdir(out):
            _try_to_write(out)
        else:
            out.mkdir()
            out.rmdir()
    except FileExistsError:  # another run made it in this moment, so it can be made
        pass
    except OSError as error:
        raise cannot_write(out, error) from error
    return missing


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, innermost first, as far as they are empty: nothing came of the run that made them."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _try_to_write(folder: Path) -> None:
    probe = new_place(folder, "probe")
    try:
        probe.touch()
        probe.unlink()
    finally:
        forget(probe)


def _locked_file(out: Path) -> tuple[Path, int]:
    """Return a file that this process alone has locked, and its descriptor."""
    while True:
        path, descriptor = _opened(out)
        try:
            _lock(descriptor, out)
            # The run that had it before may have removed it between our opening and our locking it.
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                return path, descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _opened(out: Path) -> tuple[Path, int]:
    name = f".{beside_name(out.name, '.lock')}"
    try:
        return out.parent / name, os.open(out.parent / name, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        if not out.is_dir():
            raise
        return out / name, os.open(out / name, os.O_RDWR | os.O_CREAT, 0o600)


def _lock(descriptor: int, out: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"another run is writing to {quote(out, 200)}; wait for it to end, or give another folder"
        ) from None
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):  # a file system without locks
            raise
