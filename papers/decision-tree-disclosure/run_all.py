"""Every experiment, table and plot; a run that was stopped goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import claims
import constraint_counts
import example_1
import figures
import identified
import posteriors
import readers
from study import FOLDER

from papers.common.tables import write_page


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every script with the same arguments; plots, claims and page only if everything is measured."""
    given = sys.argv[1:] if arguments is None else arguments
    for script in (example_1, constraint_counts, readers, posteriors, identified):
        script.main(given)
    for script in (figures, claims) if "--quick" not in given else ():
        script.main(given)
    if "--results" not in given:
        write_page(FOLDER)


if __name__ == "__main__":
    main()
