"""Formulas as MathML, which every browser draws by itself: pages need no script and no connection."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_SIZED = re.compile(r"\\([bB]igg?)\s*([(\[|]|[)\]])")


def _mathml(formula: str, **options: bool) -> str:
    """Return the MathML of a formula; docutils knows sized brackets as left and right ones only."""
    sided = _SIZED.sub(lambda m: f"\\{m[1]}{'r' if m[2] in ')]' else 'l'}{m[2]}", formula)
    return tex2mathml(sided, **options)


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    formula = _mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer and choose it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("config-inited", lambda _, config: setattr(config, "html_math_renderer", "mathml"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
