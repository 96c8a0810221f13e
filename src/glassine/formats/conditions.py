"""Literals from thresholds, names and values, in the terms of a domain; and what writers ask of conditions."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from glassine.domain import Attribute, Between, Binary, Category, Domain, Integer, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.domain.literals import between_text, complement, number
from glassine.domain.prefixes import prefixes as prefixes_of
from glassine.domain.single import WHOLE, side_text, single_bound, single_sides
from glassine.errors import InvalidModelError, UnsupportedModelError, first_of
from glassine.models.additive import AdditiveModel
from glassine.models.rule_list import Rule, RuleList
from glassine.models.transform import M, rewritten
from glassine.models.tree import DecisionTree
from glassine.records.cells import Flag, Reader
from glassine.records.columns import values_of


def near(name: str, names: Iterable[str]) -> str:
    """Return a hint that names the closest of some names, or the first few; starts with a space."""
    listed = [str(n) for n in names]
    close = difflib.get_close_matches(name, listed, n=3, cutoff=0.6)
    if close:
        return f" Did you mean {' or '.join(repr(n) for n in close)}?"
    return f" Known: {first_of(map(repr, listed), 8)}."


def damaged(reason: str) -> InvalidModelError:
    """Return the error of a file that contradicts itself, or lacks a part."""
    return InvalidModelError(reason, remedy="Export it again.")


def not_fitted(obj: object, lacking: str) -> InvalidModelError:
    """Return the error of an estimator without the attribute that fitting sets."""
    return InvalidModelError(f"{type(obj).__name__} is not fitted: it has no {lacking}.", remedy="Call fit first.")


def fresh_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name that is not taken, the wanted one if it is free."""
    while wanted in taken:
        wanted += "_"
    return wanted


def attribute_of(name: str, domain: Domain | None) -> Attribute | None:
    """Return what a domain declares of a name; None where it declares nothing, or there is no domain."""
    return domain[name] if domain is not None and name in domain else None


def require(name: str, domain: Domain | None, what: str = "the model uses") -> None:
    """Raise InvalidModelError if a domain is given and lacks an attribute."""
    if domain is not None and name not in domain:
        if _is_dummy(name, domain):
            raise InvalidModelError(
                f"{what} {name!r}, which the domain lacks: a column made by get_dummies?",
                remedy="Learn with a OneHotEncoder in a pipeline, or declare 0/1 attributes with an exactly-one group.",
            )
        raise InvalidModelError(
            f"{what} {name!r}, which the domain lacks.{near(name, domain.names)}", remedy="Declare it or rename it."
        )


def as_written(
    data: bytes,
    domain: Domain | None,
    *,
    form: str,
    read: Callable[[], AdditiveModel],
    write: Callable[[AdditiveModel], bytes],
    refused: tuple[type[Exception], ...],
) -> AdditiveModel:
    """Return the additive model of a file, every byte accounted for: it is written again, and must be the same."""
    changed = UnsupportedModelError(
        f"the {form} file is not an additive model as Glassine writes it: something was added or changed.",
        remedy="Export it again.",
    )
    try:
        model = read()
        same = write(model) == data
    except refused:
        raise changed from None
    if not same:
        raise changed
    for name in model.tested:
        require(name, domain, "the additive model was given")
    return model


def _is_dummy(name: str, domain: Domain) -> bool:
    """Return whether a name is that of a declared category, an underscore, and one of its values."""
    for at in (i for i, letter in enumerate(name) if letter == "_"):
        attribute = attribute_of(name[:at], domain)
        if isinstance(attribute, Category) and name[at + 1 :] in map(str, attribute.values):
            return True
    return False


def kinds_of(obj: object, package: str) -> list[str]:
    """Return the names of the classes of a package that an object is an instance of, most special first."""
    return [cls.__name__ for cls in type(obj).__mro__ if cls.__module__.split(".")[0] == package]


def class_names(estimator: object) -> tuple[Scalar, ...]:
    """Return the classes of a fitted estimator, none where it has no list of them."""
    listed = getattr(estimator, "classes_", None)
    return () if listed is None else tuple(scalar(name, "a class") for name in np.ravel(listed))


def list_of(rules: Sequence[Rule], classes: tuple[Scalar, ...], source: str, domain: Domain | None) -> RuleList:
    """Return a rule list on the attributes of the domain, or without it on those that its rules test."""
    used = dict.fromkeys(literal.attribute for rule in rules for literal in rule.antecedent)
    return RuleList(tuple(rules), tuple(used) if domain is None else domain.names, classes, source=source)


def scalar(value: object, what: str) -> Scalar:
    """Return a value of a category or a class as a plain Python scalar; whole floats become integers."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return str(plain)
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    if not isinstance(plain, int | float) or not math.isfinite(plain):
        raise InvalidModelError(
            f"{what} must be a string, a finite number or a Boolean, got {value!r}.", remedy="Convert it."
        )
    return plain


def float_of(text: str) -> float:
    """Return the number that a text spells; NaN where it spells none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def binary(name: str, truth: bool) -> OneOf:
    """Return the literal that a binary attribute is 1, or is 0."""
    return OneOf(name, (1,), negated=not truth, binary=True)


def just_below(name: str, bound: float, domain: Domain | None, *, single: bool = False) -> float:
    """Return the bound b for which ``value <= b`` says ``value < bound``; ``single`` says that values are rounded."""
    if isinstance(attribute_of(name, domain), Integer) and math.isfinite(bound) and not (single and abs(bound) > WHOLE):
        return float(math.ceil(bound) - 1)
    return single_bound(bound, below=True) if single else math.nextafter(bound, -math.inf)


def just_at(name: str, bound: float, domain: Domain | None, *, single: bool = False) -> float:
    """Return the bound b for which ``value <= b`` says that a value rounded to single precision is at most a bound."""
    whole = isinstance(attribute_of(name, domain), Integer) and abs(bound) < WHOLE
    return single_bound(bound) if single and not whole else bound


def at_most(name: str, bound: float, domain: Domain | None, *, single: bool = False) -> tuple[Literal, Literal]:
    """Return the literals ``value <= bound`` and ``value > bound``; on a binary attribute they name the value.

    ``single`` says that the value is rounded to single precision before it is compared, and the bound is not.
    """
    if isinstance(attribute_of(name, domain), Binary) and 0 <= bound < 1:
        return binary(name, False), binary(name, True)
    if not -math.inf < bound < math.inf:
        raise InvalidModelError(f"a threshold must be a finite number, got {bound!r} for {name!r}.")
    return _divided(name, just_at(name, bound, domain, single=single))


def at_least(name: str, bound: float, domain: Domain | None, *, single: bool = False) -> tuple[Literal, Literal]:
    """Return the literals ``value >= bound`` and ``value < bound``; ``single`` as for :func:`at_most`."""
    if isinstance(attribute_of(name, domain), Binary) and 0 < bound <= 1:
        return binary(name, True), binary(name, False)
    if not -math.inf < bound < math.inf:
        raise InvalidModelError(f"a threshold must be a finite number, got {bound!r} for {name!r}.")
    below, above = _divided(name, just_below(name, bound, domain, single=single))
    return above, below


def _divided(name: str, bound: float) -> tuple[Literal, Literal]:
    """Return the literals of the two sides of a bound."""
    if math.isinf(bound):
        return all_but(name, False, none=bound < 0), all_but(name, False, none=bound > 0)
    return Between(name, hi=bound), Between(name, lo=bound)


PRECISION = "precision: single"
"""What a text says of its thresholds where records are rounded to single precision before they are compared."""


def in_single_precision(model: DecisionTree | RuleList) -> bool:
    """Return whether every threshold of a model is one of single precision."""
    between = [literal for literal in model.literals if isinstance(literal, Between)]
    ends = {end for literal in between for end in (literal.lo, literal.hi) if math.isfinite(end)}
    return bool(ends) and all(single_sides(end) for end in ends)


def written(literal: Literal, *, single: bool) -> str:
    """Return a condition with every digit of its thresholds, or with those that single precision needs."""
    if isinstance(literal, OneOf):
        return str(literal)

    def end(bound: float) -> tuple[str, bool]:
        sides = single_sides(bound) if single else None
        return (number(bound), False) if sides is None else side_text(sides)

    return between_text(literal, end)


def with_missing(literal: Literal, missing: bool) -> Literal:
    """Return a literal that a missing value satisfies, or does not."""
    return literal if literal.missing == missing else dataclasses.replace(literal, missing=missing)


def all_but(name: str, missing: bool, *, none: bool) -> OneOf:
    """Return the literal that every present value satisfies, or none does."""
    return OneOf(name, (), negated=not none, missing=missing)


def first_word(attribute: Attribute | None) -> str | None:
    """Return the first category that is a text, not a code; None where there is none."""
    values = attribute.values if isinstance(attribute, Category) else ()
    return next((value for value in values if isinstance(value, str)), None)


def check_conditions(model: DecisionTree | RuleList, domain: Domain | None) -> None:
    """Check that a model speaks only of attributes and categories of a domain."""
    if domain is None:
        return
    # Of thousands of thresholds on an attribute, the first one says whether it can have any.
    for name, bound in {one.attribute: one for one in reversed(model.literals) if isinstance(one, Between)}.items():
        require(name, domain, "the model tests")
        if (word := first_word(domain[name])) is not None:
            raise InvalidModelError(
                f"{name!r} has the category {word!r}, but the model has the threshold condition {str(bound)!r}.",
                remedy="Declare a number, or read the model together with its encoder.",
            )
    for literal in model.literals:
        if isinstance(literal, Between):
            continue
        require(literal.attribute, domain, "the model tests")
        attribute = domain[literal.attribute]
        for value in literal.values:
            if isinstance(attribute, Category | Binary):
                declared: tuple[Scalar, ...] = attribute.values if isinstance(attribute, Category) else (0, 1)
                if value not in declared:
                    raise InvalidModelError(
                        f"the model compares {literal.attribute!r} with {value!r}, which is not a value of its domain."
                        f"{near(str(value), map(str, declared))}",
                        remedy=f"Add {value!r} to {literal.attribute!r} in the domain or mend the model.",
                    )
            elif isinstance(value, str):
                raise InvalidModelError(
                    f"{literal.attribute!r} is a number, but the model compares it with {value!r}.",
                    remedy="Declare a Category.",
                )


def conformed(model: M, domain: Domain | None) -> M:
    """Return a model in the terms of a domain: no condition holds of missing values where there are none."""
    # A model that was read without the domain can say age <= 40 or missing. Conditions that speak of nothing but
    # missing values stay. The model itself is returned where nothing changes.
    if domain is None:
        return model
    # A threshold that no missing value satisfies is in the terms of every domain, and most conditions are such.
    spoken = [literal for literal in model.literals if literal.missing or not isinstance(literal, Between)]
    declared = [literal for literal in spoken if literal.attribute in domain]
    plain = {literal: new for literal in declared if (new := _declared(literal, domain)) is not literal}
    if plain:
        model = rewritten(model, literals=plain)
    check_conditions(model, domain)
    return model


def _declared(literal: Literal, domain: Domain) -> Literal:
    """Return a literal as a domain has its attribute: its values, binary or not, and nothing missing if none is."""
    attribute = domain[literal.attribute]
    if isinstance(literal, OneOf):
        values = tuple(dict.fromkeys(_value_of(value, attribute) for value in literal.values))
        literal = literal if values == literal.values else dataclasses.replace(literal, values=values)
    if isinstance(literal, OneOf) and literal.binary is not isinstance(attribute, Binary):
        literal = dataclasses.replace(literal, binary=not literal.binary)
    if attribute.missing:
        return literal
    if isinstance(literal, Between):
        says_more = math.isfinite(literal.lo) or math.isfinite(literal.hi)
    else:
        says_more = bool(literal.values)
    return with_missing(literal, False) if says_more else literal


def _value_of(value: Scalar, attribute: Attribute) -> Scalar:
    """Return a value of a model as the attribute declares it, read as a record's cell is: the code 1 may be "1"."""
    declared = values_of(attribute) if isinstance(attribute, Category | Binary) else ()
    # A text may be part of a prefix: of which records the model means it to hold is not known.
    if value in declared or prefixes_of((*declared, value)) or not (declared or isinstance(value, str)):
        return value
    read, flag = Reader(attribute).cell(value)
    if flag is not Flag.OK:
        return value
    return declared[int(read)] if declared else int(read) if read == int(read) else read


# Conditions along a path, and the outcomes at its end, as the writers of models need them.


def check_model(model: object, *, prefixes: bool = False) -> None:
    """Raise UnsupportedModelError if an object is not a model, or names prefixes that a format cannot hold."""
    if not isinstance(model, DecisionTree | RuleList):
        raise UnsupportedModelError(f"got {type(model).__name__}, not a model.", remedy="Write as_model(...) of it.")
    for name, values in () if prefixes else compared_values(model).items():
        if begun := prefixes_of(values):
            raise UnsupportedModelError(
                f"the model compares {name!r} with all texts of the prefix {str(begun[0])!r}, which this format "
                "cannot say.",
                remedy="Write JSON, SQL or Python.",
            )


def check_predicts(model: DecisionTree | RuleList, domain: Domain | None, what: str) -> None:
    """Check a model for a format, ``what``, in which every leaf or rule must predict."""
    check_model(model)
    check_conditions(model, domain)
    for i, outcome in enumerate(outcomes(model), start=1):
        if outcome is None:
            raise UnsupportedModelError(f"part {i} predicts nothing, but each leaf of {what} must.", remedy="Label it.")


def merged(literals: Iterable[Literal]) -> tuple[Literal, ...]:
    """Return a conjunction with the bounds on each number merged; it holds for the same records."""
    out: dict[object, Literal] = {}
    for literal in literals:
        # A one-sided bound needs no negation: not (x <= 3) is x > 3 for every number.
        plain = literal
        if isinstance(literal, Between) and literal.negated:
            plain = with_missing(complement(literal.negate(), missing=False), literal.missing)
        key: object = literal
        if isinstance(plain, Between) and not plain.negated:
            key = ("bounds", plain.attribute)
            old = out.get(key)
            lo, hi = (plain.lo, plain.hi)
            if isinstance(old, Between):
                lo, hi = max(lo, old.lo), min(hi, old.hi)
            if not lo < hi:
                out[literal] = literal
                continue
            missing = plain.missing and (old is None or old.missing)
            out[key] = Between(plain.attribute, lo, hi, missing=missing)
            continue
        out.setdefault(key, literal)
    return tuple(out.values())


def outcomes(model: DecisionTree | RuleList) -> tuple[Scalar | None, ...]:
    """Return what each leaf or rule predicts: a class, a value, or None where nothing is published."""
    if model.classes is None:
        return tuple(cell.evidence.value for cell in model.cells)
    labels = [cell.evidence.prediction for cell in model.cells]
    return tuple(None if label is None else model.classes[label] for label in labels)


def compared_values(model: DecisionTree | RuleList) -> dict[str, tuple[Scalar, ...]]:
    """Return for each tested attribute the values that it is compared with, each once, in order."""
    out: dict[str, dict[Scalar, None]] = {name: {} for name in model.tested}
    for literal in model.literals:
        if not isinstance(literal, Between):
            out[literal.attribute].update(dict.fromkeys(literal.values))
    return {name: tuple(values) for name, values in out.items()}


def readable(texts: Sequence[str], what: str) -> None:
    """Raise InvalidModelError if a name cannot stand in a text file: it is no Unicode, or holds a null character."""
    for text in texts:
        if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
            raise InvalidModelError(f"{what} {text!r} holds a null or half a character pair.", remedy="Rename it.")
