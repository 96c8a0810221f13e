"""Every experiment, table and plot; a run that was stopped goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import claims
import distances
import example
import figures
import global_tree
import local_trees
import partitions
from study import FOLDER

from papers.common.tables import write_page


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every script with the same arguments; the page is written only of the whole experiment."""
    given = sys.argv[1:] if arguments is None else arguments
    for script in (example, global_tree, partitions, local_trees, distances, figures, claims):
        script.main(given)
    if "--results" not in given:
        write_page(FOLDER)


if __name__ == "__main__":
    main()
