"""A decision tree of a PMML document: its nodes, with their children's predicates as splits on one field each."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal as OneOfTexts
from typing import TypeAlias

from glassine.domain import Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.domain.literals import complement
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import (
    TreeBuilder,
    can_be_missing,
    from_shares,
    unsized,
)
from glassine.formats.conditions import damaged, with_missing
from glassine.formats.pmml_documents import Element, is_own, sizes_of
from glassine.formats.pmml_fields import Fields, Role, check_targets, fields_of, number_of, rescaling, typed
from glassine.formats.pmml_predicates import (
    Compound,
    Known,
    Logic,
    Predicate,
    Test,
    fields_in,
    first_test,
    holds_unknown,
    opposite,
    predicate_of,
    speaks_of_gaps,
    the_predicate,
)
from glassine.formats.value_sets import NOTHING, Region, region_of
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree

Goal: TypeAlias = int | OneOfTexts["last", "nothing"]
"""Where a record goes from a node: to a child, to its own prediction, or to no prediction."""
STRATEGIES = ["none", "nullPrediction", "lastPrediction", "defaultChild", "weightedConfidence", "aggregateNodes"]
OTHERWISE = "returnNullPrediction", "returnLastPrediction"
MOST_NODES = 200_000
"""Most nodes of a tree once its conditions on several fields are written as splits on one each."""


@dataclass(frozen=True, slots=True)
class _Split:
    """A split on one field: the conditions in order, and what follows each."""

    literals: tuple[Literal, ...]
    plans: tuple[_Split | Goal, ...]

    def goals(self) -> Iterator[Goal]:
        """Yield where the branches below lead."""
        for plan in self.plans:
            if isinstance(plan, _Split):
                yield from plan.goals()
            else:
                yield plan


Open: TypeAlias = list[tuple[int, Predicate]]
"""The children that a record may still take, with what is left of their predicates."""


class TreeReader:
    """One TreeModel."""

    def __init__(
        self,
        root: Element,
        model: Element,
        domain: Domain | None,
        *,
        classes: tuple[Scalar, ...] = (),
        kind: str | None = None,
        around: Sequence[Element] = (),
    ) -> None:
        self.model, self.domain = model, domain
        self.fields: Fields = fields_of(root, model, domain, around)
        if kind is not None:  # the target stands in the schema of the model around
            self.fields = dataclasses.replace(self.fields, labels=classes, target_type=kind)
        attributes = model.attributes
        purpose = attributes.get("functionName")
        if purpose not in ("classification", "regression"):
            raise UnsupportedModelError(f"a TreeModel is for classification or regression, got {purpose!r:.40}.")
        self.regression = purpose == "regression"
        self.strategy = attributes.get("missingValueStrategy", "none")
        otherwise = attributes.get("noTrueChildStrategy", "returnNullPrediction")
        if self.strategy not in STRATEGIES or otherwise not in OTHERWISE:
            raise damaged(f"PMML has no strategy {otherwise if self.strategy in STRATEGIES else self.strategy!r:.40}.")
        self.keeps_last = otherwise == "returnLastPrediction"
        self.scale = (1.0, 0.0)  # By what the values of leaves are multiplied, and what is added then
        if self.regression:
            self.scale = rescaling(model, "TreeModel")
        else:
            check_targets(model, "TreeModel", classes=True)
        self.classes = self.fields.labels
        self.builder: TreeBuilder[int] = TreeBuilder("the TreeModel", domain, None if domain else self.fields.active)
        # A file that Glassine wrote holds each branch of a model, those that capture nothing too, and no others.
        self.own, self.sizes = is_own(root), sizes_of(root)
        self.explicit = domain is not None and not self.own
        self.tests: dict[int, Predicate] = {}
        self.spoken_of: set[str] = set()
        routed = self.strategy == "defaultChild" and all(
            "defaultChild" in node.attributes for node in self._nodes() if node.below("Node")
        )
        self.logic = Logic(
            self.fields,
            domain,
            gaps=lambda name: routed or name in self.spoken_of,
            unknown_is_false=self.strategy == "none",
        )
        self.n_dropped = 0
        self.shares = self._has_shares()

    def tree(self) -> DecisionTree:
        """Return the tree."""
        start = self.model.first("Node")
        if start is None:
            raise damaged("the TreeModel has no Node.")
        if the_predicate(start).tag != "True":
            raise UnsupportedModelError("the root of the TreeModel has a condition; only True is read.")
        classes = None if self.regression else self.all_classes()
        for node in self._nodes():
            if node is not start:
                self.tests[id(node)] = predicate_of(the_predicate(node), self.fields, self.domain)
                self.spoken_of |= speaks_of_gaps(self.tests[id(node)])
        if classes == ():
            raise InvalidModelError("the TreeModel names no class in a node or in its data dictionary.")
        self._read(start, self._guarded(start))
        noted = " without the recordCount 0 of inner nodes" if self.n_dropped else ""
        return self.builder.tree(0, classes, f"PMML{noted}", sizes=self.sizes)

    def _nodes(self) -> Iterator[Element]:
        """Yield the nodes, depth first."""
        stack = [node for node in (self.model.first("Node"),) if node is not None]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.below("Node"))

    def all_classes(self) -> tuple[Scalar, ...]:
        """Return the classes that are known, and those that nodes name."""
        seen = dict.fromkeys(self.classes)
        for node in self._nodes():
            listed = [child.attributes.get("value") for child in node.below("ScoreDistribution")]
            for text in [*listed, node.attributes.get("score")]:
                if text is not None:
                    seen.setdefault(typed(text, self.fields.target_type))
        self.classes = tuple(seen)
        return self.classes

    def _has_shares(self) -> bool:
        """Return whether every node counts 1: JPMML writes the shares of scikit-learn 1.3 and later as counts."""
        nodes = list(self._nodes())
        counts = [node.attributes["recordCount"] for node in nodes if "recordCount" in node.attributes]
        parts = [part.attributes.get("recordCount", "0") for n in nodes for part in n.below("ScoreDistribution")]
        named = self.model.attributes.get("algorithmName", "").startswith("sklearn.")
        alike = bool(counts) and all(number_of(text) == 1 for text in counts)
        return alike and (named or any(not number_of(text).is_integer() for text in parts))

    def _guarded(self, start: Element) -> int:
        """Add a split for each field with values that a domain allows and the file calls invalid; return the next key.

        A record with such a value has no prediction, and reached no node whose records were counted.
        """
        key = 0
        evidence = self._evidence(start)
        for name in self.fields.active if self.domain is not None else ():
            literals = self.logic.invalid(name) if name in self.fields.entries else []
            if literals:
                here, key = key, key + len(literals)
                for child in range(here + 1, key):
                    self.builder.leaf(child, Evidence(total=0 if evidence.size is not None else None))
                self.builder.split(here, literals, range(here + 1, key + 1), evidence)
        return key

    def _read(self, start: Element, first: int) -> None:
        """Add the nodes with their branches and their evidence, the root under a key."""
        keys = count(first + 1)
        stack: list[tuple[Element, int, bool]] = [(start, first, False)]
        while stack:
            node, key, copied = stack.pop()
            odd = [c.tag for c in node.children if c.tag in ("Partition", "Regression", "DecisionTree")]
            if odd:
                raise UnsupportedModelError(f"a Node holds a {odd[0]}, which is not read.")
            below, evidence = node.below("Node"), self._evidence(node)
            if copied:
                evidence = unsized(evidence)
            if not below:
                self.builder.leaf(key, evidence)
                continue
            tests = [self.tests[id(child)] for child in below]
            plan: _Split | Goal | None = self._as_written(tests) if self.own else None
            plan = self._plan(node, list(enumerate(tests)), {}) if plan is None else plan
            used = Counter([plan] if not isinstance(plan, _Split) else plan.goals())
            rest = self._rest(evidence, [self._evidence(child) for child in below], used["last"] + used["nothing"])
            pending: list[tuple[_Split | Goal, int, Evidence | None]] = [(plan, key, evidence)]
            while pending:
                part, at, own = pending.pop()
                if isinstance(part, _Split):
                    places = [next(keys) for _ in part.plans]
                    self.builder.split(at, part.literals, places, own)
                    pending += [(inner, place, None) for inner, place in zip(part.plans, places, strict=True)]
                elif isinstance(part, int):
                    # A child that several ways lead to stands in each; how many records take which is not known.
                    stack.append((below[part], at, copied or used[part] > 1))
                else:
                    self.builder.leaf(at, self._leftover(evidence, rest, part))
            if len(self.builder) > MOST_NODES:
                raise UnsupportedModelError(
                    f"the conditions on several fields come to more than {MOST_NODES:,} splits on one field each.",
                    remedy="Export the tree with one field in each condition.",
                )

    def _as_written(self, tests: Sequence[Predicate]) -> _Split | None:
        """Return the split of a node that Glassine wrote, a literal for each child, None if it means more."""
        names = [name for test in tests for name in fields_in(test)] or list(self.fields.active[:1])
        if len(tests) < 2 or not names or self.strategy != "none" or self.keeps_last:
            return None
        if any(self.logic.values(name).special or self.logic.closed(name) for name in names):
            return None
        literals = []
        for test in tests:
            name = next(iter(fields_in(test)), names[0])
            # "... or is missing" says the same of present values as its first part, which stands as it was written.
            parts = test.parts if isinstance(test, Compound) and test.operator == "or" else ()
            own = parts[0] if parts[1:] == (Test(OneOf(name, ()), True),) else test
            said = own.literal if isinstance(own, Test) else self.logic.literal(name, self.logic.region(test))
            gap = can_be_missing(name, self.domain, True) and self.logic.simplified(test, {name: "missing"}) is True
            if said is None or len(fields_in(test)) > 1:
                return None
            literals.append(with_missing(said, gap))
        return _Split(tuple(literals), tuple(range(len(tests))))

    def _plan(self, node: Element, tests: Open, states: Known) -> _Split | Goal:
        """Return where the records of a node go, given what is known of their values."""
        left: Open = []
        for i, test in tests:
            now = self.logic.simplified(test, states)
            if now is not False:
                left.append((i, now))
            if now is True or now is None:
                break
        if not left or not isinstance(left[0][1], Test | Compound):
            return self._goal(node, left)
        open_tests = [test for _, test in left]
        names = dict.fromkeys(name for test in open_tests for name in fields_in(test))
        alone = len(names) == 1 and not any(map(holds_unknown, open_tests))
        plan = self._multiway(node, left, next(iter(names)), states) if alone else None
        return self._halves(node, left, first_test(left[0][1]), states) if plan is None else plan

    def _goal(self, node: Element, left: Open) -> Goal:
        """Return where records go when all is known: the first predicate of those left is true or unknown."""
        if not left:
            return "last" if self.keeps_last else "nothing"
        i, now = left[0]
        if now is True:
            return i
        if self.strategy in ("lastPrediction", "nullPrediction"):
            return "last" if self.strategy == "lastPrediction" else "nothing"
        if self.strategy != "defaultChild":
            names = ", ".join(sorted(fields_in(self.tests[id(node.below("Node")[i])])))
            raise UnsupportedModelError(
                f"{names:.60} can be missing, and the strategy {self.strategy!r:.40} for missing values is not read.",
                remedy="Export the tree with missingValueStrategy='defaultChild'.",
            )
        wanted = node.attributes.get("defaultChild")
        ids = [child.attributes.get("id") for child in node.below("Node")]
        if wanted is None or ids.count(wanted) != 1:
            raise damaged("a Node of the TreeModel names none of its children as its default.")
        return ids.index(wanted)

    def _roles(
        self, node: Element, left: Open, name: str, states: Known
    ) -> tuple[list[tuple[Region, _Split | Goal]], _Split | Goal | None]:
        """Return where records go whose value is taken as something else, and where those without a value go."""
        values = self.logic.values(name)

        def after(role: Role) -> _Split | Goal:
            return self._plan(node, left, {**states, name: role})

        gap = None if values.gap is None else after(values.gap)
        return [(region, after(role)) for region, role in values.special], gap

    def _multiway(self, node: Element, left: Open, name: str, states: Known) -> _Split | Goal | None:
        """Return the split of children that test one field, None where no literal says a child's values."""
        state = states.get(name)
        free = state is None
        special, gap = self._roles(node, left, name, states) if free else ([], None)
        rest = self.logic.values(name).plain if not isinstance(state, Region) else state
        branches: list[tuple[Literal | None, Goal, bool]] = []
        sets: list[Region] = []
        for i, test in left:
            if test is None:
                break
            own = self.logic.region(test)
            # A condition stands as it is written, except where the file calls some of its values invalid.
            as_written = isinstance(test, Test) and not (self.logic.closed(name) and self.logic.exceeds(name, own))
            literal = test.literal if isinstance(test, Test) and as_written else self.logic.literal(name, own)
            branches.append((literal, i, free and self.logic.simplified(test, {name: "missing"}) is True))
            sets.append(own & rest)
            rest = rest - own
        if not self.logic.within(name, rest).empty:
            goal = self._goal(node, left[len(branches) :])
            if goal == "last" or len(branches) < 2 or self.explicit:
                other = complement(branches[0][0], missing=False) if len(branches) == 1 and branches[0][0] else None
                branches.append((other or self.logic.literal(name, ~NOTHING), goal, False))
                sets.append(rest)
        goals = [goal for _, goal, _ in branches]
        if special:
            joined = [
                self.logic.literal(name, sets[k].union(region for region, to in special if to == goal))
                for k, goal in enumerate(goals)
            ]
            if all(joined) and {to for _, to in special} <= set(goals):
                branches = [(new, goal, gone) for new, (_, goal, gone) in zip(joined, branches, strict=True)]
                special = []
        if not all(literal for literal, _, _ in branches):
            return None
        first = goals.index(gap) if gap in goals else None
        out: list[tuple[Literal, _Split | Goal]] = []
        for k, (literal, goal, holds) in enumerate(branches):
            after = first is not None and k > first and holds
            # That every literal is there was seen above, which the types do not know.
            out.append((with_missing(literal, gap is not None and (k == first or after)), goal))  # type: ignore[arg-type]
        for region, to in special:
            for part in region.pieces():
                piece = self.logic.literal(name, part)
                if piece is None:
                    return None
                out.insert(0, (with_missing(piece, False), to))
        if gap is not None and first is None and (gap != "nothing" or self.explicit or len(out) < 2):
            out.append((OneOf(name, (), missing=True), gap))
        if len(out) == 1:
            return out[0][1]
        return _Split(tuple(literal for literal, _ in out), tuple(plan for _, plan in out))

    def _halves(self, node: Element, left: Open, test: Test, states: Known) -> _Split:
        """Return the split of one condition: what follows where it holds, where it does not, and in other cases."""
        name, own = test.name, region_of(test.literal)
        state = states.get(name)
        special, gap = self._roles(node, left, name, states) if state is None else ([], None)
        region = state if isinstance(state, Region) else self.logic.values(name).plain
        yes = self._plan(node, left, {**states, name: region & own})
        no = self._plan(node, left, {**states, name: region - own})
        literals = [with_missing(test.literal, gap is not None and gap == yes)]
        literals.append(with_missing(opposite(test.literal), gap is not None and gap == no != yes))
        out: list[tuple[Literal, _Split | Goal]] = list(zip(literals, (yes, no), strict=True))
        for part, to in [(part, to) for region, to in special for part in region.pieces()]:
            piece = self.logic.literal(name, part)
            if piece is None:
                raise UnsupportedModelError(f"values of {name!r:.60} that the file treats apart are no range or list.")
            out.insert(0, (with_missing(piece, False), to))
        if gap is not None and gap not in (yes, no):
            out.append((OneOf(name, (), missing=True), gap))
        return _Split(tuple(literal for literal, _ in out), tuple(plan for _, plan in out))

    def _rest(self, own: Evidence, below: Sequence[Evidence], n_leaves: int) -> Evidence:
        """Return what is known of the records of a node that take no child, and end in leaves of that node."""
        if own.counts is not None and all(part.counts is not None for part in below):
            left = [a - sum((p.counts or ())[i] for p in below) for i, a in enumerate(own.counts)]
            if all(number >= 0 for number in left) and (n_leaves < 2 or not any(left)):
                return Evidence(counts=tuple(left))
        if own.size is not None and all(part.size is not None for part in below):
            total = own.size - sum(part.size or 0 for part in below)
            if total == 0 or (total > 0 and n_leaves < 2):
                return Evidence(total=total)
        return Evidence()

    def _leftover(self, own: Evidence, rest: Evidence, goal: str) -> Evidence:
        """Return the evidence of a leaf of records that take no child."""
        if goal == "nothing":
            return Evidence(total=rest.size)
        if own.prediction is None and own.value is None:
            raise UnsupportedModelError(
                "some records take no child of a Node and keep its prediction, but it has none.",
                remedy="Export the tree with a score in every Node.",
            )
        return dataclasses.replace(rest, label=own.prediction, value=own.value)

    def _evidence(self, node: Element) -> Evidence:
        """Return what a node publishes."""
        score = node.attributes.get("score")
        total = None if self.shares else _whole(node.attributes.get("recordCount"))
        below = node.below("Node")
        if total == 0 and any(_whole(child.attributes.get("recordCount")) for child in below):
            # Some programs count records in leaves alone.
            self.n_dropped += 1
            total = None
        if self.regression:
            factor, constant = self.scale
            return Evidence(total=total, value=None if score is None else number_of(score) * factor + constant)
        listed = {
            typed(str(child.attributes.get("value")), self.fields.target_type): child
            for child in node.below("ScoreDistribution")
        }
        if score is None and listed and not self.own:  # the first of the largest counts, in the order of the file
            score = max(
                (number_of(part.attributes.get("recordCount", "0")), -place, str(part.attributes.get("value")))
                for place, part in enumerate(listed.values())
            )[2]
        label = None if score is None else self.classes.index(typed(score, self.fields.target_type))
        if not listed:
            return Evidence(total=total, label=label)
        texts = [listed[name].attributes.get("recordCount") if name in listed else "0" for name in self.classes]
        counts = [_whole(text) for text in texts]
        stated = [number for number in counts if number is not None]
        if len(stated) == len(counts) and total in (None, sum(stated)) and not self.shares:
            return Evidence(counts=tuple(stated), label=label)
        numbers = [0.0 if text is None else number_of(text) for text in texts]
        whole = sum(numbers)
        if label is not None and whole > 0 and all(number >= 0 for number in numbers) and None not in texts:
            return from_shares([number / whole for number in numbers], label, total)
        return Evidence(total=total, label=label)


def _whole(text: str | None) -> int | None:
    """Return a count, None if it is not stated or not whole."""
    if text is None:
        return None
    value = number_of(text)
    if value < 0:
        raise InvalidModelError(f"a recordCount of the TreeModel must be at least 0, got {text!r:.40}.")
    return int(value) if value.is_integer() and value < 2**53 else None
