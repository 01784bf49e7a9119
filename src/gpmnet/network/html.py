"""What a notebook shows: small tables; names come from the data, and everything is escaped."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpmnet.network.pairs import ESTIMATES
from gpmnet.network.text import at_cutoff, counted, interval_text, p_text, short, sign_mark

if TYPE_CHECKING:
    from gpmnet.network.compare import Comparison
    from gpmnet.network.explain import Explanation
    from gpmnet.network.network import MarkovNetwork

_MOST = 10
_TEMPLATE = """\
<div class="gpmnet">
<p><strong>{{ headline }}</strong></p>
{%- for note in notes %}
<p>{{ note }}</p>
{%- endfor %}
{%- if image %}
<img alt="shape of the dependence" src="{{ image }}">
{%- endif %}
{%- if rows %}
<table>
<thead><tr>{% for cell in heading %}<th>{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>
{%- for row in rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{%- endfor %}
</tbody>
</table>
{%- endif %}
</div>"""


def _render(
    headline: str,
    notes: Sequence[str] = (),
    heading: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    image: str = "",
) -> str:
    from jinja2 import Environment

    template = Environment(autoescape=True).from_string(_TEMPLATE)
    return template.render(headline=headline, notes=notes, heading=heading, rows=rows, image=image)


def _figure(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def network_html(network: MarkovNetwork) -> str:
    """Return the headline of a network and its strongest edges."""
    edges = network.edges.sort_values("strength", ascending=False, kind="stable").head(_MOST)
    rows = [
        [short(source), short(target), _figure(strength), interval_text(*ends), sign_mark(sign), _p(p), _p(q)]
        for source, target, strength, *ends, sign, p, q in zip(
            *(edges[name] for name in ("source", "target", *ESTIMATES[1:])), strict=True
        )
    ]  # fmt: skip
    heading = ["source", "target", "strength", "95% interval", "sign", "p", "q"]
    if network.directions is not None:  # its edges have no q-values
        heading[-1:] = ["kind", "direction", "evidence"]
        said = zip(edges["kind"], edges["direction"], edges["evidence"], strict=True)
        for row, (kind, direction, evidence) in zip(rows, said, strict=True):
            row[-1:] = [kind, direction, "" if math.isnan(evidence) else f"{evidence:.0f}"]
    notes = [short(warning, 300) for warning in network.facts.warnings]
    if alone := network.isolated:
        names = ", ".join(short(name, 40) for name in alone[:_MOST])
        more = f" and {len(alone) - _MOST:,} more" if len(alone) > _MOST else ""
        notes.append(f"Without an edge: {names}{more}")
    notes += [finding.text for finding in network.joint_findings[:_MOST]]
    if network.n_edges > _MOST:
        notes.append(f"The {_MOST} strongest edges:")
    return _render(headline(network), notes, heading, rows)


def _p(value: float) -> str:
    return "" if math.isnan(value) else p_text("", value).strip().removeprefix("= ")


def headline(network: MarkovNetwork) -> str:
    """Return a network's size in one sentence."""
    rows = f", {counted(network.n_rows, 'row')}" if network.n_rows is not None else ""
    size = counted(len(network.names), "variable")
    return f"Markov network: {size}{rows}, {counted(network.n_edges, 'edge')}{at_cutoff(network.cutoff)}"


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison's counts and the edges that differ."""
    lines = repr(comparison).removeprefix("Comparison(").removesuffix(")").split(";\n  ")
    differing = [(*edge, "only here") for edge in comparison.only_here]
    differing += [(*edge, "only there") for edge in comparison.only_there]
    differing += [(*edge, "sign flipped") for edge in comparison.flipped]
    rows = [[short(a), short(b), what] for a, b, what in differing[:_MOST]]
    return _render(lines[0], lines[1:], ("source", "target", ""), rows)


def explanation_html(explanation: Explanation) -> str:
    """Return an explanation's sentences, and the picture of its shape where it has one."""
    title = f"{short(explanation.source)} and {short(explanation.target)}"
    if explanation.form == "none":
        return _render(title, [explanation.text])
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 3.2), layout="constrained")
    explanation.plot(figure.add_subplot())
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    encoded = base64.b64encode(picture.getvalue()).decode("ascii")
    return _render(title, [explanation.text], image=f"data:image/png;base64,{encoded}")
