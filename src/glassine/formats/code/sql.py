"""Models as standard SQL: a ``CASE`` expression, or a query over a table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Between, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.domain.prefixes import Prefix, prefixes
from glassine.errors import InvalidModelError, InvalidParameterError, UnsupportedModelError, parameter
from glassine.formats.conditions import check_model, compared_values, merged, outcomes, readable
from glassine.formats.format import Format
from glassine.formats.json import commented
from glassine.models.additive import AdditiveModel
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.evidence import cell_probabilities
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

# Names, values and numbers as standard SQL.

ALIAS = "r"
COMMENT = ("/* ", " */")
"""It ends where it is closed: an expression may be put on one line with others."""
EXACT_DIGITS = 15
"""Decimals of so many digits read as the same double in every engine; longer ones are written with an exponent."""
LONGEST_WHOLE = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlDialect:
    r"""How an engine reads texts and names.

    Examples
    --------
    >>> print(DIALECTS["spark"].text("it's \\"), DIALECTS["duckdb"].text("it's \\"))
    'it\'s \\' 'it''s \'
    """

    # What becomes of a backslash. Standard SQL reads it as itself; Snowflake, BigQuery, Spark, ClickHouse and MySQL
    # begin an escape with it, so that ``'a\'`` does not end there and what follows is read as SQL. It is refused where
    # the engine is not known.
    backslash: str = "refuse"
    backticks: bool = False  # Whether names are in backticks instead of double quotes

    def name(self, name: str) -> str:
        """Return a name in quotes."""
        readable([name], "the name")
        if not name:
            raise InvalidModelError("a column or table needs a name of at least one character, got ''.")
        self._check(name, "the name")
        mark = "`" if self.backticks else '"'
        return f"{mark}{name.replace(mark, 2 * mark)}{mark}"

    def text(self, value: str) -> str:
        """Return a text in quotes."""
        readable([value], "the value")
        self._check(value, "the value")
        if self.backslash == "double":
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        else:
            escaped = value.replace("'", "''")
        return f"'{escaped}'"

    def scalar(self, value: Scalar | None) -> str:
        """Return a value as SQL, None as NULL."""
        if value is None:
            return "NULL"
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        return number(value)

    def selected(self, value: Scalar | None) -> str:
        """Return a value to select: floats in a form that has the type of a double in every engine."""
        text = self.scalar(value)
        return f"{text}e0" if isinstance(value, float) and "e" not in text else text

    def _check(self, text: str, what: str) -> None:
        if self.backslash == "refuse" and "\\" in text:
            raise InvalidModelError(
                f"{what} {text!r} holds a backslash, which some engines read as the start of an escape: the text "
                "would not end where it should.",
                remedy=f"State the engine as {parameter('dialect')}, one of {', '.join(DIALECTS)}; or rename it.",
            )


STANDARD = SqlDialect()
DIALECTS = {
    "duckdb": SqlDialect(backslash="keep"),
    "polars": SqlDialect(backslash="keep"),
    "spark": SqlDialect(backslash="double", backticks=True),
    "sqlite": SqlDialect(backslash="keep"),
}
"""Engines by name; each is run in the tests."""


def number(value: float) -> str:
    """Return a finite number such that every engine reads the same double."""
    if not math.isfinite(value):
        raise InvalidModelError(f"SQL has no literal for the number {value!r}.", remedy="Use finite values.")
    if value == int(value) and abs(value) < LONGEST_WHOLE:
        return str(int(value))
    text = repr(float(value))
    digits = sum(char.isdigit() for char in text.lstrip("-0.").split("e")[0])
    return text if "e" in text or digits <= EXACT_DIGITS else f"{text}e0"


def one_type(values: Sequence[Scalar], what: str) -> None:
    """Raise UnsupportedModelError if values are not of one kind, as those of a column are."""
    kinds = {"text" if isinstance(v, str) else "Boolean" if isinstance(v, bool) else "number" for v in values}
    if len(kinds) > 1:
        raise UnsupportedModelError(
            f"{what} are of kinds {' and '.join(sorted(kinds))}; a column of SQL holds one.", remedy="Recode them."
        )


# Additive models as standard SQL: a sum of ``CASE`` expressions.

INNER = "t"


def additive_sql(
    model: AdditiveModel, table: Sequence[str] | None, prediction: str, probabilities: bool, dialect: SqlDialect
) -> str:
    """Return an additive model as SQL; the parameters are those of :func:`glassine.formats.to_sql`."""
    one_type(model.classes or (), "the classes")
    for attribute in model.tested:
        bins_of = [bins for term in model.terms for bins in term.bins if bins.attribute == attribute]
        values = chain.from_iterable(bins.values for bins in bins_of if isinstance(bins, CategoryBins))
        one_type(list(values), f"the values of {attribute!r}")
    if table is None:
        if model.link == "softmax":
            raise InvalidModelError(
                "the largest of several scores does not fit in one expression.", remedy="Give the table, for a query."
            )
        return _prediction(model, [_score(model, 0, "", "", dialect)], dialect)
    labels: Sequence[object] = (model.classes or ()) if model.link == "softmax" else (None,)
    names = [f"{prediction}_score{f'_{label}' if model.n_outputs > 1 else ''}" for label in labels]
    scores = ",\n  ".join(
        f"{_score(model, k, INNER + '.', '  ', dialect)} AS {dialect.name(names[k])}" for k in range(len(names))
    )
    inner = f"SELECT\n  {INNER}.*,\n  {scores}\nFROM {'.'.join(map(dialect.name, table))} AS {INNER}"
    qualified = [f"{ALIAS}.{dialect.name(column)}" for column in names]
    columns = [f"{ALIAS}.*", f"{_prediction(model, qualified, dialect)} AS {dialect.name(prediction)}"]
    if probabilities:
        columns += [
            f"{text} AS {dialect.name(f'probability_{label}')}"
            for label, text in zip(model.classes or (), _shares(model, qualified), strict=True)
        ]
    return f"SELECT\n  {(',' + chr(10) + '  ').join(columns)}\nFROM (\n{inner}\n) AS {ALIAS}"


def _score(model: AdditiveModel, output: int, prefix: str, margin: str, dialect: SqlDialect) -> str:
    """Return the sum of an output's intercept and terms; SQL adds from the left, as the model does."""
    parts = [dialect.selected(model.intercept[output])]
    parts += [_lookup(term.bins, term.scores[..., output], prefix, margin + "    ", dialect) for term in model.terms]
    return f"(\n{margin}  " + f"\n{margin}  + ".join(parts) + f"\n{margin})"


def _lookup(
    bins: tuple[Bins, ...], scores: npt.NDArray[np.float64], prefix: str, margin: str, dialect: SqlDialect
) -> str:
    first, rest = bins[0], bins[1:]
    column = prefix + dialect.name(first.attribute)

    def cell(i: int) -> str:
        if rest:
            return _lookup(rest, scores[i], prefix, margin + "  ", dialect)
        return dialect.selected(float(scores[i]))

    last = first.n_bins - 1
    gap = last if isinstance(first, NumericBins) else first.missing
    lines = [f"WHEN {column} IS NULL THEN {cell(gap)}"]
    if isinstance(first, NumericBins):
        sign = "<=" if first.closed == "right" else "<"
        lines += [f"WHEN {column} {sign} {number(cut)} THEN {cell(i)}" for i, cut in enumerate(first.cuts)]
        lines.append(f"ELSE {cell(last - 1)}")
    else:
        for i, group in enumerate(first.groups):
            listed = ", ".join(dialect.scalar(value) for value in group if value is not None)
            if listed:
                lines.append(f"WHEN {column} IN ({listed}) THEN {cell(i)}")
        lines.append(f"ELSE {cell(last)}")
    return "CASE\n" + "".join(f"{margin}{line}\n" for line in lines) + f"{margin}END"


def _prediction(model: AdditiveModel, scores: Sequence[str], dialect: SqlDialect) -> str:
    score = scores[0]
    if model.link == "log":
        score = f"EXP({score})"
    if model.classes is None:
        if model.target_bounds is None:
            return score
        low, high = map(dialect.selected, model.target_bounds)
        return f"CASE WHEN {score} < {low} THEN {low} WHEN {score} > {high} THEN {high} ELSE {score} END"
    labels = [dialect.scalar(label) for label in model.classes]
    if model.link == "logit":
        return f"CASE WHEN {score} > 0 THEN {labels[1]} ELSE {labels[0]} END"
    lines = [
        f"WHEN {' AND '.join(f'{scores[i]} >= {other}' for other in scores[i + 1 :])} THEN {labels[i]}"
        for i in range(len(scores) - 1)
    ]
    return f"CASE {' '.join(lines)} ELSE {labels[-1]} END" if lines else labels[0]


def _shares(model: AdditiveModel, scores: Sequence[str]) -> list[str]:
    if model.classes is None:
        raise InvalidModelError("a regression has no probabilities of classes.", remedy="Use its predictions.")
    if model.link == "logit":
        return [f"1e0 / (1e0 + EXP({scores[0]}))", f"1e0 / (1e0 + EXP(-{scores[0]}))"]
    if len(scores) == 1:
        return ["1e0"]
    return [f"1e0 / ({' + '.join(f'EXP({other} - {own})' for other in scores)})" for own in scores]


def to_sql(
    model: DecisionTree | RuleList | AdditiveModel,
    table: str | Sequence[str] | None = None,
    *,
    prediction: str = "prediction",
    probabilities: bool = False,
    dialect: str | None = None,
) -> str:
    r"""Return a model as standard SQL.

    A missing value is NULL. Turn NaN into NULL first: engines sort it above all numbers. A record that satisfies no
    branch of a split, or falls where nothing is predicted, gets NULL. The query of an additive model adds a column for
    each score, ``<prediction>_score``, of several ``<prediction>_score_<class>``; the terms are added in the model's
    order, so that an engine that computes in doubles gets its scores to the last digit.

    Parameters
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model. Its attributes are the columns; 0/1 attributes must be numbers, not of type BOOLEAN.
    table : str or sequence of str, optional
        The table, or the parts of its qualified name. With it the result is a query that adds columns to the table's;
        without it, an expression to put into one.
    prediction : str, default="prediction"
        Name of the predicted column of the query.
    probabilities : bool, default=False
        Whether the query also has the share of each class, in a column ``probability_<class>``.
    dialect : {None, "duckdb", "polars", "spark", "sqlite"}, default=None
        The engine. None is standard SQL without any backslash, which engines read in two ways.

    Returns
    -------
    str
        Names are in double quotes and texts in single quotes, quotes within them doubled. Spark gets names in
        backticks, and a backslash before each backslash and single quote. MySQL reads standard SQL in the mode
        ANSI_QUOTES only. Texts are compared by the column's collation,
        which must distinguish upper from lower case. A comment before it states a guarantee.

    Raises
    ------
    UnsupportedModelError
        If it is not a model, or an attribute or the classes mix texts with numbers, which no column holds.
    InvalidModelError
        If a name cannot be written; if a name or value holds a backslash and no dialect is given; if probabilities are
        asked for without a table or of a regression; without a table, if an additive model has a score for each class.

    Examples
    --------
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [age <= 40.5] then [ill] (3 examples)\nelse [well] (5 examples)")
    >>> print(to_sql(rules))
    CASE
      WHEN "age" <= 40.5 THEN 'ill'
      ELSE 'well'
    END
    """
    if probabilities and table is None:
        raise InvalidModelError(
            "probabilities have columns of their own, so they need a query.", remedy="Give the table."
        )
    if dialect is not None and dialect not in DIALECTS:
        raise InvalidParameterError(f"{parameter('dialect')} must be one of {', '.join(DIALECTS)}, got {dialect!r}.")
    words = STANDARD if dialect is None else DIALECTS[dialect]
    if isinstance(model, AdditiveModel):
        parts = [table] if isinstance(table, str) else table
        return commented(model, *COMMENT) + additive_sql(model, parts, prediction, probabilities, words)
    check_model(model, prefixes=True)
    writer = _Writer(model, "" if table is None else f"{ALIAS}.", words)
    values = outcomes(model)
    one_type([v for v in values if v is not None], "the classes")
    case = writer.case([words.selected(v) for v in values])
    if table is None:
        return commented(model, *COMMENT) + case
    columns = [f"{ALIAS}.*", f"{case} AS {words.name(prediction)}"]
    if probabilities:
        chances = cell_probabilities(model)
        for i, label in enumerate(model.classes or ()):
            column = writer.case([words.selected(None if row is None else row[i]) for row in chances])
            columns.append(f"{column} AS {words.name(f'probability_{label}')}")
    parts = [table] if isinstance(table, str) else list(table)
    listed = ",\n  ".join(columns)
    return f"{commented(model, *COMMENT)}SELECT\n  {listed}\nFROM {'.'.join(map(words.name, parts))} AS {ALIAS}"


class _Writer:
    """Writes conditions on the columns of one model."""

    def __init__(self, model: DecisionTree | RuleList, prefix: str, dialect: SqlDialect) -> None:
        self.dialect = dialect
        self.model, self.prefix, self.margin = model, prefix, "  " if prefix else ""
        for name, values in compared_values(model).items():
            one_type(values, f"the values of {name!r}")
        readable([v for values in compared_values(model).values() for v in values if isinstance(v, str)], "the value")

    def case(self, results: Sequence[str]) -> str:
        """Return the expression that is each result where its leaf or rule captures the record."""
        lines = ["CASE"]
        for cell, result in zip(self.model.cells, results, strict=True):
            # Earlier rules come first in the expression, so that only the rule's own conditions need be written.
            tests = [self.condition(literal) for literal in merged(cell.inside)]
            if not tests:
                if len(lines) == 1:
                    return result
                lines.append(f"{self.margin}  ELSE {result}")
                break
            lines.append(f"{self.margin}  WHEN {' AND '.join(tests)} THEN {result}")
        return "\n".join([*lines, f"{self.margin}END"])

    def condition(self, literal: Literal) -> str:
        """Return SQL that is true exactly where a literal holds, and false or NULL elsewhere."""
        column = self.prefix + self.dialect.name(literal.attribute)
        test = _between(column, literal) if isinstance(literal, Between) else _listed(column, literal, self.dialect)
        if test is None:
            return f"{column} IS NULL" if literal.missing else "1 = 0"
        if not literal.missing:
            return test
        return "1 = 1" if test == f"{column} IS NOT NULL" else f"({test} OR {column} IS NULL)"


def _listed(column: str, literal: OneOf, dialect: SqlDialect) -> str | None:
    """Return the comparison of a present value with a list; None where none satisfies it."""
    values = [dialect.scalar(v) for v in literal.values if not isinstance(v, Prefix)]
    if begun := prefixes(literal.values):
        tests = [f"{column} IN ({', '.join(values)})"] * bool(values)
        tests += [_begins(column, one, dialect) for one in begun]
        test = f"({' OR '.join(tests)})" if len(tests) > 1 else tests[0]
        return f"NOT {test}" if literal.negated else test
    if not values:
        return f"{column} IS NOT NULL" if literal.negated else None
    if len(values) == 1:
        return f"{column} {'<>' if literal.negated else '='} {values[0]}"
    return f"{column} {'NOT IN' if literal.negated else 'IN'} ({', '.join(values)})"


def _begins(column: str, prefix: Prefix, dialect: SqlDialect) -> str:
    """Return the comparison of a text with a prefix: by its first characters, as LIKE may ignore case."""

    def first(starts: Sequence[str], sign: str) -> list[str]:
        lengths = sorted(set(map(len, starts)))
        return [
            f"SUBSTR({column}, 1, {n}) {sign} ({', '.join(dialect.text(one) for one in starts if len(one) == n)})"
            for n in lengths
            if n
        ]

    tests = [*first([prefix.start], "IN"), *first(prefix.starts, "NOT IN")]
    tests += [f"{column} NOT IN ({', '.join(map(dialect.text, prefix.texts))})"] if prefix.texts else []
    return f"({' AND '.join(tests)})"


def _between(column: str, literal: Between) -> str | None:
    """Return the comparison of a present number; None where none satisfies it."""
    below, above = literal.lo == -math.inf, literal.hi == math.inf
    if below and above:
        return None if literal.negated else f"{column} IS NOT NULL"
    tests = [] if below else [f"{column} {'<=' if literal.negated else '>'} {number(literal.lo)}"]
    tests += [] if above else [f"{column} {'>' if literal.negated else '<='} {number(literal.hi)}"]
    if len(tests) == 2 and literal.negated:
        return f"({' OR '.join(tests)})"
    return " AND ".join(tests)


NAME = r'"(?:[^"\n]|"")*"|`(?:[^`\n]|``)*`'
"""A name in quotes."""
TEXTS = re.compile(r"'(?:[^'\\\n]|''|\\.)*'")
SOURCE = re.compile(rf"FROM ((?:{NAME})(?:\.(?:{NAME}))*) AS (?:{ALIAS}|{INNER})$", flags=re.MULTILINE)
COLUMN = re.compile(rf" AS ({NAME}),?$", flags=re.MULTILINE)


def _unquoted(name: str) -> str:
    return name[1:-1].replace(2 * name[0], name[0])


def _options(data: bytes) -> dict[str, Any]:
    """Return with which options a file of our SQL was written, as far as it shows them."""
    text = data.decode("utf-8", "replace").partition(COMMENT[1])
    own = (text[2] or text[0]).strip()
    named = re.search('[`"]', TEXTS.sub("", own))
    spark = named is not None and named[0] == "`"
    options: dict[str, Any] = {"dialect": "spark" if spark else "duckdb" if "\\" in own else None}
    source, columns = SOURCE.search(own), COLUMN.findall(own.partition("\nFROM")[0])
    if not own.startswith("SELECT") or source is None or not columns:
        return options
    table = [_unquoted(part) for part in re.findall(NAME, source[1])]
    return {**options, "table": table, "prediction": _unquoted(columns[0]), "probabilities": len(columns) > 1}


FORMAT = Format(
    name="SQL",
    leaves_out="counts",
    extensions=(".sql",),
    to="sql",
    write=lambda model, domain, **options: to_sql(model, **options),
    options=_options,
)
