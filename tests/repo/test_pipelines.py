"""The hook of pre-commit, the action of GitHub and the example of GitLab: their commands are run."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from glassine import Category, Domain, parse_rules, write_model
from tests.repo.code_blocks import ROOT, glassine_command

KEPT = "if [a] then [true] ([500 ; 400] examples)\nelse [false] ([500 ; 400] examples)"
BROKEN = "if [a] then [true] ([0 ; 3] examples)\nelse [false] ([60 ; 40] examples)"


def read_yaml(path: str) -> Any:
    return importlib.import_module("yaml").safe_load((ROOT / path).read_text())


def write(rules: str, path: Path) -> None:
    """Write a rule list as Glassine does: a pipeline passes no other file."""
    write_model(parse_rules(rules), path, overwrite=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a model that keeps the policy, one that breaks it, one that cannot be read, and their domain."""
    (tmp_path / "models").mkdir()
    Domain({name: Category((0, 1)) for name in "ab"}).to_json(tmp_path / "domain.json")
    write(KEPT, tmp_path / "models" / "kept.json")
    write(BROKEN, tmp_path / "models" / "broken.json")
    (tmp_path / "models" / "unread.txt").write_text("no model")
    return tmp_path


def shell(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a pipeline does, the installed command and Python first on the path."""
    path = os.pathsep.join([str(glassine_command().parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONWARNINGS": "error", **variables}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )


def test_the_workflow_of_a_public_host_calls_what_ci_calls() -> None:
    (job,) = read_yaml(".github/workflows/ci.yml")["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands == [".ci/run"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


# pre-commit.


def hook(folder: Path, *files: str, args: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    (one,) = read_yaml(".pre-commit-hooks.yaml")
    command = [*shlex.split(one["entry"]), *(args or ()), *files]
    return shell(shlex.join(command), folder)


def test_the_hook_has_what_pre_commit_requires() -> None:
    (one,) = read_yaml(".pre-commit-hooks.yaml")
    assert {"id", "name", "entry", "language"} <= set(one)
    assert one.get("pass_filenames", True), "the files that changed are handed over"


def test_the_environment_of_the_hook_reads_what_it_is_handed() -> None:
    (one,) = read_yaml(".pre-commit-hooks.yaml")
    package = ROOT / "src" / "glassine" / "formats"
    needed = re.compile(r'installed\("[\w.]+", "[^"]*", "(\w+)"')
    extras = {extra for path in package.rglob("*.py") for extra in needed.findall(path.read_text(encoding="utf-8"))}
    assert extras
    assert set(one["additional_dependencies"]) == {f".[{extra}]" for extra in extras}


@pytest.mark.parametrize(
    ("path", "audited"),
    [
        ("models/tree.json", True),
        ("tree.pmml", True),
        ("my-report.json", True),
        ("domain.json", False),
        ("models/tree.certificate.json", False),
        ("web/package.json", False),
        (".vscode/settings.json", False),
        ("README.md", False),
    ],
)
def test_the_hook_is_handed_models_and_not_what_is_usual_beside_them(path: str, audited: bool) -> None:
    (one,) = read_yaml(".pre-commit-hooks.yaml")
    assert (bool(re.search(one["files"], path)) and not re.search(one["exclude"], path)) == audited


@pytest.mark.slow
def test_the_hook_audits_every_file_and_fails_with_the_worst(folder: Path) -> None:
    with_domain = ["--domain", "domain.json"]
    kept = hook(folder, "models/kept.json", args=with_domain)
    assert kept.returncode == 0, kept.stdout + kept.stderr
    both = hook(folder, "models/broken.json", "models/kept.json", args=with_domain)
    assert both.returncode == 1
    # A line for each, and an example of how one is audited alone.
    lines = both.stdout.splitlines()
    assert [sum(line.startswith(f"models/{name}.json ") for line in lines) for name in ("broken", "kept")] == [1, 1]
    unread = hook(folder, "models/kept.json", "models/unread.txt", "models/broken.json", args=with_domain)
    assert unread.returncode == 2
    assert "models/unread.txt" in unread.stdout + unread.stderr


def test_a_file_that_cannot_be_audited_is_an_error_in_junit(folder: Path) -> None:
    both = hook(folder, "models/kept.json", "models/unread.txt", args=["--domain", "domain.json", "--ci", "junit"])
    assert both.returncode == 2
    suites = ElementTree.parse(folder / "glassine.xml").getroot()
    assert [suite.get("errors") == "0" for suite in suites] == [True, False]
    assert suites.get("errors") == suites[1].get("errors") == "1"


@pytest.mark.slow
def test_one_file_that_cannot_be_audited_leaves_no_report_of_an_earlier_run(folder: Path) -> None:
    junit = ["--domain", "domain.json", "--ci", "junit"]
    assert hook(folder, "models/kept.json", args=junit).returncode == 0
    assert hook(folder, "models/unread.txt", args=junit).returncode == 2
    shown = hook(folder, "models/unread.txt", args=["--domain", "domain.json", "--ci", "github"])
    assert shown.returncode == 2
    assert "::error file=models/unread.txt,title=Not audited::" in shown.stderr
    assert ElementTree.parse(folder / "glassine.xml").getroot().get("errors") == "1"


# GitHub.


def action(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step of the action that audits, its inputs as GitHub fills them in."""
    stated = read_yaml("action.yml")
    given = {
        name: inputs.get(name.replace("-", "_"), entry.get("default", "")) for name, entry in stated["inputs"].items()
    }
    audit = stated["runs"]["steps"][-1]
    variables = {}
    for name, value in audit["env"].items():
        assert value.startswith("${{ inputs."), "nothing else reaches the script"
        variables[name] = given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
    assert "${{" not in audit["run"], "an input in the script would be run as code"
    return shell(audit["run"], folder, GITHUB_STEP_SUMMARY=str(folder / "summary.md"), **variables)


def test_the_action_installs_the_package_of_its_repository(folder: Path) -> None:
    install = read_yaml("action.yml")["runs"]["steps"][0]
    assert install["env"] == {"GLASSINE_SOURCE": "${{ github.action_path }}"}
    assert (ROOT / "pyproject.toml").exists(), "the action stands beside the package"
    # What pip would be asked for is the package: built here without its dependencies it would take a minute.
    assert install["run"] == 'python -m pip install "${GLASSINE_SOURCE}[formats]"'
    assert shell("glassine --version && python -m pip --version || true", folder).stdout.startswith("glassine")


@pytest.mark.slow
def test_the_action_annotates_summarizes_and_fails_with_a_model_outside_policy(folder: Path) -> None:
    done = action(folder, models="models/kept.json models/broken.json", domain="domain.json", sarif="sarif")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error file=models/broken.json,title=" in done.stderr
    assert "file=models/kept.json" not in done.stderr
    summary = (folder / "summary.md").read_text()
    assert "## models/kept.json: within policy" in summary
    assert "## models/broken.json: outside policy" in summary
    names = {path.name for path in (folder / "sarif").iterdir()}
    assert names == {"models_kept.json.sarif", "models_broken.json.sarif"}


@pytest.mark.slow
def test_the_action_takes_patterns_and_passes_models_within_policy(folder: Path) -> None:
    done = action(folder, models="models/k*.json", domain="domain.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert action(folder, models="models/unread.txt").returncode == 2


@pytest.mark.slow
def test_the_action_fails_with_a_file_that_glassine_did_not_write_and_names_the_way(folder: Path) -> None:
    (folder / "models" / "foreign.txt").write_text(KEPT)
    done = action(folder, models="models/foreign.txt", domain="domain.json")
    assert done.returncode == 1
    assert "::error file=models/foreign.txt,title=Files that Glassine did not write::" in done.stderr
    assert "--clean-copy clean.txt" in done.stdout
    copied = action(folder, models="models/foreign.txt", domain="domain.json", options="--clean-copy clean.txt")
    assert copied.returncode == 0, "the copy is what may be released"
    assert action(folder, models="clean.txt", domain="domain.json").returncode == 0


@pytest.mark.slow
def test_the_action_tolerates_what_cannot_be_judged_only_if_asked(folder: Path) -> None:
    write("if [a <= 30.5] then [true]\nelse [false]", folder / "models" / "open.json")
    assert action(folder, models="models/open.json").returncode == 3
    assert action(folder, models="models/open.json", tolerate_unknown="true").returncode == 0
    both = action(folder, models="models/broken.json models/open.json", domain="domain.json", tolerate_unknown="true")
    assert both.returncode in (1, 2)


@pytest.mark.slow
def test_the_action_passes_on_what_the_publisher_states_of_a_model_without_counts(folder: Path) -> None:
    write("if [a] then [true]\nelse [false]", folder / "models" / "bare.json")
    assert action(folder, models="models/bare.json", domain="domain.json").returncode == 3
    stated = action(folder, models="models/bare.json", domain="domain.json", options="--stated-leaf 1000")
    assert "title=Smallest" not in stated.stderr
    assert stated.returncode in (0, 3)


@pytest.mark.parametrize("models", ["", "  ", "\n \n"])
def test_the_action_fails_if_it_is_given_no_model(folder: Path, models: str) -> None:
    done = action(folder, models=models, domain="domain.json", tolerate_unknown="true")
    assert done.returncode == 2
    assert "::error title=Not audited::The input 'models' is blank, so no model was audited." in done.stderr


@pytest.mark.slow
def test_the_action_takes_models_line_by_line_and_fails_with_the_worst(folder: Path) -> None:
    write("if [a <= 30.5] then [true]\nelse [false]", folder / "models" / "open.json")
    done = action(folder, models="models/unread.txt\nmodels/open.json\n")
    assert done.returncode == 2, done.stdout + done.stderr


def test_an_input_of_the_action_is_not_run_as_code(folder: Path) -> None:
    action(folder, models="models/kept.json", domain='"; touch owned; "', policy="$(touch owned)")
    assert not (folder / "owned").exists()


# GitLab.


@pytest.mark.slow
def test_the_example_of_gitlab_writes_the_report_that_it_names(folder: Path) -> None:
    job = read_yaml("docs/pipelines/gitlab-ci.yml")["audit"]
    report = job["artifacts"]["reports"]["junit"]
    assert job["artifacts"]["when"] == "always"
    for text, status in ((KEPT, 0), (BROKEN, 1)):
        (folder / "model.json").unlink(missing_ok=True)
        write(text, folder / "model.json")
        (folder / report).unlink(missing_ok=True)
        done = shell("\n".join(job["script"]), folder)
        assert done.returncode == status, done.stdout + done.stderr
        suites = ET.parse(folder / report).getroot()
        assert (suites.get("failures") != "0") is bool(status)
    assert job["allow_failure"]["exit_codes"] == 3
    assert sys.executable.startswith(str(glassine_command().parent))
