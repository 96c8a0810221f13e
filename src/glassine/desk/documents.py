"""What opens beside a screen, or is downloaded: reports, drawings, images, records, evidence and replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup

from glassine.desk.auditing import Audits
from glassine.desk.desk import Desk
from glassine.desk.folder import IMAGES
from glassine.desk.heads import exported
from glassine.desk.pages import environment
from glassine.desk.phrases import PHRASES
from glassine.desk.releasing import record_of
from glassine.desk.state import FileState
from glassine.desk.workbench import Workbench
from glassine.errors import RefusedActionError

REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)
"""What a report may do that the desk made: fold and unfold, without an origin."""
DRAWING_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'self'; sandbox"
IMAGE_POLICY = "default-src 'none'; frame-ancestors 'self'; sandbox"
LARGEST_IMAGE = 20_000_000

EVIDENCE = PHRASES["evidence"]
"""Whose questions the evidence of a file answers."""


class Documents:
    """The documents of one desk.

    Parameters
    ----------
    desk : Desk
        The desk.
    audits : Audits
        Its audits.
    workbench : Workbench
        What analysts do at it.
    of : callable
        Returns everything that the screen of one file shows.
    """

    def __init__(
        self, desk: Desk, audits: Audits, workbench: Workbench, of: Callable[[FileState], Mapping[str, Any]]
    ) -> None:
        self._desk = desk
        self._audits = audits
        self._workbench = workbench
        self._of = of

    async def document(self, asked: Mapping[str, Any]) -> tuple[bytes, dict[str, str]]:
        """Return a report, an image or a download, with its headers.

        Raises
        ------
        RefusedActionError
            If there is no such document.
        """
        what = asked.get("what")
        if what == "record":
            audience = self._desk.audience if asked.get("audience") == "checkers" else "public"
            text = exported(self._desk, record_of(self._desk.state, self._desk, audience))
            self._desk.record("exported", {"audience": audience})
            return text.encode(), _download("application/json", f"record-{audience}.json")
        if what == "training":
            both = self._workbench.trainings.download(str(asked.get("key", "")))
            return both, _download("application/json", "private-model-and-certificate.json")
        file = self._desk.file(str(asked.get("file", "")))
        if what == "report":
            result = self._audits.result(file.now)
            if result is None or not result["report"]:
                raise RefusedActionError("there is no report on this file.")
            return result["report"].encode(), _framed(REPORT_POLICY)
        if what == "editor":
            return await self._workbench.editor(file.id), _framed(REPORT_POLICY)
        if what == "drawing":
            copy = str(asked.get("copy", ""))
            number = int(copy) if copy.isascii() and copy.isdigit() and len(copy) < 4 else None
            done = await self._audits.drawing(file, number)
            if done is None or "drawing.svg" not in done.files:
                raise RefusedActionError("the desk holds no model of this file." if done is None else done.message)
            svg = Markup(done.files["drawing.svg"].decode(errors="replace"))  # noqa: S704, shown in a sandbox
            return environment().get_template("drawing.html").render(name=file.name, svg=svg).encode(), _framed(
                DRAWING_POLICY
            )
        if what == "evidence":
            form = str(asked.get("form", ""))
            if form not in EVIDENCE or not (self._audits.result(file.now) or {}).get("findings"):
                raise RefusedActionError("there is no audit to take evidence from.")
            done = await self._audits.evidence(file, form, self._audits.certificate_file(file))
            if "evidence.html" not in done.files:
                raise RefusedActionError(done.message)
            return done.files["evidence.html"], _download("text/html; charset=utf-8", f"evidence-{form}.html")
        if what == "image":
            if file.now.size > LARGEST_IMAGE:
                raise RefusedActionError(f"the desk shows images of at most {LARGEST_IMAGE:,} bytes.")
            data = await asyncio.to_thread(self._desk.folder.checked, file.name, LARGEST_IMAGE, file.now.sha256)
            kind = next((kind for magic, kind in IMAGES.items() if data.startswith(magic)), None)
            if kind is None:
                raise RefusedActionError("this is not an image that the desk shows.", remedy="Look at it as text.")
            return data, {"content-type": kind, "content-security-policy": IMAGE_POLICY}
        if what == "reply":
            text = environment().get_template("reply.txt").render(self._of(file))
            return text.encode(), _download("text/plain; charset=utf-8", "reply.txt")
        raise RefusedActionError("there is no such document.")


def _framed(policy: str) -> dict[str, str]:
    """Return the headers of a page that the desk shows in a frame."""
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy,
        "x-frame-options": "SAMEORIGIN",
    }


def _download(kind: str, name: str) -> dict[str, str]:
    return {
        "content-type": kind,
        "content-disposition": f'attachment; filename="{name}"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
