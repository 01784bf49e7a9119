r"""Names inside formats that cannot hold every character.

XML 1.0 has no way to write most control characters, lone surrogates, U+FFFE and U+FFFF, and it turns a carriage
return into a line feed. `escape` writes those as ``\uXXXX`` and doubles the backslash, so that `unescape` finds every
name again; all other characters stay as they are. The empty name, which some readers refuse, is ``\e``.

In CSV files it is not the format that goes wrong, but the spreadsheet that opens it: `spreadsheet_text` and `plain_text`.
"""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[^\t\n\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\\\\")
# What spreadsheets begin a formula with, in any width, or pass over before it. Apostrophes before it count, so that one
# more can be told from none.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_ESCAPED = re.compile(r"\\(?:(\\)|e|u([0-9a-f]{4}))")


def escape(name: str) -> str:
    r"""Return a name with what XML forbids as ``\uXXXX``, and the backslash doubled.

    >>> print(escape("a\x01b\\c"))
    a\u0001b\\c
    """
    return (
        r"\e"
        if not name
        else _FORBIDDEN.sub(lambda m: r"\\" if m[0] == "\\" else f"\\u{ord(m[0]):04x}", name)
    )


def unescape(text: str) -> str:
    r"""Return the name that was escaped.

    >>> unescape(escape("a\x01b\\c")) == "a\x01b\\c"
    True
    """
    return _ESCAPED.sub(lambda m: chr(int(m[2], 16)) if m[2] else m[1] or "", text)


def spreadsheet_text(name: str) -> str:
    """Return a name as a cell that no spreadsheet runs as a formula: with an apostrophe in front where one would.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("height")
    ("'=1+1", 'height')
    """
    return f"'{name}" if _FORMULA.match(name) else name


def plain_text(cell: str) -> str:
    """Return the name behind such a cell.

    >>> plain_text("'=1+1"), plain_text("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
