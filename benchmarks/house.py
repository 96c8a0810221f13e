"""The figures of the house: rooms, arrows, circles, names, sizes and habits of the code.

``python benchmarks/house.py [FOLDER]``, or ``make house``, prints what the code below ``src/glassine`` (or of another
checkout) comes to. Nothing of the package is run: files are read as text. Code lines have neither docstrings nor
comments, blanks nor imports.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import cast

ROOT = Path(__file__).resolve().parents[1]

PRIVATE_WORDS = {
    *("found", "known", "told", "given", "held", "shown", "apart", "strangers", "faint", "take_in"),
    *("only", "without", "usual", "unread", "beside", "doubted", "attacked", "assume"),
}
"""Names that name nothing: a result, a reader or a message has a noun of its own."""

STOP_WORDS = (
    *(
        "alike",
        "anew",
        "anybody",
        "anyhow",
        "as it is",
        "at hand",
        "beside them",
        "by itself",
        "everybody",
        "if any",
        "in all",
    ),
    *("learnt", "nobody", "nought", "of its own", "or so", "provably", "somebody", "tell", "telling", "tells"),
    *("the like", "the very", "thus", "told", "too.", "whatever", "wherever", "whoever"),
)
"""Words that what a user reads does without; ``too`` is one at the end of a sentence."""

WHO_AND_HOW = {
    *("anybody", "everybody", "learnt", "nobody", "provably", "somebody", "tell", "telling", "tells", "told", "whoever")
}
"""Those that hide who acts, or what is revealed: comments and proof notes do without them as well."""

MOST_WORDS = 25
"""Of a sentence that a user reads."""

MOST_PARAMETERS = 8
"""Of a function that is no estimator's constructor; more of them travel together as a value."""

MOST_LINES = 500
"""Beyond it, a module is looked at: is it still one idea?"""


def sources(package: Path) -> dict[str, tuple[Path, str]]:
    """Return the path and text of every module, by its dotted name."""
    out = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = (path, path.read_text())
    return out


@lru_cache(maxsize=1)
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Return every node of a module; several figures of one module in a row walk it once."""
    return tuple(ast.walk(ast.parse(text)))


def arrows(modules: Mapping[str, tuple[Path, str]]) -> dict[str, set[str]]:
    """Return the modules that each module imports, wherever the import stands; the package itself aside."""
    out: dict[str, set[str]] = defaultdict(set)
    for name, (_, text) in modules.items():
        for node in nodes(text):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                targets = [f"{node.module}.{alias.name}" for alias in node.names]
                out[name] |= {target if target in modules else node.module for target in targets}
            elif isinstance(node, ast.Import):
                out[name] |= {alias.name for alias in node.names}
    package = next(iter(modules)).partition(".")[0]
    return {name: {target for target in out[name] if target in modules} - {name, package} for name in modules}


def circles(imported: Mapping[str, set[str]]) -> list[str]:
    """Return the modules that import themselves by way of others."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for target in imported[ahead.pop()] - seen:
                seen.add(target)
                ahead.append(target)
        return seen

    return [name for name in imported if name in reached(name)]


def _statements(node: ast.AST, *, inside: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the imports of a module that run, and whether each stands in a function; guarded ones are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, inside
        elif not isinstance(child, ast.Try) and not (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        ):
            yield from _statements(child, inside=inside or isinstance(child, ast.FunctionDef))


def movable_imports(package: Path) -> list[str]:
    """Return the imports in functions whose modules a file loads anyway: at the top they would cost nothing."""
    modules = sources(package)
    homes = {
        (".".join(stub.parent.relative_to(package.parent).parts), alias.name): node.module
        for stub in package.rglob("__init__.pyi")
        for node in ast.walk(ast.parse(stub.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    """Names that a room finds when they are asked for, and the module of each."""

    def named(node: ast.Import | ast.ImportFrom) -> set[str]:
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        else:
            base = node.module or ""
            below = {f"{base}.{alias.name}" for alias in node.names} & set(modules)
            names = {base} | below | {homes.get((base, alias.name)) or base for alias in node.names}
        return {name.rsplit(".", above)[0] for name in names for above in range(name.count(".") + 1)}

    imports = {name: list(_statements(ast.parse(text))) for name, (_, text) in modules.items()}
    at_top = {
        name: {target for node, inside in found if not inside for target in named(node)}
        for name, found in imports.items()
    }

    def loaded(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for target in at_top.get(ahead.pop(), set()) - seen:
                seen.add(target)
                ahead.append(target)
        return seen

    return [
        f"{name}:{node.lineno}"
        for name, found in imports.items()
        for node, inside in found
        if inside and named(node) <= loaded(name) | {name.rsplit(".", above)[0] for above in range(name.count(".") + 1)}
    ]


def room(module: str) -> str:
    """Return the room of a module: the first folder or file below the package."""
    return [*module.split("."), "the package itself"][1]


USER_PAGES = ("tutorials", "how-to", "reference", "explanation")
"""The folders of the pages for users."""


def comment_lines(text: str) -> tuple[int, int]:
    """Return how many lines have a comment, and how many have code; docstrings and imports are neither."""
    neither: set[int] = set()
    for node in nodes(text):
        docstring = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if docstring or isinstance(node, ast.Import | ast.ImportFrom):
            at = cast("ast.stmt", node)
            neither |= set(range(at.lineno, (at.end_lineno or at.lineno) + 1))
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    comments = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    code = {line for token in tokens if token.type not in blank for line in range(token.start[0], token.end[0] + 1)}
    return len(comments), len(code - neither)


def classes(modules: Mapping[str, tuple[Path, str]]) -> dict[str, list[str]]:
    """Return the names of classes that several modules define, and those modules; ``_Name`` is its file's."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, (_, text) in modules.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    return {name: places for name, places in homes.items() if len(places) > 1}


def lazy_imports(text: str) -> list[ast.Import | ast.ImportFrom]:
    """Return the import statements of a module that stand inside functions."""
    inside = {
        one.lineno: one
        for node in nodes(text)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for one in ast.walk(node)
        if isinstance(one, ast.Import | ast.ImportFrom)
    }
    return list(inside.values())


def bound(node: ast.AST) -> str | None:
    """Return the name that a node binds: of a value, an attribute, a parameter or a function, without ``_``."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name.lstrip("_")
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name.lstrip("_")
    return None


def nameless(package: Path) -> list[str]:
    """Return where a name is bound that names nothing, and the name."""
    return [
        f"{path.relative_to(package.parent)}:{getattr(node, 'lineno', 0)} {bound(node)}"
        for path, text in sources(package).values()
        for node in nodes(text)
        if bound(node) in PRIVATE_WORDS
    ]


def functions(text: str) -> Iterator[tuple[ast.FunctionDef, bool]]:
    """Yield every function, and whether it makes an instance of a class."""
    for node in nodes(text):
        if isinstance(node, ast.FunctionDef):
            yield node, node.name == "__init__"


def structure(imported: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the figures of rooms and of the arrows between them."""
    between = {(room(a), room(b)) for a, targets in imported.items() for b in targets if room(a) != room(b)}
    return {
        "rooms": len({room(name) for name in imported}),
        "arrows between rooms": len(between),
        "files in import circles": len(circles(imported)),
    }


def stops(prose: str) -> Counter[str]:
    """Return how often each stop word is in a text."""
    flat = " ".join(prose.casefold().split())
    found = Counter({word: len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", flat)) for word in STOP_WORDS})
    return +found


def comments(text: str) -> str:
    """Return the comments of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join(token.string for token in tokens if token.type == tokenize.COMMENT)


def texts(text: str) -> list[str]:
    """Return the strings of a module that are sentences rather than names, docstrings among them."""
    values = (node.value for node in nodes(text) if isinstance(node, ast.Constant))
    return [value for value in values if isinstance(value, str) and value.count(" ") > 1]


def prose_of(page: str) -> str:
    """Return the sentences of a Markdown page: no code, tables, headings, mathematics, directives or comments."""
    page = re.sub(r"<!--.*?-->|^(`{3,}).*?^\1`*$", "", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"\$\$.*?\$\$", "", page, flags=re.DOTALL)
    page = re.sub(r"\$[^$\n]+\$|`[^`\n]+`", "X", page)
    page = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", page)
    page = re.sub(r"\{[a-z:]+\}X?|^\(.*\)=$|^[|#].*$", "", page, flags=re.MULTILINE)
    # The items of a list are sentences, whether they end with a point or not.
    return re.sub(r"^\s*(?:[-*]|\d+\.)\s", "\n\n", page, flags=re.MULTILINE)


def sentences(prose: str) -> list[str]:
    """Return the sentences of a text."""
    found = []
    for paragraph in re.split(r"\n\s*\n", prose):
        flat = " ".join(paragraph.replace("*", "").split())
        found += [one for one in re.split(r"(?<=[.?!:;])\s+(?=[^a-z])", flat) if one]
    return found


def figures(package: Path) -> dict[str, object]:
    """Return the figures by name."""
    modules = sources(package)
    imported = arrows(modules)
    importers = Counter(target for targets in imported.values() for target in targets)
    names = Counter(path.name for path, _ in modules.values() if path.name != "__init__.py")
    said = untyped = stop_words = inner_imports = 0
    widest, wide = 0, 0
    code: Counter[str] = Counter()
    for module, (_, text) in modules.items():
        n_comments, n_code = comment_lines(text)
        said += n_comments
        code[room(module)] += n_code
        for function, constructor in functions(text):
            own = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            own = [argument for argument in own if argument.arg not in ("self", "cls")]
            untyped += sum(isinstance(a.annotation, ast.Name) and a.annotation.id == "Any" for a in own)
            if not constructor:
                widest, wide = max(widest, len(own)), wide + (len(own) > MOST_PARAMETERS)
        stop_words += stops("\n".join(texts(text))).total()
        inner_imports += len(lazy_imports(text))
    lines = {name: text.count("\n") for name, (_, text) in modules.items()}
    return {
        **structure(imported),
        "files": len(modules),
        "lines": sum(lines.values()),
        f"files of more than {MOST_LINES} lines": sum(n > MOST_LINES for n in lines.values()),
        "files that share a base name": sum(n for n in names.values() if n > 1),
        "files that one other file alone imports": sum(importers[name] == 1 for name in modules),
        "most parameters of a function": widest,
        f"functions of more than {MOST_PARAMETERS} parameters": wide,
        "parameters typed Any": untyped,
        "bindings of the private vocabulary": len(nameless(package)),
        "stop words in strings": stop_words,
        "class names in several modules": len(classes(modules)),
        "imports inside functions": inner_imports,
        "of these, imports that would cost nothing at the top": len(movable_imports(package)),
        "comments per 100 lines of code": round(100 * said / max(code.total(), 1), 1),
        "code lines": code.total(),
        **{f"code lines of {name}": n for name, n in code.most_common()},
    }


GENERATED = re.compile(r"^<!-- generated: (\w+) -->\n.*?^<!-- end of \1 -->\n", flags=re.DOTALL | re.MULTILINE)
"""What docs/generated.py makes of the code."""


def words_of_pages(root: Path) -> int:
    """Return how many words the pages for users have together, code included, what is generated left out."""
    pages = [page for kind in USER_PAGES for page in (root / "docs" / kind).glob("*.md")]
    return sum(len(GENERATED.sub("", page.read_text()).split()) for page in pages)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="a checkout; this one by default")
    package = parser.parse_args().folder / "src" / "glassine"
    if not package.is_dir():
        parser.error(f"{package} is not a folder. Name a checkout of the repository.")
    pages = {"words of the user pages": words_of_pages(package.parents[1])}
    for name, value in (figures(package) | pages).items():
        shown = f"{value:,}" if isinstance(value, int) else str(value)
        sys.stdout.write(f"{name + ' ':.<48} {shown}\n")
    for place in nameless(package):
        sys.stdout.write(f"{place} names nothing: a noun of the field does.\n")


if __name__ == "__main__":
    main()
