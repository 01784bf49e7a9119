"""Names and numbers of a network as people read them; names come from the data and may hold anything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpmnet.selection import Cutoff

SMALLEST_P = 1e-16
SIGN_WORDS = {1.0: "positive", -1.0: "negative", 0.0: "no single sign"}
MINUS = "\N{MINUS SIGN}"
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


def marginal_text(sign: float, marginal: float, minus: str = MINUS) -> str:
    """Say how two variables go together with nothing given, and whether that is the other way round; nothing if unknown.

    >>> marginal_text(1.0, -0.333, "-")
    'With nothing given it is the other way round: their rank correlation is -0.33.'
    >>> marginal_text(0.0, 0.5), marginal_text(1.0, math.nan)
    ('With nothing given their rank correlation is 0.50.', '')
    """
    if math.isnan(marginal):
        return ""
    figure = f"{marginal:.2f}".replace("-", minus)
    if flips(sign, marginal):
        return f"With nothing given it is the other way round: their rank correlation is {figure}."
    return f"With nothing given their rank correlation is {figure}."


def flips(sign: float, marginal: float) -> bool:
    """Whether a dependence given the rest and the rank correlation, if it is worth a word, have opposite signs.

    >>> flips(1.0, -0.33), flips(1.0, -0.01), flips(1.0, math.nan)
    (True, False, False)
    """
    return sign * marginal < 0 and abs(marginal) >= 0.1


def interval_text(low: float, high: float) -> str:
    """Return the 95% interval of a strength with two digits; nothing where it is not known.

    >>> interval_text(0.1234, 0.2), interval_text(math.nan, math.nan)
    ('0.12 to 0.20', '')
    """
    return "" if math.isnan(low) or math.isnan(high) else f"{low:.2f} to {high:.2f}"


def sign_mark(sign: float | None, minus: str = MINUS) -> str:
    """Return +, a minus sign, or nothing where there is no single sign.

    >>> sign_mark(1.0), sign_mark(-1.0, "-"), sign_mark(math.nan), sign_mark(None)
    ('+', '-', '', '')
    """
    return {1.0: "+", -1.0: minus}.get(sign, "") if sign is not None else ""


def at_cutoff(cutoff: Cutoff | None) -> str:
    """Return how edges were chosen, to follow their number: at which false-discovery rate, above which strength.

    >>> from gpmnet.selection import Cutoff
    >>> at_cutoff(Cutoff(0.05)), at_cutoff(Cutoff(0.01, "p")), at_cutoff(None)
    (' at FDR 0.05', '', '')
    >>> at_cutoff(Cutoff(0.05, min_strength=0.1))
    ' stronger than 0.1 at FDR 0.05'
    """
    if cutoff is None:
        return ""
    least = f" stronger than {cutoff.min_strength:g}" if cutoff.min_strength else ""
    return f"{least} at FDR {cutoff.value:g}" if cutoff.of == "q" else least


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "edge"), counted(1599, "row")
    ('1 edge', '1,599 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def without_power(printed: str, most: int = 11) -> str:
    """Return a printed number without a power of ten where it is large and has room.

    >>> [without_power(text) for text in ("1.785e+08", "1.5e+04", "17", "3e-07", "-2.5e+09", "2020-01-02")]
    ['178,500,000', '15,000', '17', '3e-07', '-2.5e+09', '2020-01-02']
    """
    if "e+" not in printed:
        return printed
    written = f"{float(printed):,.0f}"
    return written if len(written) <= most else printed
