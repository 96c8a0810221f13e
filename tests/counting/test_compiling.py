"""Kernels compile whatever is kept on disk, and what is kept is of the code that runs."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

import glassine
from glassine.compiling import Kernel, compiled, disk

INNER = """
from typing import NamedTuple
from glassine.compiling import compiled

STEP = 1

class Pair(NamedTuple):
    one: int
    two: int

@compiled
def add(x):
    return x + STEP
"""
OUTER = """
from glassine.compiling import compiled
from inner import add

@compiled
def both(pair):
    return 10 * add(pair.one) + add(pair.two)
"""


def double(x: int) -> int:
    """Return twice a number."""
    return 2 * x


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a kernel, another one in a file of its own that calls it, and what a run of it keeps."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "inner.py").write_text(INNER)
    (folder / "outer.py").write_text(OUTER)
    assert [run(folder), run(folder)] == ["23 0", "23 1"]
    return folder


@pytest.fixture
def modules(kept: Path, tmp_path: Path) -> Path:
    """Return a copy of the kernels and of what was kept of them."""
    return Path(shutil.copytree(kept, tmp_path / "kernels"))


def run(folder: Path, pair: str = "Pair") -> str:
    """Return what a process of its own gets from the outer kernel, and how often it found it on disk."""
    code = f"import inner, outer; print(outer.both(inner.{pair}(1, 2)), outer.both.dispatcher.stats.cache_hits.total())"
    paths = os.pathsep.join([str(folder), str(Path(glassine.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        # Python's own cache does not see a change of equal length within a second.
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr


def test_a_kernel_is_kept_and_loaded(modules: Path) -> None:
    assert run(modules) == "23 1"


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ("x + STEP", "x - STEP", "1 0"),
        ("STEP = 1", "STEP = 5", "67 0"),
        ("one: int\n    two", "two: int\n    one", "32 0"),
    ],
)
def test_a_kernel_is_compiled_again_where_one_that_it_calls_has_changed(
    modules: Path, old: str, new: str, result: str
) -> None:
    (modules / "inner.py").write_text(INNER.replace(old, new))
    assert run(modules) == result


def test_a_type_that_has_another_name_now_is_compiled_again(modules: Path) -> None:
    (modules / "inner.py").write_text(INNER.replace("Pair", "Duo"))
    assert [run(modules, "Duo"), run(modules, "Duo")] == ["23 0", "23 1"]


@pytest.mark.parametrize("left", [0, -1])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_files_that_are_cut_off_are_replaced(modules: Path, ending: str, left: int) -> None:
    file = next((modules / "__pycache__").glob(f"outer.*.{ending}"))
    file.write_bytes(file.read_bytes()[:left])
    assert [run(modules), run(modules)] == ["23 0", "23 1"]


@pytest.mark.parametrize("step", ["_open_for_write", "_load_index", "_load_data"])
def test_a_kernel_runs_where_its_files_cannot_be_written_or_read(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EACCES if "load" in step else errno.ENOSPC, "forced")

    monkeypatch.setattr(IndexDataCacheFile, step, refused)
    assert compiled(double)(21) == 42


def test_a_kernel_runs_where_there_is_no_place_for_its_files() -> None:
    names: dict[str, Any] = {}
    exec("def triple(x): return 3 * x", names)  # noqa: S102 - a function of no file, which Numba keeps nowhere
    kernel = compiled(names["triple"])
    assert kernel(14) == 42
    assert kernel.dispatcher.stats.cache_path is None


def test_processes_that_compile_at_once_do_not_write_into_the_files_of_another(
    monkeypatch: pytest.MonkeyPatch, modules: Path
) -> None:
    monkeypatch.syspath_prepend(str(modules))
    function = import_module("inner").add._function
    with monkeypatch.context() as patch:
        # Each reads the list of files before the other has written it.
        patch.setattr(IndexDataCacheFile, "_load_index", lambda _: {})
        assert (compiled(function)(1), compiled(function)(1.5)) == (2, 2.5)
    assert len(list((modules / "__pycache__").glob("inner.*.nbc"))) == 2


def test_all_that_is_compiled_into_a_kernel_is_compared() -> None:
    package = Path(glassine.__file__).parent
    names = [
        ".".join(path.relative_to(package.parent).with_suffix("").parts)
        for path in package.rglob("*.py")
        if "@compiled" in path.read_text()
    ]
    kernels = [kernel for name in names for kernel in vars(import_module(name)).values() if isinstance(kernel, Kernel)]
    assert len(kernels) > 100
    for kernel in kernels:
        function = kernel._function
        used = [function.__globals__.get(name) for name in function.__code__.co_names]
        modules = {value.__name__ for value in used if isinstance(value, type(os))}
        assert modules <= {"math", "numpy"}, "kernels are called by their own name"
        assert " at 0x" not in "".join(disk._parts(function)), "of every process the same"


def test_types_are_named_to_numba_once() -> None:
    kernel, named = Kernel(len), list[tuple[Any, ...]]()
    kernel._dispatcher = SimpleNamespace(compile=named.append)
    square = np.zeros((2, 2))
    reading = np.zeros(2)
    reading.flags.writeable = False
    kinds: list[tuple[Any, ...]] = [
        (square,),
        (square.T,),
        (square[:, ::2],),
        (square.astype(np.float32),),
        (np.zeros(2),),
        (reading,),
        (1, square),
        (1.0, square),
        ((1, square),),
    ]
    for examples in kinds * 2:
        kernel.load(*examples)
    assert len(named) == len(set(named)) == len(kinds)
