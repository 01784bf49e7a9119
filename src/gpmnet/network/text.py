"""Names and numbers of a network as people read them; names come from the data and may hold anything."""

from __future__ import annotations

import math

SMALLEST_P = 1e-16
_WORDS = ((0.5, "strong"), (0.3, "moderate"), (0.1, "weak"), (0.0, "very weak"))


def short(name: str, most: int = 60) -> str:
    r"""Return data's text on one line, what cannot be printed escaped, its end cut if it is long.

    >>> short("a\nb")
    'a\\nb'
    >>> short("abcdef", 4)
    'abc…'
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def p_text(letter: str, value: float) -> str:
    """Return a p- or q-value as text, with two digits.

    >>> p_text("p", 0.01234), p_text("q", 3e-40), p_text("p", math.nan)
    ('p = 0.012', 'q < 1e-16', 'p unknown')
    """
    if math.isnan(value):
        return f"{letter} unknown"
    return f"{letter} < {SMALLEST_P:.0e}" if value < SMALLEST_P else f"{letter} = {value:.2g}"


def strength_word(strength: float) -> str:
    """Return a word for a strength: 0.5 and more is strong, 0.3 moderate, 0.1 weak (Cohen's marks).

    >>> strength_word(0.62), strength_word(0.12)
    ('strong', 'weak')
    """
    return next(word for least, word in _WORDS if strength >= least)


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "edge"), counted(1599, "row")
    ('1 edge', '1,599 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
