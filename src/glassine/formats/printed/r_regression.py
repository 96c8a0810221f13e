"""What R prints of a regression: the summary of ``lm``, ``glm`` and ``coxph``."""

from __future__ import annotations

import re
from dataclasses import replace

from glassine.domain import Domain
from glassine.errors import UnsupportedModelError
from glassine.formats.format import of_text
from glassine.formats.printed.baselines import baseline_below
from glassine.formats.printed.rule_conditions import NUMBER
from glassine.formats.regressions import MINUS, NOT_ESTIMATED, RegressionBuilder, half_step, link_of, number
from glassine.models.regression import UNPRINTED, FitStatistics, RegressionModel

CALL = re.compile(
    r"(?:^|\n)Call:[ \t\r]*\n(?P<call>(?:stats::|survival::)?(?P<function>lm|glm|coxph)\((?:(?!Call:).*\n)+?)"
    r"[ \t\r]*(?:\n|$)"
)
HEAD = re.compile(r"^ *(?:Estimate +Std\. Error\b|coef +exp\(coef\) +se\(coef\)).*$", re.MULTILINE)
VALUE = rf"(?:{NUMBER}|NaN|NA|< *{NUMBER})"
ENDS = {
    "lm": re.compile(r"^(?:F-statistic: .*p-value: .*|Residual standard error: .*)\n", re.MULTILINE),
    "glm": re.compile(r"^Number of Fisher Scoring iterations: .*\n", re.MULTILINE),
    "coxph": re.compile(r"^(?:Score \(logrank\) test *=|n= ?[0-9]).*\n", re.MULTILINE),
}
"""By function, the last line of its summary; that of ``lm`` has another line where it has columns."""
ALL_OF_IT = "Give all that print(summary(model)) printed."
WITH_BASELINE = "Print all of it below the summary: options(max.print = 1e6); print(basehaz(model))."
WITHOUT_INTERCEPT = re.compile(r"(?:^|[~+( ])0 *(?:[+,)]|$)|- *1\b|\+ *0\b|-\(1\)")
"""What a formula says that has no intercept."""
MOST_ITERATIONS = 25
"""At which R's glm stops by default, converged or not."""
MOST = 2_000
"""Most characters of a name of a row."""


def regression_from_r(text: str, domain: Domain | None = None) -> RegressionModel:
    """Read what R prints of ``summary(lm(...))``, ``summary(glm(...))`` or ``summary(coxph(...))``.

    Parameters
    ----------
    text : str
        What was printed, all of it.
    domain : Domain, optional
        The public domain. R names a column of a category by the attribute and the value without a sign between them:
        only the domain says that ``sexmale`` is the value male of sex.

    Returns
    -------
    RegressionModel
        A logistic regression has the classes 0 and 1, as R does not print them.

    Raises
    ------
    UnsupportedModelError
        If a row or the family cannot be read.
    InvalidModelError
        If the domain lacks a column.
    """
    text = text.replace(MINUS, "-")
    call = CALL.search(text)
    head = HEAD.search(text)
    if call is None or head is None:
        raise UnsupportedModelError("no call or no table of coefficients is in the summary.", remedy=ALL_OF_IT)
    said = " ".join(call["call"].split())
    function = call["function"]
    if CALL.search(text, call.end() - 1) is not None:
        raise UnsupportedModelError(
            "the text holds several summaries.", remedy="Write each to a file, and audit them together."
        )
    end = ENDS[function].search(text, head.end())
    builder = RegressionBuilder("the summary of R", domain)
    for name, coefficient, error in rows_below(text[head.end() :], head[0], ALL_OF_IT):
        builder.row(name, coefficient, error)
    if end is None or (function == "lm" and builder.effects and "F-statistic: " not in text[end.start() :]):
        raise UnsupportedModelError("the summary ends before its last line, or within it.", remedy=ALL_OF_IT)
    special = _special(said, function)
    robust = "robust se" in head[0]
    fit = FitStatistics(
        special=special,
        errors="robust" if robust else "model",
        penalized="ridge(" in said or "pspline(" in said,
        n_parameters=builder.n_parameters,
        converged=_converged(text, said, function),
        separated="fitted probabilities numerically 0 or 1" in text or "beta may be infinite" in text,
        n_residuals=_residuals(text),
    )
    fit = replace(fit, published=("residuals",) if fit.n_residuals else ())
    if function == "coxph":
        fit, link = _of_cox(text, fit), "cox"
        rows, stratified = baseline_below(text[head.end() :], WITH_BASELINE)
        strata = ("strata",) if stratified and "strata" not in fit.special else ()
        fit = replace(fit, baseline=rows, special=(*fit.special, *strata))
    elif function == "lm":
        fit, link = _of_lm(text, fit, builder), "identity"
    else:
        fit, link = _of_glm(text, said, fit, builder)
    _check_number(text, builder)
    formula = said.partition("~")[2]
    if function != "coxph" and formula and not builder.has_intercept and not WITHOUT_INTERCEPT.search(formula):
        raise UnsupportedModelError("the table lacks the row of the intercept, which the call has.", remedy=ALL_OF_IT)
    target = said.partition("formula = ")[2].partition("~")[0].strip()
    return builder.model(link, fit, source=f"R {function}", target=target if len(target) <= 100 else "")


def rows_below(text: str, head: str, remedy: str) -> list[tuple[str, str, str]]:
    """Return the name, the coefficient and the error of each row below the head of a table."""
    columns = head.split()
    cox = columns[0] == "coef"
    # The columns of a Cox table: coef, exp(coef), se(coef), perhaps robust se.
    place = 2 if cox and "robust" not in columns else 3 if cox else 1
    pattern = re.compile(rf"(?P<name>\S.{{0,{MOST}}}?) +(?P<values>{VALUE}(?: +{VALUE})*) *[*.]* *\r?")
    out: list[tuple[str, str, str]] = []
    ended = False
    for raw in text.splitlines():
        line = raw.rstrip()
        if not line.strip() or line.startswith("---"):
            ended = ended or bool(out)
            continue
        row = pattern.fullmatch(line)
        if ended:
            if row is not None and not line.startswith("Signif. codes"):
                raise UnsupportedModelError(f"the table has a gap above the row {line[:60]!r}.", remedy=remedy)
            break
        if row is None:
            raise UnsupportedModelError(f"a row of the table cannot be read: {line[:60]!r}.", remedy=remedy)
        values = re.findall(VALUE, row["values"])
        if len(values) <= place and values[0] not in NOT_ESTIMATED:
            raise UnsupportedModelError(
                f"a row of the table has {len(values)} figures: {line[:60]!r}.",
                remedy="Print it wider: options(width = 200).",
            )
        out.append((row["name"].strip().strip("`"), values[0], "NA" if values[0] in NOT_ESTIMATED else values[place]))
    return out


def _check_number(text: str, builder: RegressionBuilder) -> None:
    """Raise if a table has other rows than the summary counts below it, as where some were cut out."""
    tested = re.search(
        r"^(?:F-statistic: *\S+ on ([0-9]{1,9}) and |Likelihood ratio test *= *\S+ +on +([0-9]{1,9}) df)",
        text,
        re.MULTILINE,
    )
    null, residual = (
        re.search(rf"{name} deviance: *{NUMBER} +on +([0-9]{{1,12}}) +degrees of freedom", text)
        for name in ("Null", "Residual")
    )
    n_columns = len(builder.effects)
    if null is not None and residual is not None:
        # A fit with an intercept leaves it to the null model.
        stated = int(null[1]) - int(residual[1])
    elif tested is not None:
        stated = int(tested[1] or tested[2])
    else:
        return
    if stated != n_columns:
        raise UnsupportedModelError(
            f"the table has {n_columns:,} estimated columns, and its degrees of freedom are of {stated:,}.",
            remedy=ALL_OF_IT,
        )


def _converged(text: str, call: str, function: str) -> bool | None:
    """Return whether a fit converged: R warns if not, which no summary repeats, but prints the iterations of a glm."""
    if re.search(r"did not converge|Ran out of iterations", text):
        return False
    if function == "lm":
        return True
    rounds = re.search(r"Number of Fisher Scoring iterations: ([0-9]{1,6})", text)
    if function == "coxph" or rounds is None or "control = " in call or "maxit = " in call:
        return None
    return int(rounds[1]) < MOST_ITERATIONS


def _special(call: str, function: str) -> tuple[str, ...]:
    """Return what a call says that changes the meaning of figures."""
    formula = call.partition("~")[2]
    outcome = call.partition("formula = ")[2].partition("~")[0]
    marks = {
        "weights": re.search(r"\bweights = ", call),
        "offset": re.search(r"\boffset\(|\boffset = ", call),
        "strata": re.search(r"\bstrata\(", formula),
        "grouped outcome": re.search(r"\bcbind\(", outcome),
        "records of intervals": function == "coxph" and outcome.count(",") > 1,
        "random effects": re.search(r"\bfrailty|\(1 *\|", formula),
        "smooth terms": re.search(r"\bpspline\(|\btt\(", formula),
        "clusters of records": re.search(r"\bcluster(?:\(| = )|\bid = ", formula),
    }
    # A formula that was passed as a variable is printed as its name.
    return tuple(name for name, there in {**marks, UNPRINTED: "~" not in call}.items() if there)


def _residuals(text: str) -> int:
    """Return how many residuals of single records a summary prints: the extremes, or all of few records."""
    match = re.search(
        r"^(?:Deviance |Weighted )?Residuals:.*\n(?P<names>.*)\n(?P<values>(?:.+\n)*)", text, re.MULTILINE
    )
    if match is None or re.match(r"ALL [0-9]+ residuals", match["names"]):
        return 0
    if "Min" in match["names"]:
        return 2
    return len(re.findall(NUMBER, match["values"]))


def _figure(text: str, pattern: str) -> float | None:
    match = re.search(pattern.replace("#", f"({NUMBER})"), text)
    return None if match is None else float(match[1])


def _of_lm(text: str, fit: FitStatistics, builder: RegressionBuilder) -> FitStatistics:
    residual = re.search(rf"Residual standard error: ({NUMBER}|NaN) on ([0-9]{{1,12}}) degrees? of freedom", text)
    degrees = None if residual is None else int(residual[2])
    if residual is None and (all_zero := re.search(r"ALL ([0-9]{1,9}) residuals are 0", text)):
        degrees = 0
        fit = replace(fit, n_records=int(all_zero[1]))
    if degrees is not None:
        fit = replace(fit, df_residual=degrees, n_records=degrees + builder.n_parameters)
    if residual is not None and residual[1] != "NaN":
        # The variance is the square of what is printed: its smallest value is that of the smallest error.
        error, step = float(residual[1]), half_step(residual[1])
        fit = replace(fit, scale=error**2, scale_rounding=error**2 - max(0.0, error - step) ** 2)
    return replace(fit, family="gaussian", dispersion="estimated", r_squared=_figure(text, r"Multiple R-squared: +#,?"))


def _of_glm(text: str, call: str, fit: FitStatistics, builder: RegressionBuilder) -> tuple[FitStatistics, str]:
    named = re.search(r"\(Dispersion parameter for (.{1,60}?) family taken to be ([^)]{1,40})\)", text)
    if named is None:
        raise UnsupportedModelError("the summary does not say its family.", remedy=ALL_OF_IT)
    own = re.search(r"family = \"?([A-Za-z.]+)\"?(?:\((?:link = )?\"?([A-Za-z0-9.]*)\"?\))?", call)
    family = named[1].partition("(")[0].strip()
    quasi = family.startswith("quasi") and family != "quasi"
    if own is None and family != "gaussian":
        raise UnsupportedModelError("the call of the summary does not name its family.", remedy=ALL_OF_IT)
    if own is not None and own[1].lower() != family.lower():
        raise UnsupportedModelError(
            "the call names a variable as the family, so that the link is unknown.",
            remedy="Fit it with family = binomial(link = ...), and print the summary again.",
        )
    family, link = link_of(family.removeprefix("quasi"), (own[2] or "") if own is not None else "", "the summary")
    residual = re.search(rf"Residual deviance: *({NUMBER}) +on +([0-9]{{1,12}}) +degrees of freedom", text)
    null = re.search(rf"Null deviance: *({NUMBER}) +on +([0-9]{{1,12}}) +degrees of freedom", text)
    degrees = None if residual is None else int(residual[2])
    records = None if degrees is None else degrees + builder.n_parameters
    if null is not None:
        records = int(null[2]) + (builder.n_parameters > len(builder.effects))
    estimated = family in ("gaussian", "gamma") or quasi
    scale = number(named[2])
    # Of single outcomes of 0 and 1, the saturated model has the likelihood 1.
    of_records = family == "binomial" and not {"weights", "grouped outcome"} & {*fit.special}
    return (
        replace(
            fit,
            family=family,
            df_residual=degrees,
            n_records=records,
            log_likelihood=-float(residual[1]) / 2 if residual is not None and of_records else None,
            dispersion="estimated" if estimated else "fixed",
            scale=scale,
            scale_rounding=half_step(named[2]) if estimated else 0.0,
        ),
        link,
    )


def _of_cox(text: str, fit: FitStatistics) -> FitStatistics:
    n, events = _figure(text, r"\bn= *#"), _figure(text, r"number of events= *#")
    return replace(
        fit,
        family="cox",
        dispersion="fixed",
        n_records=None if n is None else int(n),
        n_events=None if events is None else int(events),
    )


FORMAT = of_text(
    name="R regression",
    again="print(summary(model)) in R",
    reads="what R prints of `summary()` of `lm`, `glm` and `coxph`; below the last, of `basehaz()` or `survfit()`",
    reveals="coefficients, standard errors, numbers of records, extreme residuals",
    leaves_out="names of classes; which columns are of 0/1",
    sniff=lambda text: CALL.search(text[:20_000]) is not None and HEAD.search(text) is not None,
    read=regression_from_r,
)
