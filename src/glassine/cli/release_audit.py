"""``glassine audit`` of a release of surrogate trees."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.naming import listed
from glassine.cli.progress import stages
from glassine.cli.reading import policy_of, with_inputs
from glassine.cli.writing import print_value, write_holder_report
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.files import FileContent, write_text

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings
    from glassine.surrogates import SurrogateRelease

__all__ = ["audit_release_file", "is_release", "write_surrogates"]

SIGNED = b'"glassine.signed-release/'
SCHEMAS = (b'"glassine.surrogates/', SIGNED)
HEAD = 400
"""Bytes at the start of a file in which its schema stands."""


def is_release(path: FileContent) -> bool:
    """Return whether a file is a release of surrogate trees, signed or not."""
    head = path.data[:HEAD]
    return head.lstrip()[:1] == b"{" and any(schema in head for schema in SCHEMAS)


def audit_release_file(
    file: FileContent,
    *,
    domain: Path | None,
    data: Path | None,
    target: str | None,
    holdout: Path | None,
    sensitive: str | None,
    policy: FileContent | None,
    output: Path | None,
    holder_report: Path | None,
    as_json: bool,
    show_small_counts: bool,
) -> int:
    """Audit a release, write and print what was found, and return the exit status."""
    from glassine.auditing.api import audit

    if domain is not None:
        raise InvalidParameterError("a release holds its own domain. Leave --domain out.")
    release = _read(file)
    limits = policy_of(policy)
    with stages() as progress:
        progress("reading the records")
        people, y = _sides(release, data, target)
        others, others_y = _sides(release, holdout, target)
        progress("auditing the release")
        found = audit(
            release,
            data=people,
            y=y,
            holdout=others,
            holdout_y=others_y,
            sensitive=sensitive,
            policy=limits,
            show_small_counts=show_small_counts,
        )
    found = with_inputs(found, {"release": file, "policy": policy}, {"data": data, "holdout": holdout})
    write = partial(write_surrogates, title=file.path.name)
    write_holder_report(found.holder, holder_report, write=write)
    if output is not None:
        write(found, output)
    print_value(found.to_dict() if as_json else _text(found, output), as_json)
    return found.exit_status


def _read(path: FileContent) -> SurrogateRelease:
    from glassine.surrogates import SurrogateRelease

    if SIGNED in path.data[:HEAD]:
        from glassine.server import read_release

        return read_release(path).release
    return SurrogateRelease.from_json(path)


def _sides(release: SurrogateRelease, path: Path | None, target: str | None) -> tuple[Any, Any]:
    """Return records as the release names them, and their true labels."""
    if path is None:
        return None, None
    from glassine.data.sources import read_frame

    frame, labels = read_frame(path, release.domain), None
    if target is not None:
        if target not in frame.columns:
            raise InvalidDataError(f"{path} has no column {target!r} for --target.{listed(target, frame.columns)}")
        labels, frame = frame[target].to_numpy(), frame.drop(target)
    # An explainer that was given an array numbers the columns.
    numbered = release.domain.names == tuple(f"x{i}" for i in range(len(release.domain)))
    absent = any(name not in frame.columns for name in release.domain)
    if numbered and absent and len(frame.columns) == len(release.domain):
        return frame.to_numpy(), labels
    return frame, labels


def write_surrogates(found: Findings, output: Path, *, title: str) -> None:
    """Write the report as HTML, or as JSON or text by its ending."""
    from glassine.report import render_html, render_text

    if output.suffix == ".json":
        found.to_json(output)
    elif output.suffix == ".txt":
        write_text(render_text(found), output)
    else:
        write_text(render_html(found, title=title), output)


def _text(found: Findings, output: Path | None) -> str:
    from glassine.report import render_text

    text = render_text(found)
    return text if output is None else f"{text.rstrip()}\n\nReport: {output}\n"
