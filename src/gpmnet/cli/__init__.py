"""The command line: thin commands that parse, call and print."""


def main() -> None:
    """Run the program `gpmnet`; nothing is imported before Ctrl-C has its meaning."""
    from gpmnet.cli.stop import stoppable

    with stoppable():
        from gpmnet.cli.app import run

        run()


__all__ = ["main"]
