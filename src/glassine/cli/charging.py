"""The charge of a command to its ledger: opened before the work, and said and certified if the work fails after it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from glassine.cli.ledger import account_of, raising, stays_charged, suggesting
from glassine.cli.options import option
from glassine.cli.process import STANDING, uninterrupted
from glassine.cli.writing import say, tell
from glassine.errors import GlassineError, InvalidParameterError, UnreadableFileError
from glassine.files import write_text
from glassine.privacy.exact import decimal_above

if TYPE_CHECKING:
    from glassine.privacy.ledger import Entry, Ledger


NoteOption: TypeAlias = Annotated[
    str | None, option("TEXT", "Added to the note of the charge, which is public.", hidden=True)
]


class Charge:
    """The charge of a fit, known as soon as the ledger holds it."""

    def __init__(
        self, path: Path | None, dataset: str | None, records_per_person: int | None = None, note: str | None = None
    ) -> None:
        # settled: whether what was paid for was released: written, or printed where it could not be written.
        if (path is None) != (dataset is None):
            raise InvalidParameterError("--ledger and --dataset go together.", remedy="Give both, or neither.")
        if note is not None and path is None:
            raise InvalidParameterError(
                "--note is for the charge to a ledger.", remedy="Give --ledger, or leave it out."
            )
        self.path, self.dataset, self._note = path, dataset, note
        self.entry: Entry | None = None
        self.settled = False
        self.book = None if path is None else self._open(path)
        if self.book is not None and dataset is not None:
            with suggesting(self.book, dataset, records_per_person):
                self.book.account(dataset)

    def _open(self, path: Path) -> Ledger:
        from glassine.privacy.ledger import Ledger

        checked = self

        class Remembering(Ledger):
            def charge(self, *args: Any, note: str = "", **kwargs: Any) -> Entry:
                note = note if checked._note is None else f"{note}; {checked._note}"
                # A signal between the two would leave an unknown charge.
                with uninterrupted():
                    checked.entry = super().charge(*args, note=note, **kwargs)
                    STANDING.append(stays_charged(checked.entry, path))
                return checked.entry

        return Remembering(path)

    def to_dict(self) -> dict[str, Any] | None:
        """Return what was charged, and what is left if that can be read."""
        if self.entry is None or self.book is None:
            return None
        charged = {"ledger": str(self.path), "entry": self.entry.number, "charged": float(self.entry.epsilon)}
        with contextlib.suppress(GlassineError):
            return {**charged, **account_of(self.book, self.entry.dataset)}
        return {**charged, "dataset": self.entry.dataset}

    def release(self, text: str, output: Path) -> None:
        """Write what was paid for; should that fail, print it, so that it is not lost."""
        with uninterrupted():
            try:
                write_text(text, output)
            except GlassineError as error:
                say(text.rstrip())
                self.settled = True
                raise UnreadableFileError(
                    f"{error} What is released stands on standard output instead: save it.", path=output
                ) from None
            self.settled = True

    @contextlib.contextmanager
    def admitted(self, certificate: Path) -> Iterator[None]:
        """On any failure inside, certify a charge for which nothing was released; say how a small budget is raised."""
        fits = contextlib.nullcontext() if self.book is None else raising(self.book, self.dataset or "")
        try:
            with fits:
                yield
        except BaseException:
            if self.entry is not None and not self.settled:
                self._certify(self.entry, certificate)
            raise

    @staticmethod
    def _certify(entry: Entry, path: Path) -> None:
        """Write the certificate of a charge for which nothing was released."""
        from glassine.privacy.certificate import ONE_PERSON, ONE_RECORD, Certificate

        certificate = Certificate(
            epsilon=decimal_above(entry.epsilon),
            delta=decimal_above(entry.delta),
            events=(),
            unit=entry.unit,
            neighboring=ONE_PERSON if entry.unit.is_person else ONE_RECORD,
            public={"released": "nothing: the run ended between the charge and its output"},
            receipt=entry.receipt,
        )
        if os.path.lexists(path):
            # With --overwrite, an older model's: that model still stands.
            path = path.with_name(f"{path.stem}.entry-{entry.number}.json")
        with uninterrupted():
            try:
                write_text(certificate.to_json() + "\n", path)
            except GlassineError as error:
                tell(f"glassine: {error}")
            else:
                tell(f"glassine: {path} certifies what is spent. Nothing was released.")


def ledger_files(ledger: Path | None) -> list[Path]:
    """Return the files that a ledger consists of while it is written."""
    if ledger is None:
        return []
    return [ledger, *(ledger.with_name(ledger.name + end) for end in ("-journal", "-wal", "-shm"))]
