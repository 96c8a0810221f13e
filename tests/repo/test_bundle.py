"""The bundle for rooms without a network is whole, is verified before anything is installed, and asks no index."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.repo.code_blocks import ROOT


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "requirements" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUNDLE = loaded("bundle")
LOCK: dict[str, str] = BUNDLE.pins((ROOT / "requirements" / "dev.txt").read_text())
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_all_that_a_room_needs_is_pinned_with_hashes() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["server"], *extras["formats"]]
    names = [name for name in BUNDLE.closure(wanted) if name != "glassine"]
    assert {"numpy", "polars", "fastapi", "starlette", "onnx", "skops"} <= set(names)
    assert not {"pytest", "sphinx", "mypy"} & set(names)
    assert all("--hash=sha256:" in LOCK[name] for name in names)


def environment() -> dict[str, str]:
    """Return the variables of this process without those of pip and Python, and with an index that no one serves."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "UV_"))}
    return kept | {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_CONFIG_FILE": os.devnull}


@pytest.mark.slow
def test_it_installs_without_an_index_and_only_what_it_lists(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    # The package itself stands for all wheels: downloading those takes minutes.
    said = BUNDLE.write_bundle(out, [], {})
    assert said == BUNDLE.digest(out / "SHA256SUMS")
    assert {path.name for path in out.iterdir()} == {
        "wheels",
        "requirements.txt",
        "install.py",
        "INSTALL.md",
        "SHA256SUMS",
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(out / "install.py"), *words]
        return subprocess.run(command, env=environment(), cwd=tmp_path, capture_output=True, text=True)

    assert run("--verify").returncode == 0
    done = run("room")
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [tmp_path / "room" / "bin" / "python", "-c", "import glassine; print(glassine.__file__)"],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert str(tmp_path / "room") in shown.stdout
    # Whatever was changed, added or taken out is named, and nothing is installed.
    (wheel,) = (out / "wheels").glob("*.whl")
    with wheel.open("ab") as stream:
        stream.write(b"x")
    (out / "wheels" / "more.whl").write_bytes(b"x")
    (out / "INSTALL.md").unlink()
    for words in (("--verify",), ("elsewhere",)):
        refused = run(*words)
        assert refused.returncode == 1
        for part in (f"wheels/{wheel.name} was changed", "wheels/more.whl is not listed", "INSTALL.md is missing"):
            assert part in refused.stderr
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(SystemExit, match="exists"):
        BUNDLE.write_bundle(out, [], {})
    with pytest.raises(SystemExit, match="no lock file pins pip"):
        BUNDLE.write_bundle(tmp_path / "other", ["pip"], {})
