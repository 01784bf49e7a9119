"""`Facts`: what is known of the run a network comes from, and the only place where that becomes JSON.

Settings are kept as plain values, so that what is saved is what is read back:

* None, truth values, numbers and texts as they are, NumPy's as Python's; a number that is not finite, which JSON
  cannot hold, as its text;
* lists, tuples, sets and arrays as tuples, the items of sets in order;
* a part such as ``SCAD(a=4.0)`` as the mapping of its parameters with its class,
  ``{"class": "SCAD", "lam": 1.0, "a": 4.0}`` (no parameter can be called "class");
* a path as its text, and any other object as its repr.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpmnet.errors import InputError, one_line
from gpmnet.frozen import FrozenMap
from gpmnet.json_data import as_number, as_table, as_text, as_texts
from gpmnet.parts import Part

if TYPE_CHECKING:
    from gpmnet.table import Schema

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | Mapping[str, Value] | None"
_DEEPEST = 30
"""Settings inside settings beyond this are a mistake or an attack."""


@dataclass(frozen=True)
class Origin:
    """What only the program knows of a run.

    Attributes
    ----------
    source : str
        The table: a path, or a name.
    command : tuple of str
        The words of the command line, without the program's name; empty where there was none.
    started : str
        Date and time with its zone.
    title : str
        Heading of the report; empty for the name of the table.
    """

    source: str = ""
    command: tuple[str, ...] = ()
    started: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", tuple(self.command))


@dataclass(frozen=True)
class Facts:
    """What is known of the run behind a network; nothing of it is needed to use the network.

    Attributes
    ----------
    schema : Schema or None
        What each column of the table was taken for.
    settings : mapping
        Parameters of the fit as plain values, see `gpmnet.network.facts`.
    seed : int or None
    versions : mapping
        Version of each package, as text.
    python : str
    seconds : mapping
        Seconds of each phase.
    warnings : tuple of str
        What a reader should know, beside the warnings of the schema.
    origin : Origin or None
        What only the program knows.

    Examples
    --------
    >>> facts = Facts(settings={"fdr": 0.05, "forbid": [["a", "b"]]}, seed=np.int64(3))
    >>> facts.settings["forbid"], facts.to_dict()
    ((('a', 'b'),), {'settings': {'fdr': 0.05, 'forbid': [['a', 'b']]}, 'seed': 3})
    """

    schema: Schema | None = None
    settings: Mapping[str, Value] = field(default_factory=dict)
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    python: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    origin: Origin | None = None

    def __post_init__(self) -> None:
        settings = {str(name): plain_value(value) for name, value in self.settings.items()}
        object.__setattr__(self, "settings", FrozenMap(settings))
        object.__setattr__(self, "seed", None if self.seed is None else int(self.seed))
        object.__setattr__(self, "versions", FrozenMap({k: str(v) for k, v in self.versions.items()}))
        object.__setattr__(self, "seconds", FrozenMap({k: float(v) for k, v in self.seconds.items()}))
        object.__setattr__(self, "warnings", tuple(self.warnings))

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and texts, ready for JSON; what is not known is left out."""
        known: dict[str, Any] = {
            "settings": json_value(self.settings) or None,
            "seed": self.seed,
            "schema": None if self.schema is None else self.schema.to_dict(),
            "versions": dict(self.versions) or None,
            "python": self.python or None,
            "seconds": dict(self.seconds) or None,
            "warnings": list(self.warnings) or None,
        }
        found = {name: value for name, value in known.items() if value is not None}
        if self.origin is not None:
            found["source"] = self.origin.source
            found["command"] = list(self.origin.command)
            found["started"] = self.origin.started
            found |= {"title": self.origin.title} if self.origin.title else {}
        return found

    @classmethod
    def from_dict(cls, data: Any) -> Facts:
        """Return the facts that `to_dict` wrote; raise where anything in them is not of its type.

        >>> facts = Facts(seed=3, warnings=("two columns have one name",))
        >>> Facts.from_dict(facts.to_dict()) == facts
        True
        """
        from gpmnet.table import Schema  # costs pandas, which a network without a schema does not need

        whole = as_table(data, "what is said of the run")
        said = {name: value for name, value in whole.items() if value is not None}
        schema, seed = said.get("schema"), said.get("seed")
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
            raise InputError("the seed of the run is not a whole number")
        versions, seconds = (as_table(said.get(name, {}), name) for name in ("versions", "seconds"))
        has_origin = any(name in said for name in ("source", "command", "started"))
        origin = Origin(
            as_text(said.get("source", ""), "the source"),
            as_texts(said.get("command", []), "the command"),
            as_text(said.get("started", ""), "the start"),
            as_text(said.get("title", ""), "the title"),
        )
        return cls(
            None if schema is None else Schema.from_dict(schema),
            _checked_json(as_table(said.get("settings", {}), "the settings")),
            seed,
            {name: as_text(value, f"the version of {name}") for name, value in versions.items()},
            as_text(said.get("python", ""), "the version of Python"),
            {name: as_number(value, f"the seconds of {name}") for name, value in seconds.items()},
            as_texts(said.get("warnings", []), "the warnings"),
            origin if has_origin else None,
        )


def plain_value(value: Any, depth: int = 0) -> Value:
    """Return a setting as the module says: plain, and unchangeable.

    >>> plain_value({"rate": np.float32(0.5), "steps": [1, 2], "limit": math.inf})
    {'rate': 0.5, 'steps': (1, 2), 'limit': 'inf'}
    """
    if depth > _DEEPEST:
        raise InputError("the settings of a run are nested too deeply")
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Part):
        value = {"class": type(value).__name__, **value.get_params(deep=False)}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return FrozenMap({str(name): plain_value(item, depth + 1) for name, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(plain_value(item, depth + 1) for item in value)
    if isinstance(value, AbstractSet):
        return tuple(sorted((plain_value(item, depth + 1) for item in value), key=repr))
    return os.fsdecode(value) if isinstance(value, os.PathLike) else repr(value)


def json_value(value: Value) -> Any:
    """Return a plain value as JSON has it, with lists and dicts.

    >>> json_value(plain_value({"forbid": [("a", "b")]}))
    {'forbid': [['a', 'b']]}
    """
    if isinstance(value, Mapping):
        return {name: json_value(item) for name, item in value.items()}
    return [json_value(item) for item in value] if isinstance(value, tuple) else value


def value_text(value: Value) -> str:
    """Return a plain value as people read it.

    >>> value_text(None), value_text((("a", "b"),)), value_text({"class": "SCAD", "lam": 1.0, "a": 4.0})
    ('none', "[['a', 'b']]", 'SCAD(lam=1.0, a=4.0)')
    """
    if isinstance(value, Mapping) and isinstance(value.get("class"), str):
        inner = ", ".join(f"{name}={_inner_text(item)}" for name, item in value.items() if name != "class")
        return f"{value['class']}({inner})"
    return "none" if value is None else str(json_value(value))


def _inner_text(value: Value) -> str:
    return value_text(value) if isinstance(value, Mapping) else repr(json_value(value))


def _checked_json(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings that JSON can hold, or raise: a file may hold NaN, or depths that nothing can follow."""
    try:
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the settings of the run must be plain JSON data: {one_line(error)}") from error
    return settings
