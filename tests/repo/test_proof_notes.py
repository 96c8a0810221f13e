"""What claims a guarantee has a proof note, whole and true to the names of the code.

A claim is a docstring with a section or a paragraph ``Guarantee`` whose text does not begin with "none". Its proof
stands in
``<module>.md`` beside the module, or in the notes that the section names. A note has the four headings, every function
that it cites (`name()`) and every other name of code in it (`snake_case` or `CamelCase`) occurs in a module of its
room, and every file that it names is there.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.repo.code_blocks import ROOT

PACKAGE = ROOT / "src" / "glassine"
ROOMS = (
    *("attacks", "capacity", "privacy", "learners", "microaggregation", "models"),
    *("sealed", "surrogates", "verification"),
)
SEALED = ("learners", "privacy", "sealed")
"""A private fit: what plans it, what draws, and what holds the records; a note of one may be of modules of another."""
HEADINGS = ("Precondition", "Pseudocode", "Postcondition", "Proof")
SECTION = re.compile(r"^Guarantee(?:\n-+\n|: )(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"`([\w/]+\.md)`")
FILE = re.compile(r"`([\w/]+\.(?:py|md))`")
CITED = re.compile(r"`([A-Za-z_]\w*)(\(\))?`")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def claims(source: str) -> list[tuple[str, str]]:
    """Name and text of every guarantee that a module claims."""
    found: list[tuple[str, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED):
            section = SECTION.search(ast.get_docstring(node) or "")
            if section and not section[1].lower().startswith("none"):
                found.append((getattr(node, "name", "the module"), section[1]))
    return found


def names_of(source: str) -> set[str]:
    """Every identifier of a module's code: definitions, arguments, attributes, imports and uses."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        for field in ("name", "id", "attr", "arg"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                names |= set(value.split("."))
    return names


def is_code(name: str, called: str) -> bool:
    """Whether a backticked word can only be a name of the code, not a symbol of the mathematics."""
    return bool(called) or bool(re.search(r"\w{3,}_\w|\w_\w{3,}|[A-Z]\w*[a-z]\w*[A-Z]", name))


def faults_of_note(note: str, names: set[str]) -> list[str]:
    """Headings that a note lacks, and names that it cites and its room does not have."""
    wrong = [f"lacks the heading {name}" for name in HEADINGS if not re.search(rf"^#+ {name}\b", note, re.MULTILINE)]
    # Indented lines are pseudocode.
    prose = "\n".join(line for line in note.splitlines() if not line.startswith("    "))
    cited = [(name, called) for name, called in CITED.findall(prose) if is_code(name, called)]
    return wrong + [f"cites `{name}{called}`, which its room lacks" for name, called in cited if name not in names]


def faults(package: Path) -> list[str]:
    """Everything that is wrong with the proof notes below a package."""
    wrong: list[str] = []
    for room in ROOMS:
        names: set[str] = set()
        beside = [package / one for one in (SEALED if room in SEALED else (room,))]
        for module in sorted(path for folder in beside for path in folder.rglob("*.py")):
            names |= names_of(module.read_text())
        for module in sorted((package / room).rglob("*.py")):
            names |= names_of(module.read_text())
            source, note, where = module.read_text(), module.with_suffix(".md"), module.relative_to(package)
            for name, text in claims(source):
                elsewhere = [note.name, *NOTE.findall(text)]
                if not any((base / path).is_file() for path in elsewhere for base in (module.parent, package, *beside)):
                    wrong.append(f"{where}: {name} claims a guarantee; write {note.name} beside it.")
            named = set(re.findall(rf"\b(?:{'|'.join(ROOMS)})/\w+\.md\b", source))
            wrong += [f"{where}: names {path}, which is not there." for path in named if not (package / path).is_file()]
        for note in sorted((package / room).rglob("*.md")):
            if not any((folder / f"{note.stem}.py").is_file() for folder in (note.parent, *beside)):
                wrong.append(f"{note.relative_to(package)}: there is no module of its name.")
                continue
            found = faults_of_note(note.read_text(), names)
            for path in FILE.findall(note.read_text()):
                if not any((base / path).is_file() for base in (*note.parents, ROOT)):
                    found.append(f"names `{path}`, which is not there")
            wrong += [f"{note.relative_to(package)}: {fault}." for fault in found]
    return wrong


def test_every_guarantee_has_a_note_that_is_whole_and_true() -> None:
    assert len(list((PACKAGE / "privacy").glob("*.md"))) >= 8
    assert faults(PACKAGE) == []


CLAIM = '''
def noisy(values):
    """Add noise.

    Guarantee
    ---------
    epsilon-differentially private{see}.

    Parameters
    ----------
    values : list
    """
'''
PROOF = (
    "# Noise\n## Precondition\n`values`\n## Pseudocode\n    `any_name`\n## Postcondition\n`noisy()`\n## Proof\n`exp`\n"
)


def planted(folder: Path, source: str, notes: dict[str, str]) -> list[str]:
    """Faults of a package with one module, ``privacy/noise.py``, and notes."""
    for room in ROOMS:
        (folder / room).mkdir()
    (folder / "privacy" / "noise.py").write_text(source)
    for path, text in notes.items():
        (folder / path).write_text(text)
    return faults(folder)


@pytest.mark.parametrize(
    ("source", "notes"),
    [
        (CLAIM.format(see=""), {"privacy/noise.md": PROOF}),
        (
            CLAIM.format(see=""),
            {"privacy/noise.md": PROOF + "`x_i` and `f(x)` are mathematics, `n_k` too; `noise.py`\n"},
        ),
        (CLAIM.replace("epsilon-differentially", "None: it is not").format(see=""), {}),
        ("def noisy():\n    pass\n", {}),
    ],
)
def test_sound_notes_pass(tmp_path: Path, source: str, notes: dict[str, str]) -> None:
    assert planted(tmp_path, source, notes) == []


def test_a_claim_may_rest_on_a_note_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "learners").mkdir()
    (tmp_path / "privacy").mkdir()
    (tmp_path / "privacy" / "noise.py").write_text(CLAIM.format(see=""))
    (tmp_path / "privacy" / "noise.md").write_text(PROOF)
    (tmp_path / "learners" / "tree.py").write_text(CLAIM.format(see="; see ``privacy/noise.md``"))
    assert faults(tmp_path) == []
    (tmp_path / "learners" / "tree.py").write_text(CLAIM.format(see="; see ``privacy/other.md``"))
    assert len(faults(tmp_path)) == 2


@pytest.mark.parametrize(
    ("source", "notes", "fault"),
    [
        (CLAIM.format(see=""), {}, "noisy claims a guarantee; write noise.md"),
        (CLAIM.format(see=""), {"privacy/noise.md": PROOF.replace("## Proof", "")}, "lacks the heading Proof"),
        (CLAIM.format(see=""), {"privacy/noise.md": PROOF.replace("noisy", "noise")}, "cites `noise()`"),
        (CLAIM.format(see=""), {"privacy/noise.md": PROOF + "`old_scale`\n"}, "cites `old_scale`"),
        (CLAIM.format(see=""), {"privacy/noise.md": PROOF + "`OldNoise`\n"}, "cites `OldNoise`"),
        (CLAIM.format(see=""), {"privacy/noise.md": PROOF + "`old.py`\n"}, "names `old.py`, which is not there"),
        ("x = 1\n", {"privacy/other.md": PROOF}, "there is no module of its name"),
        ('proof = "learners/tree.md"\n', {}, "names learners/tree.md, which is not there"),
    ],
)
def test_planted_faults_are_found(tmp_path: Path, source: str, notes: dict[str, str], fault: str) -> None:
    found = planted(tmp_path, source, notes)
    assert len(found) == 1
    assert fault in found[0]
