"""What axe-core finds against the report: nothing serious, in both themes, with nothing, a node or a pair chosen."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.find_spec("axe_core_python")
pytestmark = pytest.mark.skipif(_SPEC is None, reason="axe-core-python is not installed")
# Of what axe cannot decide, none is counted; of what it finds, all but hints.
_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then(
  (found) => done(found.violations.map((rule) => [rule.id, rule.impact, rule.nodes.map((node) => node.html.slice(0, 200))])),
  (error) => done([[String(error), 'critical', []]]));
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("chosen", ["null", "gpm.nodes[0]", "gpm.pairs[0]"])
def test_axe_finds_nothing_serious(page, theme, chosen):
    source = (Path(_SPEC.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")
    if theme == "dark":
        page.at("theme").click()
    page.js(
        f"document.querySelectorAll('details').forEach((part) => (part.open = true)); gpm.choose({chosen})"
    )
    page.js(source + "; window.axe = axe;")
    page.driver.set_script_timeout(120)
    found = page.driver.execute_async_script(_RUN)
    assert [rule for rule in found if rule[1] in ("moderate", "serious", "critical")] == []
