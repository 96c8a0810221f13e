"""Wheel and sdist hold what git tracks; the wheel works in environments that hold nothing else."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repo.code_blocks import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
RUNS_ELSEWHERE = Path(__file__).with_name("wheel_run.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A copy of the repository, without what git ignores, and what was built from it."""

    copy: Path
    tracked: frozenset[str]
    wheel: Path
    sdist: Path


def tracked_files() -> frozenset[str]:
    """Files that git tracks or would track, as far as they are there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = listed.stdout.decode().split("\0")
    return frozenset(name for name in names if name and (ROOT / name).is_file())


def build(folder: Path, into: Path) -> tuple[Path, Path]:
    """Build wheel and sdist of a folder with hatchling; the index is not asked."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(into)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return next(into.glob("*.whl")), next(into.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    if not (ROOT / ".git").exists():
        pytest.skip("what git tracks is known in a checkout only")
    copy = tmp_path_factory.mktemp("copy")
    tracked = tracked_files()
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    # What lies about in a folder where someone works must not be packed.
    for stray in ("src/glassine/__pycache__/old.pyc", "docs/_build/html/index.html", "glassine-demo/records.csv"):
        (copy / stray).parent.mkdir(parents=True, exist_ok=True)
        (copy / stray).write_text("stray")
    wheel, sdist = build(copy, tmp_path_factory.mktemp("dist"))
    return Built(copy=copy, tracked=tracked, wheel=wheel, sdist=sdist)


def wheel_files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sdist_files(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}


@pytest.mark.slow
def test_the_wheel_holds_the_package_as_git_tracks_it(built: Built) -> None:
    package = {n.removeprefix("src/"): (ROOT / n).read_bytes() for n in built.tracked if n.startswith("src/glassine/")}
    packed = wheel_files(built.wheel)
    assert {n: text for n, text in packed.items() if ".dist-info/" not in n} == package
    # The proofs, the templates and the mark of types are read where the package is installed.
    for needed in ("py.typed", "learners/exhaustive/private.md", "report/templates/page.html"):
        assert f"glassine/{needed}" in packed


@pytest.mark.slow
def test_the_sdist_holds_nothing_that_git_does_not_track(built: Built) -> None:
    packed = sdist_files(built.sdist)
    assert packed - built.tracked == {"PKG-INFO"}
    assert {name for name in built.tracked if name.startswith("src/")} <= packed
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= packed


@pytest.mark.slow
def test_a_wheel_from_the_sdist_is_the_same_wheel(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    again, _ = build(next((tmp_path / "unpacked").iterdir()), tmp_path / "dist")
    assert wheel_files(again) == wheel_files(built.wheel)


@pytest.mark.slow
def test_the_metadata_say_what_pyproject_says(built: Built) -> None:
    packed = wheel_files(built.wheel)
    (name,) = (name for name in packed if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(packed[name])
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["License-Expression"] == PROJECT["license"]
    assert sorted(metadata.get_all("Provides-Extra", [])) == sorted(EXTRAS)
    asked = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(asked) == sorted(PROJECT["dependencies"])
    (scripts,) = (text.decode() for name, text in packed.items() if name.endswith("entry_points.txt"))
    assert f"glassine = {PROJECT['scripts']['glassine']}" in scripts


def test_extras_that_are_named_anywhere_exist() -> None:
    named: dict[str, str] = {}
    pages = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "pyproject.toml"]
    for page in pages:
        for group in re.findall(r"(?:glassine|['\" ]\.)\[([a-z, ]+)\]", page.read_text()):
            named |= {extra.strip(): page.name for extra in group.split(",")}
    assert {"formats", "solver", "server"} <= set(named)
    assert set(named) <= set(EXTRAS), named


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt"])
def test_the_locks_pin_packages_with_the_extras_that_others_ask_for(lock: str) -> None:
    # Without them, pip before 24 refuses the installation as soon as one of these packages has a newer release.
    lines = re.findall(r"^([\w.-]+(?:\[[^]]*\])?==[^\s;]+)", (ROOT / "requirements" / lock).read_text(), re.MULTILINE)
    pinned = {canonicalize_name(one.name): one.extras for one in map(Requirement, lines)}
    for name in pinned:
        try:
            wanted = map(Requirement, metadata.requires(name) or ())
        except metadata.PackageNotFoundError:
            continue
        for one in wanted:
            asked = one.extras if one.marker is None or one.marker.evaluate({"extra": ""}) else set()
            assert asked <= pinned.get(canonicalize_name(one.name), asked), f"{name} asks for {one}"


# Environments that hold nothing but the wheel and what it asks for.


def interpreter(version: str) -> str | None:
    """Path of a Python of this version, if one is here; a shim may exist and yet not run."""
    if sys.version_info[:2] == tuple(int(part) for part in version.split(".")):
        return sys.executable
    kept = Path.home() / ".pyenv" / "versions"
    candidates = [shutil.which(f"python{version}"), *sorted(map(str, kept.glob(f"{version}.*/bin/python")))]
    for candidate in filter(None, candidates):
        asked = f"import sys, venv; print('%d.%d' % sys.version_info[:2] == {version!r})"
        done = subprocess.run([candidate, "-c", asked], capture_output=True, text=True, check=False)
        if done.stdout.strip() == "True":
            return candidate
    return None


def run(command: list[str | Path], folder: Path) -> str:
    """Run a command that must succeed, without the variables that would show it another Python's packages."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(built: Built, tmp_path: Path) -> None:
    """In the newest Python that is here: the other tests run in the oldest one, from the same lock."""
    version, python = next((version, path) for version in ("3.13", "3.12", "3.11") if (path := interpreter(version)))
    uv = shutil.which("uv")
    venv = tmp_path / "venv"
    new = venv / "bin" / "python"
    if uv is None:
        run([python, "-m", "venv", venv], tmp_path)
        # To compile all that is installed takes longer than to run it.
        install: list[str | Path] = [new, "-m", "pip", "install", "--quiet", "--no-compile"]
    else:
        run([uv, "venv", "--quiet", "--python", python, venv], tmp_path)
        install = [uv, "pip", "install", "--quiet", "--python", new]
    # The lock makes the run repeatable; what the wheel asks for beyond it would be missing.
    run([*install, "--require-hashes", "-r", ROOT / "requirements" / "run.txt"], tmp_path)
    run([*install, "--no-deps", built.wheel], tmp_path)
    assert "audit" in run([venv / "bin" / "glassine", "--help"], tmp_path)
    run([venv / "bin" / "glassine", "demo"], tmp_path)
    assert (tmp_path / "glassine-demo" / "tree-report.html").stat().st_size > 10_000
    said = run([new, "-I", "-W", "error", RUNS_ELSEWHERE], tmp_path)
    assert said.split() == [version, "additive", "rule-list", "tree"]
