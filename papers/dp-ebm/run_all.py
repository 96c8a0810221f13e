"""Every experiment, plot and judgement; a run that was stopped goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import claims
import figures
import further_data
import pairs
import rivals
import shapes
import table_2
import table_3
from study import HERE

from papers.common.tables import write_page


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every script; ``--full`` measures 25 splits instead of 5."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for script in (table_2, table_3, pairs):
        script.main(given)
    further_data.main([])
    rivals.main([])
    shapes.main([])
    figures.main([])
    claims.main([])
    write_page(HERE)


if __name__ == "__main__":
    main()
