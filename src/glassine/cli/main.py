"""The entry of the command line: streams and signals come first, then the modules of the commands are imported."""

from __future__ import annotations

from glassine.cli.process import begin


def main() -> None:
    """Run the command line."""
    # Importing the commands takes most of the time of a short one: an early Ctrl-C finds its handler.
    begin()
    from glassine.cli.entry import main as run

    run()
