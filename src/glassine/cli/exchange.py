"""Findings of ``glassine audit`` for pipelines and other tools: ``--ci`` and ``--to``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from glassine.cli.options import Group, option
from glassine.cli.writing import check_outputs, tell
from glassine.errors import InvalidParameterError, UnreadableFileError
from glassine.files import write_json, write_text

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings

FORMATS = ("acro", "cyclonedx", "junit", "sarif", "summary")
JUNIT = Path("glassine.xml")
"""Where --ci writes a JUnit report."""
SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a job summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeOptions(Group):
    """Findings for pipelines and other tools."""

    heading: ClassVar[str] = "Pipelines and other tools"

    ci: Annotated[
        Literal["github", "gitlab", "junit"] | None,
        option(None, f"Report as a pipeline shows it: annotations and a summary, or JUnit in {JUNIT}."),
    ] = None
    to: Annotated[
        tuple[str, Path] | None, option("FORMAT PATH", f"Write it for another tool: {', '.join(FORMATS)}.")
    ] = None

    def check(self, read: list[Path | None], *, small: bool, overwrite: bool) -> None:
        """Raise before any work if something cannot be written, or would hold what only a checker may see."""
        if self.to is None and self.ci is None:
            return
        if small and (self.ci is not None or (self.to is not None and self.to[0] != "acro")):
            raise InvalidParameterError(
                "what is written for pipelines is public, and --show-small-counts is for the checker.",
                remedy="Leave one of them out.",
            )
        if self.ci in ("gitlab", "junit"):
            # A pipeline runs again and again, and the report has one name.
            check_outputs([JUNIT], read, overwrite=True)
        if self.to is None:
            return
        form, path = self.to
        if form not in FORMATS:
            raise InvalidParameterError(f"--to must be one of {', '.join(FORMATS)}, got {form!r}.")
        if form != "acro":
            check_outputs([path], read, overwrite=overwrite)
        elif os.path.lexists(path):
            raise UnreadableFileError(f"cannot write {path}: it exists.", remedy="Name a new folder.", path=path)

    def write(self, audits: Mapping[Path, Findings | str]) -> None:
        """Write what was asked for of each file, or why it could not be audited; what a pipeline shows is public."""
        for model, findings in audits.items():
            if self.to is None or isinstance(findings, str):
                continue
            if self.to[0] == "acro":
                # The checker decides about the release, and sees all.
                command = shlex.join(["glassine", *sys.argv[1:]])
                from glassine.report.exchange import write_acro

                write_acro(findings, self.to[1], model.name, command, datetime.now(UTC).replace(tzinfo=None))
            else:
                _write_to(*self.to, findings.public(), model.as_posix())
        if self.ci is None:
            return
        public = {
            path.as_posix(): found if isinstance(found, str) else found.public() for path, found in audits.items()
        }
        if self.ci == "github":
            _show_on_github(public)
        else:
            from glassine.report.exchange import as_junit

            write_text(as_junit(public), JUNIT)


def _show_on_github(public: Mapping[str, Findings | str]) -> None:
    from glassine.report.exchange import as_annotations, as_summary

    for path, found in public.items():
        # GitHub reads both streams; standard output stays what was asked for.
        if lines := as_annotations(found, path):
            tell(lines.rstrip("\n"))
        if not isinstance(found, str) and os.environ.get(SUMMARY):
            # Each step of a job adds to the same file.
            with Path(os.environ[SUMMARY]).open("a", encoding="utf-8") as stream:
                stream.write(as_summary(found, path))


def _write_to(form: str, output: Path, public: Findings, path: str) -> None:
    from glassine.report.exchange import as_cyclonedx, as_junit, as_sarif, as_summary

    if form == "cyclonedx":
        write_json(as_cyclonedx(public, Path(path).name, datetime.now(UTC)), output)
    elif form == "sarif":
        write_json(as_sarif(public, path), output)
    else:
        write_text(as_junit({path: public}) if form == "junit" else as_summary(public, path), output)
