"""What R's ``lmtest::coeftest`` prints: coefficients and standard errors, of whichever kind was asked for."""

from __future__ import annotations

import re

from glassine.domain import Domain
from glassine.errors import UnsupportedModelError
from glassine.formats.format import of_text
from glassine.formats.printed.r_regression import HEAD, rows_below
from glassine.formats.regressions import MINUS, RegressionBuilder
from glassine.models.regression import FitStatistics, RegressionModel

TITLE = re.compile(r"^\s*[zt] test of coefficients:[ \t]*\r?\n\s*Estimate +Std\. Error\b", re.MULTILINE)
TITLES = re.compile(r"^[ \t]*[zt] test of coefficients:", re.MULTILINE)


def regression_from_coeftest(text: str, domain: Domain | None = None) -> RegressionModel:
    """Read what ``print(lmtest::coeftest(model))`` prints in R.

    Parameters
    ----------
    text : str
        What was printed, all of it.
    domain : Domain, optional
        The public domain, which says that ``sexmale`` is the value male of sex.

    Returns
    -------
    RegressionModel
        Its family, its number of records and of which kind its errors are have to be stated: most such tables are
        printed for robust errors, and none of them says so.

    Raises
    ------
    UnsupportedModelError
        If a row cannot be read, or the text holds several tables.
    InvalidModelError
        If the domain lacks a column.
    """
    text = text.replace(MINUS, "-")
    head = HEAD.search(text)
    if head is None or len(TITLES.findall(text)) != 1:
        raise UnsupportedModelError(
            "the text holds no table of coefficients, or several.", remedy="Write one to each file."
        )
    if not text[head.end() :].rstrip(" \t").endswith("\n"):
        raise UnsupportedModelError("the last line of the table has no end: it may be cut off.", remedy=ALL_OF_IT)
    builder = RegressionBuilder("the table of coeftest", domain)
    for name, coefficient, error in rows_below(text[head.end() :], head[0], ALL_OF_IT):
        builder.row(name, coefficient, error)
    return builder.model("", FitStatistics(n_parameters=builder.n_parameters), source="R coeftest")


ALL_OF_IT = "Give all that print(coeftest(model)) printed."
FORMAT = of_text(
    name="R coeftest",
    again="print(lmtest::coeftest(model)) in R",
    reads="what R prints of `lmtest::coeftest()`",
    reveals="coefficients and standard errors",
    leaves_out="family, number of records, of which kind the errors are: state them",
    sniff=lambda text: TITLE.search(text[:5_000]) is not None and "Call:" not in text[:5_000],
    read=regression_from_coeftest,
)
