"""Numbers and findings in words; everything returned here is plain text that the templates escape."""

from __future__ import annotations

from collections.abc import Sequence

from gpmnet.network.text import SMALLEST_P, interval_text, short


def label(name: str, most: int = 60) -> str:
    """Return a name as it is shown; one of nothing but blanks says so.

    >>> label("age"), label(" ")
    ('age', '(blank)')
    """
    return short(name, most) if name.strip() else "(blank)"


def number(value: float | None) -> str:
    """Return three significant digits.

    >>> number(0.04567), number(999.6), number(12345.6), number(2.2337e-11), number(None)
    ('0.0457', '1,000', '12,346', '2.23e-11', 'unknown')
    """
    if value is None:
        return "unknown"
    short_form = f"{value:.3g}"
    return f"{value:,.0f}" if 1000 <= abs(float(short_form)) < 1e9 else short_form


def strength_words(value: float | None) -> str:
    """Return a strength with two decimals, as its interval has them.

    >>> strength_words(0.6), strength_words(0.0012), strength_words(None)
    ('0.60', '< 0.01', 'unknown')
    """
    if value is None:
        return "unknown"
    return "< 0.01" if 0 < value < 0.005 else f"{value:.2f}"


def interval_words(low: float | None, high: float | None) -> str:
    """Return the 95% interval of a strength; nothing where it is not known.

    >>> interval_words(0.1234, 0.2), interval_words(None, None)
    ('0.12 to 0.20', '')
    """
    return "" if low is None or high is None else interval_text(low, high)


def probability(value: float | None) -> str:
    """Return a p- or q-value with three significant digits, as its equals or less-than part.

    >>> probability(0.0), probability(0.031234)
    ('< 1e-16', '= 0.0312')
    """
    if value is not None and value < SMALLEST_P:
        return f"< {SMALLEST_P:.0e}"
    return f"= {number(value)}"


def listing(parts: Sequence[str]) -> str:
    """Join parts as a sentence does.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def percent(share: float) -> str:
    """Return a share in per cent.

    >>> percent(0.05), percent(0.001)
    ('5%', '0.1%')
    """
    return f"{100 * share:.3g}%"


def finding(kinds: tuple[str, str], sign: float | None) -> str:
    """Say in words how two variables go together, from their kinds and the sign of the dependence.

    >>> finding(("continuous", "ordinal"), -1.0)
    'one falls as the other rises'
    >>> finding(("continuous", "discrete"), 0.0)
    'the numbers differ between the categories'
    """
    n_discrete = kinds.count("discrete")
    if sign and n_discrete == 0:
        return "they rise together" if sign > 0 else "one falls as the other rises"
    if n_discrete == 2:
        return "their categories go together"
    if n_discrete == 1:
        return "the numbers differ between the categories"
    return "they depend on each other, in no single direction"
