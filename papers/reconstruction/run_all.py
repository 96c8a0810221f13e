"""Every experiment, table and plot; a run that was stopped goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import additive_members
import claims
import comparing
import criterion
import figures
import grid
import peers
import private_models
import published_lists
import random_trees
import rashomon
import several_models
import subgroups
import worked_examples
from study import FOLDER

from papers.common.tables import write_page


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every script with the same arguments; claims and page only if everything is measured."""
    given = sys.argv[1:] if arguments is None else arguments
    one_model = (worked_examples, grid, comparing, published_lists, subgroups, random_trees)
    notes = (several_models, rashomon, criterion, private_models, additive_members)
    for script in (*one_model, *notes, peers, figures):
        script.main(given)
    if "--quick" not in given:
        claims.main(given)
    if "--results" not in given:
        write_page(FOLDER)


if __name__ == "__main__":
    main()
