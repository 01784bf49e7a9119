"""Every number of a part is reached by name: through `GPM`, clones, pipelines, and objects given as parts."""

from dataclasses import fields, is_dataclass

import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gpmnet import GPM
from gpmnet.energies import Pairwise
from gpmnet.engines import ENGINES
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.local import LocalOptions
from gpmnet.errors import InputError
from gpmnet.nodes.models import NodeOptions
from gpmnet.parts import Part
from gpmnet.penalties import SCAD
from gpmnet.selection.two_ended import TwoEnded
from gpmnet.table import DropRows


def all_settings(part, before):
    """Yield (nested name, value) of every field of a part, of parts in it, and so on."""
    for field in fields(part):
        name, value = f"{before}__{field.name}", getattr(part, field.name)
        yield name, value
        if is_dataclass(value):
            assert isinstance(value, Part), (
                f"{name} is a {type(value).__name__}, whose numbers nobody can set"
            )
            yield from all_settings(value, name)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_number_of_a_part_is_reachable_by_name(engine):
    parts = {field.name: getattr(ENGINES[engine](), field.name) for field in fields(ENGINES[engine])}
    names = set(parts)
    assert {own for own, part in parts.items() if not isinstance(part, Part)} <= {"decide"}
    for own, part in parts.items():
        if not isinstance(part, Part):
            assert GPM(engine).set_params(**{own: part}).get_params()[own] == part
            continue
        for name, value in all_settings(part, own):
            model = GPM(engine).set_params(**{name: value})
            assert getattr(model, own) == part
            assert model.get_params()[name] == value
            names.add(name)
            whole = GPM(ENGINES[engine]()).set_params(**{f"engine__{name}": value})
            assert whole.engine == ENGINES[engine]()
    expected = {"options__alpha_enter", "options__design__ridge", "options__node__newton_steps"}
    if engine == "dag":
        expected = {"options__starts", "options__score__prices__bent", "options__local__alpha_enter"}
    if engine == "kernels":
        expected = {"energy__reads", "objective__sigma", "options__steps", "penalty__a"}
    if engine == "paper":
        expected = {"energy__n_points", "objective__discrete__cap", "options__steps", "penalty__a"}
    if engine == "deep":
        expected = {
            "options__base__n_functions",
            "options__local__design__ridge",
            "energy__hidden",
            "penalty__a",
        }
    assert names > expected


def test_a_nested_number_is_set_on_a_copy():
    model = GPM().set_params(
        options__alpha_enter=0.001, options__node__newton_steps=7, options__rule__min_information=0.3
    )
    assert model.options == LocalOptions(
        alpha_enter=0.001, node=NodeOptions(newton_steps=7), rule=TwoEnded(min_information=0.3)
    )
    assert model.get_params()["options__node__newton_steps"] == 7
    copy = clone(model)
    assert copy.options == model.options
    copy.set_params(options__alpha_enter=0.5)
    assert model.options.alpha_enter == 0.001
    pipeline = make_pipeline(StandardScaler(), GPM()).set_params(gpm__options__most_neighbors=3)
    assert pipeline[-1].options.most_neighbors == 3


def test_the_base_of_the_deep_engine_is_reachable_by_name():
    model = GPM("deep").set_params(options__base__n_functions=4)
    assert model.options.base == Pairwise(4)
    with pytest.raises(InputError, match="Normal has no parameter 'n_functions'"):
        model.set_params(options__base="normal").set_params(options__base__n_functions=4)


def test_a_policy_for_gaps_is_reachable_by_name():
    assert GPM(missing=DropRows()).set_params(missing__least=5).missing == DropRows(5)
    assert GPM(missing="drop").set_params(missing__least=5).missing == DropRows(5)
    with pytest.raises(InputError, match="RefuseGaps has no parameter 'least'"):
        GPM().set_params(missing__least=5)


def test_parts_of_an_engine_object_are_set_through_it():
    with pytest.raises(InputError, match="set engine__penalty__a, not penalty__a"):
        GPM(DeepEngine()).set_params(penalty__a=4.0)
    assert GPM(DeepEngine()).set_params(engine__penalty__a=4.0).engine == DeepEngine(penalty=SCAD(a=4.0))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"base__n_functions": 4}, "no part 'base'"),
        ({"options__nonsense": 1}, "LocalOptions has no parameter 'nonsense'"),
        ({"options__node__nonsense": 1}, "NodeOptions has no parameter 'nonsense'"),
        ({"options__alpha_enter__x": 1}, "alpha_enter is '0.01' and has no parameters"),
        ({"penalty__a": 3.0}, "no part 'penalty'"),
        ({"options__alpha_enter": 7}, "alpha_enter must be"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(parameters, words):
    with pytest.raises(InputError, match=words):
        GPM().set_params(**parameters)
