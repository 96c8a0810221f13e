"""The text of ``sklearn.tree.export_text``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.domain.single import single as to_single
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import classes_by_largest, refuse_gaps
from glassine.formats.conditions import at_least, at_most, float_of, require, with_missing
from glassine.formats.format import BY_START, of_text
from glassine.formats.format import LINE as LINE_START
from glassine.formats.json import opening_claim
from glassine.formats.printed.rule_conditions import condition, typed, word
from glassine.formats.printed.rules import listed_classes
from glassine.models.evidence import Evidence
from glassine.models.tree import Branch, DecisionTree, Node

PASTED = re.compile(r"\s*|\s*(>>>|\.\.\.|In ?\[[0-9]{0,6}\]:|Out ?\[[0-9]{0,6}\]:|\$|#).*")
"""A line around a tree that was pasted with the prompt that printed it, or a comment."""
CLASSES = re.compile(r"^classes: (\[.{1,100000}\])$", re.MULTILINE)
LINE = re.compile(r"((?:\|\s+)*)\|-+ ?(.*)")
SPLIT = re.compile(r"(.+) (<=|>=|<|> ) (\S+)( or missing)?")
OPPOSITES = {"<=": "> ", "<": ">="}
STATED = re.compile(r"# precision: (single|double)\n")
FIGURES = re.compile(
    r"^[| ]*\|-+ ?(?:.* (?:<=|<|>=|> ) (.*?)(?: or missing)?|(?:weights|value): \[([^\]]*)\].*)$", re.MULTILINE
)
LEAF = re.compile(r" ?(?:weights: \[(?P<weights>[^\]]*)\] )?class: (?P<label>.*)")
VALUE = re.compile(r" ?value: \[(?P<value>[^\],]*)\]")


@dataclass(frozen=True, slots=True)
class _Leaf:
    weights: tuple[float, ...] | None
    label: str | None
    value: float | None


@dataclass(slots=True)
class _Split:
    """An open split: its node, its conditions and children so far.

    A split on a number, as scikit-learn prints it, has a name and a bound in its first line, and sends missing values
    to the sides that ``gaps`` says. Others have conditions alone, in the notation of rule lists.
    """

    node: int
    name: str
    operator: str
    bound: str
    children: list[int]
    gaps: tuple[bool, bool] = (False, False)
    others: list[str] = field(default_factory=list)


def _bad(line: int, why: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"line {line} of the exported tree cannot be read: {why}.")


def _number(text: str, line: int) -> float:
    value = float_of(text)
    if math.isnan(value):
        raise _bad(line, f"{text.strip()[:40]!r} is not a number")
    return value


def _leaf(text: str, line: int) -> _Leaf:
    match = LEAF.fullmatch(text)
    if match:
        listed = match["weights"]
        weights = None if listed is None else tuple(_number(part, line) for part in listed.split(","))
        return _Leaf(weights, None if match["label"] == "?" else match["label"], None)
    match = VALUE.fullmatch(text)
    if match:
        return _Leaf(None, None, None if match["value"] == "?" else _number(match["value"], line))
    raise _bad(line, f"{text[:60]!r} is neither a condition that lines below depend on, nor a class, nor one value")


def _lines(text: str) -> list[tuple[int, int, str]]:
    """Return the number, the depth and the content of each line."""
    out: list[tuple[int, int, str]] = []
    for line, raw in enumerate(text.splitlines(), start=1):
        if PASTED.fullmatch(raw) or (not out and CLASSES.fullmatch(raw.strip())):
            continue
        match = LINE.fullmatch(raw.strip())
        if match is None:
            raise _bad(line, f"{raw.strip()[:60]!r} does not start with '|---'")
        if re.search(r"truncated branch of depth [0-9]+$", raw):
            raise UnsupportedModelError(
                f"line {line} of the exported tree says that a branch is left out.",
                remedy="Export it again with a larger max_depth, such as export_text(model, "
                "max_depth=model.get_depth()).",
            )
        out.append((line, match[1].count("|") + 1, match[2]))
    if not out:
        raise UnsupportedModelError("an exported tree needs at least one line, got none.")
    return out


def _siblings(depths: Sequence[int]) -> list[int]:
    """Return for each line the place of the next one as deep, before any that is less deep; 0 where there is none."""
    out = [0] * len(depths)
    open_lines: list[int] = []
    for at, depth in enumerate(depths):
        while open_lines and depths[open_lines[-1]] > depth:
            open_lines.pop()
        if open_lines and depths[open_lines[-1]] == depth:
            out[open_lines.pop()] = at
        open_lines.append(at)
    return out


def _parse(text: str) -> list[_Leaf | _Split]:
    """Return the nodes in depth-first order."""
    lines = _lines(text)
    siblings = _siblings([depth for _, depth, _ in lines])
    nodes: list[_Leaf | _Split] = []
    open_splits: list[_Split] = []
    back = False
    for at, (line, depth, content) in enumerate(lines):
        if nodes and not open_splits:
            raise _bad(line, "the tree is complete before it")
        if depth != len(open_splits) + (not back):
            raise _bad(line, f"it is indented {depth} deep where {len(open_splits) + (not back)} is expected")
        split = SPLIT.fullmatch(content)
        leaf = LEAF.fullmatch(content) or VALUE.fullmatch(content)
        if back:
            top = open_splits[-1]
            if top.bound and len(top.children) == 1:
                wanted = OPPOSITES[top.operator]
                if split is None or (split[1], split[2], split[3]) != (top.name, wanted, top.bound):
                    raise _bad(line, f"'{top.name} {wanted} {top.bound}' is expected")
                if top.gaps[0] and split[4]:
                    raise _bad(line, "missing values go to the other side already")
                top.gaps = top.gaps[0], split[4] is not None
            elif leaf:
                raise _bad(line, f"a condition is expected, got {content[:60]!r}")
            elif (depth == 1 and len(set(top.others)) > 1 and content in top.others) or (
                top.bound and not content.endswith("is missing")
            ):
                raise UnsupportedModelError(f"another tree begins at line {line}.", remedy="Give the lines of one.")
            else:
                top.others.append(content)
            back = False
            continue
        deeper = at + 1 < len(lines) and lines[at + 1][1] == depth + 1
        done: int | None = len(nodes)
        if deeper:
            if leaf and split is None:
                raise _bad(line, f"a condition such as 'age <= 40.50' is expected, got {content[:60]!r}")
            other = SPLIT.fullmatch(lines[siblings[at]][2]) if siblings[at] else None
            opened = _Split(len(nodes), "", "", "", [])
            opposite = OPPOSITES.get("" if split is None else split[2])
            if split is not None and opposite and (not siblings[at] or (other is not None and other[2] == opposite)):
                _number(split[3], line)
                opened = _Split(len(nodes), split[1], split[2], split[3], [], (split[4] is not None, False))
            else:
                opened.others.append(content)
            nodes.append(opened)
            open_splits.append(opened)
            continue
        nodes.append(_leaf(content, line))
        while open_splits and done is not None:
            open_splits[-1].children.append(done)
            # A split on a number has two sides; others end where the lines go back.
            follows = at + 1 < len(lines) and lines[at + 1][1] == len(open_splits)
            back = len(open_splits[-1].children) == 1 or follows
            done = None if back else open_splits.pop().node
    if open_splits:
        raise UnsupportedModelError(f"the tree ends inside a branch, at line {lines[-1][0]}.", remedy="Give all of it.")
    return nodes


def _classes(leaves: Sequence[_Leaf]) -> tuple[Scalar, ...]:
    """Return the classes in the order of the weights, as far as the leaves reveal it."""
    labels = list(dict.fromkeys(typed(leaf.label) for leaf in leaves if leaf.label is not None))
    if all(leaf.weights is None for leaf in leaves):
        if all(isinstance(label, int | float) for label in labels):
            return tuple(sorted(labels, key=lambda label: float(label)))
        return tuple(sorted(labels, key=str))
    rows = [(leaf.weights, None if leaf.label is None else typed(leaf.label)) for leaf in leaves]
    return classes_by_largest(rows, "the exported tree")


def _evidence(leaf: _Leaf, classes: tuple[Scalar, ...] | None, counted: bool) -> Evidence:
    if classes is None:
        return Evidence(value=leaf.value)
    name = None if leaf.label is None else typed(leaf.label)
    if name is not None and name not in classes:
        raise InvalidModelError(f"the label {leaf.label!r:.60} is not listed in 'classes:'.")
    label = None if name is None else classes.index(name)
    if leaf.weights is None:
        return Evidence(label=label)
    if not counted:
        return Evidence(label=label, weighted=True)
    return Evidence(counts=tuple(int(w) for w in leaf.weights), label=label)


def _names(nodes: Sequence[_Leaf | _Split], domain: Domain | None) -> dict[str, str]:
    """Return the attribute of each feature; the names that export_text makes up are numbers of the domain's."""
    used = dict.fromkeys(node.name for node in nodes if isinstance(node, _Split) and node.bound)
    numbers = [re.fullmatch(r"feature_([0-9]{1,9})", name) for name in used]
    if domain is not None and all(numbers) and not any(name in domain for name in used):
        places = [int(match[1]) for match in numbers if match]
        for place in places:
            if place >= len(domain):
                raise InvalidModelError(
                    f"the exported tree tests feature number {place}, but the domain has {len(domain)} attributes.",
                    remedy="Export it with feature_names.",
                )
        return dict(zip(used, (domain.names[place] for place in places), strict=True))
    return {name: name if (quoted := word(name)) is None else quoted for name in used}


def is_of_sklearn(text: str) -> bool:
    """Return whether all numbers have the same number of decimals, two or more, as scikit-learn prints them."""
    figures = [figure for pair in FIGURES.findall(text) for part in pair if part for figure in part.split(", ")]
    decimals = {len(figure.partition(".")[2]) for figure in figures}
    return len(decimals) == 1 and min(decimals) > 1


def tree_from_export_text(text: str, domain: Domain | None = None) -> DecisionTree:
    r"""Read what ``sklearn.tree.export_text`` or ``glassine.formats.to_text`` wrote.

    The latter also says where missing values go, as in ``age <= 40.5 or missing``, and states a guarantee in its first
    line.

    Parameters
    ----------
    text : str
        The text, not truncated by ``max_depth``.
    domain : Domain, optional
        The public domain. The names ``feature_0``, ... that stand where none were given are taken as its attributes in
        order. Without it, the attributes are those that the text names.

    Returns
    -------
    DecisionTree
        Thresholds are as printed, which is rounded to two decimals by default; records are compared with them in single
        precision, as scikit-learn does, unless the text is Glassine's and does not state it. Weights are taken as class
        counts if all are whole; with ``class_weight`` they are not counts, and the text does not say so. Without
        ``show_weights`` nothing is known of the number of records. Classes that no leaf predicts have made-up names.

    Raises
    ------
    UnsupportedModelError
        If a line cannot be read, a branch was truncated or is cut off; the message gives the line.
    InvalidModelError
        If the labels contradict the weights, the domain lacks a feature, or a feature can be missing: the text does not
        say where missing values go.

    Examples
    --------
    >>> text = "|--- age <= 40.5\n|   |--- class: no\n|--- age >  40.5\n|   |--- class: yes\n"
    >>> tree = tree_from_export_text(text)
    >>> [str(cell) for cell in tree.cells], tree.classes
    (['age <= 40.5', 'age > 40.5'], ('no', 'yes'))
    """
    claim = opening_claim(text)
    if claim is not None:
        text = text[text.find("\n") + 1 :]
    stated = STATED.match(text)
    single, printed = stated is not None and stated[1] == "single", stated is None and is_of_sklearn(text)
    parsed = _parse(text if stated is None else text[stated.end() :])
    listed = CLASSES.search(text)
    leaves = [node for node in parsed if isinstance(node, _Leaf)]
    regression = any(leaf.value is not None for leaf in leaves)
    if regression and any(leaf.label is not None for leaf in leaves):
        raise InvalidModelError("the exported tree has leaves with classes and leaves with values.")
    nothing = all(leaf.label is None and leaf.weights is None for leaf in leaves)
    classes: tuple[Scalar, ...] | None = None
    if listed is not None:
        classes = listed_classes(listed[1])
    elif not (regression or nothing):
        classes = _classes(leaves)
    counted = all(leaf.weights is not None and all(w >= 0 and w.is_integer() for w in leaf.weights) for leaf in leaves)
    names = _names(parsed, domain)
    silent = {
        names[node.name]
        for node in parsed
        if isinstance(node, _Split) and node.bound and not node.others and not any(node.gaps)
    }
    for name in names.values():
        require(name, domain, "the exported tree tests")
        if name in silent:
            refuse_gaps(name, domain, "an exported text", "Give the estimator itself, or a skops file")
    nodes = []
    for node in parsed:
        if isinstance(node, _Leaf):
            nodes.append(Node(evidence=_evidence(node, classes, counted)))
            continue
        literals: list[Literal] = []
        if node.bound:
            name, bound = names[node.name], float(node.bound)
            # scikit-learn rounds records to single precision, and no thresholds.
            bound, by_single = to_single(bound) if single else bound, single or printed
            if node.operator == "<=":
                pair = at_most(name, bound, domain, single=by_single)
            else:
                pair = at_least(name, bound, domain, single=by_single)[::-1]
            literals += map(with_missing, pair, node.gaps)
        literals += [condition(text, domain, single=single) for text in node.others]
        ways = zip(literals, node.children, strict=True)
        nodes.append(Node(branches=tuple(Branch(literal, child) for literal, child in ways)))
    tested = dict.fromkeys(branch.literal.attribute for node in nodes for branch in node.branches)
    attributes = domain.names if domain is not None else tuple(tested)
    # Without decimals, weights that are not whole print as if they were counts.
    rounded = counted and re.search(r"weights: \[[^\]]*\.", text) is None
    return DecisionTree(
        *(tuple(nodes), attributes, classes),
        source="scikit-learn export_text",
        approximate=rounded,
        sizes="derived",
        guarantee=claim,
    )


def _first(text: str) -> str:
    """Return the first line of a tree in a text, without what was pasted before it."""
    starts = (line[0] for line in LINE_START.finditer(text))
    return next((line.strip() for line in starts if not (PASTED.fullmatch(line) or line.startswith("classes: "))), "")


FORMAT = of_text(
    name="export_text",
    again="export_text(model, feature_names=..., show_weights=True, decimals=17, max_depth=model.get_depth())",
    reads="text of `sklearn.tree.export_text`",
    reveals="rounded conditions; counts with `show_weights=True`",
    leaves_out="further digits of thresholds; whether weights are counts; where missing values go",
    sniff=lambda text: re.match(r"\|-+ ", _first(text)) is not None,
    rank=BY_START,
    read=tree_from_export_text,
)
