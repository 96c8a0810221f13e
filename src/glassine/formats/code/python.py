"""Models as Python source that imports nothing."""

from __future__ import annotations

import builtins
import keyword
import math
import numbers

from glassine.domain import Between, Literal, OneOf
from glassine.domain.prefixes import Prefix, prefixes
from glassine.errors import UnsupportedModelError
from glassine.formats.conditions import check_model, outcomes
from glassine.formats.format import Format
from glassine.formats.json import commented
from glassine.formats.sklearn.encodings import other_side
from glassine.models.additive import AdditiveModel
from glassine.models.bins import Bins, NumericBins
from glassine.models.evidence import cell_probabilities
from glassine.models.rule_list import RuleList
from glassine.models.terms import Term
from glassine.models.tree import Branch, DecisionTree

# Plain values as Python source.


def source(value: object) -> str:
    """Return a value, or a tuple, as Python source of ASCII characters: no object's own ``repr`` is trusted."""
    if value is None:
        return "None"
    if isinstance(value, list | tuple):
        inner = [source(entry) for entry in value]
        return f"({', '.join(inner)}{',' * (len(inner) == 1)})"
    if isinstance(value, str):
        return ascii("".join(value))  # of a subclass, too, the characters
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "True" if value else "False"
    if isinstance(value, numbers.Integral):
        return int.__repr__(int(value))
    if isinstance(value, numbers.Real):
        plain = float(value)
        if not math.isfinite(plain):
            return f'float("{plain}")'
        return str(int(plain)) if plain.is_integer() and abs(plain) < 1e15 else float.__repr__(plain)
    raise UnsupportedModelError(f"Python source holds texts, numbers and Booleans, got {value!r}.", remedy="Recode it.")


# Additive models as Python source that imports nothing.

ADDITIVE_HEAD = '''\
"""An additive model, written by Glassine; it imports nothing."""

INTERCEPT = {intercept}
{tables}

def scores(record):
    """Return the scores of a record, a dict of values by attribute: one, or one for each class."""
    total = list(INTERCEPT)
    for where, table in TERMS:
        for attribute, kind, bins in where:
            table = table[kind(record[attribute], bins)]
        for k, added in enumerate(table):
            total[k] += added
    return total


{predict}

{searches}def _group(value, groups):
    """Return the group of a value, None and NaN being missing; behind all, undeclared ones."""
    return groups[0].get(None if value != value else value, groups[1])


TERMS = (
{terms})
'''
SEARCH = '''\
def {name}(value, cuts):
    """Return the interval of a number, those on a cut in the {side} one; behind all, None and NaN."""
    value = float("nan") if value is None else float(value)
    if value != value:
        return len(cuts) + 1
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) // 2
        if value {sign} cuts[middle]:
            high = middle
        else:
            low = middle + 1
    return low


'''
CLASSES = '''\
def predict(record):
    """Return the predicted class of a record."""
    found = scores(record)
    {choice}


def predict_proba(record):
    """Return the probability of each class of a record, as a dict."""
    found = scores(record)
    {shares}
'''
LOGIT = ("return CLASSES[found[0] > 0]", "found = [0.0, found[0]]")
SOFTMAX = ("return CLASSES[found.index(max(found))]", "")
POWERS = """
    powers = [2.718281828459045 ** (score - max(found)) for score in found]
    return dict(zip(CLASSES, [power / sum(powers) for power in powers]))"""
MEAN = "2.718281828459045 ** min(scores(record)[0], 700.0)"
VALUE = '''\
def predict(record):
    """Return the predicted value of a record."""
    return {value}
'''


def additive_python(model: AdditiveModel) -> str:
    """Return an additive model as Python source with ``scores``, ``predict`` and, for classes, ``predict_proba``."""
    tables = "" if model.classes is None else f"CLASSES = {source(model.classes)}\n"
    if model.classes is None:
        low, high = model.target_bounds or (None, None)
        value = "scores(record)[0]" if model.link == "identity" else MEAN
        predict = VALUE.format(value=value if low is None else f"min(max({value}, {source(low)}), {source(high)})")
    else:
        choice, first = LOGIT if model.link == "logit" else SOFTMAX
        predict = CLASSES.format(choice=choice, shares=(first + POWERS).lstrip())
    return ADDITIVE_HEAD.format(
        intercept=source(model.intercept),
        tables=tables,
        predict=predict,
        searches=SEARCH.format(name="_at_most", side="lower", sign="<=")
        + SEARCH.format(name="_below", side="upper", sign="<"),
        terms="".join(f"    {_term(term)},\n" for term in model.terms),
    )


def _term(term: Term) -> str:
    where = "".join(f"({source(bins.attribute)}, {_bins(bins)}), " for bins in term.bins)
    return f"(({where.rstrip()}), {source(term.scores.tolist())})"


def _bins(bins: Bins) -> str:
    if isinstance(bins, NumericBins):
        return f"{'_at_most' if bins.closed == 'right' else '_below'}, {source(bins.cuts)}"
    pairs = (f"{source(value)}: {i}" for i, group in enumerate(bins.groups) for value in group)
    return f"_group, ({{{', '.join(pairs)}}}, {len(bins.groups)})"


NEW = "\n"
DEEPEST = 40
"""Levels of nested ``if``; Python takes 100, so that deeper subtrees become functions of their own."""
TAKEN = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "record", "part", "predict", "predict_proba"}

HEAD = '''\
"""{what}, written by Glassine; it imports nothing."""

{tables}

def predict(record):
    """Return what is predicted for a record, a dict of values by attribute; None where nothing is published."""
    return PREDICTIONS[part(record)]

{proba}
def _number(value):
    """Return a number; None and NaN, which are missing values, as NaN."""
    return float("nan") if value is None else float(value)


def _value(value):
    """Return a value; NaN, which is a missing value, as None."""
    return None if value is None or value != value else value


'''
PROBA = '''
def predict_proba(record):
    """Return the share of each class where a record falls, as a dict; None where it is not published."""
    shares = SHARES[part(record)]
    return None if shares is None else dict(zip(CLASSES, shares))

'''


def to_python(model: DecisionTree | RuleList | AdditiveModel) -> str:
    r"""Return a model as Python source with functions ``predict(record)`` and, for classes, ``predict_proba(record)``.

    A record is a dict of values by attribute, None or NaN where a value is missing; ``part(record)`` is the number of
    its leaf or rule, from 0. An additive model has ``scores(record)`` instead, the list of its scores. The source
    imports nothing, runs on every Python 3, and holds no text of the model other than as quoted strings of ASCII
    characters.

    Parameters
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model.

    Returns
    -------
    str
        The source. A record that satisfies no branch of a split is a ValueError there, as in the model.

    Raises
    ------
    UnsupportedModelError
        If it is not a model, or compares with something else than texts, numbers and Booleans.

    Examples
    --------
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [age <= 40.5] then [ill] (3 examples)\nelse [well] (5 examples)")
    >>> space: dict = {}
    >>> exec(to_python(rules), space)
    >>> space["predict"]({"age": 30}), space["predict"]({"age": None})
    ('ill', 'well')
    """
    if isinstance(model, AdditiveModel):
        return commented(model) + additive_python(model)
    check_model(model, prefixes=True)
    names = _Names(model)
    tables = f"PREDICTIONS = {source(outcomes(model))}\n"
    proba = ""
    if model.classes is not None:
        rows = ["None" if row is None else source(row) for row in cell_probabilities(model)]
        tables += f"CLASSES = {source(model.classes)}\nSHARES = (\n{''.join(f'    {row},{NEW}' for row in rows)})\n"
        proba = PROBA
    what = "A rule list" if isinstance(model, RuleList) else "A tree"
    head = HEAD.format(what=what, tables=tables, proba=proba)
    body = _list_body(model, names) if isinstance(model, RuleList) else _tree_body(model, names)
    return f"{commented(model)}{head}{body}"


class _Names:
    """Variables for the values of the tested attributes, as numbers or unchanged."""

    def __init__(self, model: DecisionTree | RuleList) -> None:
        taken = set(TAKEN)
        self.variables: dict[tuple[str, bool], str] = {}
        for i, name in enumerate(model.tested):
            kinds = {isinstance(lit, Between) for lit in model.literals if lit.attribute == name}
            plain = "".join(name)
            usable = plain.isascii() and plain.isidentifier() and not plain.startswith("_") and len(kinds) == 1
            for number in sorted(kinds):
                variable = plain if usable and plain not in taken else f"_x{i}" if number else f"_v{i}"
                taken.add(variable)
                self.variables[name, number] = variable

    @property
    def listed(self) -> str:
        """The variables as parameters of a function."""
        return ", ".join(self.variables.values())

    def opening(self) -> list[str]:
        """Return the lines that set the variables from a record."""
        return [
            f"    {variable} = {'_number' if number else '_value'}(record[{source(name)}])"
            for (name, number), variable in self.variables.items()
        ]

    def condition(self, literal: Literal) -> str:
        """Return Python that is true exactly where a literal holds; NaN satisfies no comparison."""
        x = self.variables[literal.attribute, isinstance(literal, Between)]
        if isinstance(literal, Between):
            test, gap = _between(x, literal), f"{x} != {x}"
        else:
            test, gap = _listed(x, literal), f"{x} is None"
        if test is None:
            return gap if literal.missing else "False"
        if not literal.missing or (isinstance(literal, OneOf) and literal.negated and literal.values):
            return test
        return f"({test} or {gap})"


def _between(x: str, literal: Between) -> str | None:
    lo, hi = (None if math.isinf(bound) else source(bound) for bound in (literal.lo, literal.hi))
    if lo is None and hi is None:
        return None if literal.negated else f"{x} == {x}"
    if literal.negated:
        tests = [f"{x} <= {lo}"] * (lo is not None) + [f"{x} > {hi}"] * (hi is not None)
        return f"({' or '.join(tests)})" if len(tests) == 2 else tests[0]
    return f"{x} <= {hi}" if lo is None else f"{x} > {lo}" if hi is None else f"{lo} < {x} <= {hi}"


def _listed(x: str, literal: OneOf) -> str | None:
    if not literal.values:
        return f"{x} is not None" if literal.negated else None
    values = [source(v) for v in literal.values if not isinstance(v, Prefix)]
    listed = f"{{{', '.join(values)}}}"
    if begun := prefixes(literal.values):
        tests = [f"{x} in {listed}"] * bool(values) + [_begins(x, one) for one in begun]
        test = f"({' or '.join(tests)})" if len(tests) > 1 else tests[0]
        if literal.negated:
            test = f"not {test}" if literal.missing else f"({x} is not None and not {test})"
        return test
    if not literal.negated:
        return f"{x} == {values[0]}" if len(values) == 1 else f"{x} in {listed}"
    test = f"{x} != {values[0]}" if len(values) == 1 else f"{x} not in {listed}"
    return test if literal.missing else f"({x} is not None and {test})"


def _begins(x: str, prefix: Prefix) -> str:
    """Return Python that is true exactly where a prefix covers a value, false where it is missing or no text."""
    tests = [f"isinstance({x}, str)"]
    tests += [f"{x}.startswith({source(prefix.start)})"] if prefix.start else []
    tests += [f"not {x}.startswith({source(prefix.starts)})"] if prefix.starts else []
    tests += [f"{x} not in {source(prefix.texts)}"] if prefix.texts else []
    return f"({' and '.join(tests)})"


def _list_body(model: RuleList, names: _Names) -> str:
    lines = ["def part(record):", '    """Return the number of the rule that captures a record, from 0."""']
    lines += names.opening()
    for i, rule in enumerate(model.rules[:-1]):
        tests = " and ".join(names.condition(literal) for literal in dict.fromkeys(rule.antecedent))
        lines += [f"    if {tests}:", f"        return {i}"]
    return "\n".join([*lines, f"    return {len(model.rules) - 1}"]) + "\n"


def _tree_body(model: DecisionTree, names: _Names) -> str:
    part_of = {cell.node: i for i, cell in enumerate(model.cells)}
    head = ["def part(record):", '    """Return the number of the leaf that captures a record, from 0."""']
    blocks, deeper = [[*head, *names.opening()]], [0]
    # Each turn writes one function: the top of the tree, then the subtrees that lie too deep in those before.
    while deeper:
        root = deeper.pop()
        lines = blocks[-1] if root == 0 else [f"def _below_{root}({names.listed}):"]
        if root:
            blocks.append(lines)
        stack: list[tuple[int, int] | str] = [(root, 1)]
        while stack:
            entry = stack.pop()
            if isinstance(entry, str):
                lines.append(entry)
                continue
            index, depth = entry
            margin = "    " * depth
            if index in part_of:
                lines.append(f"{margin}return {part_of[index]}")
            elif depth > DEEPEST:
                lines.append(f"{margin}return _below_{index}({names.listed})")
                deeper.append(index)
            else:
                stack += reversed(_split(model.nodes[index].branches, margin, depth, names))
    return "\n\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _split(branches: tuple[Branch, ...], margin: str, depth: int, names: _Names) -> list[tuple[int, int] | str]:
    """Return the lines of a split, subtrees as their node and depth; every subtree ends in a return."""
    out: list[tuple[int, int] | str] = []
    first, last = branches[0].literal, branches[-1].literal
    certain = len(branches) == 2 and last in (first.negate(), other_side(first))
    for branch in branches[:-1] if certain else branches:
        out += [f"{margin}if {names.condition(branch.literal)}:", (branch.child, depth + 1)]
    if certain:
        return [*out, (branches[-1].child, depth)]
    text = "ValueError(" + source(f"the record satisfies no branch on {source(last.attribute)}") + ")"
    return [*out, f"{margin}raise {text}"]


FORMAT = Format(
    name="Python", leaves_out="counts", extensions=(".py",), to="python", write=lambda model, domain: to_python(model)
)
