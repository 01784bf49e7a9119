"""A table of near-copies, as breast cancer is: what predicts the diagnosis shows in no single pair, but jointly."""

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM, MarkovNetwork
from gpmnet.engines.dag import DagOptions
from gpmnet.engines.local import LocalOptions
from gpmnet.errors import CollinearWarning


def measurements(seed, n=400):
    """Return measurements of a few latent quantities, each several times, and a diagnosis that two of them decide."""
    rng = np.random.default_rng(seed)
    size, texture, shape = rng.normal(size=(3, n))
    shape = 0.6 * size + 0.8 * shape
    columns = {f"size {k}": size + 0.25 * rng.normal(size=n) for k in range(5)}
    columns |= {f"shape {k}": shape + 0.25 * rng.normal(size=n) for k in range(3)}
    columns |= {f"texture {k}": texture + 0.25 * rng.normal(size=n) for k in range(2)}
    columns["smoothness"] = rng.normal(size=n)
    malignant = rng.random(n) < 1 / (1 + np.exp(-3 * size - 1.5 * texture))
    return pd.DataFrame(columns | {"diagnosis": np.where(malignant, "malignant", "benign")})


@pytest.fixture(scope="module")
def fitted():
    with pytest.warns(CollinearWarning, match="^near-copies hide each other's edges \\(3 groups\\)") as seen:
        model = GPM(fdr=0.01).fit(measurements(0))
    assert seen[0].filename == __file__
    return model


def test_the_groups_are_those_of_the_latent_quantities(fitted):
    groups = {frozenset(name.split()[0] for name in group): len(group) for group in fitted.network_.groups}
    assert groups == {frozenset(["size"]): 5, frozenset(["shape"]): 3, frozenset(["texture"]): 2}


def test_the_diagnosis_has_no_edge_but_depends_on_two_groups(fitted, tmp_path):
    net = fitted.network_
    assert net.neighbors("diagnosis") == ()
    found = {
        finding.group[0].split()[0]: finding
        for finding in net.joint_findings
        if finding.variable == "diagnosis"
    }
    assert set(found) == {"size", "texture"}  # not on shape, which only goes with size
    assert all(finding.p_value < 1e-6 and finding.q_value < 1e-5 for finding in found.values())
    assert all(finding.rivals == () for finding in found.values())
    assert found["size"].strength > found["texture"].strength > 0.2
    with pytest.warns(CollinearWarning, match="'diagnosis': no single column, but jointly p < 1e-16"):
        assert net.separates("diagnosis", "size 3")
    with pytest.warns(CollinearWarning, match="blanket of 'diagnosis' is not complete"):
        assert net.markov_blanket("diagnosis") == ()
    assert [name.split()[0] for name in net.merged_groups().neighbors("diagnosis")] == ["size", "texture"]
    assert any("near-copies" in text for text in net.facts.warnings)
    assert "groups" in fitted.timings_
    net.save(tmp_path)
    assert MarkovNetwork.load(tmp_path).joint_findings == net.joint_findings


@pytest.mark.filterwarnings("ignore::gpmnet.errors.CollinearWarning")
def test_joint_tests_can_be_bounded_forbidden_and_follow_the_cutoff(fitted):
    table = measurements(0)
    off = GPM(options=LocalOptions(most_joint=0)).fit(table).network_
    assert (len(off.groups), off.joint_findings) == (3, ())
    forbidden = [("diagnosis", f"texture {k}") for k in range(2)]
    closed = GPM(forbid=forbidden).fit(table).network_
    assert not any("texture 0" in f.group for f in closed.joint_findings if f.variable == "diagnosis")
    strict = GPM(threshold=1e-14).fit(table).network_
    assert all(finding.p_value <= 1e-14 for finding in strict.joint_findings)
    before = [(f.variable, f.group) for f in fitted.network_.joint_findings if f.p_value <= 1e-14]
    assert set(before) <= {(f.variable, f.group) for f in strict.joint_findings}


@pytest.mark.filterwarnings("ignore::gpmnet.errors.CollinearWarning")
def test_a_column_that_repeats_a_member_is_in_its_group():
    table = measurements(1)
    table["size 0 again"] = np.exp(table["size 0"])
    net = GPM().fit(table).network_
    assert any({"size 0", "size 0 again"} <= set(group) for group in net.groups)


@pytest.mark.parametrize("screened_above", [300, 0])
def test_the_dag_engine_names_the_groups_too(fitted, screened_above):
    options = DagOptions(screened_above=screened_above)
    with pytest.warns(CollinearWarning, match="^near-copies hide each other's edges \\(3 groups\\)"):
        net = GPM(engine="dag", options=options).fit(measurements(0)).network_
    assert {frozenset(group) for group in net.groups} == {frozenset(g) for g in fitted.network_.groups}
    assert net.joint_findings == ()
    assert any("near-copies" in text for text in net.facts.warnings)
    merged = net.merged_groups()
    assert len(merged.names) == len(net.names) - (4 + 2 + 1)
