"""The PDF of the picture, read byte by byte beside the SVG of the same view."""

import re
import zlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest

Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
SPACE = "{http://www.w3.org/2000/svg}"


def objects(pdf):
    """Return the objects by number, each as its dictionary and its stream; every offset and length must be right."""
    at = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", pdf)[1])
    table = pdf[at:].split(b"trailer")[0].splitlines()
    assert table[0] == b"xref"
    assert int(table[1].split()[1]) == len(table) - 2
    found = {}
    for number, line in enumerate(table[3:], start=1):
        begin = int(line[:10])
        head = re.match(rb"%d 0 obj\n<< (.*?) >>\n" % number, pdf[begin:], re.DOTALL)
        assert head is not None
        stream, end = b"", begin + head.end()
        if length := re.search(rb"/Length (\d+)", head[1]):
            assert pdf[end:].startswith(b"stream\n")
            stream = pdf[end + 7 : end + 7 + int(length[1])]
            end += 7 + int(length[1]) + len(b"\nendstream\n")
            assert pdf[:end].endswith(b"\nendstream\n")
        assert pdf[end:].startswith(b"endobj\n")
        found[number] = head[1].decode("latin-1"), stream
    return found


def content(pdf):
    return objects(pdf)[6][1].decode("latin-1")


def texts(operators):
    """Return what is written where: text, x, y."""
    shown = re.findall(r"1 0 0 -1 (\S+) (\S+) Tm <([0-9a-f]*)> Tj\nET", operators)
    return [(bytes.fromhex(letters).decode("cp1252"), float(x), float(y)) for x, y, letters in shown]


def helvetica():
    """Return the widths of Helvetica by Unicode character, from the metrics that matplotlib brings."""
    text = (Path(matplotlib.get_data_path()) / "fonts/pdfcorefonts/Helvetica.afm").read_text()
    return {
        chr(int(code)): int(width) for code, width in re.findall(r"^C (\d+) ; WX (\d+) ;", text, re.MULTILINE)
    }


def test_the_pdf_is_the_svg(page, network):
    page.at("search").send_keys("flavanoids", Keys.ENTER)
    root = ElementTree.fromstring(page.download("save-svg"))
    pdf = page.download("save-pdf")
    operators = content(pdf)
    lines = [
        [float(line.get(key)) for key in ("x1", "y1", "x2", "y2")] for line in root.findall(f"{SPACE}line")
    ]
    moves = re.findall(r"/A80 gs\n[^\n]*\n(\S+) (\S+) m\n(\S+) (\S+) l\nS", operators)
    assert len(lines) == network.n_edges
    assert [[float(value) for value in move] for move in moves] == [
        pytest.approx(line, abs=1e-3) for line in lines
    ]
    assert re.findall(r"/ca (\S+)", objects(pdf)[3][0]) == ["0.8"]  # nothing is faded
    written = texts(operators)
    labels = root.findall(f"{SPACE}text")
    assert [text for text, *_ in written] == [label.text for label in labels]
    assert {"continuous", "discrete", "positive", "negative"} <= {text for text, *_ in written}
    widths = helvetica()
    for (text, x, y), label in zip(written, labels, strict=True):
        share = {"start": 0.0, "middle": 0.5, "end": 1.0}[label.get("text-anchor", "start")]
        width = 12.5 / 1000 * sum(widths[letter] for letter in text)
        assert (x, y) == pytest.approx(
            (float(label.get("x")) - share * width, float(label.get("y"))), abs=2e-3
        )
    box = [float(value) for value in re.search(r"/MediaBox \[0 0 (\S+) (\S+)\]", objects(pdf)[3][0]).groups()]
    assert box == pytest.approx([0.75 * float(root.get("width")), 0.75 * float(root.get("height"))])


def test_names_in_any_script_are_in_the_pdf(browser, shaped, tmp_path):
    names = ("Größe (a)\\", "плотность", *shaped.names[2:])
    browser.open(replace(shaped, names=names).report(tmp_path / "named.html", title="π) <</Evil"))
    pdf = browser.download("save-pdf")
    parts = objects(pdf)
    written = {text for text, *_ in texts(content(pdf))}
    assert "Größe (a)\\" in written
    assert "плотность" not in written
    colours, alpha = parts[7], parts[8]
    width, height = (int(value) for value in re.search(r"/Width (\d+) /Height (\d+)", colours[0]).groups())
    assert len(zlib.decompress(colours[1])) == 3 * width * height
    ink = zlib.decompress(alpha[1])
    assert len(ink) == width * height
    assert 0.02 < sum(byte > 128 for byte in ink) / len(ink) < 0.9
    assert content(pdf).count("/I0 Do") == 1
    title = bytes.fromhex(re.search(r"/Title <([0-9a-f]+)>", parts[4][0])[1]).decode("utf-16")
    assert title == "π) <</Evil: Markov network"
    assert browser.complaints() == []


def test_arrows_and_dashes_are_in_the_pdf(browser, directed, tmp_path):
    browser.open(directed.report(tmp_path / "directed.html"))
    operators = content(browser.download("save-pdf"))
    heads = re.findall(r"rg\n\S+ \S+ m\n\S+ \S+ l\n\S+ \S+ l\nh\nf", operators)
    assert len(heads) == 3
    assert operators.count("[2 7] 0 d") == 1  # the pair of co-parents
    assert operators.count("q\n") + operators.count("q ") == operators.count("Q")
