"""From raw columns to kinds: the rules, each with the reason it states.

The rules, in the order they are tried, for a column with m values of which u are distinct:

1. nothing but gaps, or one value only: ignored;
2. all but fewer than five rows share one value: ignored, no dependence could be seen;
3. numbers
   a. a running counter (19 of 20 steps are +1), or a column called "id" whose values are mostly distinct:
      ignored as an identifier;
   b. at most 5 distinct values, each used 3 times on average or more: discrete;
   c. dates: continuous, in days since 1970;
   d. whole numbers with at most 20 distinct values, used 5 times on average or more: ordinal;
   e. otherwise continuous;
4. ordered categories: ordinal; booleans and unordered categories: discrete;
5. text
   a. more than half of the values distinct (and more than 20): ignored as an identifier or free text;
   b. mostly sentences: ignored as free text;
   c. so many levels that the 19 commonest cover less than half of the rows: ignored;
   d. otherwise discrete.

Levels: at most 20 (and at most a tenth of the rows); a level needs 5 rows, or one in a thousand if that is
more. The rest is pooled into "other", or joins a neighbor where the levels have an order; where other variables are
tested given the column, all levels that the rows can tell apart count (`fine_codes`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, quote
from gpmnet.table.facts import NumberFacts
from gpmnet.table.parse import date_text, parse_spellings
from gpmnet.table.raw import Labelled
from gpmnet.table.schema import Column, Encoding, Kind

FEW_VALUES = 5
ORDINAL_VALUES = 20
MAX_LEVELS = 20
MIN_ROWS_PER_LEVEL = 5
FINE_LEVELS = 128
_ID_NAME = re.compile(
    r"(?i:^(?:.*[\s_.-])?(?:id|uuid|guid|rowid)$|^(?:index|unnamed: 0)$"
    r"|^row(?:[\s_.-]?(?:names?|numbers?|num|no|nr|index))?$)|[a-z]I[Dd]$"
)
_SENTENCE = re.compile(r"(?:\S+\s+){3,}\S*[.!?]")
_LARGEST_EXACT = 2.0**53  # beyond it, not every whole number is a float


@dataclass(frozen=True, slots=True)
class Decided:
    """A kind that is decided before the rules are tried, and why.

    A firm one holds whatever the values are; the others were found by the rules before rows were dropped,
    and hold unless the column has lost its variation.
    """

    kind: Kind
    why: str
    firm: bool = True


@dataclass(frozen=True, slots=True)
class Coded:
    """Codes of a column that reaches the engines as categories."""

    codes: NDArray[np.int16]
    levels: tuple[str, ...]
    notes: tuple[str, ...]
    fine: NDArray[np.int16] | None = None
    """Codes before levels were pooled, where they were; see `fine_codes`."""


def number_column(
    name: str,
    at: int,
    values: NDArray[np.floating],
    facts: NumberFacts,
    decided: Decided | None = None,
    dates: bool = False,
) -> tuple[Column, Coded | None]:
    """Apply the rules to one numeric column (column `at` of the facts)."""
    missing, distinct = int(facts.n_missing[at]), int(facts.n_distinct[at])
    m = len(values) - missing
    kind, why, encoding = number_kind(name, at, len(values), facts, decided, dates)
    low, high = (float(facts.low[at]), float(facts.high[at])) if distinct else (None, None)
    notes: tuple[str, ...] = ()
    if low is not None and high is not None and facts.whole[at] and max(-low, high) > _LARGEST_EXACT:
        notes = ("whole numbers beyond 2^53 are known to 16 digits only",)
    if encoding == "codes":
        coded = code_numbers(name, values, dates)
        coded = pool(name, coded, m, decided is not None and decided.firm, ordered=True)
        notes += coded.notes
        return Column(name, kind, why, "codes", missing, distinct, coded.levels, notes=notes), coded
    column = Column(name, kind, why, encoding, missing, distinct, (), low, high, dates=dates, notes=notes)
    return column, None


def number_kind(
    name: str, at: int, n: int, facts: NumberFacts, decided: Decided | None = None, dates: bool = False
) -> tuple[Kind, str, Encoding]:
    """Return what a column of n numbers is taken for, why, and how it reaches the engines."""
    distinct = int(facts.n_distinct[at])
    m = n - int(facts.n_missing[at])
    empty = _no_variation(m, distinct, int(facts.commonest[at]))
    kind, why = _settle(name, distinct, empty, _number_kind(name, m, distinct, at, facts, dates), decided)
    if kind == "ignored":
        return kind, why, "none"
    few = kind == "discrete" or (kind == "ordinal" and distinct <= FEW_VALUES)
    return kind, why, "codes" if few else "scores"


def _number_kind(
    name: str, m: int, distinct: int, at: int, facts: NumberFacts, dates: bool
) -> tuple[Kind, str]:
    if facts.counter[at] and not dates:
        return "ignored", "a running counter: nearly every row is the one before plus 1"
    if facts.whole[at] and not dates and looks_like_id(name) and distinct > max(m / 2, MAX_LEVELS):
        return "ignored", f"an identifier: called {quote(name)}, {distinct:,} of {m:,} values distinct"
    if distinct <= FEW_VALUES and m >= 3 * distinct:
        return "discrete", f"{distinct} distinct {'dates' if dates else 'numbers'}"
    if dates:
        return "continuous", f"{distinct:,} dates, in days since 1970"
    if facts.whole[at] and distinct <= ORDINAL_VALUES and m >= 5 * distinct:
        return "ordinal", f"whole numbers with {distinct} distinct values"
    if facts.whole[at]:
        return "continuous", f"whole numbers with {distinct:,} distinct values"
    return "continuous", f"numbers with {distinct:,} distinct values"


def label_column(
    name: str, raw: Labelled, decided: Decided | None
) -> tuple[Column, Coded | NDArray[np.float64] | None]:
    """Apply the rules to one column of labels.

    The second part is its codes, its positions as numbers (an ordinal column with many levels), or None.
    """
    counts = np.bincount(raw.codes[raw.codes >= 0], minlength=len(raw.labels))
    m, distinct = int(counts.sum()), int(np.count_nonzero(counts))
    empty = _no_variation(m, distinct, int(counts.max(initial=0)))
    kind, why = _settle(name, distinct, empty, _label_kind(raw, counts), decided)
    _refuse_text(name, kind, raw)
    if kind == "ignored":
        return Column(name, kind, why, "none", raw.n_missing, distinct), None
    if kind == "ordinal" and distinct > FEW_VALUES:
        positions = np.where(raw.codes >= 0, raw.codes, np.nan).astype(np.float64)
        column = Column(
            name, kind, why, "scores", raw.n_missing, distinct, raw.labels, 0.0, float(distinct - 1)
        )
        return column, positions
    coded = Coded(raw.codes.astype(np.int16), raw.labels, ())
    if len(raw.labels) > np.iinfo(np.int16).max:
        raise InputError(f"column {quote(name)} has {distinct:,} levels; it cannot be discrete")
    coded = pool(name, coded, m, decided is not None and decided.firm, ordered=kind == "ordinal")
    return Column(name, kind, why, "codes", raw.n_missing, distinct, coded.levels, notes=coded.notes), coded


def _refuse_text(name: str, kind: Kind, raw: Labelled) -> None:
    """Refuse a kind that needs numbers or an order where there are none, naming a value at fault."""
    if kind == "continuous":
        odd = (label for label in raw.labels if parse_spellings([label]).reading != "number")
        lack, value = "not all its values are numbers", next(odd, raw.labels[0])
    elif kind == "ordinal" and not raw.ordered and raw.origin != "boolean":
        lack, value = "the order of its values is unknown", raw.labels[0]
    else:
        return
    raise InputError(f"column {quote(name)} holds text such as {quote(value)}; it cannot be {kind}: {lack}")


def _label_kind(raw: Labelled, counts: NDArray[np.intp]) -> tuple[Kind, str]:
    m, distinct = int(counts.sum()), int(np.count_nonzero(counts))
    if raw.ordered:
        return "ordinal", f"ordered categories, {distinct} levels"
    if raw.origin == "boolean":
        return "discrete", "yes or no"
    if raw.origin == "text":
        if distinct > max(m / 2, MAX_LEVELS) or (distinct == m and m > FEW_VALUES):
            return "ignored", f"identifier or free text: {distinct:,} of {m:,} values distinct"
        if sum(bool(_SENTENCE.fullmatch(label)) for label in raw.labels) > distinct / 2:
            return "ignored", "free text: most values are sentences"
    commonest = int(np.sort(counts)[-(MAX_LEVELS - 1) :].sum())
    if distinct > MAX_LEVELS and commonest < m / 2:
        share = commonest / m
        return (
            "ignored",
            f"too many levels: {distinct:,}, the {MAX_LEVELS - 1} commonest cover {share:.0%} of rows",
        )
    return "discrete", f"{'text' if raw.origin == 'text' else 'categories'} with {distinct:,} levels"


def _settle(
    name: str, distinct: int, empty: str, found: tuple[Kind, str], decided: Decided | None
) -> tuple[Kind, str]:
    """Return the kind and its reason: what was decided before, or what the rules find now."""
    if decided is not None and decided.firm:
        refuse_empty(name, decided.kind, distinct)
        return decided.kind, decided.why
    if empty:
        return "ignored", empty
    if decided is not None and decided.kind != found[0]:
        return decided.kind, f"{decided.why}, before rows were dropped"
    return found


def _no_variation(m: int, distinct: int, commonest: int) -> str:
    if m == 0:
        return "all values are missing"
    if distinct == 1:
        return "constant"
    rest = m - commonest
    if rest < MIN_ROWS_PER_LEVEL and m >= 4 * MIN_ROWS_PER_LEVEL:
        return f"nearly constant: all but {rest} row{'s' if rest > 1 else ''} share one value"
    return ""


def looks_like_id(name: str) -> bool:
    """Whether a name is that of an identifier.

    >>> [looks_like_id(name) for name in ("ID", "patient_id", "userId", "humid", "grid", "Individual ID")]
    [True, True, True, False, False, True]
    """
    return bool(_ID_NAME.search(name))


def refuse_empty(name: str, kind: Kind, distinct: int) -> None:
    """Refuse to use a column without variation, however much the user wants it."""
    if kind != "ignored" and distinct < 2:
        raise InputError(
            f"column {quote(name)} has {distinct} distinct value{'s' * (distinct != 1)}; it cannot be {kind}"
        )


def code_numbers(name: str, values: NDArray[np.floating], dates: bool = False) -> Coded:
    """Return codes of the distinct numbers in increasing order, labelled by their shortest spelling."""
    present = ~np.isnan(values)
    uniques = np.unique(values[present])
    if len(uniques) > np.iinfo(np.int16).max:
        raise InputError(f"column {quote(name)} has {len(uniques):,} distinct values; it cannot be discrete")
    codes = np.full(len(values), -1, dtype=np.int16)
    codes[present] = np.searchsorted(uniques, values[present])
    return Coded(codes, tuple(date_text(float(v)) if dates else spell(v) for v in uniques), ())


def spell(value: np.floating) -> str:
    """Spell a number as a label.

    >>> spell(np.float64(3.0)), spell(np.float32(0.1))
    ('3', '0.1')
    """
    return str(int(value)) if value == np.floor(value) and abs(value) < 1e15 else str(value)


def pool(name: str, coded: Coded, m: int, forced: bool, ordered: bool) -> Coded:
    """Pool the levels that are too many or too rare into "other", and say so.

    A rare level of an ordered column joins the neighbor below it instead (the lowest, the one above), which
    keeps the order.
    """
    counts = np.bincount(coded.codes[coded.codes >= 0], minlength=len(coded.levels))
    need = max(MIN_ROWS_PER_LEVEL, -(-m // 1000))
    most = min(MAX_LEVELS, max(2, m // 10))
    ranking = np.argsort(-counts, kind="stable")
    room = np.zeros(len(counts), dtype=bool)
    room[ranking[: most - 1 if len(counts) > most and not ordered else most]] = True
    keep = room & (counts >= need)
    if forced and counts[keep].sum() < m / 2 and len(counts) > most:
        raise InputError(
            f"column {quote(name)} has {len(counts):,} distinct values, too many to be discrete "
            f"(the {most - 1} commonest cover {counts[keep].sum() / max(m, 1):.0%} of the rows)"
        )
    if keep.all():
        return coded
    if keep.sum() < (2 if ordered else 1) or (np.count_nonzero(~keep) == 1 and not ordered):
        # One rare level cannot be pooled with itself, and all of them would leave no variation: they stay.
        return Coded(coded.codes, coded.levels, (_rare(coded, np.flatnonzero(~keep), need),))
    merged = _merge_ordered(coded, keep) if ordered else _merge_other(coded, keep, counts)
    return replace(merged, fine=fine_codes(coded.codes, counts))


def fine_codes(codes: NDArray[np.int16], counts: NDArray[np.intp]) -> NDArray[np.int16]:
    """Return the codes that a column is conditioned on: as many levels as the rows can tell apart.

    What pooled levels hide of a common cause would join its effects. Levels of a single row explain nothing and share
    one code, as do those beyond an eighth of the rows or `FINE_LEVELS`.

    >>> fine_codes(np.array([0, 0, 1, 2, 3, 3], dtype=np.int16), np.array([20, 1, 1, 8]))
    array([0, 0, 2, 2, 1, 1], dtype=int16)
    """
    ranking = np.argsort(-counts, kind="stable")
    most = max(2, min(FINE_LEVELS, int(counts.sum()) // 8))
    own = ranking[: most - 1][counts[ranking[: most - 1]] > 1]
    lookup = np.full(len(counts) + 1, len(own), dtype=np.int16)
    lookup[own] = np.arange(len(own))
    lookup[-1] = -1
    return lookup[codes]


def _rare(coded: Coded, dropped: NDArray[np.intp], need: int) -> str:
    listed = ", ".join(quote(coded.levels[i]) for i in dropped)
    if len(dropped) > 3:
        listed = (
            f"{'each' if len(dropped) == len(coded.levels) else 'some'} of the {len(coded.levels):,} levels"
        )
    return f"rare: fewer than {need} rows for {listed}"


def _merge_other(coded: Coded, keep: NDArray[np.bool_], counts: NDArray[np.intp]) -> Coded:
    dropped = np.flatnonzero(~keep)
    kept = np.flatnonzero(keep)
    lookup = np.full(len(keep) + 1, -1, dtype=np.int16)
    lookup[kept] = np.arange(len(kept))
    lookup[dropped] = len(kept)
    label = free_label("other", tuple(coded.levels[i] for i in kept))
    levels = (*(coded.levels[i] for i in kept), label)
    note = f"{len(dropped):,} levels ({int(counts[dropped].sum()):,} rows) pooled into {quote(label)}"
    return Coded(lookup[coded.codes], levels, (note,))


def _merge_ordered(coded: Coded, keep: NDArray[np.bool_]) -> Coded:
    group = np.maximum(np.cumsum(keep) - 1, 0)
    members: list[list[str]] = [[] for _ in range(int(group[-1]) + 1)]
    for level, at in zip(coded.levels, group, strict=True):
        members[at].append(level)
    lookup = np.append(group, -1).astype(np.int16)
    levels = tuple(part[0] if len(part) == 1 else f"{part[0]}…{part[-1]}" for part in members)
    note = f"{int(np.count_nonzero(~keep))} of {len(keep)} levels joined to a neighbor: too few rows"
    return Coded(lookup[coded.codes], levels, (note,))


def free_label(label: str, taken: Sequence[str]) -> str:
    """Return the label, with a mark appended while it is taken.

    >>> free_label("other", ("a", "other"))
    'other (pooled)'
    """
    return label if label not in taken else free_label(f"{label} (pooled)", taken)
