"""Reading files that somebody else may have put there."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gpmnet.memory import available_bytes


def read_plain(path: Path) -> bytes:
    """Return what an ordinary file holds.

    Raise `OSError` where it is a pipe or a device, which may have no end, and where it is larger than the memory that is
    free: a file with holes can be of any size on a small disk.
    """
    # Without waiting: a pipe that nobody writes to would never be opened.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
        if status.st_size > available_bytes("cpu"):
            size = f"it has {status.st_size / 1e9:.1f} GB, more than the memory that is free"
            raise OSError(errno.EFBIG, size, str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)
