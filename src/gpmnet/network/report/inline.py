"""The small interactive network that a notebook shows: one page of some kilobytes, for an iframe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpmnet.network.report.parts import Shown, choose, node_data, pair_data, weight_of
from gpmnet.network.report.render import embedded_json, environment, policy, text_of
from gpmnet.network.report.words import label, strength_words
from gpmnet.network.text import counted

if TYPE_CHECKING:
    from gpmnet.network.network import MarkovNetwork

MOST_EDGES = 200
_SCRIPT = "inline.js"


def inline_page(network: MarkovNetwork) -> str:
    """Return the page of the strongest edges and their variables; empty where there is no edge."""
    from markupsafe import Markup

    pairs = choose(network).pairs
    edges = pairs[network.pairs.is_edge[pairs]][:MOST_EDGES]
    if not len(edges):
        return ""
    nodes = np.union1d(network.pairs.first[edges], network.pairs.second[edges])
    shown = Shown(edges, nodes, False)
    placed, figures = node_data(network, shown), pair_data(network, shown)
    weights = weight_of(network)[edges].tolist()
    data = {
        "nodes": [
            {"name": label(name, 200), "kind": kind, "degree": degree, "x": x, "y": y}
            for name, kind, degree, x, y in zip(
                *(placed[key] for key in ("name", "kind", "degree", "x", "y")), strict=True
            )
        ],
        "edges": [
            {
                "a": a,
                "b": b,
                "weight": round(weight, 4),
                "sign": sign or 0,
                "says": _says(placed, figures, at),
            }
            for at, (a, b, weight, sign) in enumerate(
                zip(figures["a"], figures["b"], weights, figures["sign"], strict=True)
            )
        ],
        "hint": _hint(network, len(edges)),
    }
    script = text_of("script", _SCRIPT)
    return (
        environment()
        .get_template("inline.html")
        .render(policy=policy([script]), data=Markup(embedded_json(data)), script=Markup(script))
    )


def _says(placed: dict[str, list[str]], figures: dict[str, list[int]], at: int) -> str:
    a, b = (label(placed["name"][figures[end][at]], 60) for end in ("a", "b"))
    strength = figures["strength"][at]
    known = "" if strength is None else f", strength {strength_words(strength)}"
    return f"{a} and {b}{known}. {figures['says'][at]}"


def _hint(network: MarkovNetwork, n: int) -> str:
    part = f"The {n:,} strongest of {counted(network.n_edges, 'edge')}. " if n < network.n_edges else ""
    return f"{part}Choose a node or a line; drag nodes; Ctrl and the wheel zoom. net.report(path) writes the whole report."
