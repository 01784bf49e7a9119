"""Tensors on disk, whole files of safetensors and never pickle; and the folder in which finished models are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gpmnet.errors import InputError, one_line, quote
from gpmnet.files import whole_file

_ENDED = "ended"  # how the solvers of a finished model ended, beside its parameters


@dataclass(frozen=True)
class Ended:
    """How a solver ended.

    Attributes
    ----------
    steps : int
        Steps it took.
    worst : int or None
        None if it converged; else the variable that is worst off, in the order of the coordinates.
    """

    steps: int
    worst: int | None


def save_state(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors to a file that appears whole or not at all."""
    from safetensors.torch import save

    content = save({name: value.detach().cpu().contiguous() for name, value in tensors.items()})
    with whole_file(path) as beside:
        beside.write_bytes(content)


def load_state(path: Path, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of a file, on the CPU.

    Parameters
    ----------
    like : mapping of str to Tensor
        What the file must hold, in these shapes and types; it may hold more.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        found: dict[str, Tensor] = dict(load(path.read_bytes()))
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"the checkpoint {quote(path)} cannot be read: {one_line(error)}; remove it to start again"
        ) from error
    for name, value in like.items():
        there = found.get(name)
        if there is None or there.shape != value.shape or there.dtype != value.dtype:
            raise InputError(
                f"the checkpoint {quote(path)} is of another model (its {quote(name)} does not fit); "
                "remove it to start again"
            )
    return found


def digest(settings: Any, arrays: Iterable[NDArray[Any]]) -> str:
    """Return a name for settings and data: the same if and only if all of them are.

    Parameters
    ----------
    settings : object
        Parts and other dataclasses, nested in lists or not; told by their types and all their fields.
    """
    key = hashlib.blake2b(json.dumps(_spelled(settings)).encode(), digest_size=12)
    for array in arrays:
        key.update(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return key.hexdigest()


def _spelled(value: Any) -> Any:
    """Return a value as what JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        inner = {field.name: _spelled(getattr(value, field.name)) for field in fields(value)}
        return {"type": f"{kind.__module__}.{kind.__qualname__}", **inner}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


@dataclass(frozen=True)
class Shelf:
    """Where finished models are kept; nowhere if the folder is None."""

    folder: Path | None = None

    @classmethod
    def at(cls, folder: Path) -> Shelf:
        """Return a shelf in a folder that is made if it is not there."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"checkpoints cannot be written to {quote(folder)}: {error.strerror}") from error
        return cls(folder)

    def path(self, name: str) -> Path | None:
        """Return the file of a model, None without a folder."""
        return None if self.folder is None else self.folder / f"{name}.safetensors"

    def kept(self, name: str, module: nn.Module, fit: Callable[[], Sequence[Ended]]) -> list[Ended]:
        """Fit a module, or take it from its file; return how the solvers ended."""
        path = self.path(name)
        if path is not None and path.exists():
            found = load_state(path, module.state_dict())
            ended = found.pop(_ENDED, torch.zeros((0, 2)))
            module.load_state_dict(found)
            return [Ended(steps, None if worst < 0 else worst) for steps, worst in ended.long().tolist()]
        solved = list(fit())
        if path is not None:
            rows = [[x.steps, -1 if x.worst is None else x.worst] for x in solved]
            save_state(path, module.state_dict() | {_ENDED: torch.tensor(rows).reshape(-1, 2)})
        return solved
