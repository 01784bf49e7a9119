"""What a part is: a frozen dataclass of settings that can be named by a word, looked into, and changed by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Self, TypeVar, cast

import numpy as np

from gpmnet.errors import InputError, quote, with_article

P = TypeVar("P")


class Part:
    """Base of frozen dataclasses that hold the numbers of a part: a penalty, an energy, the options of an engine.

    scikit-learn reads their parameters by `get_params`; nested names have two underscores, as in ``penalty__a``.
    """

    def __post_init__(self) -> None:
        """Store NumPy scalars as plain numbers, so that a part can be compared, written down and read back."""
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, with `deep` those of nested parts too.

        >>> from gpmnet.penalties import SCAD
        >>> SCAD(a=4.0).get_params()
        {'lam': 1.0, 'a': 4.0}
        """
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, Part):
                    found |= {f"{name}__{inner}": x for inner, x in value.get_params().items()}
        return found

    def with_params(self, **changes: Any) -> Self:
        """Return a copy with some parameters changed; a nested one is named ``part__parameter``.

        >>> from gpmnet.objectives import Mixed, Sliced
        >>> Mixed(continuous=Sliced()).with_params(continuous__n_slices=2).continuous
        Sliced(variance_reduced=True, n_slices=2)
        """
        known = self.get_params(deep=False)
        nested: dict[str, dict[str, Any]] = {}
        for name in list(changes):
            own, inside, rest = name.partition("__")
            if own not in known:
                raise InputError(
                    f"{type(self).__name__} has no parameter {quote(own)}; it has {', '.join(known) or 'none'}"
                )
            if inside:
                nested.setdefault(own, {})[rest] = changes.pop(name)
        for own, inner in nested.items():
            part = changes.get(own, known[own])
            if not isinstance(part, Part):
                raise InputError(
                    f"{type(self).__name__}: {own} is {quote(part)} and has no parameters of its own"
                )
            changes[own] = part.with_params(**inner)
        return replace(self, **changes)  # type: ignore[type-var]


def resolve(name: str, given: Any, known: Mapping[str, P], kind: type) -> P:
    """Return a part that was given by a word, with its default numbers, or as an object.

    Parameters
    ----------
    name : str
        What the parameter is called, for the message.
    known : mapping
        The parts by their words.
    kind : type
        What an object must be.
    """
    if isinstance(given, kind):
        return cast(P, given)
    if isinstance(given, str) and given in known:
        return known[given]
    raise InputError(
        f"{name}={quote(given)} is not one of {', '.join(known)}, nor {with_article(kind.__name__)}"
    )
