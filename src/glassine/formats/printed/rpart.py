"""What R prints of a tree of rpart, or of the package tree, as people paste it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from glassine.domain import Category, Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import TreeBuilder, sides, whole_counts
from glassine.formats.conditions import require
from glassine.formats.format import of_text
from glassine.formats.printed.rule_conditions import NUMBER, plain, spelled_values
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree

HEAD = re.compile(r"^[ \t]*node\), split, n, (loss|deviance), yval(, \(yprob\))?[ \t]*\r?$", re.MULTILINE)
SUMMARY = re.compile(r"^(Classification|Regression) tree:|^Node number 1: |^Call:[ \t\r]*\n[ \t]*rpart\(", re.MULTILINE)
COMPARED = re.compile(rf"(.+?)(>=|<|<=|>) *({NUMBER})")
SKIPPED = re.compile(r"n= ?[0-9]+.*|\([0-9]+ observations? deleted.*|\* denotes terminal node|#.*|R?>.*|")
ALL_OF_IT = "Give all that print(fit) printed."
FROM_R = "From R, save it as PMML (package pmml), which says it"
DIGITS = 1e-3
"""By how much a printed deviance, of four digits, may miss the one of the counts, as a share of it."""
WEIGHED = 0.05
"""By how much a sum of weights that follows from rounded figures may miss its share of another."""
WHOLE = 0.01
"""By how much a share, which prints with seven digits or more, may miss a whole number of records."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One node as printed."""

    split: str
    n: float
    loss: float
    yval: str
    shares: tuple[float, ...] | None
    leaf: bool


def tree_from_rpart(text: str, domain: Domain | None = None) -> DecisionTree:
    r"""Read what R prints of an rpart tree.

    Parameters
    ----------
    text : str
        What ``print(fit)`` printed, all of it.
    domain : Domain, optional
        The public domain, which declares categories whose names hold commas.

    Returns
    -------
    DecisionTree
        Class counts of a node where its shares times its number of records are whole and agree with its loss; with
        priors, losses or weights they do not, and only the number of records is read. Thresholds are as printed, which
        is rounded to R's digits. A class that no node predicts has a made-up name.

    Raises
    ------
    UnsupportedModelError
        If a line cannot be read; the message gives the line.
    InvalidModelError
        If a node is missing, or an attribute can be missing: the text does not say where missing values go.

    Examples
    --------
    >>> text = "node), split, n, loss, yval, (yprob)\n1) root 9 3 no (0.6666667 0.3333333)\n"
    >>> text += "  2) age< 40.5 5 0 no (1 0) *\n  3) age>=40.5 4 1 yes (0.25 0.75) *\n"
    >>> [(str(cell), cell.evidence.counts) for cell in tree_from_rpart(text).cells]
    [('age <= 40.49999999999999', (5, 0)), ('age > 40.49999999999999', (1, 3))]
    """
    head = HEAD.search(text)
    if head is None:
        raise UnsupportedModelError(
            "the text lacks the line 'node), split, n, ...', as those of summary and printcp do.",
            remedy=ALL_OF_IT,
        )
    if HEAD.search(text, head.end()) is not None:
        raise UnsupportedModelError(
            "the text holds several printed trees; one is read.", remedy="Give the lines of one."
        )
    lines = _lines(text[head.end() :], text[: head.end()].count("\n") + 1)
    if lines.get(1) is None or lines[1].split != "root":
        raise InvalidModelError("the rpart text lacks its root, 'node 1) root'.", remedy=ALL_OF_IT)
    shared = head[2] is not None and any(line.shares is not None for line in lines.values())
    classes = _classes(list(lines.values())) if head[1] == "loss" or shared else None
    by_deviance = head[1] == "deviance"
    if classes is None and not _are_squares(lines):
        raise UnsupportedModelError(
            "the deviances of the rpart text are no sums of squares around its values: it is a survival tree, a "
            "Poisson tree, or one split of weighted records.",
            remedy="Give a tree of method 'class' or 'anova'.",
        )
    builder: TreeBuilder[int] = TreeBuilder("the rpart tree", domain, silent=True, remedy=FROM_R)
    for node, line in lines.items():
        evidence = _evidence(line, classes, node, by_deviance)
        if line.leaf:
            builder.leaf(node, evidence)
            continue
        below = [2 * node, 2 * node + 1]
        if not all(child in lines for child in below):
            raise InvalidModelError(f"node {node} of the rpart text lacks a branch.", remedy=ALL_OF_IT)
        pair = _pair(lines[below[0]].split, lines[below[1]].split, node, domain)
        builder.attribute(pair[0].attribute)
        builder.split(node, pair, below, evidence)
    # rpart prints the number of rows, and above its nodes that of all; the package tree prints sums of weights.
    of_rpart = head[1] == "loss" or re.search(r"^ *n ?= ?[0-9]", text[: head.start()], re.MULTILINE) is not None
    return builder.tree(1, classes, "rpart", sizes="stored" if of_rpart else "derived")


def _lines(text: str, start: int) -> dict[int, _Line]:
    out: dict[int, _Line] = {}
    for at, raw in enumerate(text.splitlines(), start=start):
        if out and raw.lstrip().startswith((">", "R>")):  # the prompt: what follows is another answer of R
            break
        if SKIPPED.fullmatch(raw.strip()):
            continue
        node, line = _line(raw.strip(), at)
        if node in out:
            raise InvalidModelError(f"the rpart text has two nodes {node}.", remedy="Give the print of one tree.")
        out[node] = line
    return out


def _line(text: str, at: int) -> tuple[int, _Line]:
    """Return the number of a node and its line: ``2) split n loss yval (shares) *``."""
    bad = UnsupportedModelError(
        f"line {at} of the rpart text cannot be read: {text[:60]!r}.", remedy="A node is 'number) split n loss yval'."
    )
    number, closing, rest = text.partition(")")
    leaf = rest.endswith("*")
    rest = rest.removesuffix("*").strip()
    if not closing or not re.fullmatch(r"[0-9]{1,9}", number):
        raise bad
    shares = None
    if rest.endswith(")"):
        rest, _, inside = rest[:-1].rpartition("(")
        parts = inside.split()
        if not parts or not all(re.fullmatch(NUMBER, part) for part in parts):
            raise bad
        shares = tuple(float(part) for part in parts)
    words = rest.split()
    # Both the condition and the class may hold blanks: the last two numbers before a class are n and loss.
    for i in reversed(range(1, len(words) - 2)):
        if re.fullmatch(NUMBER, words[i]) and re.fullmatch(NUMBER, words[i + 1]):
            split, yval = " ".join(words[:i]), " ".join(words[i + 2 :])
            return int(number), _Line(split, float(words[i]), float(words[i + 1]), yval, shares, leaf)
    raise bad


def _classes(lines: Sequence[_Line]) -> tuple[Scalar, ...]:
    """Return the classes in the order of the shares, as far as the labels reveal it."""
    labels = list(dict.fromkeys(plain(line.yval) for line in lines))
    widths = {len(line.shares) for line in lines if line.shares is not None}
    if len(widths) != 1 or any(line.shares is None for line in lines):
        raise UnsupportedModelError("every node of an rpart classification prints the shares of classes; some do not.")
    (width,) = widths
    names: dict[int, Scalar] = {}
    for line in lines:
        shares = line.shares or ()
        if shares.count(max(shares)) == 1:
            names.setdefault(shares.index(max(shares)), plain(line.yval))
    rest = [label for label in labels if label not in names.values()]
    free = [i for i in range(width) if i not in names]
    # R sorts the levels of a factor, so that labels seen only in ties stand in that order.
    if len(rest) > len(free) or len(set(names.values())) < len(names):
        raise InvalidModelError("the labels of the rpart text are not those of the largest shares of its nodes.")
    names.update(zip(free, sorted(rest, key=str), strict=False))
    return tuple(names.get(i, f"class {i}") for i in range(width))


def _evidence(line: _Line, classes: tuple[Scalar, ...] | None, node: int, by_deviance: bool) -> Evidence:
    total = int(line.n) if line.n.is_integer() and 0 <= line.n < 2**53 else None
    if classes is None:
        value = float(line.yval) if re.fullmatch(NUMBER, line.yval) else math.nan
        if not math.isfinite(value):
            raise UnsupportedModelError(f"node {node} of the rpart text predicts {line.yval[:40]!r}, no number.")
        # A deviance of zero is published too: every record of the node has the predicted value.
        return Evidence(total=total, value=value, error_rate=0.0 if line.loss == 0 and line.leaf else None)
    label, shares = classes.index(plain(line.yval)), line.shares or ()
    if any(share < 0 for share in shares):
        raise InvalidModelError(f"node {node} of the rpart text has a negative share.", remedy=ALL_OF_IT)
    whole = None if total is None else whole_counts([share * total for share in shares], total, lambda count: WHOLE)
    if whole and total is not None:
        lost, near = float(total - whole[label]), 0.0
        if by_deviance:  # the package tree prints one in place of a loss
            lost = -2 * sum(count * math.log(count / total) for count in whole if count)
            near = DIGITS * max(1.0, line.loss)
        if abs(lost - line.loss) <= near and (whole[label] == max(whole) or not by_deviance):
            return Evidence(counts=whole, label=label)
    return Evidence(total=total, label=label, weighted=True)


def _are_squares(lines: Mapping[int, _Line]) -> bool:
    """Return whether deviances are the sums of squares around means, of records or of weights.

    Trees of survival and of counts print under the same head. Where a node splits, its sum of squares exceeds those of
    its branches by ``W p (1 - p) (a - b)^2``, for their means a and b, the share p of the first, and the number W of
    records, or the sum of their weights: then p follows from the means, and the branches have p W and (1 - p) W.
    """
    if any(re.fullmatch(NUMBER, line.yval) is None for line in lines.values()):
        return True  # said of the node
    values, losses = {node: float(line.yval) for node, line in lines.items()}, {n: x.loss for n, x in lines.items()}
    if not all(map(math.isfinite, (*values.values(), *losses.values()))):
        return False
    splits = [node for node in lines if not lines[node].leaf and {2 * node, 2 * node + 1} <= lines.keys()]
    if not splits:
        return len(lines) > 1 or not (values[1] == 1 and losses[1])  # the rate of all, which a survival tree has as 1
    unit, loss_unit = _precision(values.values()), _precision(losses.values())
    weights: dict[int, float] = {}
    records = True
    for node in splits:
        one, other = 2 * node, 2 * node + 1
        distance, n = values[one] - values[other], lines[node].n
        share = lines[one].n / n if n else 0.0
        slack = sum(map(unit, (values[node], values[one], values[other])))
        within = share * (1 - share) * n
        lost = losses[node] - losses[one] - losses[other]
        near = sum(map(loss_unit, (losses[node], losses[one], losses[other])))
        near += within * slack * (2 * abs(distance) + slack)
        off = values[node] - share * values[one] - (1 - share) * values[other]
        records = records and abs(off) <= slack and abs(lost - within * distance**2) <= near
        p = (values[node] - values[other]) / distance if distance else 0.0
        if 0 < p < 1:
            weights[node] = lost / (p * (1 - p) * distance**2)
    pairs = []
    for node in splits:
        for child, other in ((2 * node, 2 * node + 1), (2 * node + 1, 2 * node)):
            if child in splits and values[child] != values[other]:
                due = weights.get(node, 0.0) * (values[node] - values[other]) / (values[child] - values[other])
                pairs.append((weights.get(child, 0.0), due))
    weighted = bool(pairs) and all(abs(own - due) <= WEIGHED * due for own, due in pairs)
    return records or weighted


def _precision(printed: Iterable[float]) -> Callable[[float], float]:
    """Return by how much a number may be rounded, where numbers are printed with as many digits as some need."""
    digits = max(len(Decimal(repr(value)).normalize().as_tuple().digits) for value in printed)
    return lambda value: 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits) if value else 0.0


def _pair(first: str, second: str, node: int, domain: Domain | None) -> tuple[Literal, Literal]:
    """Return the conditions of the two branches, which must be opposites."""
    left, right = COMPARED.fullmatch(first), COMPARED.fullmatch(second)
    if left and right:
        opposite = {"<": ">=", ">=": "<", "<=": ">", ">": "<="}
        # The package tree prints > for at least.
        loose = left[1].endswith(" ") and {left[2], right[2]} == {"<", ">"}
        if (left[1], left[3]) != (right[1], right[3]) or (opposite[left[2]] != right[2] and not loose):
            raise InvalidModelError(f"the sides of node {node}, {first[:40]!r} and {second[:40]!r}, are no opposites.")
        name = left[1].rstrip() if loose else left[1]
        require(name, domain, "the rpart tree tests")
        operator = ">=" if loose and left[2] == ">" else left[2]
        return sides(name, operator, float(left[3]), domain)
    # The attribute stands before the equals sign of both branches; one of the domain, if there is one.
    cuts = [m.start() for m in re.finditer("=", first) if m.start() and second.startswith(first[: m.start() + 1])]
    if not cuts:
        raise UnsupportedModelError(f"the branches of node {node}, {first[:40]!r} and {second[:40]!r}, cannot be read.")
    name = first[: next((cut for cut in cuts if first[:cut] in (domain or ())), cuts[0])]
    require(name, domain, "the rpart tree tests")
    lists = [_values(text[len(name) + 1 :], name, domain) for text in (first, second)]
    if set(lists[0]) & set(lists[1]):
        raise InvalidModelError(f"the branches of node {node} share a value of {name!r}.", remedy=ALL_OF_IT)
    return OneOf(name, lists[0]), OneOf(name, lists[1])


def _values(text: str, name: str, domain: Domain | None) -> tuple[Scalar, ...]:
    """Return the values that a comma-separated list holds, as the domain spells them."""
    attribute = None if domain is None else domain[name]
    if not isinstance(attribute, Category):
        return tuple(plain(part) for part in text.split(","))
    return spelled_values(text, name, attribute)


FORMAT = of_text(
    name="rpart",
    again="print(model, digits = 15) in R",
    reads="text that R prints of a tree of rpart or of the package tree",
    reveals="conditions as printed, and class counts",
    leaves_out="further digits of thresholds; where missing values go",
    sniff=lambda text: HEAD.search(text) is not None or SUMMARY.search(text) is not None,
    read=tree_from_rpart,
)
