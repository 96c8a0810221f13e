"""Trees as C4.5, C5.0, J48 of Weka and ctree of R print them: conditions in bars, leaves ``(covered/errors)``."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from glassine.domain import Category, Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import TreeBuilder, sides
from glassine.formats.conditions import attribute_of, damaged
from glassine.formats.format import BY_LEAF, first_line, of_text
from glassine.formats.printed.plain_rules import RULE
from glassine.formats.printed.rule_conditions import NUMBER, plain, spelled_values, value_of
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree

# What R prints of a tree of partykit, such as ctree, turned into the lines that C4.5 prints.

PARTY_TITLE = re.compile(r"^[ \t]*Fitted party:[ \t]*\r?$", re.MULTILINE)
END = re.compile(r"Number of (inner|terminal) nodes:|>")
NODE = re.compile(r"((?:\|[ \t]*)*)\[[0-9]{1,9}\] ?(.*)")
LEAF = re.compile(r" \(n = ([0-9]{1,15}), err = ([0-9]{1,3}(?:\.[0-9]{1,9})?)%\)$")
VALUE = re.compile(rf": (?P<value>{NUMBER}) \(n = (?P<covered>[0-9]{{1,15}}), err = (?P<squares>{NUMBER})\)$")
"""A leaf of a regression: its mean, its records, and the sum of their squared distances from the mean."""
HALF_DIGIT = 5.1e-4
"""By how much a share of errors, which prints with one digit of a percent, may miss the true one."""


def as_c45_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return numbered lines without the root and the numbers of nodes, and with errors as numbers of records."""
    first = next(i for i, (_, raw) in enumerate(lines) if PARTY_TITLE.fullmatch(raw))
    out: list[tuple[int, str]] = []
    for number, raw in lines[first + 1 :]:
        if END.match(raw.strip()):
            break
        match = NODE.fullmatch(raw.strip())
        if match is None:
            if raw.strip():
                raise _bad(number, f"{raw.strip()[:60]!r} has no number of a node, such as [2]")
            continue
        bars, content = match[1], match[2]
        if bars:  # below the root there is one bar more than C4.5 prints
            out.append((number, f"{bars.replace('|', '', 1).strip()} {_translated(number, content)}"))
        elif ":" in content:
            out.append((number, _translated(number, content.removeprefix("root"))))
    return out


def _translated(number: int, content: str) -> str:
    """Return a line with ``(n = 54, err = 9.3%)`` turned into ``(54/5)`` and its list of values put in braces."""
    match = LEAF.search(content)
    if match is None:
        mean = VALUE.search(content)
        if mean is not None:
            return f"{_braced(content[: mean.start()])}: {mean['value']} ({mean['covered']}/{mean['squares']})"
        if re.search(r": (Inf|NA|[0-9.]+) \(n = [0-9]+\)$", content):
            raise UnsupportedModelError(
                f"line {number} of the printed tree has a median time of survival, whose trees are not read.",
                remedy="Fit a tree of a class, such as of survival past a day.",
            )
        if re.search(r": .*\([nw] = [0-9.]+", content):
            raise _bad(number, "its leaf states neither a share nor a sum of errors: weighted trees are not read")
        return _braced(content)
    total, share = int(match[1]), float(match[2]) / 100
    wrong = total * share
    near = {k for k in (math.floor(wrong), math.ceil(wrong)) if abs(k - wrong) <= total * HALF_DIGIT}
    # Where the digits leave several numbers of errors, the leaf reveals its class alone.
    figures = f"({total}/{near.pop()})" if len(near) == 1 and total * HALF_DIGIT < 0.5 else f"({total}) [{total}]"
    test, _, label = content[: match.start()].rpartition(":")
    return f"{_braced(test)}: {label.strip()} {figures}"


def _braced(test: str) -> str:
    match = re.fullmatch(r"(.*?) in ([^{].*)", test)
    return test if match is None else f"{match[1]} in {{{match[2]}}}"


COUNT = r"[0-9]{1,15}(?:\.[0-9]{1,15})?"
BEHIND = re.compile(
    rf"\((?P<covered>{COUNT})(?:/(?P<errors>{COUNT}(?:[eE][+-]?[0-9]{{1,3}})?))?\)(?P<held> *\[{COUNT}(?:/{COUNT})?\])?"
)
OPERATOR = re.compile(r"(?:<=|>=|!=|<|>|=)(?=\s)")
ORDERED = re.compile(r"(.+?) in \[(.+)\]")
MARGIN = re.compile(r"(?:\|[ \t]*)*")
STEPS = re.compile(r"(?::\.\.\.|:   |    )*")
"""The margin of C5.0, four letters a level."""
TITLE = re.compile(
    r"(J48 (un)?pruned tree|(Simplified )?Decision [Tt]ree:|RandomTree|REPTree|-+ *Trial +[0-9]+: *-+)", re.IGNORECASE
)
TAIL = re.compile(
    r"(Number of Leaves\b|Size of the tree\b|Evaluation (on|of)\b|Tree saved|Time\b.*[0-9]|===|Attribute usage:|"
    r"SubTree \[|Correctly Classified)",
    re.IGNORECASE,
)
BESIDE = re.compile(r"-+|=+|#.*|")
LISTS = re.compile(
    r"^(PART decision list|Decision Stump[ \t]*\r?$|JRIP rules:|RIPPER rules:|Rules:|Rule [0-9]+: \()",
    re.MULTILINE,
)
ENDING = re.compile(rf":[^\n:(]*\({COUNT}(/{COUNT})?\)( *\[{COUNT}(/{COUNT})?\])?[ \t]*\r?$", re.MULTILINE)
"""A line that ends in a colon, a class and ``(covered)`` or ``(covered/errors)``."""
LONE = re.compile(rf"^Decision tree:\s{{1,20}}[^\n:()]+ \({COUNT}(/{COUNT})?\)[ \t]*\r?$", re.MULTILINE)
"""A tree of C5.0 that is one leaf."""
MATRIX = re.compile(r"^([ \t]*(?:\(?[a-z]+\)?[ \t]+)+)<-+ ?classified as", re.MULTILINE)
ROW = re.compile(r"^[ \t0-9.]*(?:\(([a-z]+)\): class (.+)|\|[ \t]+([a-z]+) = (.+))$", re.MULTILINE)
"""A line of a confusion matrix of C5.0, or of Weka."""
EMPTY = re.compile(r":[^\n:(]*\(0/0\)")
"""A leaf without records: of some learners, it predicts as the node above it, and not the class that it prints."""
OF_ABOVE = re.compile(r"^(RandomTree|REPTree)[ \t]*\r?$", re.MULTILINE)
TOTAL = re.compile(
    r"(?:Error on training data|Evaluation on training set|tratified cross-validation) ===[^=]*?"
    r"^Total Number of Instances[ \t]+([0-9]{1,15})",
    re.MULTILINE,
)
DEEPEST = 2000


@dataclass(slots=True)
class _Entry:
    """A condition, what stands behind its colon, and the conditions below."""

    line: int
    test: str
    leaf: tuple[str, str | None, str | None] | None
    below: list[_Entry] = field(default_factory=list)


def tree_from_c45(text: str, domain: Domain | None = None) -> DecisionTree:
    r"""Read a tree that C4.5, C5.0, Weka's J48 or ctree of partykit printed.

    Parameters
    ----------
    text : str
        The conditions, line by line, with bars or the steps ``:...`` of C5.0; what these programs print before and
        behind the tree may stand around them.
    domain : Domain, optional
        The public domain.

    Returns
    -------
    DecisionTree
        A leaf ``(12.0/3.0)`` covers 12 records, of which 3 are not of its class. If both are whole, the leaf has the
        number of records, with class counts where it has no errors, or where two classes exist for certain, and else
        with its error rate if there are more. Weights that
        are not whole stand for records with missing values that went several ways: the leaf has only the error rate.
        Simplified trees of C4.5 print estimated errors, which are not whole. Classes are those of the confusion matrix
        that is printed below, else those of the leaves, sorted: then others may exist.

    Raises
    ------
    UnsupportedModelError
        If a line cannot be read; the message gives the line.
    InvalidModelError
        If branches do not belong together, or an attribute can be missing: such records go several ways.

    Examples
    --------
    >>> text = "age <= 40: no (5.0)\nage > 40\n|   smoker = 1: yes (4.0/1.0)\n|   smoker = 0: no (2.0)\n"
    >>> [(str(cell), cell.evidence.counts) for cell in tree_from_c45(text).cells]
    [('age <= 40', (5, 0)), ('age > 40 and smoker = 1', None), ('age > 40 and smoker = 0', (2, 0))]
    """
    learner = OF_ABOVE.search(text)
    if learner is not None and EMPTY.search(text, learner.end()) is not None:
        raise UnsupportedModelError(
            "a leaf without records, (0/0), prints a class, but Weka predicts that of the leaves around it.",
            remedy="Print a tree of J48, or one whose leaves all have records: set -M 1 or more.",
        )
    entries = _parsed(text)
    printed = _in_matrix(text)
    if not printed and domain is None:
        _ambiguous(entries)
    total, sizes_of_leaves = TOTAL.search(text), [float(one.leaf[1] or 0) for one in entries if one.leaf is not None]
    if total is not None and abs(sum(sizes_of_leaves) - int(total[1])) > max(1, 0.01 * len(sizes_of_leaves)):
        # J48 -R counts in leaves the records that the tree was grown with, and not those that it was pruned with.
        for entry in entries:
            entry.leaf = None if entry.leaf is None else (entry.leaf[0], None, None)
    party = PARTY_TITLE.search(text)
    regression = party is not None and any(VALUE.search(line.rstrip()) for line in text[party.end() :].splitlines())
    classes, certain = (None, True) if regression else _classes(entries, printed)
    builder: TreeBuilder[int] = TreeBuilder("the printed tree", domain, silent=True)
    if len(entries[0].below) == 1 and not entries[1].test:
        builder.leaf(0, _evidence(entries[1], classes, certain))
        return builder.tree(0, classes, "C4.5 text", sizes="derived")
    for entry in entries:
        if entry.below:
            builder.split(entry.line, _literals(entry.below, builder), [child.line for child in entry.below])
        else:
            builder.leaf(entry.line, _evidence(entry, classes, certain))
    # All of these programs print sums of weights; partykit calls them n.
    return builder.tree(0, classes, "C4.5 text", sizes="derived")


def _in_matrix(text: str) -> tuple[Scalar, ...]:
    """Return the classes of the first confusion matrix that is printed, in its order; none without a whole one."""
    head = MATRIX.search(text)
    if head is None:
        return ()
    letters, rows = re.findall(r"[a-z]+", head[1]), dict[str, Scalar]()
    for match in ROW.finditer(text, head.end()):
        rows.setdefault(match[1] or match[3], plain((match[2] or match[4]).strip()))
    return tuple(rows[letter] for letter in letters) if set(letters) <= set(rows) else ()


def _classes(entries: Sequence[_Entry], printed: tuple[Scalar, ...]) -> tuple[tuple[Scalar, ...], bool]:
    """Return the classes, and whether there are certainly no others: those printed, else those of leaves, sorted."""
    leaves = [entry.leaf for entry in entries if entry.leaf is not None]
    labels = {plain(leaf[0]) for leaf in leaves}
    if printed:
        if lost := labels - set(printed):
            raise damaged(f"a leaf predicts {min(map(str, lost))!r:.60}, which the confusion matrix does not list.")
        return printed, True
    if len(labels) == 1 and any(float(leaf[2] or 0) for leaf in leaves):
        (label,) = labels
        return (label, f"not {label}"), True
    broken = next((label for label in labels if isinstance(label, float) and not label.is_integer()), None)
    if broken is not None:
        raise UnsupportedModelError(
            f"a leaf predicts the number {broken}, with its variance behind it: printed regression trees are not read."
        )
    numbers = sorted(float(label) for label in labels if not isinstance(label, str))
    named = (plain(repr(int(n) if n.is_integer() else n)) for n in numbers)
    return (*named, *sorted(x for x in labels if isinstance(x, str))), False


def _ambiguous(entries: Sequence[_Entry]) -> None:
    """Raise UnsupportedModelError if a colon of a leaf may be a part of its class or of the value before it."""
    for entry in entries:
        if entry.leaf is not None and ": " in entry.test:
            raise UnsupportedModelError(
                f"line {entry.line} of the printed tree holds two colons: one is in a value or a class.",
                remedy="Print the confusion matrix below the tree, as summary(model) does, or give the domain.",
            )


def _bad(line: int, why: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"line {line} of the printed tree cannot be read: {why}.")


def _block(text: str) -> list[tuple[int, str]]:
    """Return the lines of the tree, with their numbers: what stands before its title and behind it is left out."""
    if LISTS.search(text) is not None:
        raise UnsupportedModelError(
            "rules and stumps of Weka and C5.0 are not read, trees are.",
            remedy="Fit a tree: J48 of Weka, or C5.0 with rules = FALSE. If the first rule that fits decides, write "
            "them as a rule list, one 'if [a] then [b]' a line.",
        )
    lines = list(enumerate(text.splitlines(), start=1))
    if PARTY_TITLE.search(text) is not None:
        lines = as_c45_lines(lines)
    starts = [i for i, (_, raw) in enumerate(lines) if TITLE.fullmatch(raw.strip())]
    blocks = []
    for start, stop in itertools.pairwise([*(starts or [-1]), len(lines)]):
        kept: list[tuple[int, str]] = []
        for number, raw in lines[start + 1 : stop]:
            line = raw.strip()
            # A line that compares something may test an attribute that is named as a headline.
            if kept and (line.startswith("===") or (TAIL.match(line) and not OPERATOR.search(line))):
                break
            if not BESIDE.fullmatch(line):
                kept.append((number, raw))
        # C5.0 prints the number of a trial below the title of its tree, or above.
        if kept:
            blocks.append(kept)
    if not blocks:
        raise UnsupportedModelError("a printed tree needs at least one line, got none.")
    if len(blocks) != 1:
        raise UnsupportedModelError(
            f"the text holds {len(blocks)} printed trees; one is read.",
            remedy="Fit C5.0 with trials = 1: the trees of several trials vote."
            if "Trial" in text
            else "Give the lines of one.",
        )
    return blocks[0]


def _margin(raw: str, stepped: bool) -> tuple[int, str]:
    """Return how deep a line is indented, and what stands behind its margin."""
    if stepped:
        match = STEPS.match(raw)
        width = match.end() if match else 0
        return width // 4, raw[width:].strip()
    content = raw.strip()
    match = MARGIN.match(content)
    width = match.end() if match else 0
    return content.count("|", 0, width), content[width:]


def _parsed(text: str) -> list[_Entry]:
    """Return the conditions in order, each with those below it; first, as line 0, what is above all of them."""
    entries = [_Entry(0, "", None)]
    path: list[_Entry] = []
    block = _block(text)
    named = sorted((str(name) for name in _in_matrix(text) if ":" in str(name)), key=len, reverse=True)
    stepped = any(re.match(r"[ :]*:\.\.\.", raw) for _, raw in block)
    for line, raw in block:
        depth, content = _margin(raw, stepped)
        entry = _entry(line, content, named)
        if depth > len(path) or depth > DEEPEST:
            raise _bad(line, f"it is indented {depth} deep where at most {min(len(path), DEEPEST)} is expected")
        if depth and path[depth - 1].leaf is not None:
            raise _bad(line, "it is below a leaf")
        del path[depth:]
        (path[-1] if path else entries[0]).below.append(entry)
        path.append(entry)
        entries.append(entry)
    for entry in entries:
        if entry.leaf is None and not entry.below:
            raise _bad(entry.line, f"{entry.test[:60]!r} has neither a class nor lines below it")
    return entries


def _entry(line: int, content: str, named: Sequence[str]) -> _Entry:
    """Return one line without its margin: a condition, and a leaf behind the last colon if there is one.

    ``named`` are the printed classes that hold a colon themselves, the longest first.
    """
    test, colon, rest = content.rpartition(":")
    for name in named:
        head, mark, behind = content.rpartition(f": {name} (")
        if mark and BEHIND.fullmatch(f"({behind}"):
            test, rest = head, f" {name} ({behind}"
            break
    # C5.0 prints a tree of one leaf without a colon.
    match = BEHIND.fullmatch(rest, max(rest.rfind("("), 0)) if colon or not OPERATOR.search(rest) else None
    if match is not None:
        # Weka's REPTree prints apart the records that it pruned with.
        figures = (None, None) if match["held"] else (match["covered"], match["errors"])
        return _Entry(line, test.strip(), (rest[: match.start()].strip(), *figures))
    if content.endswith("]") and "[S" in content:
        raise _bad(line, "a subtree is printed apart, as [S1]. Put its lines in its place")
    return _Entry(line, content.removesuffix(":").strip(), None)


def _literals(below: Sequence[_Entry], builder: TreeBuilder[int]) -> list[Literal]:
    """Return the conditions of the branches of one split."""
    if len(below) < 2:
        raise InvalidModelError(
            f"line {below[0].line} of the printed tree is the only branch of its split.", remedy="Give all."
        )
    domain = builder.domain
    tests = [_test(entry, domain) for entry in below]
    name, operators = tests[0][0], [operator for _, operator, _ in tests]
    if any(test[0] != name for test in tests):
        raise InvalidModelError(
            f"the branches from line {below[0].line} on test several attributes.", remedy="Mend the margin."
        )
    builder.attribute(name)
    if len(tests) == 2 and set(operators) in ({"<=", ">"}, {"<", ">="}):
        bounds = [values[0] for _, _, values in tests]
        if bounds[0] != bounds[1] or isinstance(bounds[0], str):
            raise InvalidModelError(
                f"the branches from line {below[0].line} on are no opposites.", remedy="Mend their numbers."
            )
        return list(sides(name, operators[0], float(bounds[0]), domain))
    if len(set(operators)) > 1 and any("N/A" in values for _, _, values in tests):
        raise UnsupportedModelError(
            f"the branches from line {below[0].line} on have one for N/A beside those for numbers.",
            remedy=f"Leave N/A of {name!r} out or write it as ?, which is missing, and fit it again.",
        )
    if set(operators) == {"=", "!="} and len(tests) == 2 and tests[0][2] == tests[1][2]:
        return [OneOf(name, values, negated=operator == "!=") for _, operator, values in tests]
    seen = [value for _, _, values in tests for value in values]
    if set(operators) != {"="} or len(set(seen)) < len(seen):
        raise InvalidModelError(f"the branches from line {below[0].line} do not belong together.", remedy="Mend them.")
    return [OneOf(name, values) for _, _, values in tests]


def _test(entry: _Entry, domain: Domain | None) -> tuple[str, str, tuple[Scalar, ...]]:
    """Return the attribute, the operator and the values of a condition."""
    name, within, rest = entry.test.partition(" in {")
    if within and rest.endswith("}"):
        name, values = name.strip(), [part.strip() for part in rest[:-1].split(",")]
        if "..." in values:
            raise _bad(entry.line, "its list of values is cut short by '...'. Print all of it")
        attribute = attribute_of(name, domain)
        if isinstance(attribute, Category) and '"' not in rest:
            return name, "=", spelled_values(rest[:-1], name, attribute)
        return name, "=", tuple(value_of(name, value, domain) for value in values)
    ordered = ORDERED.fullmatch(entry.test)
    if ordered is not None:
        name = ordered[1].strip()
        return name, "=", _ordered(entry.line, name, "in", ordered[2].strip(), domain)
    match = OPERATOR.search(entry.test)
    if match is None or not match.start():
        raise _bad(entry.line, f"{entry.test[:60]!r} is not a condition such as 'age <= 40' or 'colour = red'")
    name, operator, text = entry.test[: match.start()].strip(), match[0], entry.test[match.end() :].strip()
    if operator in ("=", "!="):
        return name, operator, (value_of(name, text, domain),)
    if re.fullmatch(rf"{NUMBER} \({NUMBER}\)", text):
        raise UnsupportedModelError(
            f"line {entry.line} of the printed tree has a soft threshold, {text[:40]!r}: records near it go both ways.",
            remedy="Fit C5.0 with fuzzyThreshold = FALSE.",
        )
    if not re.fullmatch(NUMBER, text):
        return name, "=", _ordered(entry.line, name, operator, text, domain)
    if abs(float(text)) > 1e300:
        raise _bad(entry.line, f"{text[:40]!r} is not a finite number")
    return name, operator, (float(text),)


def _ordered(line: int, name: str, operator: str, text: str, domain: Domain | None) -> tuple[Scalar, ...]:
    """Return levels of an ordered factor: ``in [early-late]`` of C5.0, or ``<= early`` of partykit."""
    # A domain lists them in order. Without one, those between the two that are printed are not known.
    attribute = attribute_of(name, domain)
    values = attribute.values if isinstance(attribute, Category) else ()
    levels = [str(value) for value in values]
    ends: list[tuple[str, ...]] = [(text[:at], text[at + 1 :]) for at, one in enumerate(text) if one == "-"]
    if operator != "in":
        ends = [(text, *levels[-1:]) if operator[0] == ">" else (*levels[:1], text)]
    spans = [(levels.index(pair[0]), levels.index(pair[-1])) for pair in ends if {*pair} <= {*levels}]
    if len(spans) != 1:
        raise UnsupportedModelError(
            f"line {line} of the printed tree names levels of {name!r:.40}, {text[:40]!r}, whose order is not known.",
            remedy=f"Give a domain with the levels of {name!r:.40} in order.",
        )
    low, high = spans[0]
    if low > high:
        raise InvalidModelError(
            f"{text!r:.60} names levels in another order than the domain.",
            remedy=f"List the levels of {name!r:.40} in order.",
        )
    return values[low + (operator == ">") : high + (operator != "<")]


def _evidence(entry: _Entry, classes: Sequence[Scalar] | None, certain: bool) -> Evidence:
    if entry.leaf is None:
        return Evidence()
    if classes is None:
        mean, n_records, squares = entry.leaf
        if n_records is None or not re.fullmatch(NUMBER, mean):
            raise _bad(entry.line, "some leaves of the tree predict numbers, this one does not")
        alike = float(squares or 1) == 0
        return Evidence(total=int(n_records), value=float(mean), error_rate=0.0 if alike else None)
    if entry.leaf[1] is None:
        return Evidence(label=classes.index(plain(entry.leaf[0])))
    text, covered, wrong = entry.leaf[0], float(entry.leaf[1]), float(entry.leaf[2] or 0)
    label = classes.index(plain(text))
    if wrong > covered:
        raise InvalidModelError(f"line {entry.line} of the tree has more errors, {wrong}, than records, {covered}.")
    rate = wrong / covered if covered else None
    if not (covered.is_integer() and wrong.is_integer()):
        return Evidence(label=label, error_rate=rate)
    total, errors = int(covered), int(wrong)
    if not errors:
        return Evidence(counts=tuple(total if i == label else 0 for i in range(len(classes))), label=label)
    if len(classes) != 2:
        return Evidence(total=total, label=label, error_rate=rate)
    if not certain:  # errors may be of a class that no leaf predicts
        return Evidence(total=total, label=label)
    return Evidence(counts=(total - errors, errors) if label == 0 else (errors, total - errors), label=label)


FORMAT = of_text(
    name="C4.5",
    again="summary(model) of C5.0, print(model) of partykit, or Weka's output of the whole tree",
    reads="text of C4.5, C5.0 or J48, or what R prints of a tree of partykit, such as ctree",
    reveals="conditions, and the records and errors of each leaf",
    leaves_out="further digits of thresholds; where missing values go; class counts of more than two classes",
    # A rule list may speak of examples in the same marks.
    sniff=lambda text: (
        any(one.search(text) for one in (ENDING, LONE, LISTS, PARTY_TITLE)) and RULE.match(first_line(text)) is None
    ),
    rank=BY_LEAF,
    read=tree_from_c45,
)
