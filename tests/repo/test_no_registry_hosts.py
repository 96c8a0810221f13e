"""No file of the repository names the host of a package registry: the installer's own configuration decides."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.repo.code_blocks import ROOT

# In parts, so that this file holds none of them.
HOSTS = [
    ".".join(parts).encode()
    for parts in [
        ("pypi", "org"),
        ("pypi", "python", "org"),
        ("pythonhosted", "org"),
        ("anaconda", "org"),
        ("anaconda", "com"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("unpkg", "com"),
        ("jsdelivr", "net"),
        ("crates", "io"),
        ("rubygems", "org"),
        ("maven", "org"),
        ("piwheels", "org"),
    ]
]
OPTIONS = [b"--" + name + b"-url" for name in (b"index", b"extra-index")]


def repository_files() -> list[Path]:
    """Files that are or would be committed."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    listed = subprocess.run(
        [git, "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def hosts_in(content: bytes) -> list[str]:
    """Registry hosts that the content names."""
    lowered = content.lower()
    return [host.decode() for host in HOSTS if host in lowered]


def test_no_file_names_a_registry() -> None:
    files = repository_files()
    assert files
    found = {str(path.relative_to(ROOT)): hosts_in(path.read_bytes()) for path in files}
    assert not {name: hosts for name, hosts in found.items() if hosts}


def test_lock_files_hold_no_index_option() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        content = lock.read_bytes()
        assert b"--hash=sha256:" in content
        assert b"://" not in content
        assert not any(option in content for option in OPTIONS)


def test_a_planted_host_is_found() -> None:
    assert hosts_in(b"see https://" + HOSTS[0].upper() + b"/project") == [HOSTS[0].decode()]
