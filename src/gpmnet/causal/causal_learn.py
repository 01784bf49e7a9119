"""The double-residual test for causal-learn: its PC, FCI and whatever else takes a test by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpmnet.errors import MissingExtraError
from gpmnet.testing.ci import CITest


def register_causal_learn(name: str = "gpmnet") -> str:
    """Register the test with causal-learn, and return the name under which its methods take it.

    Afterwards ``pc(values, indep_test="gpmnet")`` works, and kinds can be given as
    ``kinds={"x1": "discrete"}``. The columns of an array are called x1, x2, ...; kinds that are not given are inferred.

    Raises
    ------
    MissingExtraError
        causal-learn is not installed; the extra ``baselines`` brings it.
    """
    try:
        from causallearn.utils import cit
    except ImportError as error:
        raise MissingExtraError("causal-learn", "baselines") from error

    class DoubleResidualCIT(cit.CIT_Base):  # type: ignore[misc]  # causal-learn has no types
        """What causal-learn expects of a test: made from an array, called with positions, answers with a p-value."""

        def __init__(self, data: Any, kinds: Mapping[str, str] | None = None, **options: Any) -> None:
            super().__init__(data, **options)
            self.check_cache_method_consistent(name, cit.NO_SPECIFIED_PARAMETERS_MSG)
            self.assert_input_data_is_valid()
            self._test = CITest(data, kinds=kinds)
            # Constants and duplicates are no variables here; a test of one says so.
            self._names = self._test.table.schema.names

        def __call__(self, X: Any, Y: Any, condition_set: Any = None) -> float:
            x, y, given, key = self.get_formatted_XYZ_and_cachekey(X, Y, condition_set)
            if key not in self.pvalue_cache:
                names = self._names
                found = self._test.test([(names[x[0]], names[y[0]])], [names[at] for at in given])
                self.pvalue_cache[key] = found[0].p_value
            return float(self.pvalue_cache[key])

    cit.register_ci_test(name, DoubleResidualCIT)
    return name
