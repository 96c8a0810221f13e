"""What may hold records: learners import nothing that reads them, and touch no inside of the oracle."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping

import pytest

from tests.repo.code_blocks import ROOT
from tests.repo.test_import_arrows import imported_modules

PACKAGE = ROOT / "src" / "glassine"

BARRED = ("glassine.data.record_table", "glassine.records")
"""What reads or counts records."""

PUBLIC = tuple(f"glassine.records.{name}" for name in ("arrays", "columns", "cuts", "purpose", "schemas", "subsets"))
"""Types, and what follows from a domain or a schema."""

INSIDE = ("draws", "store", "ingest", "noisy_choice", "tree_sums", "last_splits")
"""Modules of the sealed room that a learner has no business with."""

OPEN = {
    "glassine.records.alignment": {"target_name"},
    "glassine.sealed.binned": {"AdditiveRecords"},
    "glassine.sealed.gaussian": {
        *("Drawing", "ExactSumsOracle", "GaussianOracle", "SumsOracle"),
        *("asking_counts", "asking_sums"),
    },
    "glassine.sealed.scoring": {"ADDED", "Counted", "LEAST", "Model", "PARTS", "Rightness", "predicted"},
    "glassine.sealed.sums": {"Moves"},
}
"""What a learner may take of modules that also hold records: what is public, questions, and oracles."""

SEALED = (
    *(
        f"learners/additive/{name}.py"
        for name in (
            *("boosting", "additive_budget", "calibration", "estimators", "additive_fit", "grids", "table_memory"),
            *("pairs", "penalized", "published_scores", "smoothing"),
        )
    ),
    *(
        f"learners/summaries/{name}.py"
        for name in (
            "additive_from_tables",
            "estimates",
            "private_summary",
            "noisy_intervals",
            "junction_tree",
            "measured_figures",
            "released_tables",
            "released",
        )
    ),
    "learners/exhaustive/private.py",
    "learners/antecedents.py",
    "learners/greedy/private_lists.py",
    "learners/greedy/greedy_plan.py",
    "learners/publishing.py",
    "learners/ranges.py",
    "learners/search.py",
)
"""Planning and publishing of the learners whose records are sealed."""

UNSEALED = (
    "surrogates: what private explanations ask the black box on",
    "learners/intake, training_data, additive/engine_counts, additive/targets: lazy frames that an engine counts, and "
    "fits without a public domain",
)
"""What passes the door, but still holds records in code of its own."""


MANGLED = ("_Oracle__", "_ExactOracle__", "_GaussianOracle__", "_ExactSumsOracle__", "_Drawing__")
"""How the private names of an oracle are spelled outside of it."""


def ways_around(sources: Mapping[str, str]) -> list[str]:
    """Return imports of what reads records or draws, and uses of the private names of an oracle or a store."""
    found = []
    for path, source in sources.items():
        name = f"glassine.{path.removesuffix('.py').replace('/', '.')}"
        for line, module in imported_modules(name, source, is_package=False):
            inside = any(module == f"glassine.sealed.{one}" for one in INSIDE)
            if inside or (module.startswith(BARRED) and not module.startswith(PUBLIC) and module not in OPEN):
                found.append(f"{path}:{line}: imports {module}")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module in OPEN:
                closed = [alias.name for alias in node.names if alias.name not in OPEN[node.module]]
                found += [f"{path}:{node.lineno}: imports {node.module}.{one}" for one in closed]
            if isinstance(node, ast.Attribute) and (
                node.attr.startswith(MANGLED)
                or (
                    isinstance(node.value, ast.Name)
                    and node.value.id in ("oracle", "store", "drawing")
                    and node.attr.startswith("_")
                )
            ):
                found.append(f"{path}:{node.lineno}: uses {ast.unparse(node)}")
    return found


def test_sealed_learners_have_no_way_around_the_oracle(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        sys.stdout.write("\nnot sealed yet: " + "; ".join(UNSEALED) + "\n")
    assert ways_around({path: (PACKAGE / path).read_text() for path in SEALED}) == []


@pytest.mark.parametrize(
    "planted",
    [
        "from glassine.records.bits import BitSets",
        "from glassine.records import read",
        "from glassine.records.reading import read_settled",
        "from glassine.records.alignment import listed",
        "from glassine.sealed.draws import laplace",
        "from glassine.sealed.store import Store",
        "def learn(oracle):\n    return oracle._Oracle__records",
        "from glassine.sealed.binned import HeldRecords",
        "from glassine.sealed.sums import advance",
        "def learn(asked):\n    return asked._Drawing__stores",
    ],
)
def test_a_planted_way_around_is_found(planted: str) -> None:
    assert len(ways_around({"learners/exhaustive/private.py": planted})) == 1


def test_what_is_drawn_passes_one_module() -> None:
    """The sealed room adds noise and chooses through ``draws`` alone, so that a test can replay all of it."""
    samplers = ("glassine.privacy.mechanisms", "glassine.privacy.samplers")
    for path in sorted((PACKAGE / "sealed").glob("*.py")):
        if path.name in ("draws.py", "noisy_choice.py"):
            continue
        modules = [
            module for _, module in imported_modules(f"glassine.sealed.{path.stem}", path.read_text(), is_package=False)
        ]
        assert not [module for module in modules if module.startswith(samplers)], path.name
