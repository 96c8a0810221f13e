"""Table 3: root mean squared error of private additive regressions, beside the published figures."""

from __future__ import annotations

from collections.abc import Sequence

from study import run

DATASETS = ("california", "elevators", "pol", "wine")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    run(3, "rmse", DATASETS, arguments, __doc__ or "")


if __name__ == "__main__":
    main()
