"""What axe-core finds against the report: nothing serious, in both themes, with nothing, a node or a pair chosen."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest

from gpmnet.network import MarkovNetwork, Resampling

_SPEC = importlib.util.find_spec("axe_core_python")
pytestmark = pytest.mark.skipif(_SPEC is None, reason="axe-core-python is not installed")
# Of what axe cannot decide, none is counted; of what it finds, all but hints.
_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then(
  (found) => done(found.violations.map((rule) => [rule.id, rule.impact, rule.nodes.map((node) => node.html.slice(0, 200))])),
  (error) => done([[String(error), 'critical', []]]));
"""


def violations(page):
    source = (Path(_SPEC.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")
    page.js(source + "; window.axe = axe;")
    page.driver.set_script_timeout(120)
    found = page.driver.execute_async_script(_RUN)
    return [rule for rule in found if rule[1] in ("moderate", "serious", "critical")]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("chosen", ["null", "gpm.nodes[0]", "gpm.pairs[0]"])
def test_axe_finds_nothing_serious(page, theme, chosen):
    if theme == "dark":
        page.at("theme").click()
    page.js(
        f"document.querySelectorAll('details').forEach((part) => (part.open = true)); gpm.choose({chosen})"
    )
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_where_communities_are_shown(browser, theme, tmp_path):
    graph = nx.random_partition_graph([120, 120, 80], 0.05, 0.0005, seed=1)
    adjacency = nx.to_numpy_array(graph) > 0
    names = [f"variable {k}" for k in range(len(graph))]
    browser.open(
        MarkovNetwork.from_adjacency(names, adjacency, adjacency * 0.5).report(tmp_path / "large.html")
    )
    if theme == "dark":
        browser.at("theme").click()
    for view in ("gpm.open([])", "gpm.open([0])"):
        browser.js(view)
        assert violations(browser) == []


def test_axe_finds_nothing_serious_where_stability_is_drawn(browser, shaped, tmp_path):
    pairs = replace(shaped.pairs, stability=[1.0, 0.9, 0.2, 0.5])
    drawn = replace(shaped, pairs=pairs, resampling=Resampling(25, 799, 2.0, 6))
    browser.open(drawn.report(tmp_path / "stable.html"))
    assert violations(browser) == []
