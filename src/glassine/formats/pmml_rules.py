"""Rule sets of PMML as rule lists, and its scorecards as additive models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError
from glassine.formats.conditions import attribute_of, damaged
from glassine.formats.pmml_documents import Element, sizes_of, stated_guarantee
from glassine.formats.pmml_fields import Fields, Role, check_targets, fields_of, number_of, typed
from glassine.formats.pmml_predicates import (
    Compound,
    Logic,
    Predicate,
    fields_in,
    predicate_of,
    speaks_of_gaps,
    the_predicate,
)
from glassine.formats.value_sets import NUMBERS, Region
from glassine.models.additive import AdditiveModel
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.evidence import Evidence
from glassine.models.rule_list import MAX_RULES, Rule, RuleList
from glassine.models.terms import Term

State = Region | Role
"""Values of an attribute among which no predicate distinguishes, or as what a missing one is taken."""


def _logic(fields: Fields, domain: Domain | None, predicates: Sequence[Predicate]) -> Logic:
    spoken_of = set().union(*map(speaks_of_gaps, predicates))
    return Logic(fields, domain, gaps=lambda name: name in spoken_of, unknown_is_false=False)


def _attributes(fields: Fields, domain: Domain | None) -> tuple[str, ...]:
    return domain.names if domain is not None else fields.active


def rules_of_document(root: Element, model: Element, domain: Domain | None = None) -> RuleList:
    """Return a RuleSetModel whose first rule that holds decides, as a rule list.

    Its counts are not read: the specification leaves open whether a rule's ``recordCount`` holds records that earlier
    rules captured. A predicate on alternatives of several fields becomes several rules of one consequent.

    Raises
    ------
    UnsupportedModelError
        If rules vote, or a predicate is not read.
    InvalidModelError
        If a rule contradicts itself, or does not fit the domain.
    """
    rule_set = model.first("RuleSet")
    if rule_set is None:
        raise damaged("the RuleSetModel has no RuleSet.")
    method = rule_set.first("RuleSelectionMethod")
    criterion = None if method is None else method.attributes.get("criterion")
    if criterion != "firstHit":
        raise UnsupportedModelError(
            f"the rules of the RuleSetModel are selected by {criterion!r:.40}: several rules decide together.",
            remedy="Export it with criterion='firstHit', if the first rule that holds decides.",
        )
    fields = fields_of(root, model, domain)
    flat = list(_flattened(rule_set, fields, domain, ()))
    logic = _logic(fields, domain, [predicate for predicate, _ in flat])
    scores = [typed(score, fields.target_type) for _, score in flat]
    default = rule_set.attributes.get("defaultScore")
    last = [] if default is None else [typed(default, fields.target_type)]
    classes = tuple(dict.fromkeys((*fields.labels, *scores, *last)))
    if not classes:
        raise damaged("the RuleSetModel names no class.")
    # A record with a value that the file calls invalid has no prediction.
    guards = [literal for name in fields.active if name in fields.entries for literal in logic.invalid(name)[:-1]]
    rules = [Rule(antecedent=(literal,)) for literal in guards]
    for (predicate, _), score in zip(flat, scores, strict=True):
        conjunctions = logic.conjunctions(predicate)
        rules += [Rule(antecedent=one, evidence=Evidence(label=classes.index(score))) for one in conjunctions]
        if () in conjunctions or len(rules) > MAX_RULES:
            break  # no later rule decides
    if not rules or rules[-1].antecedent:
        rules.append(Rule(evidence=Evidence(label=classes.index(last[0]) if last else None)))
    return RuleList(
        tuple(rules),
        _attributes(fields, domain),
        classes,
        source="PMML RuleSet",
        guarantee=stated_guarantee(root),
        sizes=sizes_of(root),
    )


def _flattened(
    outer: Element, fields: Fields, domain: Domain | None, around: tuple[Predicate, ...]
) -> Iterator[tuple[Predicate, str]]:
    """Yield the predicate and the score of each rule, those in a compound rule with its own predicate."""
    for rule in outer.children:
        if rule.tag not in ("SimpleRule", "CompoundRule"):
            continue
        if len(around) > 50:
            raise UnsupportedModelError("the compound rules stand in each other more than 50 levels deep.")
        parts = (*around, predicate_of(the_predicate(rule), fields, domain))
        if rule.tag == "CompoundRule":
            yield from _flattened(rule, fields, domain, parts)
            continue
        score = rule.attributes.get("score")
        if score is None:
            raise damaged("a SimpleRule of the PMML file has no score.")
        yield parts[0] if len(parts) == 1 else Compound("and", parts), score


def scorecard_of_document(root: Element, model: Element, domain: Domain | None = None) -> AdditiveModel:
    """Return a Scorecard as an additive model: a term for each characteristic, whose first attribute that holds counts.

    Reason codes say why a score is low and do not change it, so that they are left out.

    Raises
    ------
    UnsupportedModelError
        If a characteristic tests more than two fields, a partial score is computed, or a value that the domain allows
        has no score.
    InvalidModelError
        If it contradicts itself, or does not fit the domain.
    """
    check_targets(model, "Scorecard")
    inside = model.first("Characteristics")
    characteristics = [] if inside is None else inside.below("Characteristic")
    if not characteristics:
        raise damaged("the Scorecard has no Characteristics.")
    fields = fields_of(root, model, domain)
    parts = []
    for entry in characteristics:
        rows = []
        for row in entry.below("Attribute"):
            score = row.attributes.get("partialScore")
            if score is None:
                raise UnsupportedModelError(
                    "an Attribute of the Scorecard has no partialScore: a computed one is not read.",
                    remedy="Write the points themselves.",
                )
            rows.append((predicate_of(the_predicate(row), fields, domain), number_of(score)))
        parts.append((entry.attributes.get("name", ""), rows))
    logic = _logic(fields, domain, [predicate for _, rows in parts for predicate, _ in rows])
    invalid = next((name for name in fields.active if name in fields.entries and logic.invalid(name)), None)
    if invalid is not None:
        raise UnsupportedModelError(
            f"the Scorecard gives no score for values of {invalid!r:.60} that the domain allows.",
            remedy="Give a domain of the values that the file calls valid.",
        )
    intercept, terms = number_of(model.attributes.get("initialScore", "0")), []
    # Where each characteristic has its own attributes, they name the terms.
    tested = [tuple(dict.fromkeys(name for test, _ in rows for name in fields_in(test))) for _, rows in parts]
    own_names = len(set(tested)) < len(tested)
    for (title, rows), names in zip(parts, tested, strict=True):
        if not names:
            intercept += _points(title, logic, rows, {})
            continue
        if len(names) > 2:
            raise UnsupportedModelError(
                f"the characteristic {title!r:.60} tests {len(names)} fields; at most 2 are read.",
                remedy="Export a card whose characteristics test one field each.",
            )
        axes = [_axis(logic, name, [test for test, _ in rows], domain) for name in names]
        scores = np.array(
            [
                _points(title, logic, rows, dict(zip(names, cell, strict=True)))
                for cell in product(*(s for _, s in axes))
            ]
        )
        bins = tuple(entry for entry, _ in axes)
        shape = tuple(entry.n_bins for entry in bins)
        terms.append(Term(bins=bins, scores=scores.reshape(shape), name=title if own_names else ""))
    return AdditiveModel(
        attributes=_attributes(fields, domain),
        terms=tuple(terms),
        intercept=(intercept,),
        link="identity",
        source="PMML Scorecard",
        guarantee=stated_guarantee(root),
    )


def _points(
    title: str, logic: Logic, rows: Sequence[tuple[Predicate, float]], cell: dict[str, tuple[State, bool]]
) -> float:
    """Return the points of a characteristic in a cell: those of its first attribute that holds."""
    states = {name: state for name, (state, _) in cell.items()}
    for predicate, points in rows:
        if logic.simplified(predicate, states) is True:
            return points
    if all(possible for _, possible in cell.values()):
        raise UnsupportedModelError(
            f"no attribute of the characteristic {title!r:.60} holds for some values of {', '.join(cell)}, so that "
            "they have no score.",
            remedy="Give a domain without those values, or add an attribute for them.",
        )
    return 0.0


def _axis(
    logic: Logic, name: str, tests: Sequence[Predicate], domain: Domain | None
) -> tuple[Bins, list[tuple[State, bool]]]:
    """Return the bins of a field, and for each what is known of a value in it, and whether it can have records."""
    values = logic.values(name)
    sets = [logic.region(test) for test in _on(name, tests)] + [region for region, _ in values.special]

    def state(region: Region) -> tuple[State, bool]:
        taken = next((role for part, role in values.special if not logic.within(name, part & region).empty), None)
        return (region if taken is None else taken), not logic.within(name, region).empty and not logic.closed(name)

    # Without a word on missing values in the file or the domain, those have no points.
    gap: tuple[State, bool] = (values.gap or "missing", values.gap is not None)
    if NUMBERS & values.universe != values.universe:
        listed = dict.fromkeys([*values.order, *sorted({text for one in sets for text in one.texts})])
        declared = attribute_of(name, domain)
        listed.update(dict.fromkeys(getattr(declared, "values", ())))
        states = [state(Region.of((value,))) for value in listed]
        groups: dict[tuple[State, ...], list[Scalar]] = {}
        for value, (own_state, _) in zip(listed, states, strict=True):
            # The key is a tuple of as many truths as there are tests, whose number the types do not know.
            groups.setdefault(tuple(logic.simplified(test, {name: own_state}) for test in tests), []).append(value)  # type: ignore[misc]
        listing = CategoryBins(name, (*map(tuple, groups.values()), (None,)))
        first = [state(Region.of((group[0],))) for group in groups.values()]
        others = state(Region(texts=frozenset(map(str, listed)), others=True))
        return listing, [*first, gap, others]
    ends = sorted({end for one in sets for pair in one.numbers for end in pair if math.isfinite(end)})
    intervals = list(zip([-math.inf, *ends], [*ends, math.inf], strict=True))
    states = [state(Region((pair,))) for pair in intervals]
    above = [math.nextafter(end, math.inf) for end in ends]
    left = bool(ends) and all(len(repr(up)) < len(repr(end)) for up, end in zip(above, ends, strict=True))
    bins = NumericBins(name, tuple(above if left else ends), closed="left" if left else "right")
    return bins, [*states, gap]


def _on(name: str, tests: Sequence[Predicate]) -> Iterator[Predicate]:
    """Yield the conditions on a field."""
    for test in tests:
        if isinstance(test, Compound):
            yield from _on(name, test.parts)
        elif name in fields_in(test):
            yield test
