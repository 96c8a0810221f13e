"""Every table and figure, with the arguments of each script; a run that was stopped goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import claims
import figure_1
import figure_2
import figure_3
import figure_4
import figure_6
import lengths
import lists
import pools
import table_1
import table_2
import table_3
import trees
import variations
from study import FOLDER

from papers.common.tables import write_page


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every script with the same arguments."""
    given = sys.argv[1:] if arguments is None else arguments
    for script in (
        figure_1,
        pools,
        figure_2,
        figure_3,
        figure_4,
        figure_6,
        table_1,
        table_2,
        table_3,
        trees,
        lists,
        lengths,
        variations,
    ):
        script.main(given)
    if "--settings" not in given:
        claims.main(given)
    if "--results" not in given:
        write_page(FOLDER)


if __name__ == "__main__":
    main()
