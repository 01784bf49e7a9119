"""A word of caution about columns that others determine: a total beside its parts, a ratio, a category of a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpmnet.errors import quote_all
from gpmnet.network.text import counted

_SHOWN = 3


def relation_note(names: Sequence[str], determined: Iterable[Sequence[int]]) -> str:
    """Return a sentence on variables that others determine, each given before those; empty if there are none.

    >>> relation_note(["a", "b", "sum", "c"], [(0, 1, 2), (1, 0, 2), (2, 0, 1), (3, 0)])[:84]
    "all but exactly, 'a', 'b', 'sum' determine each other; 'c' is determined by 'a': edg"
    """
    known: dict[frozenset[int], list[int]] = {}
    for node, *others in determined:
        known.setdefault(frozenset((node, *others)), []).append(node)
    said = []
    for whole, nodes in known.items():
        by = [names[at] for at in sorted(whole) if at not in nodes]
        who = quote_all([names[at] for at in nodes])
        is_one = f"{who} {'is' if len(nodes) == 1 else 'are'} determined by {quote_all(by)}"
        said.append(is_one if by else f"{who} determine each other")
    if not said:
        return ""
    rest = f"; and {counted(len(said) - _SHOWN, 'more relation')}" if len(said) > _SHOWN else ""
    return (
        f"all but exactly, {'; '.join(said[:_SHOWN])}{rest}: edges among them show this and hide what else joins them; "
        "leave a column out to see that"
    )
