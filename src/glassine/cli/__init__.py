"""The command line: one module a command, and what they share."""

from glassine.cli.process import begin

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    # Before the modules of the commands are imported, which takes most of the time of a short one.
    begin()
    from glassine.cli.entry import main as run

    run()
