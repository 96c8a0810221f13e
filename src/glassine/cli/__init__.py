"""The command line: one module a command, and what they share."""

from glassine.cli.main import main

__all__ = ["main"]
