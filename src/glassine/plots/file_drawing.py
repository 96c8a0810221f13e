"""The drawing of a model's file, as a program: with the counts that the file publishes, in place of suppressed ones."""

from __future__ import annotations

import sys
from pathlib import Path

from glassine.domain import Domain
from glassine.errors import UnsupportedModelError
from glassine.files import read_once, write_bytes
from glassine.formats import PublishedModel, load_file
from glassine.models import AdditiveModel, DecisionTree, RegressionModel, RuleList
from glassine.plots.drawing import SvgDrawing, draw_coefficients, draw_rules, draw_shapes, draw_tree


def main() -> None:
    """Write ``drawing.svg``; arguments: the model, and a domain or ``-``."""
    model, domain = sys.argv[1:]
    loaded = load_file(read_once(Path(model)), None if domain == "-" else Domain.read(domain))
    write_bytes(drawing_of(loaded.model).svg.encode(), "drawing.svg")


def drawing_of(model: PublishedModel) -> SvgDrawing:
    """Return the drawing of a model, with counts as it publishes them.

    Raises
    ------
    UnsupportedModelError
        If models of its kind are not drawn.
    """
    if isinstance(model, DecisionTree):
        return draw_tree(model, counts="published")
    if isinstance(model, RuleList):
        return draw_rules(model, counts="published")
    if isinstance(model, AdditiveModel):
        return draw_shapes(model)
    if isinstance(model, RegressionModel):
        return draw_coefficients(model)
    raise UnsupportedModelError("only trees, rule lists, additive models and regressions are drawn.")


if __name__ == "__main__":
    main()
