"""Tensors on disk: whole files of safetensors, never pickle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from gpmnet.errors import InputError, one_line, quote
from gpmnet.files import whole_file


def save_state(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors to a file that appears whole or not at all."""
    from safetensors.torch import save

    content = save({name: value.detach().cpu().contiguous() for name, value in tensors.items()})
    try:
        with whole_file(path) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise InputError(f"the checkpoint {quote(path)} cannot be written: {error.strerror}") from error


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
        found = dict(load(path.read_bytes()))
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
