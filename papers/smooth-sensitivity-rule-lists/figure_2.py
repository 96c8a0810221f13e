"""Figure 2: training accuracy of noisy Gini impurities and of noisy counts against epsilon, COMPAS."""

from __future__ import annotations

from collections.abc import Sequence

import global_forms
from study import options

SETTINGS = ("compas",)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the figure and its numbers."""
    global_forms.main(options(__doc__, arguments), SETTINGS, 2)


if __name__ == "__main__":
    main()
