"""Reads the fenced code blocks of a Markdown page, and runs them.

The blocks of a page are run from top to bottom, in one namespace and one empty working folder:

- ``python`` is executed, ``pycon`` is executed and its output compared, as in a doctest;
- ``console`` runs every line that starts with ``$ glassine``, in this process, and demands exit status 0; a line that
  starts with ``$ make`` must name a target of the Makefile and is not run; no other command may stand there, nor
  anything that a shell would read otherwise than as words;
- other languages are not run, and other spellings of these three (``sh``, ``py``, ``{code-block}``) are refused.

A comment on the line before a block changes this:

- ``<!-- not run: reason -->`` leaves the block out;
- ``<!-- file: name -->`` writes the block into the working folder under that name instead of running it;
- ``<!-- exit status: 1 -->`` is what the last command of the block must return.
"""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cli.running import one_after_another

ROOT = Path(__file__).resolve().parents[2]

_OPENING = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<language>[^`]*)$")
_COMMENT = re.compile(r"^\s*<!--\s*(?P<text>.*?)\s*-->\s*$")
_NOTE = re.compile(r"^(?P<key>not run|file|exit status)\b:?\s*(?P<value>.*)$")
# Other spellings of the same blocks, which would otherwise stay unrun.
_REFUSED = re.compile(r"(sh|bash|shell|zsh|shell-session|py|python3|\{code(-block)?\}.*)", flags=re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block: where it stands, its language, its text and the notes of the comments before it."""

    where: str
    line: int
    language: str
    text: str
    notes: dict[str, str]

    def commands(self) -> list[str]:
        """Shell commands of a ``console`` block, continuation lines joined."""
        joined = self.text.replace("\\\n", " ")
        return [line[2:].strip() for line in joined.splitlines() if line.startswith("$ ")]


def read_blocks(text: str, where: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    blocks: list[Block] = []
    notes: dict[str, str] = {}
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at])
        if opening:
            fence, indent = opening["fence"], len(opening["indent"])
            end = at + 1
            while end < len(lines) and not re.fullmatch(rf" *{fence[0]}{{{len(fence)},}} *", lines[end]):
                end += 1
            body = "".join(line[indent:] + "\n" for line in lines[at + 1 : end])
            language = opening["language"].strip()
            blocks.append(Block(where=where, line=at + 1, language=language, text=body, notes=notes))
            notes = {}
            at = end + 1
            continue
        comment = _COMMENT.match(lines[at])
        note = _NOTE.match(comment["text"]) if comment else None
        if note:
            if not note["value"]:
                message = f"{where}:{at + 1}: '{note['key']}' must be followed by its value or reason."
                raise AssertionError(message)
            notes = {**notes, note["key"]: note["value"]}
        elif lines[at].strip():
            notes = {}
        at += 1
    return blocks


def make_targets() -> set[str]:
    """Targets of the Makefile that a reader may call."""
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def glassine_command() -> Path:
    """Path of the installed command."""
    return Path(sys.executable).with_name("glassine")


def is_run(block: Block) -> bool:
    """Whether the block does anything when its page is run."""
    return "not run" not in block.notes and (
        "file" in block.notes
        or block.language in {"python", "pycon", "console"}
        or _REFUSED.fullmatch(block.language) is not None
    )


def run_blocks(blocks: list[Block], folder: Path) -> None:
    """Run the blocks of one page; the working directory must already be the folder."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        if not is_run(block):
            continue
        if "file" in block.notes:
            target = (folder / block.notes["file"]).resolve()
            assert target.is_relative_to(folder.resolve()), f"{block.where}:{block.line}: file outside the folder."
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text)
        elif block.language == "python":
            # The blank lines give tracebacks the line numbers of the page.
            code = compile("\n" * block.line + block.text, block.where, "exec", dont_inherit=True)
            exec(code, namespace)  # noqa: S102 - the documentation is the project's own
        elif block.language == "pycon":
            _run_doctest(block, namespace)
        elif block.language == "console":
            _run_commands(block, folder)
        else:
            message = f"{block.where}:{block.line}: '{block.language}' must be python, pycon or console ('$ command')."
            raise AssertionError(message)


def _run_doctest(block: Block, namespace: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, namespace, block.where, block.where, block.line)
    test.globs = namespace
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    printed: list[str] = []
    runner.run(test, out=printed.append, clear_globs=False)
    assert not printed, "".join(printed)


def _run_commands(block: Block, folder: Path) -> None:
    commands = block.commands()
    assert commands, f"{block.where}:{block.line}: a console block must hold a line that starts with '$ '."
    for number, command in enumerate(commands, start=1):
        here = f"{block.where}:{block.line}: {command}"
        program, *words = shlex.split(command)
        if program == "make":
            unknown = {word for word in words if "=" not in word} - make_targets()
            assert not unknown, f"{here}: the Makefile has no target {sorted(unknown)}."
            continue
        assert program == "glassine", f"{here}: only glassine is run; mark the block <!-- not run: reason -->."
        assert not set(command) & set("|&;<>*?$`"), f"{here}: what a shell makes of this is not run."
        with one_after_another() as run:
            status = run(*words, cwd=folder)
        expected = int(block.notes.get("exit status", "0")) if number == len(commands) else 0
        assert status == expected, f"{here}: exit status {status}, not {expected}."
