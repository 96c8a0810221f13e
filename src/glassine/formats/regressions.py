"""Regressions put together from the rows of a table: what each row's name says of a column, and how it is rounded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from glassine.domain import Binary, Category, Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import float_of, require
from glassine.formats.printed.rule_conditions import plain
from glassine.models.additive import LINKS as BINNED_LINKS
from glassine.models.additive import AdditiveModel
from glassine.models.bins import CategoryBins
from glassine.models.effects import Effect, Equal, Factor, Power
from glassine.models.regression import FAMILIES, OF_CLASSES, FitStatistics, RegressionModel, ScoreEquations
from glassine.models.terms import Term

PATSY = re.compile(
    r"(?:C\((?P<of>[^,()]+)(?:,.*)?\)|(?P<name>[^\[\]()]+))\[(?P<coding>T\.)?(?P<value>[^\[\]]+)\]", re.DOTALL
)
"""A column of 0/1 of a formula of patsy; of other codings, such as ``[S.x]``, the value is one of no attribute."""
CODED = re.compile(r"\[(S|D|H|Poly|custom|Sum|Diff)\b.*\]$|\[\.")
SQUARED = re.compile(r"I\( *(?P<name>[^()*^]+?) *(?:\^|\*\*) *(?P<power>[0-9]{1,2}(?:\.[0-9]{1,4})?) *\)")
OF_FACTOR = re.compile(r"(?:as\.)?factor\((?P<name>[^()]+)\)(?P<value>.+)")
INTERCEPTS = ("(Intercept)", "Intercept", "const", "intercept")
"""How tables of R, of formulas in Python, and of designs with an added constant call the intercept."""
NOT_ESTIMATED = ("NA", "NaN", "nan", "")
MOST_ROWS = 100_000
MINUS = "\u2212"
"""How word processors write the sign of a number."""


def number(text: str) -> float:
    """Return a number as a table prints it, ``<2e-16`` among them, NaN where none was estimated."""
    bare = text.strip().strip('"').removeprefix("<").strip()
    return float("nan") if bare in NOT_ESTIMATED else float_of(bare)


def half_step(text: str) -> float:
    """Return half of the last digit of a printed number: how far it may be from the computed one.

    Examples
    --------
    >>> half_step("0.317"), half_step("1.2e-05"), half_step("12")
    (0.0005, 5e-07, 0.5)
    """
    bare = text.strip().strip('"').lower()
    mantissa, _, exponent = bare.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(f"5e{int(exponent or 0) - decimals - 1}")


def _inside(text: str, mark: str) -> list[str]:
    """Return the parts of a text around a mark that stands in no bracket."""
    out, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and depth == 0:
            out.append(text[start:at])
            start = at + 1
    return [*out, text[start:]]


def factors_of(name: str, domain: Domain | None = None) -> tuple[Factor, ...]:
    """Return what a row's name says of its column, as formulas of R and of patsy name them.

    A row of another name is a column of that name.

    Examples
    --------
    >>> factors_of("C(town)[T.south]:age")
    (Equal(attribute='town', value='south'), Power(attribute='age', exponent=1.0, missing=None))
    >>> from glassine.domain import Category
    >>> factors_of("sexmale", Domain({"sex": Category(("female", "male"))}))
    (Equal(attribute='sex', value='male'),)
    """
    whole = _factor(name, domain)
    parts = _inside(name, ":")
    if len(parts) == 1 or not isinstance(whole, Power) or whole.attribute != name or _declared(name, domain):
        return (whole,)
    return tuple(_factor(part, domain) for part in parts)


def _declared(name: str, domain: Domain | None) -> bool:
    return domain is not None and name in domain


def _factor(name: str, domain: Domain | None) -> Factor:
    if _declared(name, domain):
        return Power(attribute=name)
    match = PATSY.fullmatch(name)
    if match is not None and CODED.search(name) is None:
        return _equal((match["of"] or match["name"]).strip(), match["value"], domain)
    match = SQUARED.fullmatch(name)
    if match is not None:
        return Power(attribute=match["name"], exponent=float(match["power"]))
    match = OF_FACTOR.fullmatch(name)
    # Contrasts that are not of 0/1 number their columns, as levels that are numbers do.
    if match is not None and isinstance(plain(match["value"]), str):
        return _equal(match["name"], match["value"], domain)
    return _of_domain(name, domain) or Power(attribute=name)


def _equal(attribute: str, text: str, domain: Domain | None) -> Equal:
    if domain is not None and attribute in domain:
        declared = domain[attribute]
        values = declared.values if isinstance(declared, Category) else (0, 1) if isinstance(declared, Binary) else ()
        spelled = {"True": "1", "TRUE": "1", "False": "0", "FALSE": "0"}.get(text, text)
        value = next((value for value in values if str(value) in (text, spelled)), None)
        if value is None and values:
            raise InvalidModelError(f"{text!r:.40} is not a value of {attribute!r:.60}.", remedy="Declare it.")
        return Equal(attribute=attribute, value=plain(text) if value is None else value)
    return Equal(attribute=attribute, value=plain(text))


def _of_domain(name: str, domain: Domain | None) -> Equal | None:
    """Return the value of a declared category that R's name of a column is made of, as in ``sexmale``."""
    for at in range(len(name) - 1, 0, -1):
        declared = domain[name[:at]] if domain is not None and name[:at] in domain else None
        rest = name[at:]
        if isinstance(declared, Category) and isinstance(plain(rest), str):
            values = [value for value in declared.values if str(value) == rest]
            if values:
                return Equal(attribute=name[:at], value=values[0])
        if isinstance(declared, Binary) and rest in ("TRUE", "FALSE"):
            return Equal(attribute=name[:at], value=int(rest == "TRUE"))
    return None


class RegressionBuilder:
    """A regression that is put together from the rows of a table."""

    def __init__(self, what: str, domain: Domain | None, outputs: int = 1) -> None:
        # what: the table, for messages: "the summary of R".
        self.what, self.domain = what, domain
        self.intercept = [0.0] * outputs
        self.intercept_errors: list[float] | None = None
        self.effects: list[Effect] = []
        self.n_parameters = 0
        self.has_intercept = False  # Whether a row is of it
        self._rows: set[str] = set()

    def row(self, name: str, coefficient: str, error: str | None = None) -> None:
        """Add a printed row of a table of one output; one that was not estimated adds nothing."""
        value = number(coefficient)
        if value != value:
            return
        self.n_parameters += 1
        if len(self.effects) >= MOST_ROWS:
            raise UnsupportedModelError(f"{self.what} has more than {MOST_ROWS:,} rows.")
        spread = float("nan") if error is None else number(error)
        if name in INTERCEPTS:
            self.has_intercept = True
            self.intercept[0] += value
            self.intercept_errors = None if spread != spread else [spread]
            return
        if name in self._rows:
            raise UnsupportedModelError(f"{self.what} has two rows of {name[:60]!r}.", remedy="Give one table a model.")
        self._rows.add(name)
        errors = None if error is None or spread != spread else (spread,)
        rounding = 0.0 if errors is None or error is None else half_step(error)
        self.add(name, factors_of(name, self.domain), (value,), errors, rounding=rounding)

    def add(
        self,
        name: str,
        factors: Sequence[Factor],
        coefficients: Sequence[float],
        errors: Sequence[float] | None = None,
        *,
        rounding: float = 0.0,
    ) -> None:
        """Add a column."""
        for factor in factors:
            # A column that a formula computes is named by the formula, and no domain declares it.
            if "(" not in factor.attribute:
                require(factor.attribute, self.domain, f"{self.what} reads")
        if any(effect.name == name for effect in self.effects[-1:]):
            raise InvalidModelError(f"{self.what} names two columns {name!r:.60}.")
        self.effects.append(
            Effect(
                name=name,
                factors=tuple(factors),
                coefficients=tuple(coefficients),
                errors=None if errors is None else tuple(errors),
                rounding=rounding,
            )
        )

    def model(
        self,
        link: str,
        fit: FitStatistics,
        *,
        source: str,
        classes: tuple[Scalar, ...] | None = None,
        target: str = "",
        names: Sequence[str] | None = None,
    ) -> RegressionModel:
        """Return the regression; of a fit whose parameters are not stated, they are its rows."""
        if not self.effects and self.intercept == [0.0] * len(self.intercept) and not self.n_parameters:
            raise UnsupportedModelError(f"{self.what} has no coefficients.", remedy="Give all of it.")
        if link in OF_CLASSES and classes is None:
            classes = tuple(range(2 if link != "softmax" else len(self.intercept)))
        if fit.n_parameters is None and self.n_parameters:
            fit = replace(fit, n_parameters=self.n_parameters)
        used = dict.fromkeys(name for effect in self.effects for name in effect.attributes)
        columns = self.domain.names if self.domain is not None else names or ()
        attributes = tuple(dict.fromkeys((*columns, *used)))
        return RegressionModel(
            attributes=attributes,
            effects=tuple(self.effects),
            intercept=tuple(self.intercept),
            link=link,
            classes=classes,
            target=target,
            fit=fit,
            intercept_errors=None if self.intercept_errors is None else tuple(self.intercept_errors),
            source=source,
        )


def link_of(family: str, link: str, what: str) -> tuple[str, str]:
    """Return the family and the link of a model as this package names them."""
    names = {"inverse_gaussian": "", "inversegaussian": "", "negativebinomial": "", "tweedie": ""}
    links = {"log-log": "", "cloglog": "cloglog", "inverse_power": "", "inverse": "", "inversepower": ""}
    own = names.get(family.lower(), family.lower())
    spelled = links.get(link.lower(), link.lower()) if link else ("" if own == "gamma" else FAMILIES.get(own, ""))
    if own not in FAMILIES or spelled not in ("identity", "log", "logit", "probit", "cloglog", "cox", "softmax"):
        raise UnsupportedModelError(
            f"{what} is of the family {family[:40]} with the link {link[:40] or 'that is usual'}, which is not read.",
            remedy=f"Supported are {', '.join(FAMILIES)}.",
        )
    if (spelled in OF_CLASSES) != (own in ("binomial", "multinomial")):
        raise UnsupportedModelError(f"{what} is of the family {own} with the link {spelled}, which is not read.")
    return own, spelled


def as_binned(model: RegressionModel) -> RegressionModel | AdditiveModel:
    """Return a model of categories alone, whose file says nothing of the fit, as the additive model that it is.

    A missing value takes no part in a column of 0/1, so that it is scored as a value that no column names.
    """
    single = all(len(effect.factors) == 1 and isinstance(effect.factors[0], Equal) for effect in model.effects)
    bare = model.fit.n_records is None and all(effect.errors is None for effect in model.effects)
    if not single or not bare or not model.effects or model.link not in BINNED_LINKS:
        return model
    scores: dict[str, dict[Scalar | None, list[float]]] = {}
    for effect in model.effects:
        (factor,) = effect.factors
        if not isinstance(factor, Equal):
            return model
        own = scores.setdefault(factor.attribute, {})
        total = own.setdefault(factor.value, [0.0] * model.n_outputs)
        own[factor.value] = [a + b for a, b in zip(total, effect.coefficients, strict=True)]
    if any(set(own) == {None} for own in scores.values()):
        return model  # a bin of missing values alone
    return AdditiveModel(
        attributes=model.attributes,
        terms=tuple(
            Term(
                bins=(CategoryBins(name, tuple((value,) for value in own)),),
                scores=np.array([*own.values(), [0.0] * model.n_outputs]),
            )
            for name, own in scores.items()
        ),
        intercept=model.intercept,
        link=model.link,
        classes=model.classes,
        target=model.target,
        source=model.source,
        joint=True,
        equations=_of_bins(model, [(name, value) for name, own in scores.items() for value in own]),
    )


def _of_bins(model: RegressionModel, bins: Sequence[tuple[str, Scalar | None]]) -> ScoreEquations | None:
    """Return what a fit of categories states of sums over its records, with a column for each bin."""
    stated = model.fit.equations
    if stated is None or model.fit.special:
        return None
    columns = np.zeros((len(stated.columns), 1 + len(bins)))
    columns[:, 0] = stated.columns[:, 0]
    for column, effect in zip(stated.columns.T[1:], model.effects, strict=True):
        (factor,) = effect.factors
        if isinstance(factor, Equal):
            columns[:, 1 + bins.index((factor.attribute, factor.value))] += column
    return replace(stated, columns=columns)


OF_CLUSTERS = ("cluster", "hac-panel", "hac-groupsum", "nw-panel", "nw-groupsum")
"""How statsmodels calls errors of records that come in groups, such as several of one person."""


def flag(table: Mapping[str, str], key: str) -> bool | None:
    """Return what a table says is true or false; None if it does not say it."""
    said = table.get(key, "").strip().lower()
    return {"true": True, "1": True, "1.0000": True, "false": False, "0": False, "0.0000": False}.get(said)
