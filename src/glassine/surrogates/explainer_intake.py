"""How the records of an explainer come in: first their attributes, then labels and the black box's answers.

Of a private fit on public cells neither is looked at before the charge, and the black box is asked on none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.data.labels import check_lengths, class_codes, column_of
from glassine.data.person_counts import Persons
from glassine.domain import Category, Domain
from glassine.domain.attributes import Attribute
from glassine.errors import BlackBoxError, InvalidDataError, InvalidParameterError, parameter
from glassine.microaggregation.dissimilarity import distance_in
from glassine.records.arrays import Bools, Ints
from glassine.records.columns import ConformedColumns
from glassine.records.containers import schema
from glassine.records.reading import read as read_cells
from glassine.surrogates import explainer_parameters
from glassine.surrogates.answers import Answers, Names, index_of
from glassine.surrogates.black_boxes import BlackBox, is_regression
from glassine.surrogates.explainer_parameters import ExplainerPlan
from glassine.surrogates.explaining import Ask
from glassine.surrogates.group_trees import where_trees_split
from glassine.surrogates.query_input import (
    Layout,
    coarse_domain,
    described,
    layout_of,
    of_persons,
    open_records,
    read,
)
from glassine.surrogates.release_fit import check_words, classes_of, declared_places, label_array

LEAST_SHARING = explainer_parameters.RESTRICTED_LEAF
"""Fewest records of a class whose name is not declared: as of a leaf in the restricted form."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Material:
    """What a fit works on."""

    native: Any = None  # The records as a microaggregation, or the black box, reads them
    columns: ConformedColumns  # The records, n of them
    domain: Domain  # The domain of the release
    outcome: Answers  # The classes, or the range of the numbers
    # answers, targets: places of what the black box says, and of what trees are trained on; -1 for no answer of the
    # release; shape (n,).
    answers: Ints
    targets: Ints
    # domain_declared, classes_declared: whether they are public.
    domain_declared: bool
    classes_declared: bool
    # Whose the records are, where it is stated: groups and leaves then hold so many people.
    persons: Persons | None = None

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes; none where the answers are numbers."""
        return self.outcome.tree_classes or ()

    @property
    def n_units(self) -> int:
        """Number of people, or of records where persons are not stated."""
        return self.columns.n_records if self.persons is None else self.persons.number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Attributes:
    """The attributes of the records, read; neither their labels nor what the black box says of them."""

    asked: Any  # The records in the form in which the black box takes them
    native: Any  # As a microaggregation reads them
    columns: ConformedColumns  # As the release reads them, n of them
    described: Bools  # Which of them the domain describes, so that the black box is asked; shape (n,)
    domain: Domain  # The domain of the release
    domain_declared: bool
    persons: Persons | None = None
    own_labels: Ints | None = None  # Places of true labels that are a column of the records; shape (n,)


class Intake:
    """The records of a fit, and the black box that judges them; nothing is read before a method is called.

    Parameters
    ----------
    explainer : SurrogateExplainer
        The explainer, for its parameters.
    plan : ExplainerPlan
        What its fit is to do.
    X, y : records and true labels
        As ``fit`` takes them; ``y`` of a private fit may name a column.
    persons : object
        Whose the records are.
    """

    def __init__(self, explainer: Any, plan: ExplainerPlan, X: Any, y: Any, persons: Any) -> None:
        self._explainer, self._plan, self._X, self._y, self._persons = explainer, plan, X, y, persons
        self.box = BlackBox(explainer.predict)
        self.layout = Layout(names=())
        if plan.labels == "true" and y is None:
            raise InvalidDataError(
                f'labels="true" needs {parameter("y")}, the true labels, got None.',
                remedy='Pass y, or labels="black-box".',
            )

    @property
    def declared(self) -> Domain:
        """The declared domain."""
        domain: Domain = self._explainer.domain
        return domain

    def ask(self, domain: Domain) -> Ask:
        """Return what asks the black box on records that are no one's: changed ones, and drawn queries."""
        return lambda records: list(self.box(self.layout.build(domain, records), len(records)).tolist())

    @property
    def outcome(self) -> Answers:
        """What is declared of the answers: the classes, or the range of the numbers."""
        return self._plan.answer or Names(classes_of(self._explainer.classes, np.empty(0, dtype=object), least=1))

    def unopened(self) -> Layout:
        """Return the form of the records by their schema; raise what the schema alone can raise."""
        X, y, domain = self._X, self._y, self._explainer.domain
        self.layout = layout_of(X, domain)
        if isinstance(y, str) and y in domain:
            raise InvalidDataError(
                f"the domain declares the labels {y!r} as an attribute, on which trees would split.",
                remedy="Leave it out of the domain; the classes are declared by themselves.",
            )
        names = schema(X).names if isinstance(y, str) else None
        if names is not None and y not in names:
            raise InvalidDataError(
                f"the records lack the column {y!r} of the labels.", remedy="Add it, or name another."
            )
        if not isinstance(y, str):
            self.own_labels()
        return self.layout

    def own_labels(self) -> None:
        """Refuse labels whose number or form says before the charge that they are none."""
        if isinstance(self._y, str):
            raise InvalidDataError(
                "the labels of a fit on microaggregated groups must be an array with one a record, got a name.",
                remedy="Pass the column itself, and leave it out of the records.",
            )
        if self._y is not None and hasattr(self._X, "__len__") and hasattr(self._y, "__len__"):
            X = self._X
            check_lengths(len(next(iter(X.values()))) if isinstance(X, dict) else len(X), len(self._y))

    def each(self) -> Attributes:
        """Return the attributes, each record read alone."""
        domain, y = self._explainer.domain, self._y
        wanted: dict[str, Attribute] = {name: domain[name] for name in domain}
        own = {y: Category(self.outcome.tree_classes or (0,), missing=True)} if isinstance(y, str) else {}
        cells, flags = read_cells(self._X, wanted | own)
        columns, inside = described(cells, flags, domain)
        return Attributes(
            asked=self.layout.of_columns(columns.take(np.flatnonzero(inside))) if inside.any() else None,
            native=None,
            columns=columns,
            described=inside,
            domain=domain,
            domain_declared=True,
            own_labels=np.asarray(cells.array(y), dtype=np.int64) if isinstance(y, str) else None,
        )

    def attributes(self) -> Attributes:
        """Return the attributes, as a microaggregation reads them."""
        plan, X, declared, whose = self._plan, self._X, self._explainer.domain, None
        if self._persons is not None:
            X, declared, whose = of_persons(X, self._persons, declared, plan.k)
        self.layout, asked, data = open_records(X, declared)
        n = len(next(iter(data.values()))) if isinstance(data, dict) else len(data)
        if not plan.private_partition and not plan.k <= n:
            raise InvalidParameterError(
                f"{parameter('k')} must be at most the number of records, {n:,}, got {plan.k}.",
                remedy="Use a smaller k.",
            )
        domain = coarse_domain(data) if declared is None else declared
        if plan.growth.on_grid and plan.epsilon is None:
            domain = where_trees_split(domain)
        return Attributes(
            asked=asked,
            native=data,
            columns=read(data, domain, refuse_outside=False),
            described=np.ones(n, dtype=bool),
            domain=domain,
            domain_declared=declared is not None,
            persons=whose,
        )

    def judged(self, records: Attributes) -> Material:
        """Return the records with labels and the black box's answers, in the classes that are declared or occur."""
        plan, explainer, y = self._plan, self._explainer, self._y
        n, each = records.columns.n_records, plan.epsilon is not None
        truth = None if y is None or each else label_array(y, n)
        if explainer.classes is None and plan.answer is None and is_regression(explainer.predict):
            raise BlackBoxError(
                "the black box is a regression: it answers with scores, and each would be published as a class.",
                remedy=f"Declare the range and step of the numbers with {parameter('answer=')}, pass a function that "
                f"returns a class for each record, or declare {parameter('classes=')}.",
            )
        answered = np.full(n, None, dtype=object)
        if records.described.any():
            answered[records.described] = self.box.ask_once(records.asked, int(records.described.sum()), lenient=each)
        if each:
            outcome = self.outcome
            answers = outcome.places(answered)
            targets = answers
            if plan.labels == "true":
                own = records.own_labels
                targets = declared_places(y, n, outcome.tree_classes or ()) if own is None else own
            elif y is not None and not isinstance(y, str):
                # Trees do not use them: that they are as many as the records is all that is asked.
                named = outcome.tree_classes or ()
                check_lengths(n, len(class_codes(y, named) if named else column_of(y)))
        else:
            learned = None if plan.labels == "black-box" else truth
            # Queries that were drawn belong to no person.
            least = 1 if plan.records == "queries" else LEAST_SHARING
            outcome = plan.answer or Names(
                classes_of(explainer.classes, answered, learned, least=least, persons=records.persons)
            )
            if truth is not None and isinstance(outcome, Names):
                check_words(truth, answered.tolist())
            answers = index_of(answered, outcome, "the black box")
            targets = answers if plan.labels == "black-box" or truth is None else index_of(truth, outcome, "y")
        return Material(
            native=records.native,
            columns=records.columns,
            domain=records.domain,
            outcome=outcome,
            answers=answers,
            targets=targets,
            domain_declared=records.domain_declared,
            classes_declared=explainer.classes is not None or plan.answer is not None,
            persons=records.persons,
        )


def planned_in(plan: ExplainerPlan, domain: Domain) -> ExplainerPlan:
    """Return a plan with the distance that its attributes have by default."""
    return replace(plan, distance=distance_in(plan.distance, domain))


__all__ = ["LEAST_SHARING", "Attributes", "Intake", "Material", "planned_in"]
