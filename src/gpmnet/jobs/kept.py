"""Finished tasks on the disk: a file of arrays each (safetensors), in a folder named by what they were computed from."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, one_line, quote
from gpmnet.files import whole_file
from gpmnet.files.digest import digest, metadata

Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Kept:
    """Where the results of tasks 0, 1, ... are; nowhere if the folder is None.

    Attributes
    ----------
    folder : Path or None
        Named by a digest of data and settings, so that nothing of another run is taken for a result of this one.
    """

    folder: Path | None = None

    def path(self, number: int) -> Path | None:
        """Return the file of a task, None without a folder."""
        return None if self.folder is None else self.folder / f"{number:06d}.safetensors"

    def load(self, number: int) -> Arrays | None:
        """Return the result of a task, None if there is none yet."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        path = self.path(number)
        if path is None:
            return None
        try:
            whole = path.read_bytes()
            found: Arrays = load(whole)
            if metadata(whole).get("digest") != _digest(found):
                raise ValueError("its digest differs")
            return found
        except FileNotFoundError:
            return None
        except (OSError, ValueError, SafetensorError) as error:
            raise InputError(
                f"{quote(path, 200)} cannot be read: {one_line(error)}; remove it to compute it again"
            ) from error

    def save(self, number: int, result: Arrays) -> None:
        """Write the result of a task, whole or not at all."""
        from safetensors.numpy import save

        path = self.path(number)
        if path is not None:
            arrays = {name: np.ascontiguousarray(part) for name, part in result.items()}
            with whole_file(path) as beside:
                beside.write_bytes(save(arrays, metadata={"digest": _digest(arrays)}))


def _digest(arrays: Arrays) -> str:
    names = sorted(arrays)
    return digest(names, [arrays[name] for name in names])


def forget(keep: Path) -> None:
    """Remove all results that are kept in a folder, and what is empty then; whatever else is there stays."""
    for path in keep.glob("*/[0-9]*.safetensors"):
        path.unlink(missing_ok=True)
    for folder in (*keep.glob("*/"), keep):
        with contextlib.suppress(OSError):  # something else is in it, or it was never made
            folder.rmdir()
