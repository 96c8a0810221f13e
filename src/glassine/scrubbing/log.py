"""The log of a scrubbed copy: what was taken from a model, so that anyone who has the model can take it again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glassine.codec import Codec, Field, decoded, record
from glassine.domain import Domain
from glassine.domain.domain import DOMAIN
from glassine.errors import InvalidModelError, InvalidParameterError
from glassine.files import read_json, write_json
from glassine.formats.format import PublishedModel
from glassine.formats.json import fingerprint
from glassine.scrubbing.scrub import Counts, scrub

SCHEMA = "glassine.scrub-log/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubLog:
    """What :func:`glassine.scrub` was asked for, without data, and of which model it made which.

    A copy that follows from the released model and from what is public keeps the guarantee of that model
    (post-processing). Who has the released model can verify that it follows: :meth:`replay`.

    Attributes
    ----------
    released, copy : str
        Fingerprints of the model and of the copy: see :func:`glassine.formats.fingerprint`.
    domain : Domain
        The public domain.
    counts, base, smallest_leaf, largest_advantage
        As for :func:`glassine.scrub`.
    """

    released: str
    copy: str
    domain: Domain
    counts: Counts = "coarsen"
    base: int = 10
    smallest_leaf: int = 0
    largest_advantage: float | None = None

    @property
    def options(self) -> Mapping[str, Any]:
        """What scrubbing was asked for, as its parameters."""
        names = ("counts", "base", "smallest_leaf", "largest_advantage")
        return {name: getattr(self, name) for name in names}

    @property
    def text(self) -> str:
        """What was done, in words."""
        said = {"coarsen": f"counts rounded to multiples of {self.base}", "remove": "counts removed", "keep": ""}
        parts = ["thresholds on public cut points", said[self.counts]]
        parts += [f"leaves below {self.smallest_leaf} merged"] if self.smallest_leaf else []
        parts += [f"merged to an advantage of {self.largest_advantage:g}"] if self.largest_advantage else []
        return ", ".join(filter(None, parts))

    @classmethod
    def of(cls, released: PublishedModel, copy: PublishedModel, domain: Domain, **options: Any) -> ScrubLog:
        """Return the log of a copy that was made without data.

        Raises
        ------
        InvalidModelError
            If scrubbing the model once more does not give the copy.
        """
        log = cls(released=fingerprint(released), copy=fingerprint(copy), domain=domain, **options)
        log.replay(released)
        return log

    def replay(self, released: PublishedModel) -> PublishedModel:
        """Return the copy, made again from the model that was released.

        Raises
        ------
        InvalidModelError
            If it is another model, or what follows from it is another copy.
        """
        if fingerprint(released) != self.released:
            raise InvalidModelError(
                "the log is of another model than the one that was released.",
                remedy="Give the log that was written with this copy, and the model that was scrubbed, edited or not.",
            )
        made: PublishedModel = scrub(released, self.domain, **self.options).model
        if fingerprint(made) != self.copy:
            raise InvalidModelError(
                "scrubbing the released model as the log says gives another copy.",
                remedy="Scrub the released model again.",
            )
        return made

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file."""
        write_json(LOG.encode(self), path)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> ScrubLog:
        """Read it from a JSON file.

        Raises
        ------
        UnreadableFileError
            If the file cannot be read, or is no JSON.
        InvalidParameterError
            If it holds no log.
        """
        values = read_json(path)
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            raise InvalidParameterError(
                f"{os.fspath(path)} is no log of schema {SCHEMA!r}.",
                remedy="Give the steps that scrubbing wrote with this copy.",
            )
        return decoded(LOG, values, f"the log {os.fspath(path)}", InvalidParameterError)


LOG: Codec[ScrubLog] = record(
    ScrubLog, {"domain": Field(codec=DOMAIN), "largest_advantage": Field(omit=None)}, head={"schema": SCHEMA}
)
