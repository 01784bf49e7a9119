"""What makes a record really unchangeable: read-only arrays and mappings, also in a copy of the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

K = TypeVar("K")
V_co = TypeVar("V_co", covariant=True)


class Frozen:
    """Base of frozen dataclasses whose copies are made by the constructor.

    NumPy forgets that an array is read-only when it is pickled or copied. Building the record anew locks its
    arrays again, and leaves behind whatever was computed from it.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self) if field.init)


class FrozenMap(Mapping[K, V_co]):
    """A mapping that cannot be changed, but can be copied and pickled; equal to a dict with the same items.

    >>> seconds = FrozenMap({"load": 0.5})
    >>> seconds["load"], seconds == {"load": 0.5}
    (0.5, True)
    """

    __slots__ = ("_items",)
    _items: dict[K, V_co]

    def __init__(self, items: Mapping[K, V_co] | None = None) -> None:
        object.__setattr__(self, "_items", dict(items or {}))

    def __getitem__(self, key: K) -> V_co:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a frozen mapping cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._items,)

    def __repr__(self) -> str:
        return repr(self._items)


def locked(values: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return a copy of an array that cannot be written.

    It is a view of a locked array, since the owner of its memory could simply be unlocked again.

    >>> locked([1.0, 2.0]).flags.writeable
    False
    """
    owner = np.array(values, dtype=dtype)
    owner.flags.writeable = False
    return owner.view()
