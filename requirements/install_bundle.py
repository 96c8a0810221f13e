"""Verify the files of this folder, and install Glassine from them into a virtual environment, without a network.

``python3 install.py --verify`` or ``python3 install.py FOLDER``. It uses the standard library alone.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = "SHA256SUMS"


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        for piece in iter(lambda: stream.read(1 << 20), b""):
            found.update(piece)
    return found.hexdigest()


def faults(folder: Path) -> list[str]:
    """Return what is wrong with the files of a folder: each that differs, lacks or is not listed."""
    listed = dict(reversed(line.split("  ", 1)) for line in (folder / LIST).read_text().splitlines())
    here = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()} - {LIST}
    # What Python writes when it runs this script.
    here = {name for name in here if not name.startswith("__pycache__/")}
    out = [f"{name} is missing" for name in sorted(listed.keys() - here)]
    out += [f"{name} is not listed" for name in sorted(here - listed.keys())]
    both = sorted(here & listed.keys())
    return out + [f"{name} was changed" for name in both if digest(folder / name) != listed[name]]


def install(folder: Path) -> Path:
    """Make a virtual environment, install the wheels into it, and return the command."""
    venv.create(folder, with_pip=True)
    place = folder / ("Scripts" if os.name == "nt" else "bin")
    python = place / ("python.exe" if os.name == "nt" else "python")
    options = ("--no-index", "--no-deps", "--only-binary", ":all:", "--require-hashes")
    files = ("--find-links", str(HERE / "wheels"), "--requirement", str(HERE / "requirements.txt"))
    command = [str(python), "-m", "pip", "--isolated", "--disable-pip-version-check", "install", *options, *files]
    subprocess.run(command, check=True)  # noqa: S603
    return place / ("glassine.exe" if os.name == "nt" else "glassine")


def main() -> None:
    """Verify, and install where a folder is named."""
    parser = argparse.ArgumentParser(description="Verify this folder, and install Glassine from it.")
    parser.add_argument("folder", type=Path, nargs="?", help="a new folder for the virtual environment")
    parser.add_argument("--verify", action="store_true", help="compare the files with their list, and stop")
    options = parser.parse_args()
    if options.folder is None and not options.verify:
        parser.error("name a folder, or give --verify")
    wrong = faults(HERE)
    if wrong:
        sys.exit("Do not install from this folder:\n" + "\n".join(wrong))
    print(f"All files are those of {LIST}.")  # noqa: T201
    if options.verify:
        return
    if options.folder.exists():
        sys.exit(f"{options.folder} exists. Name a new folder.")
    print(f"Installed. Start with {install(options.folder)} --help")  # noqa: T201


if __name__ == "__main__":
    main()
