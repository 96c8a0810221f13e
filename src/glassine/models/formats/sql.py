"""Models as standard SQL: a ``CASE`` expression, or a query over a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine.domain import Between, Literal, OneOf
from glassine.errors import InvalidModelError
from glassine.models.additive import AdditiveModel
from glassine.models.formats.additive_sql import additive_sql
from glassine.models.formats.paths import check_model, compared_values, merged, outcomes, readable
from glassine.models.formats.sql_parts import ALIAS, number, one_type, quoted, scalar, selected
from glassine.models.probabilities import cell_probabilities
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = ["to_sql"]


def to_sql(
    model: DecisionTree | RuleList | AdditiveModel,
    table: str | Sequence[str] | None = None,
    *,
    prediction: str = "prediction",
    probabilities: bool = False,
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
        If a name cannot be written, or probabilities are asked for without a table or of a regression; without a table,
        if an additive model has a score for each class.

    Examples
    --------
    >>> rules = RuleList.from_text("if [age <= 40.5] then [ill] (3 examples)\nelse [well] (5 examples)")
    >>> print(to_sql(rules))
    CASE
      WHEN "age" <= 40.5 THEN 'ill'
      ELSE 'well'
    END
    """
    if probabilities and table is None:
        raise InvalidModelError("probabilities stand in columns of their own, so they need a query. Give the table.")
    if isinstance(model, AdditiveModel):
        parts = [table] if isinstance(table, str) else table
        return additive_sql(model, parts, prediction, probabilities)
    check_model(model)
    writer = _Writer(model, "" if table is None else f"{ALIAS}.")
    values = outcomes(model)
    one_type([v for v in values if v is not None], "the classes")
    case = writer.case([selected(v) for v in values])
    if table is None:
        return case
    columns = [f"{ALIAS}.*", f"{case} AS {quoted(prediction)}"]
    if probabilities:
        known = cell_probabilities(model)
        for i, label in enumerate(model.classes or ()):
            column = writer.case([selected(None if row is None else row[i]) for row in known])
            columns.append(f"{column} AS {quoted(f'probability_{label}')}")
    parts = [table] if isinstance(table, str) else list(table)
    listed = ",\n  ".join(columns)
    return f"SELECT\n  {listed}\nFROM {'.'.join(map(quoted, parts))} AS {ALIAS}"


class _Writer:
    """Writes conditions on the columns of one model."""

    def __init__(self, model: DecisionTree | RuleList, prefix: str) -> None:
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
        column = self.prefix + quoted(literal.attribute)
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
    values = [scalar(v) for v in literal.values]
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
    tests = [] if below else [f"{column} {'<=' if literal.negated else '>'} {number(literal.lo)}"]
    tests += [] if above else [f"{column} {'>' if literal.negated else '<='} {number(literal.hi)}"]
    if len(tests) == 2 and literal.negated:
        return f"({' OR '.join(tests)})"
    return " AND ".join(tests)
