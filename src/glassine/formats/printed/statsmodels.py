"""What statsmodels prints of a regression: the text of ``summary()`` and ``summary2()``, and the former as CSV."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError
from glassine.formats.format import of_text
from glassine.formats.printed.baselines import baseline_below
from glassine.formats.printed.rule_conditions import NUMBER, plain
from glassine.formats.regressions import (
    MINUS,
    OF_CLUSTERS,
    RegressionBuilder,
    factors_of,
    flag,
    half_step,
    link_of,
    number,
)
from glassine.models.regression import UNPRINTED, FitStatistics, RegressionModel

TITLE = re.compile(
    r"^[ \t]*(?:[A-Za-z() ]{2,60} (?:Regression|Linear Model Regression) Results|Results: [A-Za-z -]{2,60})[ \t]*\r?$",
    re.MULTILINE,
)
HEAD = re.compile(r"(?P<of>\S.*?)?[ ,]*(?:coef[ ,]+std err|Coef\.[ ,]+Std\.Err\.|log HR[ ,]+log HR SE)[ ,].*")
PAIR = re.compile(r"(?P<key>[A-Za-z#][A-Za-z .()\-]{1,30}): *(?P<value>\S.*?)(?= {2,}|$)")
FIGURE = rf"(?:{NUMBER}|nan|-?inf)"
ROW = re.compile(rf"(?P<name>\S.{{0,2000}}?) +(?P<values>{FIGURE}(?: +{FIGURE}){{1,7}}) *")
FAMILY_OF = {
    "OLS": ("gaussian", "identity"),
    "WLS": ("gaussian", "identity"),
    "Logit": ("binomial", "logit"),
    "Probit": ("binomial", "probit"),
    "Poisson": ("poisson", "log"),
    "MNLogit": ("multinomial", "softmax"),
    "PH Reg": ("cox", "cox"),
}
"""The models that are read, as their summaries name them; GLM names its family and its link."""
SEPARATED = re.compile(r"complete quasi-separation|^ *Complete Separation:", re.MULTILINE)
"""What a summary says where outcomes of records are certain."""
FIGURES = 6
"""Figures of a row of coefficients: no other line of a summary has as many."""
ALL_OF_IT = "Give all that print(results.summary()) printed."
WITH_BASELINE = (
    "Print all of it below the summary: numpy.set_printoptions(threshold=10**6); "
    "print(results.baseline_cumulative_hazard)."
)
MOST_ITERATIONS = 100
"""At which a GLM of statsmodels stops by default, converged or not."""
FEWEST_ITERATIONS = 2
REFERENCE = "reference"
"""What the class is called whose name a multinomial summary does not print."""


@dataclass(slots=True)
class _Printed:
    """A summary in parts: what its head says, its tables of coefficients, each with what it is of, and what is none."""

    said: dict[str, str] = field(default_factory=dict)
    tables: list[tuple[str, list[tuple[str, str, str]]]] = field(default_factory=list)
    odd_line: str = ""  # The first row of a table that cannot be read


def regression_from_statsmodels(text: str, domain: Domain | None = None) -> RegressionModel:
    """Read what statsmodels prints of ``results.summary()`` or ``results.summary2()``, or the former as CSV.

    Parameters
    ----------
    text : str
        What was printed, all of it.
    domain : Domain, optional
        The public domain.

    Returns
    -------
    RegressionModel
        Classes are 0 and 1, or as far as a multinomial summary names them. Of a linear regression whose residual
        variance is not printed, it follows from the log-likelihood.

    Raises
    ------
    UnsupportedModelError
        If a row or the model cannot be read.
    InvalidModelError
        If the domain lacks a column.
    """
    printed = _parts(text)
    said = printed.said
    if not printed.tables and "Model" not in said:
        raise UnsupportedModelError("no table of coefficients is in the summary.", remedy=ALL_OF_IT)
    family, link = _family(said)
    if printed.odd_line:
        raise UnsupportedModelError(f"the table cannot be read, or is cut off: {printed.odd_line!r}.", remedy=ALL_OF_IT)
    if not printed.tables:
        raise UnsupportedModelError("no table of coefficients is in the summary.", remedy=ALL_OF_IT)
    if len(printed.tables) > 1 and family != "multinomial":
        raise UnsupportedModelError("the summary has several tables of coefficients.", remedy="Give one summary.")
    builder = RegressionBuilder("the summary of statsmodels", domain, len(printed.tables) + (family == "multinomial"))
    classes: tuple[Scalar, ...] | None = None
    if family == "multinomial":
        classes = _multinomial(builder, printed.tables, domain)
    else:
        for name, coefficient, error in printed.tables[0][1]:
            builder.row(name, coefficient, error)
    if len(builder.effects) * len(printed.tables) < (_whole(said, "Df Model") or 0):
        raise UnsupportedModelError(
            f"the table has {len(builder.effects):,} columns, fewer than its degrees of freedom.", remedy=ALL_OF_IT
        )
    fit = _fit(said, family, builder, separated=SEPARATED.search(text) is not None)
    if family == "cox":
        rows, stratified = baseline_below(text, WITH_BASELINE)
        strata = ("strata",) if stratified and "strata" not in fit.special else ()
        fit = replace(fit, baseline=rows, special=(*fit.special, *strata))
    target = next(
        (said[name] for name in ("Dep. Variable", "Dependent Variable", "Dependent variable") if name in said), ""
    )
    source = f"statsmodels {said.get('Model', '')}"
    return builder.model(link, fit, source=source, classes=classes, target=target)


def _parts(text: str) -> _Printed:
    """Return a summary in parts."""
    out = _Printed()
    rows: list[tuple[str, str, str]] | None = None
    # width: cells of a row, where the table is CSV; closed: whether the double line below the last table was seen.
    width, closed = 0, False
    for raw in text.replace(MINUS, "-").splitlines():
        line = raw.rstrip()
        bare = line.strip()
        head = HEAD.fullmatch(bare)
        if head is not None:
            rows, width, closed = [], len(_cells(line)) if "," in line else 0, False
            out.tables.append(((head["of"] or "").strip(" ,"), rows))
            continue
        if not bare or set(bare) <= {"=", "-"}:
            closed = closed or "=" in bare
            if rows:
                rows = None
            continue
        # Lines of CSV have pairs, or rows of figures; a title has neither.
        by_comma = "," in line and (":" in bare or rows is not None)
        cells = [cell.strip() for cell in _cells(line)] if by_comma else []
        if rows is not None:
            own = _row(bare, cells) if not width or len(cells) == width else None
            if own is None and not (rows and _ends(bare, cells)):
                out.odd_line = out.odd_line or bare[:60]
            if own is not None:
                rows.append(own)
                continue
            rows = None
        elif out.tables and _figures(bare) >= FIGURES:
            out.odd_line = out.odd_line or bare[:60]  # below a line that ended the table
        if not out.tables or "Confidence" not in bare:
            _pairs(bare, cells, out.said)
    if out.tables and not width and not closed:
        out.odd_line = out.odd_line or "the end of the table"
    return out


def _figures(line: str) -> int:
    """Return how many figures a row of a table has; 0 if the line is none."""
    row = ROW.fullmatch(line)
    return 0 if row is None else len(row["values"].split())


def _ends(line: str, cells: list[str]) -> bool:
    """Return whether a line below the rows of a table belongs to what follows it."""
    return cells[0].endswith(":") if cells else PAIR.match(line) is not None


def _cells(line: str) -> list[str]:
    """Return the cells of a line of CSV, whose commas in brackets belong to a name."""
    out, depth, start = [], 0, 0
    for at, letter in enumerate(line):
        # A head such as "[0.025 ," opens a bracket that nothing closes.
        depth = max(0, depth + (letter == "(") - (letter == ")"))
        if letter == "," and depth == 0:
            out.append(line[start:at])
            start = at + 1
    return [*out, line[start:]]


def _row(line: str, cells: list[str]) -> tuple[str, str, str] | None:
    if len(cells) >= 3 and re.fullmatch(FIGURE, cells[1]) and re.fullmatch(FIGURE, cells[2]):
        return cells[0], cells[1], cells[2]
    row = ROW.fullmatch(line)
    if row is None:
        return None
    values = row["values"].split()
    return row["name"], values[0], values[1]


def _pairs(line: str, cells: list[str], said: dict[str, str]) -> None:
    if cells:
        for key, value in zip(cells[::2], cells[1::2], strict=False):
            if key.endswith(":"):
                said.setdefault(key[:-1].strip(), value.strip())
        return
    for pair in PAIR.finditer(line):
        said.setdefault(pair["key"].strip(), pair["value"].strip())


def _family(said: dict[str, str]) -> tuple[str, str]:
    """Return the family and the link of a summary."""
    model = said.get("Model", "")
    if model in FAMILY_OF:
        return FAMILY_OF[model]
    if model != "GLM":
        raise UnsupportedModelError(
            f"the summary is of the model {model[:40]!r}, which is not read.",
            remedy=f"Supported are {', '.join(FAMILY_OF)} and GLM.",
        )
    family, link = said.get("Model Family", said.get("Family", "")), said.get("Link Function", "")
    if not family and link.lower() in ("identity", "log", "logit", "probit", "cloglog"):
        return "", link.lower()  # summary2() names the link alone
    if not family or not link:
        raise UnsupportedModelError("the summary does not say its family or its link.", remedy=ALL_OF_IT)
    return link_of(family, link, "the summary")


def _multinomial(
    builder: RegressionBuilder, tables: list[tuple[str, list[tuple[str, str, str]]]], domain: Domain | None
) -> tuple[Scalar, ...]:
    """Add the columns of a table for each class but the first, and return the classes."""
    names = [name for name, _, _ in tables[0][1]]
    if any([name for name, _, _ in rows] != names for _, rows in tables):
        raise UnsupportedModelError("the tables of the summary list different columns.", remedy=ALL_OF_IT)
    for place, name in enumerate(names):
        own = [rows[place] for _, rows in tables]
        values, errors = [number(one[1]) for one in own], [number(one[2]) for one in own]
        builder.n_parameters += len(own)
        if name in ("Intercept", "const"):
            builder.intercept = [0.0, *values]
            builder.intercept_errors = [0.0, *errors]
            continue
        step = max(half_step(one[2]) for one in own)
        builder.add(name, factors_of(name, domain), (0.0, *values), (0.0, *errors), rounding=step)
    return (REFERENCE, *(plain(of.partition("=")[2] or of) for of, _ in tables))


def _whole(said: dict[str, str], *names: str) -> int | None:
    text = next((said[name] for name in names if name in said), "")
    return int(text) if re.fullmatch("[0-9]{1,12}", text) else None


def _figure(said: dict[str, str], name: str) -> float | None:
    value = number(said.get(name, ""))
    return value if math.isfinite(value) else None


def _fit(said: dict[str, str], family: str, builder: RegressionBuilder, *, separated: bool) -> FitStatistics:
    """Return what a summary says of the fit."""
    n, degrees = _whole(said, "No. Observations", "Sample size"), _whole(said, "Df Residuals")
    model, kind = said.get("Model", ""), said.get("Covariance Type", "")
    if not kind and model not in ("GLM", "PH Reg"):
        kind = "nonrobust" if any("covariance matrix" in key for key in said) else ""
    weighted = model == "WLS" or (None not in (n, degrees) and n != (degrees or 0) + builder.n_parameters)
    # A coefficient without an error, or of exactly 0, was trimmed by a penalty.
    trimmed = any(effect.errors is None for effect in builder.effects)
    scale, step = _figure(said, "Scale"), half_step(said.get("Scale", "1"))
    likelihood = _figure(said, "Log-Likelihood")
    if family == "gaussian" and scale is None and likelihood is not None and n and degrees:
        # The likelihood at its largest: -n/2 (log(2 pi SSR / n) + 1).
        def variance(log: float) -> float:
            return n * math.exp(-2 * log / n - 1) / (2 * math.pi) / degrees

        scale = variance(likelihood)
        step = scale - variance(likelihood + half_step(said["Log-Likelihood"]))
    estimated = family in ("gaussian", "gamma") or (model == "GLM" and said.get("Scale") not in ("1.0", "1.0000"))
    rounds = _whole(said, "No. Iterations")
    converged = flag(said, "converged" if "converged" in said else "Converged")
    if model in ("OLS", "WLS"):
        converged = True
    elif model == "GLM" and rounds is not None:
        # One or two rounds are too few for a maximum, and the most that were allowed are not printed.
        converged = rounds < MOST_ITERATIONS if rounds > FEWEST_ITERATIONS or family == "gaussian" else None
    fit = FitStatistics(
        family=family,
        n_records=n,
        n_events=_whole(said, "Num. events"),
        n_parameters=builder.n_parameters,
        df_residual=degrees,
        dispersion="estimated" if estimated else "fixed",
        scale=scale if family == "gaussian" or model == "GLM" else None,
        scale_rounding=step if family in ("gaussian", "") else 0.0,
        r_squared=_figure(said, "R-squared"),
        log_likelihood=likelihood,
        penalized=trimmed,
        converged=converged,
        separated=separated,
        special=(
            *(("weights",) if weighted and not trimmed else ()),
            *(("clusters of records",) if kind in OF_CLUSTERS or "Num groups" in said else ()),
            *((UNPRINTED,) if model == "GLM" and not weighted and not trimmed else ()),
        ),
    )
    if model == "PH Reg":
        strata = ("strata",) if (_whole(said, "Num strata") or 1) > 1 else ()
        # Its summary says how errors were computed only of groups.
        return replace(fit, special=(*fit.special, *strata), errors="robust" if "Num groups" in said else "")
    return replace(fit, errors="model" if kind == "nonrobust" else "robust" if kind else "")


FORMAT = of_text(
    name="statsmodels summary",
    again="print(results.summary()) in Python",
    reads="what statsmodels prints of `results.summary()` (also `.as_csv()`) or `results.summary2()`",
    reveals="coefficients, standard errors, numbers of records",
    leaves_out="names of classes; without a formula, which columns are of 0/1",
    sniff=lambda text: (title := TITLE.search(text[:3_000])) is not None and not text[: title.start()].strip(),
    read=regression_from_statsmodels,
)
