"""The five papers and the page on bounds again: every experiment not stored yet, plot, verdict and page.

    GLASSINE_DATA=folder python papers/run_all.py [--judge]

A row is written when it is measured and not measured again, so that a run that was stopped goes on where it was. A
paper that fails leaves the others to run. ``--judge`` measures nothing: it judges the stored results and writes the
tables of the pages.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from papers.common.tables import write_page  # noqa: E402 - after the path is set

PAPERS = (
    "capacity",
    "decision-tree-disclosure",
    "dp-ebm",
    "microaggregation-surrogates",
    "reconstruction",
    "smooth-sensitivity-rule-lists",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scripts of every paper, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", action="store_true", help="judge the stored results alone")
    given = parser.parse_args(arguments)
    failed = []
    for paper in PAPERS:
        sys.stdout.write(f"== {paper}\n")
        sys.stdout.flush()
        own = not (HERE / paper / "claims.py").is_file()  # Our own page has no statements of others to judge
        script = ("claims.py",) if given.judge and not own else ("run_all.py", *(["--judge"] if given.judge else []))
        command = [sys.executable, str(HERE / paper / script[0]), *script[1:]]
        if subprocess.run(command, check=False).returncode:  # noqa: S603 - our own file
            failed.append(paper)
        elif given.judge and not own:
            write_page(HERE / paper)
    if failed:
        sys.stderr.write(f"Failed: {', '.join(failed)}. The rows that were measured are kept; run again.\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
