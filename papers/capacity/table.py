"""The tables of the page in the docs, written between their marks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from drawing import epsilon_of

from glassine.capacity import rounded_up
from papers.common.results import Row, page_of, read
from papers.common.tables import markdown, place

HERE = Path(__file__).resolve().parent


def models(rows: Sequence[Row]) -> str:
    """Return the models: proved, the largest bound given one of them, strongest attack."""
    return markdown(
        [
            "dataset",
            "n",
            "model",
            "bits",
            "fresh, proved",
            "design, proved",
            "given a model, largest",
            "strongest attack",
        ],
        [
            [
                row["dataset"],
                f"{int(row['n']):,}",
                row["model"],
                f"{float(row['bits']):,.0f}",
                *(f"{rounded_up(float(row[name]), 2):g}" for name in ("fresh", "design", "given_largest")),
                f"{float(row['advantage']):.2g} ({row['attack']})",
            ]
            for row in rows
        ],
    )


def summary(rows: Sequence[Row]) -> str:
    """Return how many models there are, and how far bounds lie above the strongest attack."""
    useful = [row for row in rows if float(row["advantage"]) > 0 and float(row["design"]) < 0.5]
    ratios = {
        name: [float(row[name]) / float(row["advantage"]) for row in useful] for name in ("design", "given_largest")
    }
    return markdown(
        [
            "models",
            "attacks above a bound",
            "design bound under 0.5",
            "proved / measured",
            "given a model, largest / measured",
        ],
        [
            [
                str(len(rows)),
                str(sum(float(row["lower"]) > float(row["design"]) for row in rows)),
                str(sum(float(row["design"]) < 0.5 for row in rows)),
                f"{median(ratios['design']):.1f} (median)",
                f"{median(ratios['given_largest']):.1f} (median)",
            ]
        ],
    )


def needed() -> str:
    """Return how many people a class needs."""
    return markdown(
        [
            "class, 50 questions",
            "published",
            "mean advantage",
            "people, fresh",
            "people, half of a list",
            "same epsilon",
        ],
        [
            [
                row["class"],
                row["published"],
                row["limit"],
                f"{int(row['fresh']):,}",
                f"{int(row['half drawn']):,}",
                f"{epsilon_of(float(row['limit'])):.2f}",
            ]
            for row in read(HERE / "results" / "needed.csv")
        ],
    )


def fill(text: str, rows: Sequence[Row]) -> str:
    """Return the text of the page with its tables."""
    text = place(text, "summary", summary(rows))
    return place(place(text, "models", models(rows)), "needed", needed())


def write_tables(rows: Sequence[Row]) -> None:
    """Write the tables into the page."""
    page = page_of(HERE)
    page.write_text(fill(page.read_text(), rows))
