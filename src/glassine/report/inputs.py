"""The files that were read, as a page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glassine.auditing.findings import InputFile
from glassine.report import wording

__all__ = ["clean_inputs"]


def clean_inputs(files: Sequence[InputFile]) -> tuple[InputFile, ...]:
    """Return the files with harmless names."""
    return tuple(
        replace(
            file,
            role=wording.clean(file.role),
            name=wording.clean(file.name),
            sha256=None if file.sha256 is None else wording.clean(file.sha256),
        )
        for file in files
    )
