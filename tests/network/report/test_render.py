import base64
import hashlib
import html
import json
import re

import pytest

from gpmnet.errors import InputError
from gpmnet.network.report import report_html, write_report
from gpmnet.network.report.render import SCRIPTS, STYLES, embedded_json


def scripts(page):
    return re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)


def test_only_our_scripts_may_run_and_nothing_may_be_fetched(shaped):
    page = report_html(shaped)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts(page)]
    assert len(hashes) == 2
    assert rules["script-src"].split() == [f"'sha256-{value}'" for value in hashes]
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page.replace("".join(scripts(page)), ""))
    assert "@import" not in page
    assert "url(" not in re.search(r"<style>(.*?)</style>", page, flags=re.DOTALL)[1]


def test_hostile_names_are_text(hostile):
    page = report_html(hostile)
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in outside
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', outside, flags=re.DOTALL)[1])
    assert data["nodes"]["name"] == list(hostile.names)


def test_embedded_json_holds_every_character_and_no_markup():
    names = ["</script>", "<!--", "]]>", "&amp;", "\u2028\u2029", "\ud800", "\x00", '"\\', "é🧬"]
    text = embedded_json(names)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == names


def test_the_same_network_gives_the_same_bytes(shaped):
    assert report_html(shaped) == report_html(shaped)


def test_a_report_is_written_whole_or_not_at_all(shaped, hostile, tmp_path):
    assert shaped.report(tmp_path / "r.html") == tmp_path / "r.html"
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report_html(shaped)
    write_report(hostile, tmp_path / "r.html")
    with pytest.raises(InputError, match="is a folder"):
        shaped.report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_parts_are_short_and_all_used():
    from gpmnet.network.report import render

    home = render._HOME
    assert {path.name for path in (home / "script").iterdir()} == {*SCRIPTS, "inline.js"}
    assert {path.name for path in (home / "style").iterdir()} == {*STYLES, "dark.css"}
    for folder in ("script", "style", "templates"):
        for path in (home / folder).iterdir():
            assert len(path.read_text(encoding="utf-8").splitlines()) < 400, path.name
    vendored = (home / "vendor" / "cytoscape.min.js").read_bytes()
    assert hashlib.sha256(vendored).hexdigest() in (home / "vendor" / "README.md").read_text(encoding="utf-8")
    assert "Permission is hereby granted" in (home / "vendor" / "cytoscape.LICENSE").read_text(
        encoding="utf-8"
    )


def test_scripts_never_write_markup_from_text():
    from gpmnet.network.report import render

    ours = render._joined("script", SCRIPTS)
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert way not in ours
