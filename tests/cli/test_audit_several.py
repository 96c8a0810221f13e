"""Several model files: each by itself, or with --together as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassine import Binary, Domain, Integer
from tests.cli.running import Run

MODELS = {
    # Two rules of enough records, of which no class is rare: within the policy of the test.
    "good.txt": "if [smoker] then [true] ([30 ; 40] examples)\nelse [false] ([50 ; 30] examples)\n",
    "small.txt": "if [smoker] then [true] ([0 ; 3] examples)\nelse [false] ([50 ; 30] examples)\n",
    "silent.txt": "if [smoker] then [true]\nelse [false]\n",
    "junk.json": "hello",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from glassine import Policy

    for name, text in MODELS.items():
        (tmp_path / name).write_text(text)
    lines = ["smallest_leaf = 10"]
    for line in Policy().to_toml().splitlines():
        key = line.partition(" = ")[0].strip("# ")
        if key and key not in ("smallest_leaf", "suppress_below", "accept_guarantee") and " " not in key:
            lines.append(f"{key} = false")
    (tmp_path / "policy.toml").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_each_file_has_a_line_and_the_worst_status_counts(folder: Path, run: Run) -> None:
    def audited(*names: str) -> tuple[int, list[str]]:
        done = run("audit", *names, "--policy", "policy.toml", cwd=folder)
        return done.status, done.out.splitlines()

    status, lines = audited("good.txt", "silent.txt", "small.txt", "junk.json")
    assert status == 2
    assert lines[0].startswith("For the checker.")
    assert [line.split()[0] for line in lines[1:-1]] == ["junk.json", "small.txt", "silent.txt", "good.txt"]
    assert lines[-1].endswith("audit one alone with the same options: glassine audit small.txt")
    assert "BAD INPUT" in lines[1]
    assert "OUTSIDE POLICY" in lines[2]
    assert "fail: smallest_leaf" in lines[2]
    assert "INCONCLUSIVE" in lines[3]
    assert "unknown: smallest_leaf" in lines[3]
    assert lines[4].split(maxsplit=1) == ["good.txt", "WITHIN POLICY   release only the clean copy"]
    assert audited("good.txt", "silent.txt", "small.txt")[0] == 1
    assert audited("good.txt", "silent.txt")[0] == 3
    assert audited("good.txt", "good.txt")[0] == 0


def test_files_of_glassine_that_hold_no_model_are_skipped_and_listed(folder: Path, run: Run) -> None:
    (folder / "domain.json").write_text('{"schema": "glassine.domain/1", "attributes": []}')
    fixed = ["--policy", "policy.toml", "--ci", "junit"]
    assert run("export", "good.txt", "--to", "text", "-o", "own.txt", cwd=folder).status == 0
    (folder / "own.txt").replace(folder / "good.txt")
    done = run("audit", "good.txt", "domain.json", *fixed, cwd=folder)
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1].split(maxsplit=2)[:2] == ["domain.json", "SKIPPED"]
    assert "domain" not in (folder / "glassine.xml").read_text()
    plain = json.loads(run("audit", "good.txt", "domain.json", "--json", "--policy", "policy.toml", cwd=folder).out)
    assert [one["file"] for one in plain["models"]] == ["good.txt"]
    assert plain["skipped"] == [{"file": "domain.json", "schema": "glassine.domain/1"}]
    only = run("audit", "domain.json", "domain.json", *fixed, cwd=folder)
    assert (only.status, "none of the files holds a model" in only.err) == (2, True)


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1}',
        '{"schema": "glassine.domain/1\\n::error::x"}',
        '{"a": {"schema": "glassine.domain/1"}}',
        '{"schema": "glassine.model/1"}',
        '{"schema": "glassine.domain/1"',
    ],
)
def test_nothing_else_is_skipped(folder: Path, run: Run, text: str) -> None:
    (folder / "odd.json").write_text(text)
    done = run("audit", "good.txt", "odd.json", "--policy", "policy.toml", cwd=folder)
    assert done.status == 2
    assert "SKIPPED" not in done.out


def test_json_holds_the_findings_of_each(folder: Path, run: Run) -> None:
    fixed = ["--policy", "policy.toml", "--audience", "public", "--json"]
    plain = json.loads(run("audit", "good.txt", "junk.json", *fixed, cwd=folder).out)
    assert (plain["schema"], plain["status"]) == ("glassine.verdicts/3", 2)
    good, junk = plain["models"]
    alone = json.loads(run("audit", "good.txt", *fixed, cwd=folder).out)
    assert (good["file"], good["status"], good["error"], good["findings"]) == ("good.txt", 0, None, alone)
    assert junk["findings"] is None
    assert "junk.json" in junk["error"]


def test_to_writes_of_one_model_and_together_needs_several(folder: Path, run: Run) -> None:
    refused = run("audit", "good.txt", "small.txt", "--to", "sarif", "report.sarif", cwd=folder)
    assert refused.status == 2
    assert "--to writes one report. Audit one model, or add --together." in refused.err
    assert not (folder / "report.sarif").exists()
    assert run("audit", "good.txt", "--together", cwd=folder).status == 2


def test_together_judges_what_the_models_reveal_as_one(folder: Path, run: Run) -> None:
    Domain({"age": Integer(0, 99)}).to_json(folder / "domain.json")
    for name, cut, first, second in (("a.txt", 40, "20 ; 10", "30 ; 40"), ("b.txt", 41, "20 ; 11", "30 ; 39")):
        (folder / name).write_text(
            f"classes: [no] [yes]\nif [age < {cut}] then [no] ([{first}] examples)\nelse [yes] ([{second}] examples)\n"
        )
    command = ["audit", "a.txt", "b.txt", "--together", "--domain", "domain.json"]
    done = run(*command, "-o", "report.html", cwd=folder)
    assert done.status == 1, done.err
    assert "The policy does not allow the release of these models together" in done.out.replace("\n", " ")
    assert "2 models of the same records" in (folder / "report.html").read_text()
    plain = json.loads(run(*command, "--json", cwd=folder).out)
    assert plain["subject"]["models"] == ["a.txt", "b.txt"]
    assert [file["role"] for file in plain["inputs"]] == ["model 1", "model 2", "domain"]
    refused = run(*command, "--target", "ill", cwd=folder)
    assert refused.status == 2
    assert "has no meaning. Leave" in refused.err


def test_together_names_the_clean_copy_of_every_file(folder: Path, run: Run) -> None:
    Domain({"age": Integer(0, 99)}).to_json(folder / "domain.json")
    text = (
        "classes: [no] [yes]\nif [age < 40] then [no] ([2000 ; 1000] examples)\nelse [yes] ([3000 ; 4000] examples)\n"
    )
    (folder / "foreign.txt").write_text(text)
    assert run("export", "foreign.txt", "--to", "text", "-o", "own.txt", cwd=folder).status == 0
    (folder / "strict.toml").write_text("require_clean_copy = true\n")
    command = ["--together", "--domain", "domain.json", "--policy", "strict.toml", "--json"]

    def check(*names: str) -> tuple[str, float, list[bool]]:
        plain = json.loads(run("audit", *names, *command, cwd=folder).out)
        (one,) = (check for check in plain["checks"] if check["rule"] == "require_clean_copy")
        assert [file["name"] for file in plain["files"]] == list(names)
        return one["status"], one["measured"], [file["canonical"] for file in plain["files"]]

    assert check("own.txt", "own.txt") == ("pass", 0, [True, True])
    assert check("own.txt", "foreign.txt") == ("fail", 1, [True, False])
    done = run("audit", "own.txt", "foreign.txt", "--together", "--domain", "domain.json", cwd=folder)
    assert "foreign.txt: a rule list" in done.out
    assert "Glassine did not write this file, or it was changed" in " ".join(done.out.split())


def test_a_class_that_is_stated_of_several_files_counts_all_of_them(folder: Path, run: Run) -> None:
    Domain({"smoker": Binary()}).to_json(folder / "domain.json")
    stated = ("--only", "capacity", "--class-rules", "1", "--class-people", "20000", "--drawn-from", "40000")

    def audited(*more: str) -> tuple[int, str]:
        files = ("silent.txt", "again.txt")
        done = run("audit", *files, "--domain", "domain.json", "--policy", "average", *stated, *more, cwd=folder)
        return done.status, done.out + done.err

    (folder / "again.txt").write_text(MODELS["silent.txt"])
    for more in ((), ("--class-models", "1")):
        status, said = audited(*more)
        assert status == 2
        assert "--class-models 2" in said
    assert audited("--class-models", "2")[0] == 0
    assert audited("--class-models", "1000")[0] == 1
