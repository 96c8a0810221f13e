"""Figure 3: training accuracy of noisy Gini impurities and of noisy counts against epsilon, German credit and Adult."""

from __future__ import annotations

from collections.abc import Sequence

import global_forms
from study import options

SETTINGS = ("german", "adult")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the figure and its numbers."""
    global_forms.main(options(__doc__, arguments), SETTINGS, 3)


if __name__ == "__main__":
    main()
