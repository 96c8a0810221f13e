"""What the commands write: files that are checked before any work is done, and standard output."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glassine.cli.process import concluding
from glassine.errors import UnreadableFileError
from glassine.files import HIDDEN, followed, write_json, write_text

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings

ROOM = 2**20
"""Bytes that must fit where a model, its certificate or its report will be written; none of them is larger."""

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters by which a name from a file could write over what stands on a terminal, or reorder it."""


def check_outputs(outputs: Sequence[Path | None], inputs: Sequence[Path | None], *, overwrite: bool) -> None:
    """Raise before any work if an output exists, is an input, another output or a folder, or lies in no folder."""
    taken = {_resolved(path) for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        refuse_dash(path)
        resolved = _resolved(path)
        followed(path)  # before a ledger is charged
        if resolved in taken:
            raise UnreadableFileError(
                f"cannot write {path}: it is read or written already.", remedy="Name another.", path=path
            )
        if resolved.is_dir():
            raise UnreadableFileError(f"cannot write {path}: it is a folder.", remedy="Name a file in it.", path=path)
        if resolved.exists() and not resolved.is_file():
            raise UnreadableFileError(
                f"cannot write {path}: it is not a regular file.", remedy="Name another.", path=path
            )
        if not resolved.parent.is_dir():
            raise UnreadableFileError(
                f"cannot write {path}: its folder does not exist.", remedy="Make it first.", path=path
            )
        if os.path.lexists(path) and not overwrite:
            raise UnreadableFileError(
                f"cannot write {path}: it exists.", remedy="Name another file, or give --overwrite.", path=path
            )
        taken.add(resolved)


def refuse_dash(path: Path) -> None:
    """Raise if a path is a dash, which other programs take for standard output."""
    if str(path) == "-":
        raise UnreadableFileError(
            "cannot write -: outputs are files, not standard output.", remedy="Name a file.", path=path
        )


def _resolved(path: Path) -> Path:
    """Return where a path leads; raise if it leads nowhere, such as a link to itself or a name too long."""
    try:
        resolved = path.resolve()
        resolved.is_dir()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "it is a link to itself"
        raise UnreadableFileError(
            f"cannot use the path {path}: {reason}.", remedy="Name another path.", path=path
        ) from None
    return resolved


def check_ending(path: Path | None, endings: Sequence[str], rule: str) -> None:
    """Raise if a file's name promises another form than the one that is written; a name may have no ending."""
    if path is None or not path.suffix or path.suffix.lower() in endings:
        return
    listed = " or ".join([", ".join(endings[:-1]), endings[-1]] if len(endings) > 1 else endings)
    raise UnreadableFileError(f"cannot write {path}: {rule}.", remedy=f"Let the name end in {listed}.", path=path)


def check_report(path: Path | None) -> None:
    """Raise if a report's name promises another form than HTML, JSON or text."""
    check_ending(path, (".html", ".htm", ".json", ".txt"), "reports are written as HTML, JSON or text")


def check_room(path: Path) -> None:
    """Raise if a file of a megabyte cannot be written beside a path, such as for want of rights or of room."""
    try:
        with tempfile.TemporaryFile(dir=_resolved(path).parent, prefix=HIDDEN) as stream:
            stream.write(bytes(ROOM))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise UnreadableFileError(
            f"cannot write {path}: {error.strerror or error}.", remedy="Name another path.", path=path
        ) from None


def write_report(findings: Findings, output: Path, *, title: str | None) -> None:
    """Write a report as HTML, or as JSON or text by its ending."""
    from glassine.report import render_html

    if output.suffix == ".json":
        findings.to_json(output)
    elif output.suffix == ".txt":
        write_text(text_of(findings), output)
    else:
        write_text(render_html(findings, title=title), output)


def write_by_ending(output: Path | None, plain: Any, text: str, other: Callable[[], str] | None = None) -> None:
    """Write plain values as JSON or a text, if there is a file; what other endings than .txt ask for is made then."""
    if output is not None and output.suffix == ".json":
        write_json(plain, output)
    elif output is not None:
        write_text(text if other is None or output.suffix == ".txt" else other(), output)


def text_of(findings: Findings, output: Path | None = None) -> str:
    """Return a report as text, with the path of the written one at its end."""
    from glassine.report import render_text

    text = render_text(findings)
    return text if output is None else f"{text.rstrip()}\n\nReport: {output}\n"


WHOLE = "The whole report: the same command with `| less`, or with `-o report.html`."
"""Where the rest of a report is that a terminal shows in brief."""


def shown_of(findings: Findings, output: Path | None = None) -> str:
    """Return a report as text, or in brief where a terminal shows it, which scrolls; what reads a pipe gets all."""
    if sys.stdout is None or not sys.stdout.isatty():
        return text_of(findings, output)
    from glassine.report.rendering import render_brief

    return render_brief(findings, WHOLE if output is None else f"The whole report: {output}")


def print_value(value: Any, as_json: bool) -> None:
    """Print a command's result, its last act: plain values as JSON, or text, none of which steers a terminal."""
    if as_json:
        plain = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        text = STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", plain)
    else:
        text = STEERING.sub("\ufffd", str(value).rstrip())
    with concluding():
        say(text)


def one_line(text: str) -> str:
    """Return a text of a file on one line, so that none of it reads as a line of ours."""
    return " ".join(text.split())


def say(text: str) -> None:
    """Print text unchanged on standard output; a reader that has seen enough of it changes nothing."""
    try:
        typer.echo(text)
    except BrokenPipeError:
        drop_output()
    except OSError as error:
        drop_output()
        raise UnreadableFileError(f"cannot write standard output: {error.strerror or error}.", path="-") from None


def tell(text: str) -> None:
    """Print a line on standard error, if that can be written."""
    with contextlib.suppress(OSError):
        typer.echo(STEERING.sub("\ufffd", text), err=True)


def drop_output() -> None:
    """Lead standard output nowhere, so that what is left of it does not fail when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
