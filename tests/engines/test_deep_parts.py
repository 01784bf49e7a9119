"""What every part of the deep engine keeps: it is frozen, can be compared, and every number of it has a name."""

import dataclasses
import math

import numpy as np
import pytest

from gpmnet.energies import BASES, ENERGIES, MLP, DeepKernel, EnergyFamily, Normal, Pairwise
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.errors import InputError
from gpmnet.objectives import (
    OBJECTIVES,
    Hyvarinen,
    Marginalisation,
    Mixed,
    Objective,
    PseudoLikelihood,
    Sliced,
)
from gpmnet.parts import Part, resolve
from gpmnet.penalties import PENALTIES, SCAD, Penalty
from gpmnet.solvers.adam import Training

REGISTRIES = {
    "energy": (ENERGIES, EnergyFamily),
    "objective": (OBJECTIVES, Objective),
    "penalty": (PENALTIES, Penalty),
}
PARTS = [part for known, _ in REGISTRIES.values() for part in known.values()]
PARTS += [
    *BASES.values(),
    Hyvarinen(),
    PseudoLikelihood(),
    Marginalisation(),
    Sliced(),
    Training(),
    DeepOptions(),
    DeepEngine(),
]
every_part = pytest.mark.parametrize("part", PARTS, ids=repr)
NUMPY = {int: np.int64, float: np.float32, bool: np.bool_}


@every_part
def test_a_part_is_frozen_and_equal_to_a_part_with_the_same_numbers(part):
    assert isinstance(part, Part)
    for name in part.get_params(deep=False):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, name, 1)
    twin = type(part)(**part.get_params(deep=False))
    assert part == twin
    assert hash(part) == hash(twin)


@every_part
def test_every_number_of_a_part_can_be_changed_by_its_name(part):
    assert part.with_params(**part.get_params()) == part
    for name, value in part.get_params().items():
        if type(value) is float:
            other = part.with_params(
                **{name: value / 2 if name.endswith(("held_out", "learning_rate")) else value + 0.01}
            )
            assert other != part
            assert part.with_params(**{name: value}) == part
    with pytest.raises(InputError, match="has no parameter"):
        part.with_params(nothing=1)


@every_part
def test_numpy_scalars_become_plain_numbers(part):
    own = {name: value for name, value in part.get_params(deep=False).items() if type(value) in NUMPY}
    found = part.with_params(**{name: NUMPY[type(value)](value) for name, value in own.items()})
    for name, value in own.items():
        assert type(getattr(found, name)) is type(value)
        assert getattr(found, name) == pytest.approx(value)


@pytest.mark.parametrize("name", REGISTRIES)
def test_a_word_and_its_part_are_the_same(name):
    known, kind = REGISTRIES[name]
    for word, part in known.items():
        assert resolve(name, word, known, kind) is part
        assert DeepEngine(**{name: word}) == DeepEngine(**{name: part})


def test_the_numbers_of_an_engine_are_reached_through_its_parts():
    changes = {"penalty__a": 3.0, "energy__hidden": 8, "options__steps": 3, "options__lam": 2.0}
    engine = DeepEngine().with_params(**changes)
    assert engine == DeepEngine(DeepOptions(steps=3, lam=2.0), MLP(hidden=8), "mixed", SCAD(a=3.0))
    assert engine.get_params()["energy__hidden"] == 8
    published = DeepEngine().with_params(objective__discrete=Marginalisation(cap=math.inf, ridge=0))
    assert published.objective == Mixed(discrete=Marginalisation(math.inf, 0.0))
    with pytest.raises(InputError, match=r"SCAD has no parameter .gamma."):
        DeepEngine().with_params(penalty__gamma=2.0)


def test_a_base_is_a_part_and_an_energy_of_pairs_its_own_base():
    assert DeepOptions(base="normal") == DeepOptions(base=Normal())
    assert DeepOptions() == DeepOptions(base=Pairwise())
    rich = DeepOptions().with_params(base__n_functions=5)
    assert DeepEngine(rich).base == Pairwise(5)
    assert DeepEngine(rich, "pairwise").base == Pairwise(3)
    plain = DeepEngine(DeepOptions(base="normal")).base
    assert (plain, plain.has_pairs, plain.pairs) == (Normal(), False, Pairwise())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: MLP(hidden=0), lambda: MLP(beta=0.0), lambda: Pairwise(0), lambda: DeepKernel(n_points=1),
        lambda: DeepKernel(alpha="guessed"), lambda: DeepKernel(ridge=0.0), lambda: Mixed(discrete="published"),
        lambda: Sliced(variance_reduced="yes"), lambda: Training(steps=1.5), lambda: DeepEngine(options=Training()),
    ],
)  # fmt: skip
def test_wrong_numbers_are_refused_in_one_sentence(wrong):
    with pytest.raises(InputError, match=r"^\w+: \w+ must be [^\n]*; got [^\n]*$"):
        wrong()
