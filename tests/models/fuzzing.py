"""What fuzz tests share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from glassine.domain import Between
from glassine.errors import GlassineError
from glassine.formats.json import from_dict, to_dict
from glassine.models import AdditiveModel, DecisionTree, RuleList


def read_or_refused(read: Callable[[], object]) -> None:
    """Demand that reading gives a model that answers, the same each time, or one of our errors in one line."""
    message = ""
    try:
        model = read()
        assert model is not None
        if isinstance(model, DecisionTree | RuleList | AdditiveModel):
            judge(model, read())
    except GlassineError as error:
        message = str(error)
        assert message
    assert len(message.splitlines()) <= 1


def judge(model: DecisionTree | RuleList | AdditiveModel, again: object) -> None:
    """Demand that a model that was read is whole: read again it is equal, as is its copy in JSON, and it answers."""
    assert again == model
    copy = from_dict(json.loads(json.dumps(to_dict(model), allow_nan=False)))
    assert copy == model
    if isinstance(model, AdditiveModel):
        return
    for cell in model.cells:
        assert model.classes is None or (cell.evidence.label or 0) < len(model.classes)
        assert cell.evidence.counts is None or len(cell.evidence.counts) == len(model.classes or ())
    if isinstance(model, DecisionTree) and model.literals and all(isinstance(one, Between) for one in model.literals):
        # At its own bounds, a record is in the part whose conditions hold, and in no other.
        ends = {end for one in model.literals if isinstance(one, Between) for end in (one.lo, one.hi)}
        values = np.array(sorted(end for end in ends if math.isfinite(end)))
        where = model.apply(dict.fromkeys(model.attributes, values))
        for place, cell in enumerate(model.cells):
            inside = np.all([literal.holds(values) for literal in cell.inside], axis=0)
            assert inside.tolist() == (where == place).tolist()


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """Return a text with a few pieces replaced."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(max_size=3)) + text[at + draw(st.integers(0, 9)) :]
    return text
