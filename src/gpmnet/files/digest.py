"""A name for settings and data: the same if and only if all of them are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest(settings: Any, arrays: Iterable[NDArray[Any]]) -> str:
    """Return the name of settings and arrays.

    Parameters
    ----------
    settings : object
        Parts and other dataclasses, nested in lists or not; told by their types and all their fields.
    """
    key = hashlib.blake2b(json.dumps(_spelled(settings)).encode(), digest_size=16)
    for array in arrays:
        key.update(f"{array.dtype.str}{array.shape}".encode())
        key.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return key.hexdigest()


def metadata(whole: bytes) -> dict[str, Any]:
    """Return what is said beside the arrays of a file in the format of safetensors, which was read without an error."""
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
    said: dict[str, Any] = header.get("__metadata__", {})
    return said


def _spelled(value: Any) -> Any:
    """Return a value as what JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        inner = {field.name: _spelled(getattr(value, field.name)) for field in fields(value)}
        return {"type": f"{kind.__module__}.{kind.__qualname__}", **inner}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    if isinstance(value, Mapping):
        return [[_spelled(name), _spelled(item)] for name, item in value.items()]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
