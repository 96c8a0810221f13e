"""Table 2: area under the ROC curve of private additive classifiers, beside the published figures."""

from __future__ import annotations

from collections.abc import Sequence

from study import run

DATASETS = ("adult", "telco")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    run(2, "auroc", DATASETS, arguments, __doc__ or "")


if __name__ == "__main__":
    main()
