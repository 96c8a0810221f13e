"""Verdicts that are asked for alone: they are those of the whole audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.fuzz_seeds import FILES, seeds
from glassine import Domain, Integer, audit, parse_rules
from glassine.auditing.api import verdict_of
from glassine.auditing.policy import NAMED
from glassine.errors import GlassineError
from glassine.files import FileContent
from glassine.formats.judged import load_judged


def models() -> list[Any]:
    """Return what is read of a good file of each kind."""
    made = {name: data for name, (data, _) in seeds().items()}
    made |= {path.name: path.read_bytes() for path in sorted(FILES.iterdir()) if path.suffix != ".csv"}
    out = []
    for data in made.values():
        try:
            out.append(load_judged(FileContent(path=Path("model"), data=data)))
        except GlassineError:
            continue
    return out


@pytest.mark.parametrize("policy", [entry.policy for entry in NAMED.values()], ids=list(NAMED))
def test_a_verdict_alone_is_that_of_the_whole_audit(policy: Any) -> None:
    """Of each kind of model, by each named policy, the verdict does not depend on what else is measured."""
    verdicts = [(verdict_of(model, policy=policy), audit(model, policy=policy).verdict) for model in models()]
    assert len(verdicts) > 20
    assert all(alone == whole for alone, whole in verdicts)


@pytest.mark.parametrize("n_low", [0, 1, 5, 30, 60])
def test_a_verdict_with_records_is_that_of_the_whole_audit(n_low: int) -> None:
    """Leaves that records make smaller or larger than published count as in the audit."""
    rules = parse_rules("classes: [no] [yes]\nif [x <= 4] then [no]\nelse [yes]")
    data = {"x": np.array([2] * n_low + [7] * (60 - n_low)), "y": np.array(["no", "yes"] * 30)}
    given: dict[str, Any] = {"domain": Domain({"x": Integer(0, 9)}), "target": "y"}
    whole = audit(rules, data, **given)
    assert verdict_of(rules, data, **given) == whole.verdict
    assert whole.verdict == ("outside policy" if n_low in (1, 5, 30) else "within policy")
