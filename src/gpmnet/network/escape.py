r"""Names inside formats that cannot hold every character.

XML 1.0 has no way to write most control characters, lone surrogates, U+FFFE and U+FFFF, and it turns a carriage
return into a line feed. `escape` writes those as ``\uXXXX`` and doubles the backslash, so that `unescape` finds every
name again; all other characters stay as they are. The empty name, which some readers refuse, is ``\e``.
"""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[^\t\n\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\\\\")
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
