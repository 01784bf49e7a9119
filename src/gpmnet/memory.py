"""Refuse a job that does not fit, instead of being killed in the middle of it."""

from __future__ import annotations

from gpmnet.errors import InputError


def available_bytes(device: str) -> int:
    """Return the memory that is free on a device."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    import psutil

    return int(psutil.virtual_memory().available)


def check_memory(needed: int, device: str, advice: str) -> None:
    """Raise if a job needs more memory than is free; `advice` says what would fit."""
    free = available_bytes(device)
    if needed > free:
        raise InputError(
            f"this needs about {needed / 1e9:.1f} GB of memory on {device} and {free / 1e9:.1f} GB are free; {advice}"
        )
