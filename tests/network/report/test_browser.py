"""The report in a real browser."""

import io
import time
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from gpmnet.network import Facts, MarkovNetwork, Origin
from gpmnet.network.escape import unescape
from gpmnet.network.report import report_html
from gpmnet.network.report.words import number, probability, strength_words
from gpmnet.selection import Cutoff
from gpmnet.table import Schema

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys


def test_the_demo_opens(page, network):
    assert f"{network.n_edges} edges" in page.text("summary")
    assert page.js("return gpm.cy.edges(':visible').length") == network.n_edges
    assert f"{network.n_edges} of {network.n_edges}" in page.text("edges-table")
    painted = "const d = gpm.cy.png(); return d.length"
    assert page.js(painted) > 5000


def settled(page, holds):
    """Whether the number of visible edges comes to hold within five seconds; the page redraws once a frame."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if holds(page.js("return gpm.cy.edges(':visible').length")):
            return True
        time.sleep(0.05)
    return False


def test_the_cutoff_moves_both_ways(page, network):
    slider = page.at("cutoff")
    slider.send_keys(Keys.END)
    candidates = network.candidates
    near = int((~candidates["is_edge"]).sum())
    assert near > 0
    assert f"{near} pairs that came close" in page.text("shown")
    assert page.js("return gpm.cy.edges('.near:visible').length") == near
    slider.send_keys(*[Keys.ARROW_LEFT] * 40)
    cutoff = page.js("return gpm.state.cutoff")
    assert network.fdr < cutoff < 1
    expected = int((candidates["q_value"] <= cutoff).sum())
    assert settled(page, lambda shown: shown == expected)
    slider.send_keys(Keys.HOME)
    assert settled(page, lambda shown: shown < network.n_edges)
    slider.send_keys(Keys.END)
    page.at("cutoff-reset").click()
    assert settled(page, lambda shown: shown == network.n_edges)
    assert page.js("return gpm.cy.edges('.near:visible').length") == 0


def test_strength_and_kinds_hide_edges(page, network):
    page.at("strength").send_keys(*[Keys.ARROW_RIGHT] * 70)
    least = page.js("return gpm.state.strength")
    expected = int((network.edges["strength"] >= least).sum())
    assert 0 < expected < network.n_edges
    assert page.js("return gpm.cy.edges(':visible').length") == expected
    page.at("strength").send_keys(Keys.HOME)
    page.driver.find_element(By.XPATH, "//label[contains(., 'discrete')]/input").click()
    assert "cultivar" not in page.js("return gpm.shown.nodes.map((node) => node.name)")
    assert page.js("return gpm.shown.pairs.length") == network.n_edges - len(network.neighbors("cultivar"))


def test_search_shows_a_markov_blanket(page, network):
    page.at("search").send_keys("flavanoids", Keys.ENTER)
    names = [item.text for item in page.driver.find_elements(By.CSS_SELECTOR, "#panel .neighbors bdi")]
    assert sorted(names) == sorted(network.neighbors("flavanoids"))
    assert "Markov blanket" in page.text("panel")
    page.driver.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    assert page.at("panel").get_attribute("data-chosen") == ""
    page.at("search").clear()
    page.at("search").send_keys("nothing like it", Keys.ENTER)
    assert "No variable" in page.text("search-says")


def test_search_lists_all_that_match(page):
    page.at("search").send_keys("alc", Keys.ENTER)
    names = page.js("return gpm.nodes.map((node) => node.name).filter((name) => name.includes('alc'))")
    listed = [button.text for button in page.driver.find_elements(By.CSS_SELECTOR, "#search-says button")]
    assert len(names) == 2
    assert listed == [name for name in names if name != page.js("return gpm.state.chosen.name")]
    page.driver.find_element(By.CSS_SELECTOR, "#search-says button").click()
    assert page.js("return gpm.state.chosen.name") == listed[0]


def test_edges_of_a_chosen_node_are_not_faded_after_the_filter_hid_them(page):
    page.at("search").send_keys("flavanoids", Keys.ENTER)
    page.at("strength").send_keys(Keys.END)
    page.at("strength-reset").click()
    own = "gpm.cy.nodes().filter((node) => node.data('label') === 'flavanoids').connectedEdges(':visible')"
    assert page.js("return gpm.cy.edges('.faded').length") > 0
    assert page.js(f"return [{own}.length > 0, {own}.filter('.faded').length]") == [True, 0]


def test_a_dense_network_opens_on_its_backbone(browser, tmp_path):
    names = [f"v{k}" for k in range(12)]
    first, second = np.triu_indices(12, 1)
    strength = np.random.default_rng(0).uniform(0.05, 0.6, len(first))
    strength[first == 0] /= 20  # which the strongest edges leave out
    weights = np.zeros((12, 12))
    weights[first, second] = weights[second, first] = strength
    network = MarkovNetwork.from_adjacency(names, weights > 0, weights)
    path = tmp_path / "dense.html"
    path.write_text(report_html(network), encoding="utf-8")
    browser.open(path)
    heaviest = set(np.argsort(-strength)[:18].tolist())
    own = {int(np.argmax(np.where((first == k) | (second == k), strength, 0))) for k in range(12)}
    n = len(heaviest | own)
    assert 18 < n < 30
    assert browser.js("return gpm.shown.pairs.length") == n
    assert f"{n} of 66 edges" in browser.text("shown")
    assert browser.js(
        "return gpm.nodes.every((node) => node.pairs.some((pair) => gpm.shown.isShown.has(pair)))"
    )
    rows = "return document.querySelectorAll('#edges-table tbody tr').length"
    assert browser.js(rows) == n
    browser.js("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.js(rows) == 66  # paper has them all
    browser.js("window.dispatchEvent(new Event('afterprint'))")
    browser.at("strength-reset").click()
    assert browser.js("return gpm.shown.pairs.length") == browser.js(rows) == 66


def test_a_click_on_an_edge_explains_it(page):
    page.js("document.getElementById('graph').scrollIntoView({block: 'center'})")
    time.sleep(0.3)
    x, y = page.js("const {x, y} = gpm.cy.getElementById('e0').renderedMidpoint(); return [x, y]")
    width, height = page.js("return [gpm.cy.width(), gpm.cy.height()]")
    chain = webdriver.ActionChains(page.driver)
    chain.move_to_element_with_offset(
        page.at("graph"), round(x - width / 2), round(y - height / 2)
    ).click().perform()
    page.wait(lambda: page.at("panel").get_attribute("data-chosen") == "pair0")
    said = page.text("panel")
    a, b = page.js("return [gpm.pairs[0].a.name, gpm.pairs[0].b.name]")
    assert all(word in said for word in (a, b, "strength", "p", "q", "rows", "178"))
    assert page.driver.find_elements(By.CSS_SELECTOR, "#panel figure svg")


def test_the_strongest_edges_lead_to_their_explanation(page):
    buttons = page.driver.find_elements(By.CSS_SELECTOR, "#findings [data-pair]")
    assert len(buttons) == 5
    buttons[2].send_keys(Keys.ENTER)
    assert page.at("panel").get_attribute("data-chosen") == "pair2"
    assert page.driver.switch_to.active_element == page.at("panel")


def test_tables_sort_filter_and_obey_the_keyboard(page, network):
    def column(at):
        return page.js(
            f"return [...document.querySelectorAll('#edges-table tbody tr')].map((row) => row.children[{at}].textContent)"
        )

    heading = page.driver.find_element(By.XPATH, "//*[@id='edges-table']//th[button='q']")
    heading.find_element(By.TAG_NAME, "button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(8) == [show(q) for q in sorted(network.edges["q_value"], reverse=True)]
    heading.find_element(By.TAG_NAME, "button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(8) == [show(q) for q in sorted(network.edges["q_value"])]
    surest = network.edges.sort_values("q_value", kind="stable").iloc[0]
    assert column(3)[0] == f"{surest['strength_low']:.2f} to {surest['strength_high']:.2f}"
    page.driver.find_element(By.CSS_SELECTOR, "#edges-table input").send_keys("CULTI")
    assert len(column(0)) == len(network.neighbors("cultivar"))
    rows = page.driver.find_elements(By.CSS_SELECTOR, "#edges-table tbody tr")
    rows[0].send_keys(Keys.ARROW_DOWN)
    second = page.driver.switch_to.active_element
    assert second == rows[1]
    second.send_keys(Keys.ENTER)
    assert page.at("panel").get_attribute("data-chosen").startswith("pair")
    assert page.driver.switch_to.active_element == page.at("panel")


def show(value):
    return probability(value).removeprefix("= ")


def test_downloads_hold_what_is_shown(page, network):
    frame = pd.read_csv(io.BytesIO(page.download("save-csv")))
    assert list(frame.columns) == [*network.edges.columns, "is_edge"]
    mine = frame.sort_values(["source", "target"])[list(network.edges.columns)].reset_index(drop=True)
    theirs = network.edges.sort_values(["source", "target"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, theirs, check_dtype=False, rtol=1e-8)
    graph = nx.parse_graphml(page.download("save-graphml").decode())
    assert set(graph) == set(network.names)
    assert graph.number_of_edges() == network.n_edges
    assert page.download("save-png").startswith(b"\x89PNG")


def test_the_theme_changes(page):
    background = "return getComputedStyle(document.body).backgroundColor"
    light = page.js(background)
    page.at("theme").click()
    assert page.js(background) != light
    assert page.at("theme").get_attribute("aria-pressed") == "true"
    page.at("theme").click()
    assert page.js(background) == light


def test_numbers_are_written_as_in_python(page):
    small = [0.0, 1e-17, 1e-16, 2.2337e-11, 9.999e-5, 1.0001e-4, 0.04567, 0.05, 0.5]
    values = [*small, 1.0, 12.345, 999.4, 999.6, 1234.6, 5e8, 2e9, -0.25]
    assert page.js("return arguments[0].map(gpm.number)", values) == [number(value) for value in values]
    assert page.js("return arguments[0].map(gpm.strength)", small) == [
        strength_words(value) for value in small
    ]
    shown = page.js("return arguments[0].map(gpm.probability)", values[:-1])
    assert shown == [show(value) for value in values[:-1]]


def test_a_phone_shows_it_without_scrolling_sideways(page):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.js("gpm.openItem(gpm.pairs[0])")
        assert page.js("return document.documentElement.scrollWidth") <= 390
        links = "[...document.querySelectorAll('.top nav a')]"
        assert (
            page.js(f"return Math.max(...{links}.map((link) => link.getBoundingClientRect().right))") <= 390
        )
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_javascript_the_edges_are_listed(browser, demo, network):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.driver.get((demo / "report.html").as_uri())
        rows = browser.driver.find_elements(By.CSS_SELECTOR, "noscript tbody tr")
        assert len(rows) == network.n_edges
        assert rows[0].is_displayed()
        assert "false-discovery rate" in browser.driver.find_element(By.ID, "summary").text
        assert not browser.at("explorer").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_each_form_of_dependence_is_drawn(browser, shaped, tmp_path):
    browser.open(shaped.report(tmp_path / "shaped.html"))
    forms = {}
    for at, pair in enumerate([("density", "alcohol"), ("density", "<colour>"), ("<colour>", "grade")]):
        browser.js(f"gpm.choose(gpm.pairs[{at}])")
        figure = browser.driver.find_element(By.CSS_SELECTOR, "#panel figure")
        forms[pair] = figure.get_attribute("data-form")
        said = browser.text("panel")
        assert all(name in said for name in pair)
        assert f"Given the other variables, {shaped.explain(*pair).direction[0].lower()}" in said
        assert shaped.explain(*pair).direction[1:] in said
    assert list(forms.values()) == ["surface", "lines", "table"]
    browser.js("gpm.choose(gpm.pairs[3])")
    assert "came close" in browser.text("panel")
    assert browser.complaints() == []


def test_cutoffs_of_p_required_edges_and_no_cutoff_at_all(browser, shaped, tmp_path):
    shown = "gpm.change({cutoff: arguments[0]}); return gpm.shown.pairs.map((pair) => pair.at)"
    by_p = replace(shaped, cutoff=Cutoff(0.01, "p"))
    browser.open(by_p.report(tmp_path / "p.html"))
    assert "p ≤ 0.01" in browser.text("cutoff-value")
    assert browser.js(shown, 1e-4) == [0, 1]  # 2 has p = 0.001; 3 came close with p = 0.03
    assert browser.js(shown, 0.03) == [0, 1, 2, 3]
    required = replace(
        shaped, cutoff=Cutoff(0.005)
    )  # the third edge has q = 0.01: it was required, not found
    browser.open(required.report(tmp_path / "required.html"))
    assert browser.js(shown, 1e-6) == [0, 2]
    bare = MarkovNetwork.from_adjacency(("a", "b", "c"), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    browser.open(bare.report(tmp_path / "bare.html"))
    assert not browser.at("cutoff-field").is_displayed()
    assert "1 edge, 3 variables" in browser.text("shown")
    browser.open(MarkovNetwork((), bare.pairs.take([])).report(tmp_path / "empty.html"))
    assert browser.complaints() == []


def test_hostile_names_are_text_and_run_nothing(browser, hostile, tmp_path):
    facts = Facts(
        Schema((), 50, ("<img src=x onerror=alert(1)>",)),
        {"</dl><script>alert(3)</script>": "{{ 7 * 7 }}"},
        origin=Origin("</title><script>alert(2)</script>"),
    )
    hostile = replace(hostile, facts=facts)
    browser.open(hostile.report(tmp_path / "hostile.html"))
    assert browser.js("return document.scripts.length") == 3
    assert browser.js("return document.querySelectorAll('img, iframe').length") == 0
    browser.at("cutoff").send_keys(Keys.END)
    for at in range(len(hostile.names)):
        browser.js(f"gpm.choose(gpm.nodes[{at}])")
        assert browser.js(
            f"return document.querySelector('#panel h3').textContent === gpm.plain(gpm.nodes[{at}].name)"
        )
    shown = browser.text("variables-table")
    assert all(
        name in shown
        for name in ("<script>alert(1)</script>", "=1+1", "line one\\nline two", "\U0001f600 emoji")
    )
    assert "{{ 7 * 7 }}" in browser.text("run")
    graph = nx.parse_graphml(browser.js("return gpm.graphml()").encode("utf-8", "replace").decode())
    assert {unescape(node) for node in graph} == set(hostile.names)
    frame = pd.read_csv(io.StringIO(browser.js("return gpm.csv()")), keep_default_na=False)
    assert {"'=1+1", "'-2", "'@SUM(A1)"} <= {*frame["source"], *frame["target"]}
    assert browser.complaints() == []
    assert browser.requests() == []


def test_arrows_and_common_effects_are_drawn_and_told(browser, directed, tmp_path):
    (tmp_path / "report.html").write_text(report_html(directed), encoding="utf-8")
    browser.open(tmp_path / "report.html")
    ways = [browser.js(f"return gpm.cy.edges('.{name}').length") for name in ("forth", "back", "shared")]
    assert ways == [3, 0, 1]
    assert "direction known" in browser.text("legend")
    assert "causes of a common effect" in browser.text("legend")
    assert "direction open" not in browser.text("legend")
    browser.js("gpm.choose(gpm.pairs.find((pair) => pair.rests.kind === 'co-parents'))")
    assert "only a common effect: <c>" in browser.text("panel")
    assert browser.complaints() == []


def test_the_table_of_edges_says_direction_kind_and_evidence(browser, directed, tmp_path):
    (tmp_path / "report.html").write_text(report_html(directed), encoding="utf-8")
    browser.open(tmp_path / "report.html")
    headings = browser.js(
        "return [...document.querySelectorAll('#edges-table th')].map((h) => h.textContent)"
    )
    assert headings == [
        "variable", "direction", "and", "kind", "evidence", "strength", "95% interval", "sign", "omega", "p",
    ]  # fmt: skip
    cells = "[...row.children].slice(0, 5).map((cell) => cell.textContent)"
    lines = "[...document.querySelectorAll('#edges-table tbody tr')]"
    rows = browser.js(f"return {lines}.map((row) => {cells})")
    assert rows == [
        ["a", "→", "<c>", "arc", "80"],
        ["b", "→", "<c>", "arc", "70"],
        ["<c>", "→", "e", "arc", "60"],
        ["a", "···", "b", "co-parents of <c>", "12.5"],
    ]
    frame = pd.read_csv(io.StringIO(browser.js("return gpm.csv()")), keep_default_na=False)
    assert frame["direction"].tolist() == ["->", "->", "->", ""]
    assert frame["common_effects"].tolist() == ["", "", "", '["<c>"]']
    assert frame["evidence"].tolist() == [80, 70, 60, 12.5]
    graph = nx.parse_graphml(browser.js("return gpm.graphml()"))
    assert graph.edges["b", "<c>"]["direction"] == "->"
    assert graph.edges["a", "b"]["kind"] == "co-parents"
    assert "direction" not in graph.edges["a", "b"]
    assert browser.complaints() == []


def test_labels_do_not_lie_on_arrowheads(browser, directed, tmp_path):
    """The four nodes are put on a column, arrows downwards: the first place of a label, under its node, is not free."""
    (tmp_path / "report.html").write_text(report_html(directed), encoding="utf-8")
    browser.open(tmp_path / "report.html")
    placed = """
      const names = ["a", "<c>", "e"];
      names.forEach((name, at) => gpm.cy.nodes()[gpm.nodes.find((n) => n.name === name).at].position({ x: 0, y: 150 * at }));
      gpm.cy.nodes()[gpm.nodes.find((n) => n.name === "b").at].position({ x: 0, y: 300 + 150 });
      gpm.cy.fit(gpm.cy.elements(), 60);
      gpm.placeLabels(gpm.cy);
      return ["<c>", "e"].map((name) => {
        const style = gpm.cy.nodes()[gpm.nodes.find((n) => n.name === name).at].style();
        return [style.textValign, style.textHalign];
      });
    """
    middle, last = browser.js(placed)
    assert middle not in (["top", "center"], ["bottom", "center"])  # a above and b below point at it
    assert last != ["top", "center"]
    assert browser.complaints() == []
