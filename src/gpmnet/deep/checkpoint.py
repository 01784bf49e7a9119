"""Tensors on disk: whole files of safetensors, never pickle."""

from __future__ import annotations

import os
from pathlib import Path

from torch import Tensor

from gpmnet.errors import InputError, quote


def save_state(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors to a file that appears whole or not at all."""
    from safetensors.torch import save

    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(save({name: value.detach().cpu().contiguous() for name, value in tensors.items()}))
    os.replace(part, path)


def load_state(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return dict(load(path.read_bytes()))
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"the checkpoint {quote(path)} cannot be read: {error}; remove it to start again"
        ) from error
