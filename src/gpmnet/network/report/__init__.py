"""The interactive report: a network as one HTML file that needs no server and no connection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpmnet.files import whole_file

if TYPE_CHECKING:
    from gpmnet.network.network import MarkovNetwork

__all__ = ["report_html", "write_report"]


def report_html(network: MarkovNetwork, title: str = "") -> str:
    """Return the report of a network as one self-contained page; its heading is the title, or the name of the table."""
    from gpmnet.network.report.render import render
    from gpmnet.network.report.summary import summarise

    return render(summarise(network, title))


def write_report(network: MarkovNetwork, path: str | Path, title: str = "") -> Path:
    """Write the report of a network to a file, whole or not at all; return its path."""
    page = report_html(network, title)
    with whole_file(Path(path)) as beside:
        # A lone surrogate in a name cannot be written as UTF-8; it is shown as a question mark.
        beside.write_text(page, encoding="utf-8", errors="replace", newline="\n")
    return Path(path)
