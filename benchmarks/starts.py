"""What imports inside functions spare: ``python benchmarks/starts.py``.

Runs commands and library calls in processes of their own, and prints the CPU seconds and the modules of each. Then it
lists the imports inside functions that spare none of them anything: each flow that loads their file has loaded what
they import as well. Such an import belongs at the top. Nothing is said of files that no flow loads.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.house import lazy_imports, sources  # noqa: E402
from benchmarks.minutes import write_inputs  # noqa: E402

FILES = ROOT / "tests" / "formats"
OF_RECORDS = "--data records.csv --target ill"
PRIVATE = "records.csv --target ill --epsilon 1 --domain domain.json"
QUERY = '{"age":45,"pressure":120,"region":"north","ill":"no"}'
BLACK_BOX = "--black-box black_box:decide --takes array --domain domain.json --classes no,yes"

HELPS = (
    *("audit", "scrub", "edit", "fit tree", "summarize", "sample", "merge", "compare", "rebuild", "export"),
    *("domain infer", "ledger show", "evidence", "certificate verify", "explain make", "explain serve", "desk", "demo"),
)

COMMANDS = {
    "help": "--help",
    **{f"help of {name}": f"{name} --help" for name in HELPS},
    "audit of a model alone": "audit model.json",
    "audit of a tree with records": f"audit tree.json --domain domain.json {OF_RECORDS} -o report.html",
    "audit of a tree with held-out records": f"audit tree.json {OF_RECORDS} --holdout others.csv",
    "audit of a sensitive attribute": "audit tree.json --only disclosure --data records.csv --sensitive ill",
    "audit of a regression": f"audit {FILES / 'regressions' / 'r_logit.txt'}",
    "audit of a boosted ensemble": f"audit {FILES / 'files' / 'xgboost_three.json'}",
    "audit of two trees": "audit tree.json model.json --together --domain domain.json",
    "scrub of a tree": "scrub tree.json --domain domain.json --smallest-leaf 10 -o scrubbed.json",
    "draft of a domain": "domain infer records.csv -o drafted.json",
    "check of records": "domain check domain.json --data records.csv",
    "budget": "ledger budget ledger.sqlite people 3",
    "fit of a private tree": f"fit tree {PRIVATE} -o private.json",
    "fit of a private additive model": f"fit additive {PRIVATE} -o additive.json",
    "audit of a private tree": "audit private.json --domain domain.json",
    "audit of an additive model": f"audit additive.json --domain domain.json {OF_RECORDS}",
    "edit": "edit additive.json --page editor.html",
    "certificate": "certificate verify private.json private.certificate.json",
    "SQL": "export tree.json --to sql",
    "summary": f"summarize {PRIVATE} -o summary.json",
    "sample of a summary": "sample summary.json --n-rows 100 -o rows.csv",
    "rebuild": "rebuild tree.json --domain domain.json",
    "comparison": "compare records.csv --target ill --domain domain.json --epsilon 1 --models rule-list",
    "explanations": f"explain make records.csv {BLACK_BOX} -k 100 -o release.json",
    "explanation": f"explain answer release.json --query {QUERY} --decision no",
}
"""Commands, in order: later ones read what earlier ones wrote."""

CALLS = {
    "import of Glassine": "import glassine",
    "audit of an estimator": (
        "from sklearn.tree import DecisionTreeClassifier\nimport glassine\n"
        "glassine.audit(DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1]))"
    ),
    "reading of a model": "from glassine.formats import load_model\nload_model('model.json')",
}

ENDS = {0, 1, 3}
BLACK_BOX_MODULE = (
    "import numpy as np\n\n\ndef decide(x):\n    return np.where(x[:, 0].astype(float) > 50, 'yes', 'no')\n"
)
LISTED = """
import sys
modules = sorted(sys.modules)
import json, resource
spent = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([spent.ru_utime + spent.ru_stime, modules]), file=sys.__stderr__)
"""


def code(words: str) -> str:
    """Return a program that runs a command and goes on."""
    return (
        f"import sys\nsys.argv = ['glassine', *{words.split()!r}]\nfrom glassine.cli import main\n"
        f"try:\n    main()\nexcept SystemExit as end:\n    assert end.code in {ENDS}, end.code"
    )


def write_files(folder: Path) -> None:
    """Write what the commands read: records, held-out ones, a domain, a rule list, a tree and a black box."""
    from sklearn.tree import DecisionTreeClassifier

    from glassine import as_model, write_model

    write_inputs(folder)
    lines = (folder / "records.csv").read_text().splitlines()
    (folder / "records.csv").write_text("\n".join(lines[:2001]) + "\n")
    (folder / "others.csv").write_text("\n".join([lines[0], *lines[2001:]]) + "\n")
    (folder / "black_box.py").write_text(BLACK_BOX_MODULE)
    table = np.genfromtxt(folder / "records.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=30, random_state=0)
    tree.fit(np.column_stack([table["age"], table["pressure"]]), table["ill"])
    tree.feature_names_in_ = np.array(["age", "pressure"], dtype=object)
    write_model(as_model(tree), folder / "tree.json")


def loaded(folder: Path) -> Iterator[tuple[str, float, set[str]]]:
    """Yield each flow: its name, its CPU seconds and the modules that it loaded."""
    for name, program in ({name: code(words) for name, words in COMMANDS.items()} | CALLS).items():
        done = subprocess.run(  # noqa: S603 - our own interpreter and files
            [sys.executable, "-c", program + LISTED], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr}")
        seconds, modules = json.loads(done.stderr.splitlines()[-1])
        yield name, seconds, set(modules)


def homes(package: Path) -> dict[tuple[str, str], str]:
    """Return the module behind each name that a room finds when it is asked for."""
    return {
        (".".join(stub.parent.relative_to(package.parent).parts), alias.name): node.module
        for stub in package.rglob("__init__.pyi")
        for node in ast.walk(ast.parse(stub.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def idle(package: Path, flows: Mapping[str, set[str]]) -> list[str]:
    """Return the imports in functions that spare no flow anything, of files that some flow loads."""
    modules = sources(package)
    behind = homes(package)

    def targets(node: ast.Import | ast.ImportFrom) -> set[str]:
        if isinstance(node, ast.Import):
            return {alias.name for alias in node.names}
        full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return {
            whole if whole in modules else behind.get((node.module or "", name), node.module or "")
            for name, whole in full.items()
        }

    return [
        f"{name}:{node.lineno}"
        for name, (_, text) in modules.items()
        if (there := [found for found in flows.values() if name in found])
        for node in lazy_imports(text)
        if all(targets(node) <= found for found in there)
    ]


def main() -> None:
    """Print the figures."""
    flows = {}
    sys.stdout.write("| flow | CPU s | modules |\n|---|---|---|\n")
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name))
        for flow, seconds, modules in loaded(Path(name)):
            flows[flow] = modules
            sys.stdout.write(f"| {flow} | {seconds:.2f} | {len(modules):,} |\n")
    useless = idle(ROOT / "src" / "glassine", flows)
    sys.stdout.write("\n".join([f"{len(useless)} imports inside functions spare no flow anything", *useless]) + "\n")


if __name__ == "__main__":
    main()
