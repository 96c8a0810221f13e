"""No output carries a digest of records; the digests of other files are of the bytes that were parsed."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.tree import DecisionTreeClassifier

import glassine.auditing.api
from glassine import Domain, Policy, as_model, audit
from glassine.cli.reading import input_files
from glassine.errors import UnreadableFileError
from glassine.files import FileContent, read_bytes, read_json, read_once, read_text, write_text
from glassine.formats import write_model
from tests.cli.running import Run, attributes, listing, people, process

BARE = Domain({name: attribute for name, attribute in attributes().items() if name != "ill"})


@pytest.fixture
def house(folder: Path) -> Path:
    """Add a tree, its domain and a policy to the records."""
    records = people()
    X = records.select("age", "smoker").to_pandas()
    grown = as_model(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, records["ill"].to_numpy()))
    write_model(grown, folder / "tree.json", overwrite=True)
    people(500)[300:].write_csv(folder / "others.csv")
    BARE.to_json(folder / "bare.json")
    write_text(Policy().to_toml(), folder / "policy.toml")
    return folder


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


FIXED = ["--domain", "bare.json", "--policy", "policy.toml"]
AUDIT = ["audit", "tree.json", *FIXED, "--data", "people.csv", "--target", "ill", "--holdout", "others.csv"]
DISCLOSURE = ["audit", "tree.json", "--only", "disclosure"]
COMMANDS: dict[str, list[str]] = {
    "audit": AUDIT,
    "scrub": ["scrub", "tree.json", *FIXED, "--data", "people.csv", "--target", "ill", "-o", "copy.json"],
    "membership": [
        "audit",
        "tree.json",
        "--only",
        "membership",
        "--data",
        "people.csv",
        "--holdout",
        "others.csv",
        "--target",
        "ill",
    ],
    "disclosure": [*DISCLOSURE, "--data", "people.parquet", "--sensitive", "ill"],
    "compare": ["compare", "people.csv", "--target", "ill", "--domain", "domain.json", "--models", "cart,constant"],
    "fit": [
        "fit",
        "tree",
        "people.csv",
        "--target",
        "ill",
        "--domain",
        "domain.json",
        "--epsilon",
        "0.5",
        "-o",
        "own.json",
    ],
    "rebuild": ["rebuild", "tree.json", "--domain", "bare.json", "--data", "people.csv"],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_digest_of_records_goes_out(command: str, house: Path, run: Run) -> None:
    records = ["people.csv", "people.parquet", "others.csv"]
    secret = [digest(house / name)[:12] for name in records]
    option = {"scrub": "--report", "fit": "--report"}.get(command, "-o")
    told = [run(*COMMANDS[command], "--overwrite" if command == "fit" else "--json", cwd=house).out]
    for ending in () if command == "rebuild" else ("html", "txt", "json"):
        told.append(run(*COMMANDS[command], "--overwrite", option, f"out.{ending}", cwd=house).out)
        assert (house / f"out.{ending}").exists()
    told += [data.decode(errors="replace") for name, data in listing(house).items() if name not in records]
    assert not [part for part in secret for text in told if part in text]


@pytest.mark.slow
def test_files_that_were_parsed_have_their_digests_and_records_have_none(house: Path, run: Run) -> None:
    plain = json.loads(run(*AUDIT, "--json", cwd=house).out)
    given = {"model": "tree.json", "domain": "bare.json", "policy": "policy.toml"}
    assert {entry["role"]: entry["sha256"] for entry in plain["inputs"]} == {
        **{role: digest(house / name) for role, name in given.items()},
        "data": None,
        "holdout": None,
    }
    text = run(*AUDIT, cwd=house).out
    assert f"sha256 {digest(house / 'tree.json')}\n" in text
    assert re.search(r"data +people.csv +no digest: records", text)
    run(*AUDIT, "-o", "page.html", cwd=house)
    assert "none: a digest would reveal records" in (house / "page.html").read_text()


@pytest.mark.slow
def test_the_digest_is_of_what_was_parsed_though_the_file_is_replaced_meanwhile(
    house: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: digest(house / name) for name in ("tree.json", "bare.json", "policy.toml")}

    def slow(*given: Any, **more: Any) -> Any:
        for name in before:
            (house / name).write_text("something else")
        return audit(*given, **more)

    monkeypatch.setattr(glassine.auditing.api, "audit", slow)
    plain = json.loads(run(*AUDIT, "--json", cwd=house).out)
    assert {entry["name"]: entry["sha256"] for entry in plain["inputs"] if entry["sha256"]} == before


COUNT = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import atexit
atexit.register(lambda: print("OPENED", *[path for path in opened if path.endswith((".json", ".toml"))]))
"""


@pytest.mark.slow
def test_each_file_is_read_once(house: Path) -> None:
    done = process(COUNT, *AUDIT, "-o", "report.html", cwd=house)
    assert done.returncode in (0, 1, 2), done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("OPENED")]
    names = [Path(path).name for path in line.split()[1:]]
    assert [names.count(name) for name in ("tree.json", "bare.json", "policy.toml")] == [1, 1, 1]


def test_what_was_read_once_stands_for_its_path(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}')
    read = read_once(path)
    path.write_text("gone")
    assert isinstance(read, FileContent)
    assert read_bytes(read) == b'{"a": 1}'
    assert read_text(read) == '{"a": 1}'
    assert read_json(read) == {"a": 1}
    assert read.sha256 == hashlib.sha256(b'{"a": 1}').hexdigest()
    assert str(read) == str(path)
    (file,) = input_files(model=read)
    assert (file.name, file.sha256) == ("a.json", read.sha256)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"12345")
    assert read_once(path, most=5).data == b"12345"
    with pytest.raises(UnreadableFileError, match="larger than 4 bytes"):
        read_once(path, most=4)
    with pytest.raises(UnreadableFileError, match="larger than 1,000 bytes"):
        read_once("/dev/zero", most=1000)
    with pytest.raises(UnreadableFileError, match="cannot read"):
        read_once(tmp_path / "none.json")


def test_records_are_listed_by_name_alone(house: Path) -> None:
    (file,) = input_files(data=house / "people.csv")
    assert (file.name, file.sha256) == ("people.csv", None)
