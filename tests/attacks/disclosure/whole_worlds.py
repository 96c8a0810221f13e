"""The paper's package of whole-number worlds, whose folder has no name of a package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from tests.conftest import ROOT

with pytest.MonkeyPatch.context() as patch:
    # Only meanwhile: other papers have modules of the names that stand beside it.
    patch.syspath_prepend(str(ROOT / "papers" / "decision-tree-disclosure"))
    CHAINS: Any = import_module("whole_worlds.chains")
    ENUMERATION: Any = import_module("whole_worlds.enumeration")
    POSTERIOR: Any = import_module("whole_worlds.posterior")

infer_posterior, measure_posterior = POSTERIOR.infer_posterior, POSTERIOR.measure_posterior
