"""Models as standard SQL: a ``CASE`` expression, or a query over a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine.domain import Between, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.formats.paths import check_model, compared_values, merged, outcomes, readable
from glassine.models.probabilities import cell_probabilities
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = ["to_sql"]

ALIAS = "r"
EXACT_DIGITS = 15
"""Decimals of so many digits read as the same double in every engine; longer ones are written with an exponent."""
LONGEST_WHOLE = 10**15


def to_sql(
    model: DecisionTree | RuleList,
    table: str | Sequence[str] | None = None,
    *,
    prediction: str = "prediction",
    probabilities: bool = False,
) -> str:
    r"""Return a model as standard SQL.

    A missing value is NULL. Turn NaN into NULL first: engines sort it above all numbers. A record that satisfies no
    branch of a split, or falls where nothing is predicted, gets NULL.

    Parameters
    ----------
    model : DecisionTree or RuleList
        The model. Its attributes are the columns; 0/1 attributes must be numbers, not of type BOOLEAN.
    table : str or sequence of str, optional
        The table, or the parts of its qualified name. With it the result is a query that adds columns to the table's;
        without it, an expression to put into one.
    prediction : str, default="prediction"
        Name of the predicted column of the query.
    probabilities : bool, default=False
        Whether the query also has the share of each class, in a column ``probability_<class>``.

    Returns
    -------
    str
        Names stand in double quotes and texts in single quotes, quotes within them doubled. This is standard SQL; MySQL
        reads it only in the modes ANSI_QUOTES and NO_BACKSLASH_ESCAPES. Texts are compared by the column's collation,
        which must tell upper from lower case.

    Raises
    ------
    UnsupportedModelError
        If it is not a model, or an attribute or the classes mix texts with numbers, which no column holds.
    InvalidModelError
        If a name cannot be written, or probabilities are asked for without a table or of a regression.

    Examples
    --------
    >>> rules = RuleList.from_text("if [age <= 40.5] then [ill] (3 examples)\nelse [well] (5 examples)")
    >>> print(to_sql(rules))
    CASE
      WHEN "age" <= 40.5 THEN 'ill'
      ELSE 'well'
    END
    """
    check_model(model)
    if probabilities and table is None:
        raise InvalidModelError("probabilities stand in columns of their own, so they need a query. Give the table.")
    writer = _Writer(model, "" if table is None else f"{ALIAS}.")
    values = outcomes(model)
    _one_type([v for v in values if v is not None], "the classes")
    case = writer.case([_result(v) for v in values])
    if table is None:
        return case
    columns = [f"{ALIAS}.*", f"{case} AS {_name(prediction)}"]
    if probabilities:
        known = cell_probabilities(model)
        for i, label in enumerate(model.classes or ()):
            column = writer.case([_result(None if row is None else row[i]) for row in known])
            columns.append(f"{column} AS {_name(f'probability_{label}')}")
    parts = [table] if isinstance(table, str) else list(table)
    listed = ",\n  ".join(columns)
    return f"SELECT\n  {listed}\nFROM {'.'.join(map(_name, parts))} AS {ALIAS}"


class _Writer:
    """Writes conditions on the columns of one model."""

    def __init__(self, model: DecisionTree | RuleList, prefix: str) -> None:
        self.model, self.prefix, self.margin = model, prefix, "  " if prefix else ""
        for name, values in compared_values(model).items():
            _one_type(values, f"the values of {name!r}")
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
        column = self.prefix + _name(literal.attribute)
        test = _between(column, literal) if isinstance(literal, Between) else None
        if not isinstance(literal, Between):
            test = _listed(column, literal)
        if test is None:
            return f"{column} IS NULL" if literal.missing else "1 = 0"
        if not literal.missing:
            return test
        return "1 = 1" if test == f"{column} IS NOT NULL" else f"({test} OR {column} IS NULL)"


def _listed(column: str, literal: OneOf) -> str | None:
    """Return the comparison of a present value with a list; None where none satisfies it."""
    values = [_scalar(v) for v in literal.values]
    if not values:
        return f"{column} IS NOT NULL" if literal.negated else None
    if len(values) == 1:
        return f"{column} {'<>' if literal.negated else '='} {values[0]}"
    return f"{column} {'NOT IN' if literal.negated else 'IN'} ({', '.join(values)})"


def _between(column: str, literal: Between) -> str | None:
    """Return the comparison of a present number; None where none satisfies it."""
    below, above = literal.lo == -math.inf, literal.hi == math.inf
    if below and above:
        return None if literal.negated else f"{column} IS NOT NULL"
    tests = [] if below else [f"{column} {'<=' if literal.negated else '>'} {_number(literal.lo)}"]
    tests += [] if above else [f"{column} {'>' if literal.negated else '<='} {_number(literal.hi)}"]
    if len(tests) == 2 and literal.negated:
        return f"({' OR '.join(tests)})"
    return " AND ".join(tests)


def _name(name: str) -> str:
    readable([name], "the name")
    if not name:
        raise InvalidModelError("a column or table needs a name of at least one character, got ''.")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _scalar(value: Scalar | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        readable([value], "the value")
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return _number(value)


def _result(value: Scalar | None) -> str:
    """Return a value to select: floats in a form that has the type of a double in every engine."""
    text = _scalar(value)
    return f"{text}e0" if isinstance(value, float) and "e" not in text else text


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise InvalidModelError(f"SQL has no literal for the number {value!r}. Use finite values.")
    if value == int(value) and abs(value) < LONGEST_WHOLE:
        return str(int(value))
    text = repr(float(value))
    digits = sum(char.isdigit() for char in text.lstrip("-0.").split("e")[0])
    return text if "e" in text or digits <= EXACT_DIGITS else f"{text}e0"


def _one_type(values: Sequence[Scalar], what: str) -> None:
    kinds = {"text" if isinstance(v, str) else "Boolean" if isinstance(v, bool) else "number" for v in values}
    if len(kinds) > 1:
        raise UnsupportedModelError(
            f"{what} are of kinds {' and '.join(sorted(kinds))}; a column of SQL holds one. Recode them."
        )
