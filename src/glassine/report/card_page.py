"""A scorecard as one page of HTML that prints on one sheet: items and points, the risk by total, the guarantee."""

from __future__ import annotations

from itertools import groupby

from glassine import __version__
from glassine.models.additive import AdditiveModel
from glassine.models.bins import NumericBins
from glassine.models.guarantee import Guarantee
from glassine.models.scorecard import COVERAGE, Risk, card_items, risk_table
from glassine.report import wording
from glassine.report.page import environment

MOST_ROWS = 14
"""Most rows of the table of risks: with ten items they leave room for both tables on one sheet."""

LONGEST = 90
"""Most characters of a condition, so that a group of many categories does not push the table off the sheet."""


def render_card(model: AdditiveModel) -> str:
    """Return a scorecard as a page to print; it loads nothing from anywhere.

    **Guarantee**: none: the page holds the published model and nothing else.
    """
    items = card_items(model)
    rows = risk_table(model, bool(model.edits))
    number = model.link == "identity"
    outcome = wording.clean(
        model.target or "the number" if number else f"{model.target or 'outcome'} = {(model.classes or ('', ''))[1]}"
    )
    groups = [
        (
            wording.clean(name),
            [(wording.shorten(wording.clean(item.condition), LONGEST), item.points) for item in group],
        )
        for name, group in groupby(items, key=lambda item: item.attribute)
    ]
    listed = shortened(rows) if rows else []
    return (
        environment()
        .get_template("card.html")
        .render(
            title=f"Points for {outcome}" if number else f"Risk of {outcome}",
            described=f"{str(model).capitalize()}. Add up the points, then "
            f"{'multiply' if number else 'read the risk at the total'}.",
            worth=_worth(model) if number else None,
            outcome=outcome,
            groups=groups,
            rows=[_row(first, last) for first, last in listed],
            intervals=any(row.low is not None for row in rows),
            coverage=f"{COVERAGE:.0%}",
            ends=_ends(model),
            source="" if number else _source(model),
            guarantee=guarantee_sentence(model.guarantee),
            version=__version__,
        )
    )


def _worth(model: AdditiveModel) -> dict[str, str]:
    """Return what a point adds to a number, the number at no points, and the range that predictions are clipped to."""
    unit = model.scorecard.unit if model.scorecard is not None else 0.0
    low, high = (f"{end:,.6g}" for end in model.target_bounds or (0.0, 0.0))
    clipped = "" if model.target_bounds is None else f"A result below {low} is {low}, one above {high} is {high}."
    return {"unit": f"{unit:,.6g}", "start": f"{model.intercept[0]:,.6g}", "clipped": clipped}


def shortened(rows: tuple[Risk, ...]) -> list[tuple[Risk, Risk]]:
    """Return first and last total of each row of the table: at either end, totals of nearly one risk share a row.

    Examples
    --------
    >>> rows = tuple(Risk(points=i, risk=1 / (1 + 2.0 ** (10 - i))) for i in range(21))
    >>> [(first.points, last.points) for first, last in shortened(rows)][:3], len(shortened(rows))
    ([(0, 3), (4, 4), (5, 5)], 14)
    """
    low, high = 0, len(rows) - 1
    while high - low + 1 > MOST_ROWS:
        # The end whose risks differ least is made shorter.
        if rows[low + 1].risk - rows[0].risk <= rows[-1].risk - rows[high - 1].risk:
            low += 1
        else:
            high -= 1
    middle = [(row, row) for row in rows[low + 1 : high]]
    if low == high:
        return [(rows[0], rows[-1])]
    return [(rows[0], rows[low]), *middle, (rows[high], rows[-1])]


def _row(first: Risk, last: Risk) -> dict[str, str]:
    low = first.low if first.low is not None else first.risk
    high = last.high if last.high is not None else last.risk
    total = f"{first.points}" if first is last else f"{first.points} to {last.points}"
    shares = (first.risk, last.risk, low, high)
    digits = max(map(decimals, shares))
    smallest, largest, least, most = (percent(share, digits) for share in shares)
    risk = smallest if first is last else f"{smallest} to {largest}"
    interval = "" if first.low is None else f"{least} to {most}"
    style = f"{100 * low:.1f}", f"{max(100 * (high - low), 0.6):.1f}", f"{100 * (first.risk + last.risk) / 2:.1f}"
    return {
        "total": total.replace("-", "\N{MINUS SIGN}"),
        "risk": risk,
        "interval": interval,
        "low": style[0],
        "wide": style[1],
        "at": style[2],
    }


def decimals(share: float) -> int:
    """Return how many decimals of a percentage are read on a card: one below 10 % and above 90 %."""
    return int(not 0.1 <= share <= 0.9)


def percent(share: float, digits: int) -> str:
    """Return a probability to read on a card; never 0 % or 100 %, which no model knows.

    Examples
    --------
    >>> percent(0.0004, 1), percent(0.034, 1), percent(0.5, 0), percent(0.9999, 1)
    ('< 0.1%', '3.4%', '50%', '> 99.9%')
    """
    if share < 0.001:
        return "< 0.1%"
    if share > 0.999:
        return "> 99.9%"
    return f"{100 * share:.{digits}f}%"


def _ends(model: AdditiveModel) -> str:
    """Return to which range of numbers a value at a cut point belongs; empty if there is none between two cuts."""
    numeric = [bins for term in model.terms for bins in term.bins if isinstance(bins, NumericBins)]
    closed = {bins.closed for bins in numeric if len(bins.cuts) > 1}
    if len(closed) != 1:
        return ""
    kept, left = ("upper", "lower") if closed == {"right"} else ("lower", "upper")
    return f"A range includes its {kept} end and not its {left} end."


def _source(model: AdditiveModel) -> str:
    card = model.scorecard
    if model.edits:
        return "The card was edited after its release. Its risks follow from the points; they were not measured again."
    if card is not None and card.calibrated == "counts":
        counts = "noisy counts" if model.guarantee is not None else "counts"
        return f"Risks follow from {counts} of the training records at each total."
    return "Risks follow from the scores of the model that was rounded, its attributes taken as independent."


def guarantee_sentence(guarantee: Guarantee | None) -> str:
    """Return in one sentence what the publisher claims."""
    if guarantee is None:
        return "This card claims no differential privacy: points and risks are those of its training records."
    if not guarantee.holds:
        return f"The guarantee is void because {'; '.join(map(wording.clean, guarantee.caveats))}."
    delta = f" and delta {guarantee.delta:g}" if guarantee.delta else ""
    whose = (
        "one record"
        if guarantee.records_per_person is None
        else f"one person with at most {guarantee.records_per_person} records"
    )
    return (
        f"The publisher claims differential privacy with epsilon {guarantee.epsilon:g}{delta}: the guarantee limits "
        f"what this card reveals because {whose} was included."
    )
