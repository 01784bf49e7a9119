"""The view in a real browser: what fits, what is saved, what the address holds, and pictures of hard cases."""

from dataclasses import replace
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

from gpmnet.network import Axis, MarkovNetwork, Shapes
from gpmnet.network.text import marginal_text

By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
SCREEN = {"width": 1400, "height": 757, "deviceScaleFactor": 1, "mobile": False}


def test_the_picture_is_saved_with_its_legend_and_nothing_faded(page, network):
    page.at("search").send_keys("flavanoids", Keys.ENTER)
    root = ElementTree.fromstring(page.download("save-svg"))
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    assert set(network.names) <= set(texts)
    assert {"continuous", "discrete", "positive", "negative"} <= set(texts)
    lines = root.findall(f"{space}line")
    assert [line.get("opacity") for line in lines] == ["0.8"] * network.n_edges


def test_no_column_of_the_tables_is_beyond_the_edge_of_a_screen(page):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SCREEN)
    try:
        sizes = page.js(
            "return [...document.querySelectorAll('.scroll')].map(e => [e.scrollWidth, e.clientWidth])"
        )
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert len(sizes) == 2
    assert all(wide <= room for wide, room in sizes)


def test_the_view_is_in_the_address_and_comes_back(page, demo):
    page.at("search").send_keys("flavanoids", Keys.ENTER)
    page.at("strength").send_keys(*[Keys.ARROW_RIGHT] * 30)
    address = page.driver.current_url
    shown = page.js("return gpm.shown.pairs.length")
    page.driver.get("about:blank")
    page.driver.get(address)
    page.wait(lambda: page.js("return document.documentElement.dataset.ready") == "yes")
    assert page.js("return gpm.state.chosen.name") == "flavanoids"
    assert page.js("return gpm.shown.pairs.length") == shown < page.js("return gpm.pairs.length")
    page.driver.get("about:blank")
    page.driver.get((demo / "report.html").as_uri() + "#view?cutoff=x&strength=99&node=nobody&pair=a")
    page.wait(lambda: page.js("return document.documentElement.dataset.ready") == "yes")
    assert page.js("return [gpm.state.chosen, gpm.state.strength]") == [None, 0]


def test_toolbar_and_picture_are_on_the_first_screen(page):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SCREEN)
    try:
        ends = "return ['#graph', '.legend'].map((at) => document.querySelector(at).getBoundingClientRect().bottom)"
        assert max(page.js(ends)) <= 757
        assert page.js("return gpm.cy.height()") > 300
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_paper_everything_is_unfolded_and_light(page, network):
    page.at("theme").click()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page.js("window.dispatchEvent(new Event('beforeprint'))")
        assert page.js("return document.querySelectorAll('details:not([open])').length") == 0
        assert page.js("return document.documentElement.dataset.theme") == "light"
        cut = "return [...document.querySelectorAll('.scroll')].some((part) => part.scrollHeight > part.clientHeight + 2)"
        assert not page.js(cut)
        assert not page.at("save-csv").is_displayed()
        assert page.js("return document.querySelectorAll('svg.paper > line').length") == network.n_edges
        left, right, wide = page.js(
            "const {left, right} = document.querySelector('svg.paper').getBoundingClientRect();"
            "return [left, right, innerWidth]"
        )
        assert 0 <= left < 0.8 * right < right <= wide
        assert not page.at("graph").is_displayed()
        page.js("window.dispatchEvent(new Event('afterprint'))")
        assert page.js("return document.documentElement.dataset.theme") == "dark"
        assert page.js("return document.querySelectorAll('svg.paper').length") == 0
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_column_of_zeros_has_a_heat_map(browser, shaped, tmp_path):
    for zeros in (9, 7):
        values = [0.0] * zeros + [3.0, 5.0][: 9 - zeros]
        axis = Axis(values, [f"{value:g}" for value in values])
        shapes = Shapes({**shaped.shapes.axes, 1: axis}, shaped.shapes.pair, shaped.shapes.values)
        browser.open(replace(shaped, shapes=shapes).report(tmp_path / f"zeros{zeros}.html"))
        browser.js("gpm.choose(gpm.pairs[0])")
        cells = "[...document.querySelectorAll('#panel figure g:first-of-type rect')]"
        area = browser.js(
            f"return {cells}.map((cell) => cell.width.baseVal.value * cell.height.baseVal.value)"
        )
        assert sum(area) == pytest.approx(286 * 250, rel=0.02)  # pixels of the whole heat map
        assert len(set(browser.js(f"return {cells}.map((cell) => cell.getAttribute('fill'))"))) > 4
    assert browser.complaints() == []


def test_one_outlier_does_not_wash_out_omega(browser, tmp_path):
    d = 12
    weights = np.ones((d, d)) - np.eye(d)
    weights[0, 1] = weights[1, 0] = 1000.0
    network = MarkovNetwork.from_adjacency([f"v{k}" for k in range(d)], weights > 0, weights)
    browser.open(network.report(tmp_path / "outlier.html"))
    assert (
        browser.text("matrix-scale")
        == "The colour is full from Omega 1 on, which 5% of the edges exceed, up to 1,000."
    )
    weights[0, 1] = weights[1, 0] = 1.5
    network = MarkovNetwork.from_adjacency([f"v{k}" for k in range(d)], weights > 0, weights)
    browser.open(network.report(tmp_path / "plain.html"))
    assert browser.text("matrix-scale") == ""


def test_hubs_have_their_names_and_no_names_overlap(browser, tmp_path):
    graph = nx.barabasi_albert_graph(300, 2, seed=1)
    adjacency = nx.to_numpy_array(graph) > 0
    network = MarkovNetwork.from_adjacency([f"variable {k}" for k in range(300)], adjacency, adjacency * 1.0)
    browser.open(network.report(tmp_path / "hubs.html"))
    browser.wait(lambda: browser.js("return gpm.nodes.some((node) => node.place)"))
    hubs = np.argsort(-adjacency.sum(axis=0), kind="stable")[:12].tolist()
    assert browser.js("return arguments[0].filter((at) => !gpm.nodes[at].place)", hubs) == []
    boxes = browser.js(
        "return gpm.nodes.filter((node) => node.box).map(({box}) => [box.x1, box.x2, box.y1, box.y2])"
    )
    x1, x2, y1, y2 = np.array(boxes).T
    meets = (x1[:, None] < x2) & (x1 < x2[:, None]) & (y1[:, None] < y2) & (y1 < y2[:, None])
    assert len(boxes) > 30
    assert np.array_equal(meets, np.eye(len(boxes), dtype=bool))
    width, height = browser.js("return [gpm.cy.width(), gpm.cy.height()]")
    assert 0 <= x1.min() <= x2.max() <= width
    assert 0 <= y1.min() <= y2.max() <= height


def test_the_association_with_nothing_given_is_told(browser, shaped, tmp_path):
    pairs = replace(shaped.pairs, marginal=np.array([0.33, np.nan, np.nan, np.nan]))
    browser.open(replace(shaped, pairs=pairs).report(tmp_path / "flip.html"))
    browser.js("gpm.choose(gpm.pairs[0])")
    said = browser.driver.find_element(By.CSS_SELECTOR, "#panel .flip").text
    assert said == marginal_text(-1.0, 0.33)
    assert "the other way round" in said
    browser.js("gpm.choose(gpm.pairs[1])")
    assert "With nothing given" not in browser.text("panel")


def test_a_notebook_shows_a_network_that_can_be_asked(browser, hostile, shaped, tmp_path):
    for name, network in (("shaped", shaped), ("hostile", hostile)):
        page = network._repr_html_()
        assert len(page) < 40_000
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><title>x</title>{page}", "utf-8", "replace")
        browser.driver.get((tmp_path / f"{name}.html").as_uri())
        browser.driver.switch_to.frame(0)
        lines = browser.wait(lambda: browser.driver.find_elements(By.CSS_SELECTOR, "#net line:not(.reach)"))
        assert len(lines) == network.n_edges
        mark = browser.driver.find_element(By.CSS_SELECTOR, "#net circle")
        mark.click()
        assert "joined to" in browser.text("says")
        faded = len(browser.driver.find_elements(By.CSS_SELECTOR, "line.faded"))
        first = network.names[min(network.pairs.first[network.pairs.is_edge])]
        assert faded == network.n_edges - len(network.neighbors(first))
        browser.driver.switch_to.default_content()
    assert not [said for said in browser.complaints() if "favicon" not in said]


def test_a_notebook_shows_a_network_without_edges(shaped):
    assert "<iframe" not in shaped.filter(strength=0.99)._repr_html_()


def test_numbers_on_axes_are_as_they_were_given(browser, shaped, tmp_path):
    values = np.array([-3.47231, -0.78495, 0.0, 0.098841, 1.0, 2.0029, 1234.5678, 9876.54, 9999.4])
    powers = values * 1e4
    for number, points in enumerate((values, powers)):
        labels = [f"{value:.4g}" for value in points.tolist()]
        axis = Axis(points.tolist(), labels)
        shapes = Shapes({**shaped.shapes.axes, 1: axis}, shaped.shapes.pair, shaped.shapes.values)
        browser.open(replace(shaped, shapes=shapes).report(tmp_path / f"axis{number}.html"))
        shown = browser.js("return gpm.shape(gpm.pairs[0]).y.labels")
        assert [float(label.replace(",", "")) for label in shown] == [float(label) for label in labels]
        assert (shown[0], shown[6]) == (("-34,720", "12,350,000") if number else ("-3.472", "1235"))
        sent = browser.js(
            "return JSON.parse(document.getElementById('report-data').textContent).shapes.axes['1']"
        )
        assert ("labels" in sent) == (number == 1)
