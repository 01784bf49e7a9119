"""From the summary to one HTML file: Jinja2 with autoescape, everything inlined, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from gpmnet.network.report.parts import link_of
from gpmnet.network.report.words import interval_words, label, number, probability, strength_words
from gpmnet.network.text import sign_mark

if TYPE_CHECKING:
    from jinja2 import Environment

_HOME = files("gpmnet.network.report")
STYLES = ("base.css", "headline.css", "network.css", "tables.css", "print.css")
SCRIPTS = (
    "base.js",
    "model.js",
    "groups.js",
    "state.js",
    "figures.js",
    "graph.js",
    "labels.js",
    "panel.js",
    "tables.js",
    "resampled.js",
    "matrix.js",
    "picture.js",
    "pdf.js",
    "download.js",
    "address.js",
    "controls.js",
    "main.js",
)
VENDOR = "cytoscape.min.js"
_STATIC_EDGES = 200
# What ends a script element, opens a comment in one, or breaks a line in old JavaScript.
_UNSAFE = {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def environment() -> Environment:
    """Return Jinja2 over our templates; all that comes from the data is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    found = Environment(
        loader=FunctionLoader(lambda name: text_of("templates", name)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"number": number, "strength": strength_words, "probability": probability}
    return found


def styles() -> dict[str, Any]:
    """Return the style of every page, and what is different in the dark."""
    from markupsafe import Markup

    return {"style": Markup(_joined("style", STYLES)), "dark": Markup(text_of("style", "dark.css"))}


def render(summary: dict[str, Any]) -> str:
    """Return the page of a summary."""
    from markupsafe import Markup

    # Only our own files and the escaped JSON are marked as safe.
    scripts = [_vendor(), _joined("script", SCRIPTS)]
    return (
        environment()
        .get_template("report.html")
        .render(
            report=summary,
            policy=policy(scripts),
            scripts=[Markup(script) for script in scripts],
            data=Markup(embedded_json(page_data(summary))),
            static_edges=static_edges(summary),
            **styles(),
        )
    )


def page_data(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what the page's script reads; the words are in the page already."""
    return {name: value for name, value in summary.items() if name not in ("headline", "notes", "run")}


def embedded_json(data: Any) -> str:
    r"""Return JSON that may stand inside a script element.

    >>> embedded_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return "".join(_UNSAFE.get(char, char) for char in text) if any(c in text for c in _UNSAFE) else text


def policy(scripts: list[str]) -> str:
    """Return the page's content security policy: no request leaves, and only these scripts run."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def static_edges(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the strongest edges for readers without JavaScript."""
    nodes, pairs = summary["nodes"], summary["pairs"]
    n = min(_STATIC_EDGES, sum(pairs["edge"]))
    return [
        {
            "source": label(nodes["name"][pairs["a"][at]], 200),
            "target": label(nodes["name"][pairs["b"][at]], 200),
            "strength": pairs["strength"][at],
            "interval": interval_words(pairs["strength_low"][at], pairs["strength_high"][at]),
            "sign": sign_mark(pairs["sign"][at]),
            "p": pairs["p_value"][at],
            "q": pairs["q_value"][at],
            "stability": pairs["stability"][at] if "stability" in pairs else None,
            "link": link_of(pairs, at),
            "evidence": _said(pairs, at, "evidence"),
            "on": _said(pairs, at, "on") or "",
        }
        for at in range(n)
    ]


def _said(pairs: dict[str, Any], at: int, what: str) -> Any:
    """Return what a search over directed graphs says of a pair; None where it says nothing."""
    rests = pairs["rests"][at] if "rests" in pairs else None
    return None if rests is None else rests[what]


@cache
def text_of(folder: str, name: str) -> str:
    """Return one of our own files."""
    return (_HOME / folder / name).read_text(encoding="utf-8")


def _joined(folder: str, names: tuple[str, ...]) -> str:
    return "\n".join(text_of(folder, name) for name in names)


def _vendor() -> str:
    return text_of("vendor", VENDOR)
