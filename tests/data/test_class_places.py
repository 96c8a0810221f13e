"""Each record's class is found once for each text, as it is found one by one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from glassine.data.labels import class_codes, class_key, class_places
from glassine.errors import InvalidDataError


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["yes", "no", "yes", "maybe", "TRUE"], ("no", "yes", True)),
        ([1, 0, 2, 1], ("1", "0")),
        ([1.0, 0.0, 2.5, float("nan")], (0, 1, "2.5")),
        ([True, False, "true", 1, 1.0, Decimal("1.0"), None], (0, 1)),
        ([], ("a",)),
    ],
)
def test_places_are_those_of_each_value_by_itself(values: list[Any], classes: tuple[Any, ...]) -> None:
    place = {class_key(name): i for i, name in enumerate(classes)}
    kinds = set(map(type, values))
    column = np.array(values, dtype=None if kinds in ({int}, {float}) else object)
    assert class_places(column, classes).tolist() == [place.get(class_key(value), -1) for value in values]


def test_numbers_for_texts_are_refused_with_what_meta_estimators_do() -> None:
    with pytest.raises(InvalidDataError, match=r"declared classes are texts: no, yes\. Pass .*VotingClassifier"):
        class_codes(np.array([0, 1]), ("no", "yes"))
    assert class_codes([0, "yes"], ("no", "yes")).tolist() == [-2, 1]
    assert class_codes(np.array([0, 1]), ("0", 1)).tolist() == [0, 1]
    assert class_codes(np.array([0, 1]), ("0", "1", "none")).tolist() == [0, 1]
