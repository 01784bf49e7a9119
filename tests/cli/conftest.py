import sys

import pytest

from gpmnet.cli import main


@pytest.fixture
def gpmnet(monkeypatch, capsys):
    """Run the program in this process: (exit code, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gpmnet", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        return (code, *capsys.readouterr())

    return run
