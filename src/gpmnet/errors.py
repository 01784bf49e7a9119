"""The errors gpmnet raises on purpose.

`InputError` means that the user's data or options are wrong; the command line prints its message as one
line and exits with code 2. Everything else that goes wrong keeps its own type.
"""


class GpmnetError(Exception):
    """Base class of all errors raised on purpose."""


class InputError(GpmnetError, ValueError):
    """What the user gave cannot be used; the message says what, where and what to do."""


class UnknownColumnError(InputError):
    """Columns were named that a table does not have.

    Attributes
    ----------
    columns : tuple of str
        Those that it does not have.
    """

    def __init__(self, message: str, columns: tuple[str, ...]) -> None:
        super().__init__(message)
        self.columns = columns


class ComputationError(GpmnetError, ArithmeticError):
    """A computation broke down on usable input; the message says where and what to try."""


class OutOfMemoryError(GpmnetError, MemoryError):
    """The system refused memory; the message says how much was asked for, and what to try."""


class MissingExtraError(GpmnetError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    def __init__(self, needs: str, extra: str) -> None:
        super().__init__(f"{needs} is not installed; run: pip install 'gpmnet[{extra}]'")


class CollinearWarning(UserWarning):
    """Columns are so alike that what they say together shows in no single pair; the message names them."""


class ResumeWarning(UserWarning):
    """What a stopped fit had kept cannot be used, or nothing can be kept; the message says why and what happens."""


class GapWarning(UserWarning):
    """Too few rows have both variables of a pair for a test, or one has one value in these; the message names them."""


def quote(name: object, width: int = 60) -> str:
    r"""Return a name from the data as one short, printable, quoted piece of a message.

    >>> quote("two\nlines")
    "'two\\nlines'"
    """
    text = repr(str(name))
    return text if len(text) <= width else text[: width - 2] + "…" + text[-1]


def with_article(noun: str) -> str:
    """Return a noun after "a" or "an".

    >>> with_article("Penalty"), with_article("EnergyFamily")
    ('a Penalty', 'an EnergyFamily')
    """
    return f"{'an' if noun[:1].upper() in 'AEIO' else 'a'} {noun}"


def one_line(error: object) -> str:
    r"""Return another library's message as a piece of a one-line message.

    >>> one_line("first\n  second ")
    'first second'
    """
    return " ".join(str(error).split())


def quote_all(names: list[str] | tuple[str, ...], most: int = 5) -> str:
    """Quote the first few names, and count the rest.

    >>> quote_all(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(quote(name) for name in names[:most])
    rest = len(names) - most
    return f"{shown} and {rest:,} more" if rest > 0 else shown
