"""Kinds of real and simulated tables that lie beside the project; skipped where they do not."""

from pathlib import Path

import pandas as pd
import pytest

from gpmnet.table import describe

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of tables beside the project is absent")


def kinds(name):
    return {column.name: column.kind for column in describe(DATA / name)}


def test_autism_agrees_with_its_schema():
    schema = pd.read_csv(DATA / "mgm_autism" / "schema.csv").set_index("name")["type"]
    expected = schema.map({"categorical": "discrete", "gaussian": "continuous", "poisson": "ordinal"})
    assert kinds("mgm_autism/data.csv") == expected.to_dict()


def test_none_states_are_categories():
    for file in ("bn_child/data_1000.csv", "bn_child/data_1000.parquet"):
        schema = describe(DATA / file)
        assert set(kinds(file).values()) == {"discrete"}
        assert "None" in schema["DuctFlow"].levels
        assert sum(column.n_missing for column in schema) == 0


def test_penguins_raw():
    found = kinds("real_penguins/data_raw.csv")
    ignored = {name for name, kind in found.items() if kind == "ignored"}
    assert ignored == {"Sample Number", "Region", "Stage", "Individual ID", "Comments"}
    assert found["Date Egg"] == "continuous"
    assert describe(DATA / "real_penguins/data_raw.csv")["Sex"].n_missing == 11


def test_movies_and_nhanes():
    movies = kinds("real_movies/data.csv")
    assert {name for name, kind in movies.items() if kind == "ignored"} == {"Title", "Director"}
    nhanes = describe(DATA / "real_nhanes/data.csv")
    assert [c.name for c in nhanes if c.kind == "ignored"] == ["ID"]
    assert nhanes.duplicates == {"HHIncomeMid": "HHIncome", "Smoke100n": "Smoke100"}
    assert "None" in nhanes["LittleInterest"].levels
