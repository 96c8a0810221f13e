"""Write one folder from which Glassine is installed in a room without a network: wheels, hashes, a script and a page.

``make bundle OUT=folder [ARGS="--extras server,plots"]``. The wheels are those that the lock files pin, for this
platform and this version of Python. The script in the folder checks every hash before it installs anything.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = Path(__file__).with_name("install_bundle.py")
EXTRAS = ("desk", "server", "formats")
"""What a checker's room needs; those that the project does not declare are left out."""


def pins(lock: str) -> dict[str, str]:
    r"""Return the entry of each package of a lock file, with its hashes, by its normalized name.

    Examples
    --------
    >>> pins("A.b[x]==1.0 ; python_version > '3' \\\n    --hash=sha256:00 \\\n    # via c\n")
    {'a-b': "A.b[x]==1.0 ; python_version > '3' --hash=sha256:00"}
    """
    entries = re.split(r"\n(?=\S)", re.sub(r"(?m)^\s*#.*\n?", "", lock))
    found = (re.sub(r"\s*\\\n\s*", " ", entry).strip() for entry in entries if "==" in entry)
    return {canonicalize_name(re.split(r"[\[=]", entry, maxsplit=1)[0].strip()): entry for entry in found}


def closure(requirements: Iterable[str]) -> list[str]:
    """Return the normalized names of all packages that requirements need on this platform, by what is installed."""
    seen: dict[str, set[str]] = {}
    waiting = [Requirement(one) for one in requirements]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        new = (set(one.extras) | {""}) - seen.get(name, set())
        if not new:
            continue
        seen.setdefault(name, set()).update(new)
        for entry in metadata.requires(name) or ():
            needed = Requirement(entry)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in new):
                waiting.append(needed)
    return sorted(seen)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pip(*words: str) -> None:
    """Run pip of this environment."""
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words], check=True)  # noqa: S603


def own_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout, with what is installed already."""
    pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("glassine-*.whl")
    return wheel


def write_bundle(out: Path, names: Iterable[str], lock: Mapping[str, str]) -> str:
    """Write the folder of some packages of a lock and of this checkout, and return the digest of its list of hashes.

    Raises
    ------
    SystemExit
        If the folder exists, or a package is not pinned.
    """
    if out.exists():
        raise SystemExit(f"{out} exists. Name a new folder: make bundle OUT=folder")
    names = sorted(names)
    missing = [name for name in names if name not in lock]
    if missing:
        raise SystemExit(f"no lock file pins {', '.join(missing)}. Run make lock.")
    wheels = out / "wheels"
    wheels.mkdir(parents=True)
    pinned = wheels / "pinned.txt"
    pinned.write_text("".join(f"{lock[name]}\n" for name in names))
    if names:
        words = ("--quiet", "--only-binary", ":all:", "--no-deps", "--require-hashes", "--dest", str(wheels))
        pip("download", *words, "--requirement", str(pinned))
    pinned.unlink()
    own = own_wheel(wheels)
    files = sorted(wheels.glob("*.whl"))
    # Of the hashes of a lock, those of this platform alone: what is installed is what lies here.
    lines = [f"{_name_of(file)} --hash=sha256:{digest(file)}" for file in files]
    (out / "requirements.txt").write_text("\n".join(lines) + "\n")
    (out / "install.py").write_text(SCRIPT.read_text())
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    made_for = f"Python {version}, {platform.system()}, {platform.machine()}"
    (out / "INSTALL.md").write_text(PAGE.format(wheel=own.name, made_for=made_for, n=len(files)))
    listed = sorted(path for path in out.rglob("*") if path.is_file())
    sums = "".join(f"{digest(path)}  {path.relative_to(out).as_posix()}\n" for path in listed)
    (out / "SHA256SUMS").write_text(sums)
    return digest(out / "SHA256SUMS")


def _name_of(wheel: Path) -> str:
    name, version = wheel.name.split("-")[:2]
    return f"{name}=={version}"


PAGE = """# Install Glassine without a network

This folder holds {n} wheels for {made_for}, `{wheel}` among them. Nothing else is downloaded.

## Verify

1. Whoever made the folder also got the SHA-256 of `SHA256SUMS`. Ask for it by another way than the folder came.
2. Compare: `sha256sum SHA256SUMS` (Windows: `certutil -hashfile SHA256SUMS SHA256`).
3. `python3 install.py --verify` compares every file with the list, and names each that differs, lacks or is not listed.

## Install

`python3 install.py FOLDER` verifies the files, makes a virtual environment in FOLDER, and installs the wheels into it
by their hashes. It asks no index: pip is called with `--no-index`. It needs Python with `venv`, of the version above.

## Start

`FOLDER/bin/glassine --help` (Windows: `FOLDER\\Scripts\\glassine.exe --help`).
`FOLDER/bin/glassine desk OUTPUTS` opens the desk on a folder of files, in the browser (Linux and macOS).
"""


def main() -> None:
    """Write the bundle that the arguments name."""
    parser = argparse.ArgumentParser(description="Write a folder from which Glassine is installed without a network.")
    parser.add_argument("out", type=Path, help="a new folder")
    parser.add_argument("--extras", help=f"extras, by commas; by default those of {', '.join(EXTRAS)} that there are")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["optional-dependencies"]
    extras = [one for one in EXTRAS if one in declared] if options.extras is None else options.extras.split(",")
    unknown = [one for one in extras if one and one not in declared]
    if unknown:
        raise SystemExit(f"there is no extra {unknown[0]!r}. There are {', '.join(declared)}.")
    wanted = [*project["dependencies"], *(entry for extra in extras if extra for entry in declared[extra])]
    names = [name for name in closure(wanted) if name != "glassine"]
    lock = pins((ROOT / "requirements" / "dev.txt").read_text())
    said = write_bundle(options.out, names, lock)
    print(f"{options.out}: hand over this SHA-256 of SHA256SUMS by another way:\n{said}")  # noqa: T201


if __name__ == "__main__":
    main()
