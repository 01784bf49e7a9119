"""The double-residual test in its own right: are two columns of a table independent given some others?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.errors import InputError, quote
from gpmnet.parallel import check_n_jobs, limited_threads
from gpmnet.table import Table, load_table
from gpmnet.testing.base import BoundTest, ConditionalTest, PairTests
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual
from gpmnet.testing.strength import interval

LEAST_ROWS = 10
LEAST_COSINES = 8
_AT_ONCE = 2048  # tests in one call


@dataclass(frozen=True)
class CIResult:
    """A test of: x and y are independent given some others.

    Attributes
    ----------
    x, y : str
    given : tuple of str
    p_value : float
    strength : float
        The largest correlation between a function of x and one of y given the others, in [0, 1].
    strength_low, strength_high : float
        Its 95% interval.
    sign : int
        -1, 0 (no single direction) or 1.
    n_rows : int
    information : float
        As how many rows the table speaks about x and y given the others: few where these nearly determine one of them.
    """

    x: str
    y: str
    given: tuple[str, ...]
    p_value: float
    strength: float
    strength_low: float
    strength_high: float
    sign: int
    n_rows: int
    information: float


def default_design(n_rows: int) -> DesignOptions:
    """Return how flexible the regressions are: as the local engine's, but with eight cosines where rows are few.

    With the four to six that 100 rows would give, a square of a confounder is not followed, and independent pairs behind
    it are rejected about twice as often as they should be. Eight cost power where there are several confounders, and are
    still too few for fast curves.
    """
    return DesignOptions(n_cosines=LEAST_COSINES) if n_rows < 16 * LEAST_COSINES else DesignOptions()


class CITest:
    """Tests of conditional independence on one table, whose functions of columns are computed once.

    Columns of any kinds; time linear in the number of rows. See `gpmnet.testing.double_residual` for the test.

    Parameters
    ----------
    data : path, ndarray, pandas, polars or pyarrow table, or Table
    kinds : dict, optional
        Kinds that overrule the inferred ones, by column name.
    missing : str
        "error", or "drop" for the complete rows only.
    test : ConditionalTest, optional
    design : DesignOptions, optional
        Flexibility of the regressions; `default_design` of the number of rows unless given.
    n_jobs : int or None
        Threads at most; -1 for all.

    Attributes
    ----------
    table : Table
    n_tests : int
        How many tests were made.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=500)
    >>> x, y = np.sin(2 * z) + rng.normal(size=(2, 500)) / 2
    >>> test = CITest({"x": x, "y": y, "z": z})
    >>> alone, given_z = test.test([("x", "y"), ("x", "y")], [(), ("z",)])
    >>> alone.p_value < 1e-9, given_z.p_value > 0.05
    (True, True)
    """

    def __init__(
        self,
        data: Any,
        *,
        kinds: Mapping[Any, str] | None = None,
        missing: str = "error",
        test: ConditionalTest | None = None,
        design: DesignOptions | None = None,
        n_jobs: int | None = None,
    ) -> None:
        if isinstance(data, Mapping):
            import pandas as pd

            data = pd.DataFrame(data)
        self.table = (
            load_table(data) if isinstance(data, Table) else load_table(data, kinds=kinds, missing=missing)
        )
        if self.table.n_rows < LEAST_ROWS:
            raise InputError(f"the table has {self.table.n_rows} rows; a test needs at least {LEAST_ROWS}")
        self.n_tests = 0
        self._n_jobs = check_n_jobs(n_jobs)
        functions = feature_functions(min(3, self.table.n_rows - 2))
        features = build_features(self.table.encode(), functions, "cpu", torch.float64)
        options = default_design(self.table.n_rows) if design is None else design
        with limited_threads(self._n_jobs):
            self._bound = BoundTest(test or DoubleResidual(), Designs(features, options).tabulated())
        self._position = {name: at for at, name in enumerate(self.table.names)}

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that can be tested."""
        return self.table.names

    @property
    def most_members(self) -> int:
        """How many continuous members a set can have so that its regressions take at most a quarter of the rows."""
        return self._bound.designs.options.most_members(self.table.n_rows)

    def test(self, pairs: Sequence[tuple[str, str]], given: Iterable[Any] = ()) -> list[CIResult]:
        """Return the tests of pairs of variables.

        Parameters
        ----------
        pairs : sequence of (str, str)
        given : sequence of str, or of sequences of str
            One set for all pairs, or a set a pair.
        """
        sets = self._sets(list(pairs), given)
        tests = self._tested([(self.position(x), self.position(y)) for x, y in pairs], sets)
        ends = interval(*(getattr(tests, f"strength{what}").numpy() for what in ("", "_error", "_excess")))
        names = self.names
        return [
            CIResult(
                x,
                y,
                tuple(names[at] for at in members),
                float(tests.log_p[k].exp()),
                float(tests.strength[k]),
                float(ends[0][k]),
                float(ends[1][k]),
                int(tests.sign[k]),
                self.table.n_rows,
                float(tests.information[k]),
            )
            for k, ((x, y), members) in enumerate(zip(pairs, sets, strict=True))
        ]

    def p_values(
        self, pairs: Sequence[tuple[int, int]], given: Sequence[tuple[int, ...]]
    ) -> NDArray[np.float64]:
        """Return the p-values of pairs given sets, all by position among `names`."""
        found: NDArray[np.float64] = self._tested(pairs, given).log_p.exp().numpy()
        return found

    def position(self, name: str) -> int:
        """Return the position of a variable, or raise saying why it has none."""
        if name not in self._position:
            column = self.table.schema[name]  # raises where there is no such column
            twin = column.duplicate_of
            why = f"it is a duplicate of {quote(twin)}; test that one" if twin else column.why
            raise InputError(f"the column {quote(name)} cannot be tested: {why}")
        return self._position[name]

    def _tested(self, pairs: Sequence[tuple[int, int]], given: Sequence[tuple[int, ...]]) -> PairTests:
        # In one order, so that neither swapping the ends nor the order of a set changes a bit.
        sets = [sorted(set(members)) for members in given]
        ends = [sorted(pair) for pair in pairs]
        for (a, b), members in zip(ends, sets, strict=True):
            if a == b or a in members or b in members:
                raise InputError(
                    f"a test needs two different variables that are not in the set; got {quote(self.names[a])}, "
                    f"{quote(self.names[b])}"
                )
        width = max((len(members) for members in sets), default=0)
        padded = [members + [-1] * (width - len(members)) for members in sets]
        first, second = torch.tensor(ends, dtype=torch.int64).reshape(-1, 2).T
        inside = torch.tensor(padded, dtype=torch.int64).reshape(len(sets), width)
        found = [PairTests.unknown(0, first.device)]
        with limited_threads(self._n_jobs):
            for start in range(0, len(ends), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                found.append(self._bound.pairs(first[part], second[part], inside[part]))
        self.n_tests += len(ends)
        return PairTests.joined(found)

    def _sets(self, pairs: list[tuple[str, str]], given: Iterable[Any]) -> list[tuple[int, ...]]:
        """Return the conditioning sets as positions, one a pair."""
        sets = [given] if isinstance(given, str) else list(given)
        if all(isinstance(name, str) for name in sets):
            return [tuple(self.position(name) for name in sets)] * len(pairs)
        if len(sets) != len(pairs) or any(isinstance(members, str) for members in sets):
            raise InputError(
                f"given must be names, or a list of names for each of the {len(pairs)} pairs; got {quote(given)}"
            )
        return [tuple(self.position(name) for name in members) for members in sets]

    @classmethod
    def of(cls, data: Any, **options: Any) -> Self:
        """Return the tests of a table; tests are returned as they are."""
        return data if isinstance(data, cls) else cls(data, **options)


def ci_test(x: str, y: str, given: Iterable[str] = (), data: Any = None, **options: Any) -> CIResult:
    """Test whether two columns of a table are independent given some others, whatever their kinds.

    For many tests on one table make a `CITest`, which reads it and computes the functions of its columns once.

    Parameters
    ----------
    x, y : str
        Names of columns.
    given : str or sequence of str
        Names of others.
    data : path, ndarray, pandas, polars or pyarrow table, Table or CITest
    **options
        Those of `CITest`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=500)
    >>> x, y = z + rng.normal(size=(2, 500))
    >>> ci_test("x", "y", ["z"], {"x": x, "y": y, "z": z}).p_value > 0.05
    True
    """
    if data is None:
        raise InputError("ci_test needs data: a table with the columns, or a CITest")
    return CITest.of(data, **options).test([(x, y)], [given] if isinstance(given, str) else list(given))[0]
