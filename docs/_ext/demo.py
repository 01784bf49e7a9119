"""What the pages show of the program is what it prints and writes while they are built.

docs/_demo/site is copied into the site (the report of the demo), docs/_demo/text is included by pages.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DEMO = Path(__file__).parents[1] / "_demo"
HELP = ("fit", "report", "causal", "compare", "describe", "simulate")


def _run(*arguments: str, width: int = 110) -> str:
    environment = os.environ | {
        "COLUMNS": str(width),
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-m", "gpmnet", *arguments],
        cwd=DEMO / "site", env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True,
    )  # fmt: skip
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def setup(app: Sphinx) -> dict[str, Any]:
    """Run the demo; the site has its report, and the pages its output."""
    for folder in ("site", "text"):
        (DEMO / folder).mkdir(parents=True, exist_ok=True)
    outputs = {"demo": _run("demo", "-o", "demo"), "bench-list": _run("bench", "list", width=150)}
    outputs |= {f"{name}-help": _run(name, "--help") for name in HELP}
    for name, text in outputs.items():
        (DEMO / "text" / f"{name}.txt").write_text(text, encoding="utf-8")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
