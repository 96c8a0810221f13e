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
import public_trees
import useful
from public_tables import tables
from study import FOLDER

from papers.common.tables import write_page


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every script with the same arguments; the page is written only of the whole experiment."""
    given = sys.argv[1:] if arguments is None else arguments
    # The public datasets are not part of a quick run, which judges without them.
    public = () if "--quick" in given else (public_trees, useful)
    for script in (example, global_tree, partitions, local_trees, distances, *public, figures, claims):
        script.main(given)
    if "--results" not in given:
        write_page(FOLDER, tables(FOLDER / "results"))


if __name__ == "__main__":
    main()
