"""``python -m glassine.cli.each OPTIONS -- MODEL...``: ``glassine audit`` on each of several files, for pre-commit."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from glassine.cli.entry import run
from glassine.cli.writing import say, tell

__all__ = ["audit_each"]

WORST = (2, 1, 3, 0)
"""Exit statuses, the worst first: what could not be read hides what it breaks."""


def audit_each(arguments: Sequence[str]) -> int:
    """Audit every file after the double dash with the options before it, and return the worst exit status."""
    if "--" not in arguments:
        tell("glassine: the files stand after a double dash. Let the arguments of the hook end with it.")
        return 2
    dash = list(arguments).index("--")
    options, files = arguments[:dash], arguments[dash + 1 :]
    statuses = set()
    for file in files:
        say(f"{file}:")
        statuses.add(run(["audit", file, *options]))
    return next((status for status in WORST if status in statuses), 0)


if __name__ == "__main__":
    sys.exit(audit_each(sys.argv[1:]))
