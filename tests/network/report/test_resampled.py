"""Stability in the report: edges with little of it are pale, and strength is drawn against it."""

from dataclasses import replace

import pytest

from gpmnet.network import Resampling
from gpmnet.network.report import report_html

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")


@pytest.fixture
def drawn(shaped):
    pairs = replace(shaped.pairs, stability=[1.0, 0.9, 0.2, 0.5])
    return replace(shaped, pairs=pairs, resampling=Resampling(25, 799, 2.0, 6))


def move(browser, slider, value):
    browser.js(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
        browser.at(slider),
        value,
    )


def test_unstable_edges_are_pale_and_can_be_hidden(browser, shaped, drawn, tmp_path):
    browser.open(drawn.report(tmp_path / "stable.html"))
    assert not browser.js("return document.getElementById('stability-field').hidden")
    found = browser.js(
        "return gpm.pairs.map((pair) => [pair.stability, Number(gpm.cy.$('#e' + pair.at).style('opacity')), pair.isEdge])"
    )
    edges = sorted((stability, shown) for stability, shown, is_edge in found if is_edge)
    assert [shown for _, shown in edges] == sorted({shown for _, shown in edges})
    move(browser, "stability", 80)
    assert browser.js("return gpm.shown.pairs.map((pair) => pair.stability).sort()") == [0.9, 1]
    assert browser.js("return gpm.csv()").splitlines()[0].split(",").count("stability") == 1
    browser.open(shaped.report(tmp_path / "plain.html"))
    assert browser.js("return document.getElementById('stability-field').hidden")


# Everything that the mouse finds on its way over the picture, with where it was found first.
SWEEP = """
const [canvas, tip] = ['resampled-plot', 'resampled-tip'].map(gpm.at);
canvas.scrollIntoView({ block: 'center' });
const box = canvas.getBoundingClientRect();
const found = {};
for (let y = 0; y < box.height; y += 5) {
  for (let x = 0; x < box.width; x += 5) {
    const where = { clientX: box.left + x, clientY: box.top + y };
    canvas.dispatchEvent(new MouseEvent('mousemove', where));
    if (!tip.hidden) found[tip.textContent] ??= [x, y];
  }
}
return found;
"""


def shade(browser, stability, strength):
    """Return the colour of the picture where a pair has its point, red, green and blue."""
    return browser.js(
        """
        const [stability, strength] = arguments;
        const canvas = gpm.at('resampled-plot');
        const ratio = window.devicePixelRatio || 1;
        const x = 52 + stability * (canvas.clientWidth - 68);
        const y = canvas.clientHeight - 46 - (strength / gpm.heaviest) * (canvas.clientHeight - 60);
        return [...canvas.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data].slice(0, 3);
        """,
        stability,
        strength,
    )


def test_strength_is_drawn_against_stability(browser, drawn, tmp_path):
    browser.open(drawn.report(tmp_path / "stable.html"))
    found = browser.js(SWEEP)
    pairs = {
        (pair.source, pair.target): (pair.stability, pair.strength)
        for pair in drawn.candidates.itertuples()
        if pair.strength == pair.strength
    }
    said = {
        f"{a} — {b}: stability {stability:g}, strength {strength:.2f}"
        for (a, b), (stability, strength) in pairs.items()
    }
    assert {text.removesuffix(", came close") for text in found} == said
    assert sum(text.endswith(", came close") for text in found) == len(drawn.candidates) - drawn.n_edges
    x, y = next(where for text, where in found.items() if text.startswith("density — alcohol"))
    browser.js(
        """
        const canvas = gpm.at('resampled-plot');
        const box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new MouseEvent('click', { clientX: box.left + arguments[0], clientY: box.top + arguments[1] }));
        """,
        x,
        y,
    )
    assert browser.js("return [gpm.state.chosen.a.name, gpm.state.chosen.b.name]") == ["density", "alcohol"]
    assert browser.complaints() == []


def test_what_the_sliders_leave_out_is_pale_there(browser, drawn, tmp_path):
    browser.open(drawn.report(tmp_path / "stable.html"))
    weak = drawn.edges.set_index("stability").strength[0.5]
    before = sum(shade(browser, 0.5, weak))
    move(browser, "stability", 80)
    assert sum(shade(browser, 0.5, weak)) > before + 150
    move(browser, "stability", 0)
    assert sum(shade(browser, 0.5, weak)) == before
    browser.at("theme").click()
    assert sum(shade(browser, 0.5, weak)) != before


def test_it_fits_on_a_phone(browser, drawn, tmp_path):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.open(drawn.report(tmp_path / "stable.html"))
        assert browser.js("return document.documentElement.scrollWidth") <= 390
        assert len(browser.js(SWEEP)) == 4
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_half_samples_there_is_no_such_picture(shaped, drawn):
    assert 'id="resampled-plot"' in report_html(drawn)
    assert 'id="resampled-plot"' not in report_html(shaped)
    assert "#stability-plot" not in report_html(shaped)
