import pytest

from gpmnet.engines.local import LocalOptions
from gpmnet.errors import InputError
from gpmnet.nodes.models import NodeOptions
from gpmnet.selection.two_ended import TwoEnded
from gpmnet.testing.design_options import DesignOptions


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        (LocalOptions, "functions", ()),
        (LocalOptions, "functions", 3),
        (LocalOptions, "alpha_enter", 0.0),
        (LocalOptions, "alpha_report", 1.5),
        (DesignOptions, "interaction_share", -0.1),
        (LocalOptions, "most_neighbors", True),
        (LocalOptions, "all_pairs_up_to", -1),
        (LocalOptions, "node", "marginalisation"),
        (LocalOptions, "design", 3),
        (LocalOptions, "test", "rao"),
        (LocalOptions, "rule", None),
        (TwoEnded, "min_information", 0.0),
        (TwoEnded, "slack", -1.0),
        (NodeOptions, "discrete", "guess"),
        (NodeOptions, "score_ridge", 0.0),
        (NodeOptions, "logistic_ridge", float("nan")),
        (NodeOptions, "ridges", ()),
        (NodeOptions, "ridges", (1.0, -1.0)),
        (NodeOptions, "newton_steps", 0),
        (NodeOptions, "most_joint", -1),
        (DesignOptions, "n_cosines", -1),
        (DesignOptions, "ridge", 0.0),
        (DesignOptions, "rows_per_cell", "ten"),
        (DesignOptions, "most_cells", 1.5),
    ],
)
def test_a_wrong_option_is_refused_by_name(options, field, value):
    with pytest.raises(InputError, match=f"{options.__name__}: {field} must be"):
        options(**{field: value})
