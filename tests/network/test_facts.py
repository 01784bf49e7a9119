import copy
import json
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gpmnet.errors import InputError
from gpmnet.network import Facts, Origin
from gpmnet.network.facts import value_text
from gpmnet.parts import Part
from gpmnet.table import Column, Schema


@dataclass(frozen=True)
class Inner(Part):
    rate: float = 0.5


@dataclass(frozen=True)
class Outer(Part):
    inner: Inner = Inner()
    sizes: tuple[int, ...] = (3, 4)
    name: str | None = None


class Odd:
    def __repr__(self):
        return "Odd()"


def full():
    return Facts(
        Schema((Column("age", "continuous", "numbers", low=1.0, high=2.0),), 20, ("w",)),
        {"fdr": np.float64(0.05), "options": Outer(), "pairs": [("a", "b")], "more": {"deep": [1]}},
        np.int64(7),
        {"numpy": "2.0"},
        "3.11",
        {"load": np.float32(0.5)},
        ["a solver stopped early"],
        Origin("wine.csv", ["fit", "wine.csv"], "2024-01-01T10:00:00+0100"),
    )


def test_settings_become_plain_values():
    settings = {
        "none": None,
        "flag": np.True_,
        "count": np.int32(3),
        "share": np.float32(0.5),
        "text": np.str_("mlp"),
        "endless": float("inf"),
        "array": np.array([[1, 2]]),
        "names": {"b", "a"},
        "path": Path("models") / "one",
        "part": Outer(Inner(np.float64(0.25))),
        "odd": Odd(),
        3: "three",
    }
    found = Facts(settings=settings).settings
    assert found == {
        "none": None,
        "flag": True,
        "count": 3,
        "share": 0.5,
        "text": "mlp",
        "endless": "inf",
        "array": ((1, 2),),
        "names": ("a", "b"),
        "path": str(Path("models") / "one"),
        "part": {"class": "Outer", "inner": {"class": "Inner", "rate": 0.25}, "sizes": (3, 4), "name": None},
        "odd": "Odd()",
        "3": "three",
    }
    assert {type(found[name]) for name in ("flag", "count", "share", "text")} == {bool, int, float, str}
    assert value_text(found["part"]) == "Outer(inner=Inner(rate=0.25), sizes=[3, 4], name=None)"


def test_facts_are_the_same_after_json():
    facts = full()
    back = Facts.from_dict(json.loads(json.dumps(facts.to_dict(), allow_nan=False)))
    assert back == facts
    assert (type(back.seed), type(back.seconds["load"])) == (int, float)
    assert Facts.from_dict({}) == Facts()
    assert Facts().to_dict() == {}
    assert Facts.from_dict(Facts(origin=Origin()).to_dict()).origin == Origin()


def test_what_the_program_writes_lies_flat():
    assert list(full().to_dict()) == [
        "settings", "seed", "schema", "versions", "python", "seconds", "warnings", "source", "command", "started",
    ]  # fmt: skip


def test_facts_do_not_change_with_what_they_were_made_of():
    settings, seconds, warnings = {"forbid": [["a", "b"]]}, {"load": 1.0}, ["one"]
    facts = Facts(settings=settings, seconds=seconds, warnings=warnings)
    settings["forbid"][0].append("c")
    settings["fdr"] = seconds["load"] = 9
    warnings.append("two")
    assert (facts.settings, facts.seconds, facts.warnings) == (
        {"forbid": (("a", "b"),)},
        {"load": 1.0},
        ("one",),
    )


def test_facts_are_read_only_also_in_copies():
    facts = full()
    for found in (facts, pickle.loads(pickle.dumps(facts)), copy.deepcopy(facts), copy.copy(facts)):  # noqa: S301
        assert found == facts
        for mapping in (found.settings, found.settings["options"], found.versions, found.seconds):
            with pytest.raises(TypeError):
                mapping["fdr"] = 1
            with pytest.raises(AttributeError):
                mapping._items = {}
        with pytest.raises(AttributeError):
            found.seed = 1
        with pytest.raises(AttributeError):
            found.origin.source = "other"


def test_settings_that_hold_themselves_are_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(InputError, match="nested too deeply"):
        Facts(settings={"endless": endless})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "said of the run"),
        ([1], "said of the run"),
        ({1: 2}, "said of the run"),
        ({"settings": 4}, "settings"),
        ({"settings": {"a": {1, 2}}}, "plain JSON"),
        ({"settings": {"a": float("nan")}}, "plain JSON"),
        ({"seed": "7"}, "seed"),
        ({"versions": "x"}, "versions"),
        ({"versions": {"numpy": [2]}}, "numpy"),
        ({"python": {}}, "Python"),
        ({"seconds": [1]}, "seconds"),
        ({"seconds": {"load": True}}, "load"),
        ({"warnings": 2}, "warnings"),
        ({"schema": {"columns": 5}}, "columns"),
        ({"source": ["wine.csv"]}, "source"),
        ({"command": {"a": 1}}, "command"),
        ({"started": 5}, "start"),
        ({"python": "x" * 9, "source": ["x\n" * 9999]}, "source"),
    ],
)
def test_damaged_facts_are_refused_in_one_line(data, words):
    with pytest.raises(InputError, match=words) as caught:
        Facts.from_dict(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200
