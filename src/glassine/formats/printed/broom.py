"""A table of coefficients as CSV, such as R's broom writes: a row a column, with its estimate and its error."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping

from glassine.domain import Domain
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.format import first_line, of_text
from glassine.formats.regressions import MINUS, RegressionBuilder, half_step, number
from glassine.models.regression import FitStatistics, RegressionModel

COLUMNS = {
    "term": ("term", "variable", "name", "parameter", ""),
    "estimate": ("estimate", "coef", "coefficient", "coef."),
    "error": ("std.error", "std_error", "std err", "se", "std.err", "std.err.", "bse"),
    "low": ("conf.low", "conf_low", "ci.low", "[0.025"),
    "high": ("conf.high", "conf_high", "ci.high", "0.975]"),
    "robust": ("robust.se",),
}
"""Names of columns that are read, those of broom first."""
QUANTILE = 1.959963984540054
"""Half the width of an interval of 95 %, in standard errors."""
MOST_CELLS = 1_000_000


def _head(line: str) -> dict[str, int] | None:
    """Return the place of each column that is read, by its role; None if the line is no head of such a table."""
    names = [cell.strip().strip('"').lower() for cell in line.split(",")]
    places = {role: names.index(name) for role, spellings in COLUMNS.items() for name in spellings if name in names}
    alone = "error" in places or {"low", "high"} <= places.keys()
    return places if {"term", "estimate"} <= places.keys() and places["term"] <= 1 and alone else None


def regression_from_csv(text: str, domain: Domain | None = None) -> RegressionModel:
    """Read a table of coefficients, as ``broom::tidy(model)`` has them.

    Parameters
    ----------
    text : str
        The table: columns ``term`` and ``estimate``, and ``std.error`` or both ends of a 95 % interval.
    domain : Domain, optional
        The public domain.

    Returns
    -------
    RegressionModel
        Its family, its number of records, and of which kind the errors are, have to be stated. Errors that follow from
        an interval of a linear regression are too large: the interval is one of Student's t.

    Raises
    ------
    UnsupportedModelError
        If coefficients are exponentiated, as odds ratios are, or the table has rows of several outcomes.
    InvalidModelError
        If a row has no number, or the domain lacks a column.
    """
    rows = list(csv.reader(io.StringIO(text.replace(MINUS, "-").strip()), skipinitialspace=True))
    places = _head(",".join(rows[0])) if rows else None
    if places is None or sum(map(len, rows)) > MOST_CELLS:
        raise UnsupportedModelError("the table has no columns of terms, estimates and errors, or is too long.")
    if not text.endswith("\n"):
        raise InvalidModelError(
            "the last line of the table has no end: it may be cut off.",
            remedy="Write the table again, or end its last line if it is whole.",
        )
    builder = RegressionBuilder("the table of coefficients", domain)
    seen: set[str] = set()
    for line, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(rows[0]):
            raise InvalidModelError(f"line {line} of the table has {len(cells)} cells, its head {len(rows[0])}.")
        row = {role: cells[place].strip() for role, place in places.items()}
        if row["term"] in seen:
            raise UnsupportedModelError(
                f"the table has two rows of {row['term'][:60]!r}: it is of several outcomes or models.",
                remedy="Give one table a model.",
            )
        seen.add(row["term"])
        if re.fullmatch("NA|", row["estimate"]) is None and not math.isfinite(number(row["estimate"])):
            raise InvalidModelError(f"line {line} of the table has no number as its estimate.")
        builder.row(row["term"], row["estimate"], _error(row, line))
    fit = FitStatistics(errors="robust" if "robust" in places else "", n_parameters=builder.n_parameters)
    return builder.model("", fit, source="table of coefficients")


def _error(row: Mapping[str, str], line: int) -> str | None:
    """Return the printed error of a row, computed from an interval where only that is printed."""
    ends = [number(row[name]) for name in ("low", "high") if row.get(name)]
    if len(ends) == 2 and all(map(math.isfinite, ends)) and not ends[0] <= number(row["estimate"]) <= ends[1]:
        raise InvalidModelError(f"line {line} of the table has an estimate outside of its interval.")
    own = row.get("robust") or row.get("error")
    if own:
        # Of a table of ratios, the interval is around the ratio, and the error is that of its log.
        if len(ends) == 2 and ends[0] > 0:
            width = (ends[1] - ends[0]) / 2 / QUANTILE
            logs = (math.log(ends[1]) - math.log(ends[0])) / 2 / QUANTILE
            error = number(own)
            if error > 0 and abs(math.log(logs / error)) < abs(math.log(width / error)) and abs(logs / error - 1) < 0.2:
                raise UnsupportedModelError(
                    "the estimates are ratios: the interval is that of exponentiated coefficients.",
                    remedy="Write the table without exponentiate = TRUE.",
                )
        return own
    if len(ends) < 2:
        return None
    digits = max(half_step(row[name]) for name in ("low", "high"))
    return f"{(ends[1] - ends[0] + 2 * digits) / 2 / QUANTILE:.17e}"


FORMAT = of_text(
    name="table of coefficients",
    extensions=(".csv",),
    again="write.csv(broom::tidy(model), row.names = FALSE) in R",
    reads="CSV with columns `term`, `estimate` and `std.error` (or `conf.low`, `conf.high`), as R's broom writes it",
    reveals="coefficients and standard errors",
    leaves_out="family, number of records, of which kind the errors are: state them",
    sniff=lambda text: _head(first_line(text)) is not None,
    read=regression_from_csv,
)
