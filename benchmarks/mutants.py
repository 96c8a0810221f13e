"""Mutants: single changes of the code that the tests should notice.

``python benchmarks/mutants.py``, or ``make mutants``, changes one operator, condition or constant at a time in a copy
of the package, runs the default tests of that module against the copy, and prints which changes no test noticed.
A survivor that changes nothing that the package promises is judged in ``mutants.toml``, with a reason; any other
calls for a test. The changes are chosen by their text alone, so that those of a module stay when other code moves.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "glassine"
JUDGED = Path(__file__).with_suffix(".toml")

TESTS = {
    "privacy/mechanisms.py": ("privacy/test_mechanisms.py", "privacy/test_accounting.py"),
    "privacy/sensitivity.py": ("privacy/test_sensitivity.py", "privacy/test_smooth_sensitivity.py"),
    "privacy/conversions.py": ("privacy/test_conversions.py", "privacy/test_tails.py", "privacy/test_filters.py"),
    "privacy/release.py": ("privacy/test_spending.py", "contracts/test_private_fits.py"),
    "counting/regions.py": ("counting/test_regions.py",),
    "counting/space.py": ("counting/test_regions.py", "counting/test_logic.py", "counting/test_rule_logic.py"),
    "records/cells.py": ("records/test_cells.py", "domain/test_conforming.py"),
    "sealed/gibbs.py": (
        "learners/test_gibbs.py",
        "learners/test_list_class.py",
        "learners/test_tree_class.py",
        "verification",
    ),
    "sealed/weighting.py": ("learners/test_gibbs.py", "learners/test_losses.py"),
    "sealed/gini.py": ("learners/test_greedy_search.py", "learners/test_greedy_strict.py"),
    "learners/greedy/greedy_plan.py": ("learners/test_greedy_rule_list.py", "learners/test_greedy_published.py"),
    "auditing/suppression.py": (
        "auditing/test_suppression.py",
        "auditing/test_auditing.py",
        "report/test_disclosure.py",
    ),
    "auditing/criteria.py": ("auditing/test_criteria.py", "auditing/test_auditing.py"),
    "auditing/trees.py": (
        "auditing/test_auditing.py",
        "auditing/test_subjects.py",
        "auditing/test_membership.py",
        "formats/test_stated_parameters.py",
    ),
    "scrubbing/scrub.py": (
        "auditing/test_scrubbing.py",
        "auditing/test_scrubbing_gaps.py",
        "auditing/test_scrubbing_advantage.py",
    ),
    "scrubbing/additive.py": ("auditing/test_additive_scrubbing.py",),
    "microaggregation/mdav.py": ("microaggregation/test_distances.py", "microaggregation/test_mdav.py"),
}
"""The modules that are changed, and the tests below ``tests`` that speak of each; its doctests run as well."""

EACH = 6
"""Changes per module: 102 in all, about one for 50 lines."""

SEED = "2026"
"""The changes that every release tries; another seed, by ``--seed``, chooses others."""

SLOWER = 5
"""How many times the processor time of the unchanged module a change may take, before it counts as caught."""

LEAST_SECONDS = 60

NO_TESTS = 5
"""How pytest ends without tests: not every module has doctests."""

MEMORY = 8 << 30
"""Bytes that the tests of one change may take; a changed size may ask for any amount."""

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COMBINED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module.

    Attributes
    ----------
    module : str
        Path below the package.
    line : int
        Where the changed expression starts.
    change : str
        Module, function, the expression and what becomes of it; a number if there are several alike.
    text : str
        The whole module, changed.
    """

    module: str
    line: int
    change: str
    text: str

    def order(self, seed: str) -> str:
        """Return what the changes of a module are sorted by: their hashes, which any other change leaves alone."""
        return hashlib.sha256(f"{seed} {self.change}".encode()).hexdigest()


def mutants(module: str, text: str, seed: str = SEED) -> list[Mutant]:
    """Return every change of a module, in an order that the seed and each change's own words decide."""
    seen: Counter[str] = Counter()
    out = []
    for function, node, changed in _changes(ast.parse(text), "module"):
        change = f"{module} {function}: {ast.unparse(node)} -> {ast.unparse(changed)}".replace("\n", " ")
        seen[change] += 1
        if seen[change] > 1:
            change += f" ({seen[change]})"
        out.append(Mutant(module, node.lineno, change, _replaced(text, node, changed)))
    return sorted(out, key=lambda mutant: mutant.order(seed))


def _changes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr | ast.AugAssign, ast.expr | ast.AugAssign]]:
    """Yield the function, an expression and its change, for each below a node that decides what the code does."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = node.name if function == "module" else f"{function}.{node.name}"
    if isinstance(node, ast.expr | ast.AugAssign):
        for changed in _alternatives(node):
            yield function, node, changed
    if isinstance(node, ast.If | ast.While | ast.IfExp) and isinstance(node.test, ast.BoolOp | ast.Call | ast.Name):
        # The other conditions are negated as comparisons, and by what stands after "not".
        yield function, node.test, ast.UnaryOp(ast.Not(), node.test)
    for child in _deciding(node):
        yield from _changes(child, function)


def _deciding(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of a node, but what only describes: annotations, decorators, type aliases, words."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
        yield node.args[0]
        return
    if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
        return
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            # Python 3.11 has no positions inside a formatted string.
            words = name in ("annotation", "returns", "decorator_list") or isinstance(child, ast.JoinedStr)
            if isinstance(child, ast.AST) and not words:
                yield child


def _alternatives(node: ast.expr | ast.AugAssign) -> Iterator[ast.expr | ast.AugAssign]:
    """Yield what may become of an expression itself, its parts left alone."""
    if isinstance(node, ast.Compare):
        for i, comparison in enumerate(node.ops):
            swapped = [*node.ops[:i], COMPARED[type(comparison)](), *node.ops[i + 1 :]]
            yield ast.Compare(node.left, swapped, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in COMBINED:
            yield ast.BinOp(node.left, COMBINED[type(node.op)](), node.right)
    elif isinstance(node, ast.AugAssign):
        if type(node.op) in COMBINED:
            yield ast.AugAssign(node.target, COMBINED[type(node.op)](), node.value)
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not | ast.USub):
            yield node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)
        elif isinstance(node.value, float):
            yield ast.Constant(2 * node.value or 1.0)


def _replaced(text: str, node: ast.expr | ast.AugAssign, changed: ast.AST) -> str:
    """Return a module with one expression replaced; every other character stays."""
    lines = text.encode().splitlines(keepends=True)
    last, column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: last - 1])) + column
    new = ast.unparse(changed)
    data = b"".join(lines)
    return (data[:start] + (new if isinstance(node, ast.AugAssign) else f"({new})").encode() + data[end:]).decode()


def tried(mutant: Mutant | None, module: str, folder: Path, seconds: float) -> tuple[str, float]:
    """Run the tests of a module against a copy of the package.

    Parameters
    ----------
    mutant : Mutant or None
        The change; None runs them against the unchanged copy.
    module : str
        Path below the package.
    folder : Path
        Where the copy is made; it is removed afterwards.
    seconds : float
        Processor time after which the tests are ended.

    Returns
    -------
    tuple of str and float
        "caught", "caught by the time limit" or "survived", and the processor time in seconds.
    """
    package = folder / "glassine"
    path = package / module
    # Kernels that numba has compiled hold the kernels that they call, so that a change below one would go unnoticed.
    kept = shutil.ignore_patterns("*.nbi", "*.nbc") if "@compiled" in (PACKAGE / module).read_text() else None
    shutil.copytree(PACKAGE, package, ignore=kept)
    if mutant is not None:
        path.write_text(mutant.text)
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()
    before = _children_seconds()
    paths = [str(path), *(str(ROOT / "tests" / test) for test in TESTS[module])]
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(folder, paths, seconds))
    process.start()
    process.join(20 * seconds)
    if process.is_alive():
        process.kill()
        process.join()
    took = _children_seconds() - before
    shutil.rmtree(package)
    if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "caught by the time limit", took
    # 1: a test failed; 2 and 4: a test or conftest.py could not be collected, as the package cannot be imported, say;
    # without the change they were. A signal: it crashed.
    if process.exitcode in (1, 2, 4, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGFPE):
        return "caught", took
    if process.exitcode == 0:
        return "survived", took
    raise RuntimeError(f"pytest ended with {process.exitcode}:\n{(folder / 'output').read_text()[-5000:]}")


def _run(folder: Path, paths: Sequence[str], seconds: float) -> None:
    """Run tests against the package in a folder, in a process of its own; what they print stays there."""
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 10))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with (folder / "output").open("w") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    # Tests start processes, too.
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-n", "0", "-x", "-p", "no:cacheprovider"]
    module, *tests = paths
    # Apart, and last: pytest imports a module whose doctests it runs once more, under the same name.
    for part in filter(None, (tests, [module])):
        code = int(pytest.main([*options, *part]))
        if code not in (0, NO_TESTS):
            sys.exit(code)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def judged() -> dict[str, str]:
    """Return the changes that are judged harmless, and why."""
    entries = tomllib.loads(JUDGED.read_text())["harmless"]
    return {entry["change"]: entry["reason"] for entry in entries}


def chosen(module: str, seed: str = SEED) -> list[Mutant]:
    """Return the changes of a module that are tried, by line."""
    return sorted(mutants(module, (PACKAGE / module).read_text(), seed)[:EACH], key=lambda mutant: mutant.line)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the changes of every module, or of some, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", nargs="+", metavar="MODULE", choices=TESTS, default=list(TESTS), help="of these modules"
    )
    parser.add_argument("--list", action="store_true", help="print the changes, without trying them")
    parser.add_argument("--seed", default=SEED, metavar="TEXT", help="which changes are tried (default: %(default)s)")
    options = parser.parse_args(arguments)
    reasons, outcomes = judged(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for module in options.only:
            if options.list:
                say("\n".join(f"{mutant.line:5} {mutant.change}" for mutant in chosen(module, options.seed)))
                continue
            outcome, took = tried(None, module, Path(folder), 3600)
            if outcome != "survived":
                raise RuntimeError(f"the tests of {module} fail without any change. Mend them first.")
            for mutant in chosen(module, options.seed):
                outcome, _ = tried(mutant, module, Path(folder), max(LEAST_SECONDS, SLOWER * took))
                if outcome == "survived":
                    outcome = "harmless" if mutant.change in reasons else "harmful"
                outcomes[outcome] += 1
                say(f"{outcome}: {module}:{mutant.line} {mutant.change.partition(' ')[2]}")
                if outcome == "harmless":
                    say(f"    {reasons[mutant.change]}")
    if not options.list:
        say(", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items())))
    return 1 if outcomes["harmful"] else 0


def say(text: str) -> None:
    """Print a line of the result as soon as it is there."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
