"""Nothing heavy is imported that is not needed: by the package, and by a command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, parse_rules, write_model
from tests.repo.code_blocks import ROOT

HEAVY = ["matplotlib", "torch", "fastapi", "sklearn", "polars", "pandas", "numba", "jinja2", "typer"]


def loaded_after(statement: str, folder: Path, among: list[str] = HEAVY) -> list[str]:
    """Heavy packages that a fresh interpreter has loaded after the statement."""
    listing = f"print(*[name for name in {among!r} if name in sys.modules], file=sys.stderr)"
    code = f"{statement}\nimport sys\n{listing}"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    # A fit may say before that it compiles.
    return done.stderr.splitlines()[-1].split()


def command(*words: str) -> str:
    """Return code that runs a command and goes on, whatever its exit status."""
    return (
        f"import sys\nsys.argv = ['glassine', *{list(words)!r}]\n"
        "from glassine.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert end.code in (0, 1, 3)"
    )


def test_import_loads_nothing_heavy(tmp_path: Path) -> None:
    assert loaded_after("import glassine", tmp_path) == []


def test_a_planted_import_is_found(tmp_path: Path) -> None:
    assert loaded_after("import jinja2", tmp_path) == ["jinja2"]


def test_an_audit_of_a_model_alone_loads_no_library_that_only_fits_need(tmp_path: Path) -> None:
    rules = parse_rules("if [age > 40] then [true] ([30 ; 50] examples)\nelse [false] ([70 ; 50] examples)")
    write_model(rules, tmp_path / "model.json", overwrite=True)
    heavy = ["narwhals.dataframe", "pandas", "polars", "numba", "scipy.special", "scipy.stats", "jinja2"]
    pages = [f"glassine.report.sections.{name}" for name in ("comparison", "near_optimal", "releases", "membership")]
    own = ["glassine.learners", "glassine.privacy.unit", "glassine.auditing.findings.surrogates", *pages]
    among = ["typer", "sklearn", *own, *heavy]
    assert loaded_after(command("audit", "model.json"), tmp_path, among) == ["typer"]


@pytest.mark.parametrize(("kind", "needed"), [("tree", []), ("additive", ["scipy.special"])])
def test_a_private_fit_and_its_audit_load_no_library_for_others(kind: str, needed: list[str], tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text("age,ill\n" + "30,no\n60,yes\n" * 50)
    Domain({"age": Integer(18, 90), "ill": Category(("no", "yes"))}).to_json(tmp_path / "domain.json")
    heavy = ["pandas", "scipy.special", "scipy.stats", "scipy.interpolate", "scipy.optimize", "sklearn.isotonic"]
    fit = f"fit {kind} records.csv --target ill --epsilon 1 --domain domain.json -o m.json"
    # Gaussian noise is calibrated by the normal distribution.
    assert loaded_after(command(*fit.split()), tmp_path, heavy) == needed
    audit = command("audit", "m.json", "--domain", "domain.json")
    assert loaded_after(audit, tmp_path, ["sklearn", "numba", "glassine.learners", *heavy]) == []


def test_a_skops_file_is_read_without_polars(tmp_path: Path) -> None:
    # skops looks for its types in every module that is loaded.
    fitted = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])
    skops.io.dump(fitted, tmp_path / "tree.skops")
    read = "from glassine.formats import load_model\nload_model('tree.skops')"
    assert loaded_after(read, tmp_path, ["polars", "skops"]) == ["skops"]


def test_what_rooms_of_records_use_of_polars_is_listed() -> None:
    from glassine.records import frames

    rooms = (path.read_text() for path in (ROOT / "src" / "glassine" / "records").glob("*.py"))
    used = {name for text in rooms if "import frames as pl" in text for name in re.findall(r"\bpl\.(\w+)", text)}
    assert used == frames.TYPES | frames.FUNCTIONS


@pytest.mark.slow
def test_a_fit_loads_nothing_that_scikit_learn_imports_for_others(tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text("age,ill\n" + "30,no\n60,yes\n" * 50)
    Domain({"age": Integer(18, 90), "ill": Category(("no", "yes"))}).to_json(tmp_path / "domain.json")
    fit = "fit rule-list records.csv --target ill --epsilon 1 --domain domain.json --max-rules 1 -o m.json"
    linear = ["scipy.linalg", "scipy.sparse.linalg", "scipy.special", "scipy.stats", "numpy.f2py", "numpy.ma"]
    own = ["glassine.formats.pmml", "glassine.auditing.policy"]
    heavy = ["pandas", *linear, "joblib", "asyncio", "rich", "numba", "pydantic", *own, "sklearn.base"]
    # Kernels are loaded for every private fit, whatever its records: Numba, which asks for NumPy's masked arrays.
    assert loaded_after(command(*fit.split()), tmp_path, heavy) == ["numpy.ma", "numba", "sklearn.base"]
    assert (tmp_path / "m.json").exists()


def test_the_list_of_commands_loads_none_of_them(tmp_path: Path) -> None:
    assert loaded_after(command("--help"), tmp_path, ["numpy", "glassine.cli.audit", "glassine.cli.fit"]) == []


def test_an_audit_of_an_estimator_loads_no_other_kind_of_subject(tmp_path: Path) -> None:
    fitted = (
        "from sklearn.tree import DecisionTreeClassifier\nimport glassine\n"
        "glassine.audit(DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1]))"
    )
    kinds = [f"glassine.auditing.{name}" for name in ("additive", "forest", "release", "several", "summaries")]
    among = [
        "glassine.auditing.trees",
        *kinds,
        "glassine.surrogates.surrogate_release",
        "glassine.learners.summaries.private_summary",
    ]
    assert loaded_after(fitted, tmp_path, among) == ["glassine.auditing.trees"]
