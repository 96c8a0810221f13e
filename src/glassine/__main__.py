"""Run the command line with ``python -m glassine``."""

from glassine.cli import main

main()
