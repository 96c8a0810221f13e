"""Makes an environment for each peer: ``python benchmarks/peers/environments.py [--into FOLDER]``.

Each peer has its own, because their needs exclude each other. What cannot be made is named, with the reason.
GLASSINE_PYTHON_3_10 and the like name interpreters that are neither on PATH nor pyenv's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "glassine-peers"


@dataclass(frozen=True)
class Peer:
    """A peer: what it imports as, its runner, and how its environment is made.

    Without ``requirements`` it runs in the environment of the caller. ``first`` is installed before, for a package that
    does not say what it needs to be built.
    """

    name: str
    module: str
    runner: str
    requirements: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()


PEERS = (
    Peer("glassine", "glassine", "run_glassine.py"),
    Peer(
        "pystreed", "pystreed", "run_pystreed.py", requirements=("pystreed==1.4.0",), pythons=("3.12", "3.11", "3.10")
    ),
    # It imports distutils, which Python 3.12 dropped; its source takes minutes to compile.
    Peer("pydl8.5", "pydl85", "run_pydl85.py", requirements=("pydl8.5==0.1.8",), pythons=("3.11", "3.10")),
    # Its C++ was generated for Python up to 3.10, its Python names np.bool, its setup.py imports NumPy undeclared.
    Peer(
        "corels",
        "corels",
        "run_corels.py",
        requirements=("corels==1.1.29",),
        first=("setuptools<66", "wheel", "numpy<1.24"),
        pythons=("3.10", "3.9"),
    ),
    Peer("oracle", "numpy", "run_oracle.py"),
)

# Private learners, whose claims benchmarks/verification.py tests; they have no part in optimal.py.
PRIVATE_PEERS = (
    # Its logistic regression uses what scikit-learn 1.8 and newer SciPy took away, its trees what 1.9 did.
    Peer(
        "diffprivlib",
        "diffprivlib.models",
        "run_diffprivlib.py",
        requirements=("diffprivlib==0.6.6", "scikit-learn<1.8", "scipy<1.16"),
        pythons=("3.12", "3.11", "3.10"),
    ),
)

# What else benchmarks/ratios.py compares with. The first two are needed by the tests, and so stand beside Glassine.
OTHER_PEERS = (
    Peer(
        "interpret", "interpret.privacy", "", requirements=("interpret-core==0.7.8",), pythons=("3.12", "3.11", "3.10")
    ),
    # What papers/dp-ebm compares additive models without privacy with.
    Peer(
        "lightgbm", "lightgbm", "", requirements=("lightgbm==4.7.0", "scikit-learn"), pythons=("3.12", "3.11", "3.10")
    ),
    # It needs typing.Self, which Python 3.11 brought.
    Peer("dpmm", "dpmm.pipelines", "", requirements=("dpmm==0.1.9",), pythons=("3.11", "3.12")),
    # It imports six without declaring it.
    Peer("imodels", "imodels", "", requirements=("imodels==3.0.4", "six>=1.16"), pythons=("3.12", "3.11", "3.10")),
    # A CPU build of torch, which it imports at once, satisfies the pin where an index has one.
    Peer(
        "sacroml",
        "sacroml.attacks.structural_attack",
        "",
        requirements=("sacroml==2.0.1", "torch==2.13.0"),
        pythons=("3.11", "3.12"),
    ),
    # It calls what NumPy 2 took away.
    Peer(
        "fasterrisk",
        "fasterrisk.fasterrisk",
        "run_fasterrisk.py",
        requirements=("fasterrisk==0.1.10", "numpy<2"),
        pythons=("3.12", "3.11", "3.10"),
    ),
)
EVERY_PEER = (*PEERS, *PRIVATE_PEERS, *OTHER_PEERS)


class Missing(Exception):
    """A peer cannot run; the message says why."""


def works(command: list[str]) -> bool:
    """Whether a command ends well."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603 - made here
    except OSError:
        return False


def interpreter(version: str) -> Path | None:
    """Return a Python of this version: named by a variable, on PATH, or pyenv's."""
    named = os.environ.get("GLASSINE_PYTHON_" + version.replace(".", "_"))
    on_path = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    candidates = [Path(found) for found in (named, on_path) if found]
    candidates += sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    check = f"import sys; assert sys.version_info[:2] == {tuple(map(int, version.split('.')))}"
    return next((path for path in candidates if works([str(path), "-c", check])), None)


def python_of(peer: Peer, folder: Path = FOLDER) -> Path:
    """Return the interpreter that has a peer, or raise Missing."""
    made = folder / peer.name / "bin" / "python"
    for path in (made, Path(sys.executable)):
        if path.exists() and works([str(path), "-c", f"import {peer.module}"]):
            return path
    reason = folder / f"{peer.name}.txt"
    if reason.exists():
        raise Missing(reason.read_text())
    raise Missing("has no environment yet: run benchmarks/peers/environments.py")


def install(python: Path, *arguments: str) -> None:
    """Install into an environment, or raise Missing with the installer's own reason."""
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - made here
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if "error" in line.lower()]
        compiler = [line for line in lines if "fatal error" in line]
        reason = (compiler or lines or ["no reason given"])[-1]
        raise Missing(f"{' '.join(arguments)} does not install on {python}: {reason}")


def make(peer: Peer, folder: Path) -> Path:
    """Make the environment of a peer and return its interpreter, or raise Missing."""
    found = next(filter(None, map(interpreter, peer.pythons)), None)
    if found is None:
        variable = "GLASSINE_PYTHON_" + peer.pythons[0].replace(".", "_")
        raise Missing(f"needs Python {' or '.join(peer.pythons)}, and none is here; {variable} may name one")
    home = folder / peer.name
    subprocess.run([str(found), "-m", "venv", "--clear", str(home)], check=True)  # noqa: S603 - made here
    python = home / "bin" / "python"
    if peer.first:
        install(python, *peer.first)
        install(python, "--no-build-isolation", *peer.requirements)
    else:
        install(python, *peer.requirements)
    if not works([str(python), "-c", f"import {peer.module}"]):
        raise Missing(f"installs with {found}, but does not import")
    return python


def prepare(peer: Peer, folder: Path) -> Path:
    """Return the interpreter of a peer, making its environment where there is none; remember why it cannot be."""
    try:
        return python_of(peer, folder)
    except Missing:
        if not peer.requirements:
            raise
    folder.mkdir(parents=True, exist_ok=True)
    reason = folder / f"{peer.name}.txt"
    reason.unlink(missing_ok=True)
    try:
        return make(peer, folder)
    except Missing as missing:
        shutil.rmtree(folder / peer.name, ignore_errors=True)
        reason.write_text(str(missing))
        raise


def main() -> None:
    """Make what is not there and print a line for each peer; the exit status says whether one is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", nargs="+", choices=[peer.name for peer in EVERY_PEER], help="only these")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of the environments (default: %(default)s)")
    arguments = parser.parse_args()
    missing = False
    for peer in EVERY_PEER:
        if arguments.peers and peer.name not in arguments.peers:
            continue
        try:
            line = str(prepare(peer, arguments.into))
        except Missing as reason:
            line, missing = f"missing: {reason}", True
        print(f"{peer.name:10} {line}")  # noqa: T201 - what was asked for
    sys.exit(int(missing))


if __name__ == "__main__":
    main()
