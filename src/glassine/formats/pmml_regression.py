"""Regressions of PMML: ``RegressionModel`` and ``GeneralRegressionModel``."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import damaged
from glassine.formats.pmml_documents import Element, stated_guarantee
from glassine.formats.pmml_fields import Fields, fields_of, number_of, typed, value_of
from glassine.formats.regressions import RegressionBuilder, as_binned, link_of
from glassine.models.additive import AdditiveModel
from glassine.models.effects import Equal, Factor, Power
from glassine.models.regression import FitStatistics, RegressionModel

Sum: TypeAlias = dict[tuple[Factor, ...], float]
"""A sum of products of factors, each with its number; the empty product is a constant."""
MODELS = ("RegressionModel", "GeneralRegressionModel")
NORMALIZED = {"none": "identity", "exp": "log", "logit": "logit", "softmax": "softmax", "probit": "probit"}
NORMALIZED["cloglog"] = "cloglog"
DISTRIBUTIONS = {"normal": "gaussian", "binomial": "binomial", "poisson": "poisson", "gamma": "gamma"}
KINDS = ("regression", "generalLinear", "logLinear", "generalizedLinear", "multinomialLogistic", "CoxRegression")
MOST_TERMS = 4_096
"""Most products that a transformed field may become."""


def regression_of_document(
    root: Element, model: Element, domain: Domain | None = None
) -> RegressionModel | AdditiveModel:
    """Return a RegressionModel or a GeneralRegressionModel, one of categories alone as an additive model.

    Numbers of records, errors and the family are stated by hardly any such file: None there.

    Raises
    ------
    UnsupportedModelError
        If it predicts ordered classes, or a field is transformed by more than sums and products with numbers.
    InvalidModelError
        If it contradicts itself, or does not fit the domain.
    """
    if model.first("Targets") is not None:
        raise UnsupportedModelError("the model rescales its predictions in Targets, which is not read.")
    schema = model.first("MiningSchema")
    predicted = [] if schema is None else schema.below("MiningField")
    target = next(
        (f.attributes.get("name", "") for f in predicted if f.attributes.get("usageType") in ("predicted", "target")),
        "",
    )
    reader = _Reader(root, model, domain, target)
    read = reader.regression() if model.tag == "RegressionModel" else reader.general()
    return as_binned(replace(read, guarantee=stated_guarantee(root)))


class _Reader:
    """One model."""

    def __init__(self, root: Element, model: Element, domain: Domain | None, target: str) -> None:
        self.model, self.domain, self.target = model, domain, target
        self.fields: Fields = fields_of(root, model, domain)
        parts = (root.first("TransformationDictionary"), model.first("LocalTransformations"))
        self.derived = {
            entry.attributes.get("name", ""): entry for part in parts if part is not None for entry in part.children
        }
        for name, entry in self.fields.schema.items():
            if entry.attributes.get("outliers", "asIs") != "asIs":
                raise UnsupportedModelError(f"the MiningField {name!r:.60} replaces outliers, which is not read.")

    # What a field is.

    def field(self, name: str, depth: int = 0) -> Sum:
        """Return a field as a sum of products of attributes."""
        if depth > 50:
            raise UnsupportedModelError("derived fields stand in each other more than 50 levels deep.")
        if name in self.fields.entries:
            replaced = self.fields.schema.get(name)
            text = None if replaced is None else replaced.attributes.get("missingValueReplacement")
            return {(Power(attribute=name, missing=None if text is None else number_of(text)),): 1.0}
        if name not in self.derived:
            raise damaged(f"the model reads the field {name!r:.60}, which the file does not declare.")
        inner = [child for child in self.derived[name].children if child.tag != "Extension"]
        if len(inner) != 1:
            raise damaged(f"the derived field {name!r:.60} has no expression, or several.")
        return self.expression(inner[0], depth + 1)

    def expression(self, element: Element, depth: int) -> Sum:
        """Return an expression of a derived field."""
        said = element.attributes
        if element.tag == "Constant":
            return {(): number_of(element.text)}
        if element.tag == "FieldRef":
            return self.field(said.get("field", ""), depth)
        if element.tag == "NormDiscrete":
            name, text = said.get("field", ""), said.get("value", "")
            return {(self.equal(name, text),): 1.0}
        if element.tag == "NormContinuous":
            ends = [
                [number_of(end.attributes.get(key, "")) for key in ("orig", "norm")]
                for end in element.below("LinearNorm")
            ]
            if len(ends) == 2 and ends[0][0] != ends[1][0] and said.get("outliers", "asIs") == "asIs":
                slope = (ends[1][1] - ends[0][1]) / (ends[1][0] - ends[0][0])
                return _plus(
                    _times(self.field(said.get("field", ""), depth), {(): slope}), {(): ends[0][1] - slope * ends[0][0]}
                )
        operator = said.get("function")
        inner = [child for child in element.children if child.tag != "Extension"]
        if element.tag == "Apply" and operator in ("+", "-", "*", "/") and len(inner) == 2 and depth <= 50:
            left, right = (self.expression(child, depth + 1) for child in inner)
            if operator == "+":
                return _plus(left, right)
            if operator == "-":
                return _plus(left, _times(right, {(): -1.0}))
            if operator == "*":
                return _times(left, right)
            if set(right) == {()} and right[()]:
                return _times(left, {(): 1 / right[()]})
        raise UnsupportedModelError(
            f"a derived field is computed by {operator or element.tag!r:.40}, which is not read.",
            remedy="Export the model of columns that are prepared before.",
        )

    def equal(self, name: str, text: str) -> Equal:
        """Return the column of 0/1 of a field's value."""
        source = self.fields.sources.get(name, name)
        if source not in self.fields.entries:
            raise damaged(f"the model reads the field {name!r:.60}, which the file does not declare.")
        return Equal(attribute=source, value=value_of(source, text, self.fields.types[source], self.domain))

    def replaced(self, factor: Factor) -> bool:
        """Return whether missing values of a category are replaced by the value of a column of 0/1."""
        entry = self.fields.schema.get(factor.attribute)
        text = None if entry is None else entry.attributes.get("missingValueReplacement")
        if text is None or not isinstance(factor, Equal):
            return False
        return value_of(factor.attribute, text, self.fields.types[factor.attribute], self.domain) == factor.value

    def add(
        self, builder: RegressionBuilder, sums: Sequence[Sum], errors: dict[tuple[Factor, ...], Sequence[float]]
    ) -> None:
        """Add the columns of the outputs' sums."""
        for factors in dict.fromkeys(factors for one in sums for factors in one):
            values = [one.get(factors, 0.0) for one in sums]
            if not factors:
                builder.intercept = [a + b for a, b in zip(builder.intercept, values, strict=True)]
                builder.intercept_errors = list(errors[()]) if () in errors else None
                continue
            builder.add(":".join(factor.label for factor in factors), factors, values, errors.get(factors))
            if len(factors) == 1 and self.replaced(factors[0]):
                gap = Equal(attribute=factors[0].attribute, value=None)
                builder.add(gap.label, (gap,), values)

    # A RegressionModel.

    def regression(self) -> RegressionModel:
        """Return a RegressionModel."""
        said, tables = self.model.attributes, self.model.below("RegressionTable")
        purpose, how = said.get("functionName"), said.get("normalizationMethod", "none")
        if not tables or purpose not in ("regression", "classification"):
            raise damaged("the RegressionModel has no RegressionTable, or no functionName.")
        sums, n_parameters = [], 0
        for table in tables:
            one: Sum = {(): number_of(table.attributes.get("intercept", "0"))}
            for predictor in table.children:
                one = _plus(one, self.predictor(predictor))
            sums.append(one)
        links = {"simplemax": "", **NORMALIZED}
        if purpose == "regression":
            link = {
                "none": "identity",
                "exp": "log",
                "logit": "logit",
                "softmax": "logit",
                "probit": "probit",
                "cloglog": "cloglog",
            }.get(how, "")
            if len(tables) != 1 or not link:
                raise UnsupportedModelError(f"the RegressionModel normalizes by {how!r:.40}, which is not read.")
            classes: tuple[Scalar, ...] | None = (0, 1) if link in ("logit", "probit", "cloglog") else None
        else:
            names = [typed(t.attributes.get("targetCategory", ""), self.fields.target_type) for t in tables]
            link = links.get(how, "")
            if len(set(names)) < len(names) or len(names) < 2:
                raise damaged("the RegressionTables name a class twice, or fewer than two.")
            binary = len(tables) == 2 and (link in ("logit", "probit", "cloglog") or how == "softmax")
            if binary and how == "softmax":
                # The difference of two scores is the log-odds of the one class against the other.
                sums, names, link = [_plus(sums[1], _times(sums[0], {(): -1.0}))], names, "logit"
            elif binary:
                # The first table gives the probability of its class; that of the last is the rest.
                sums, names = [sums[0]], [names[1], names[0]]
            elif how != "softmax":
                raise UnsupportedModelError(
                    f"the RegressionModel of {len(tables)} classes normalizes by {how!r:.40}, which is not read.",
                    remedy="Export it with softmax.",
                )
            classes = tuple(names)
        builder = RegressionBuilder("the RegressionModel", self.domain, len(sums))
        self.add(builder, sums, {})
        n_parameters = max(1, len(sums) - (len(sums) > 1)) * max(len(one) for one in sums)
        family = {"identity": "gaussian", "log": "poisson", "softmax": "multinomial"}.get(link, "binomial")
        named = said.get("algorithmName", "")
        fit = FitStatistics(
            family="" if link == "log" else family,
            n_parameters=n_parameters,
            # scikit-learn shrinks all of its models but this one by default.
            penalized=False if named.endswith(".LinearRegression") else None,
        )
        return self.made(builder, link, fit, classes)

    def predictor(self, element: Element) -> Sum:
        """Return a predictor of a RegressionTable."""
        said = element.attributes
        if element.tag == "Extension":
            return {}
        weight: Sum = {(): number_of(said.get("coefficient", ""))}
        if element.tag == "NumericPredictor":
            column, power = self.field(said.get("name", "")), number_of(said.get("exponent", "1"))
            if power != 1:
                ((factors, scale),) = column.items() if len(column) == 1 else (((), 0.0),)
                if len(factors) != 1 or scale != 1 or not isinstance(factors[0], Power):
                    raise UnsupportedModelError("a power of a transformed field is not read.")
                column = {(replace(factors[0], exponent=factors[0].exponent * power),): 1.0}
            return _times(column, weight)
        if element.tag == "CategoricalPredictor":
            return _times({(self.equal(said.get("name", ""), said.get("value", "")),): 1.0}, weight)
        if element.tag == "PredictorTerm":
            out: Sum = weight
            for reference in element.below("FieldRef"):
                out = _times(out, self.field(reference.attributes.get("field", "")))
            return out
        raise UnsupportedModelError(f"a RegressionTable holds a {element.tag[:40]}, which is not read.")

    # A GeneralRegressionModel.

    def general(self) -> RegressionModel:
        """Return a GeneralRegressionModel."""
        said = self.model.attributes
        kind = said.get("modelType", "")
        if kind not in KINDS:
            raise UnsupportedModelError(
                f"a GeneralRegressionModel of the type {kind!r:.40} is not read.",
                remedy=f"Supported are {', '.join(KINDS)}.",
            )
        family, link = self.general_family(kind)
        parameters = self.parameters()
        cells = (self.model.first("ParamMatrix") or Element("", {})).below("PCell")
        betas: dict[str | None, dict[str, float]] = defaultdict(dict)
        for cell in cells:
            betas[cell.attributes.get("targetCategory")][cell.attributes.get("parameterName", "")] = number_of(
                cell.attributes.get("beta", "")
            )
        unknown = next((name for own in betas.values() for name in own if name not in parameters), None)
        if not betas or unknown is not None:
            raise damaged(f"the ParamMatrix has no PCell, or one of the unknown parameter {unknown!r:.60}.")
        classes, groups = self.general_classes(link, list(betas))
        sums: list[Sum] = []
        for group in groups:
            one: Sum = {}
            for name, beta in {} if group == REFERENCE else {**betas.get(None, {}), **betas.get(group, {})}.items():
                one = _plus(one, {parameters[name]: beta})
            sums.append(one)
        if link != "softmax" and len(sums) != 1:
            raise UnsupportedModelError("the GeneralRegressionModel has coefficients of several classes.")
        builder = RegressionBuilder("the GeneralRegressionModel", self.domain, len(sums))
        errors, how = self.general_errors(parameters)
        self.add(builder, sums, errors if len(sums) == 1 else {})
        special = {
            "offset": "offsetVariable" in said or number_of(said.get("offsetValue", "0")) != 0,
            "grouped outcome": "trialsVariable" in said or said.get("trialsValue", "1") != "1",
            "strata": "baselineStrataVariable" in said,
            "records of intervals": "startTimeVariable" in said,
        }
        fit = FitStatistics(
            family=family,
            n_parameters=sum(number_of(cell.attributes.get("df", "1")) != 0 for cell in cells),
            special=tuple(name for name, there in special.items() if there),
            published=("covariance matrix",) if self.model.first("PCovMatrix") is not None else (),
            errors=how,  # type: ignore[arg-type]  # one of the literals, as general_errors returns
            baseline=self.baseline(),
        )
        return self.made(builder, link, fit, classes)

    def general_family(self, kind: str) -> tuple[str, str]:
        """Return the family and the link of a GeneralRegressionModel."""
        said = self.model.attributes
        if kind == "CoxRegression":
            return "cox", "cox"
        if kind in ("regression", "generalLinear"):
            return "gaussian", "identity"
        if kind == "logLinear":
            return "poisson", "log"
        if kind == "multinomialLogistic":
            return "multinomial", "softmax"
        named = said.get("distribution", "")
        return link_of(DISTRIBUTIONS.get(named, named), said.get("linkFunction", ""), "the GeneralRegressionModel")

    def general_classes(self, link: str, named: list[str | None]) -> tuple[tuple[Scalar, ...] | None, list[str | None]]:
        """Return the classes, and the category of each output's coefficients."""
        if link not in ("softmax", "logit", "probit", "cloglog"):
            return None, [None] if named == [None] else named
        texts = [name for name in named if name is not None]
        reference = self.model.attributes.get("targetReferenceCategory")
        labels = [str(label) if not isinstance(label, bool) else str(label).lower() for label in self.fields.labels]
        if link == "softmax":
            others = list(dict.fromkeys([*labels, *texts]))
            reference = reference or next((label for label in others if label not in texts), None)
            if reference is None:
                raise damaged("the GeneralRegressionModel names no reference category.")
            order = list(dict.fromkeys([*others, reference]))
            classes = tuple(typed(text, self.fields.target_type) for text in order)
            return classes, [name if name in texts else REFERENCE for name in order]
        if len(texts) > 1:
            raise UnsupportedModelError("the GeneralRegressionModel has coefficients of several classes.")
        second = texts[0] if texts else next((label for label in labels if label != reference), None)
        first = reference if reference not in (None, second) else next((x for x in labels if x != second), None)
        if second is None or first is None:
            return (0, 1), named
        return tuple(typed(text, self.fields.target_type) for text in (first, second)), named

    def parameters(self) -> dict[str, tuple[Factor, ...]]:
        """Return the parameters by name."""
        listed = (self.model.first("ParameterList") or Element("", {})).below("Parameter")
        predictors = {
            entry.attributes.get("name", ""): tag
            for tag in ("FactorList", "CovariateList")
            for entry in (self.model.first(tag) or Element("", {})).below("Predictor")
        }
        if any(
            entry.below("Categories") for part in self.model.below("FactorList") for entry in part.below("Predictor")
        ):
            raise UnsupportedModelError(
                "a factor has a matrix of contrasts, which is not read.", remedy="Use 0/1 columns."
            )
        parts: dict[str, list[Factor]] = {entry.attributes.get("name", ""): [] for entry in listed}
        for cell in (self.model.first("PPMatrix") or Element("", {})).below("PPCell"):
            name = cell.attributes.get("parameterName", "")
            predictor, value = cell.attributes.get("predictorName", ""), cell.attributes.get("value", "")
            if name not in parts or predictor not in predictors:
                raise damaged(f"a PPCell is of the parameter {name!r:.60}, which the file does not declare.")
            if predictors[predictor] == "FactorList":
                parts[name].append(self.equal(predictor, value))
                continue
            column = self.field(predictor)
            ((factors, scale),) = column.items() if len(column) == 1 else (((), 0.0),)
            if len(factors) != 1 or scale != 1 or not isinstance(factors[0], Power):
                raise UnsupportedModelError("a transformed field of a GeneralRegressionModel is not read.")
            parts[name].append(replace(factors[0], exponent=factors[0].exponent * number_of(value)))
        return {name: tuple(own) for name, own in parts.items()}

    def general_errors(
        self, parameters: dict[str, tuple[Factor, ...]]
    ) -> tuple[dict[tuple[Factor, ...], Sequence[float]], str]:
        """Return standard errors, as far as the file holds the covariance matrix, and of which kind they are."""
        matrix = self.model.first("PCovMatrix")
        if matrix is None:
            return {}, ""
        out: dict[tuple[Factor, ...], Sequence[float]] = {}
        for cell in matrix.below("PCovCell"):
            row, column = (cell.attributes.get(key, "") for key in ("pRow", "pCol"))
            variance = number_of(cell.attributes.get("value", ""))
            if row == column and row in parameters:
                if variance < 0:
                    raise InvalidModelError("the covariance matrix has a negative variance.")
                out[parameters[row]] = (math.sqrt(variance),)
        return out, {"model": "model", "robust": "robust"}.get(matrix.attributes.get("type", ""), "")

    def baseline(self) -> tuple[tuple[float, float], ...]:
        """Return the rows of the cumulative baseline hazard."""
        tables = self.model.first("BaseCumHazardTables")
        if tables is None:
            return ()
        parts = [tables, *tables.below("BaselineStratum")]
        return tuple(
            (number_of(row.attributes.get("time", "")), number_of(row.attributes.get("cumHazard", "")))
            for part in parts
            for row in part.below("BaselineCell")
        )

    def made(
        self, builder: RegressionBuilder, link: str, fit: FitStatistics, classes: tuple[Scalar, ...] | None
    ) -> RegressionModel:
        """Return the model of a builder."""
        names = tuple(self.fields.sources.get(name, name) for name in self.fields.active)
        return builder.model(
            link,
            fit,
            source=f"PMML {self.model.tag}",
            classes=classes,
            target=self.target,
            names=tuple(dict.fromkeys(names)),
        )


REFERENCE = "\0reference"
"""Stands for the category without coefficients, which no text of a file can spell."""


def _plus(left: Sum, right: Sum) -> Sum:
    out = dict(left)
    for factors, weight in right.items():
        out[factors] = out.get(factors, 0.0) + weight
    return out


def _times(left: Sum, right: Sum) -> Sum:
    out: Sum = {}
    if len(left) * len(right) > MOST_TERMS:
        raise UnsupportedModelError(f"transformed fields make more than {MOST_TERMS:,} products.")
    for one, weight in left.items():
        for other, scale in right.items():
            key = (*one, *other)
            out[key] = out.get(key, 0.0) + weight * scale
    return out
