"""How a copy follows from the model that a certificate is of: by edits, by scrubbing, by an export."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glassine.domain import Domain
from glassine.errors import GlassineError, InvalidModelError
from glassine.files import FileContent
from glassine.formats.canonical import written
from glassine.formats.format import Format, PublishedModel
from glassine.formats.json import fingerprint
from glassine.formats.loading import ModelFile, load_model
from glassine.formats.registry import formats
from glassine.models import AdditiveModel, editing
from glassine.models.additive import typed_scores
from glassine.scrubbing.log import ScrubLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a copy comes from.

    Attributes
    ----------
    steps : tuple of str
        What was done to the released model, in order; empty if the copy is that model.
    same_bytes : bool
        Whether Glassine writes the same file of what these steps give.
    n_typed, n_scores : int
        Scores that were typed in, so that no step computes them from the model, and all scores.
    """

    steps: tuple[str, ...]
    same_bytes: bool
    n_typed: int = 0
    n_scores: int = 0

    @property
    def text(self) -> str:
        """How it follows, in a sentence; empty if it is the released model."""
        if not self.steps:
            return ""
        typed = ""
        if self.n_typed:
            typed = (
                f" {self.n_typed:,} of {self.n_scores:,} scores were set by hand. No step computes them from the "
                "model, so nothing shows what they were taken from."
            )
        return (
            f"A copy of the model that was released: {'; '.join(self.steps)}. The guarantee holds if these "
            f"steps read only the model and what is public.{typed}"
        )


def edited(times: int) -> Origin:
    """Return the origin of a model that was edited so often after its release."""
    return Origin(steps=(f"edited {times} time{'s' * (times > 1)} after release",), same_bytes=False)


def follow(
    copy: ModelFile | None,
    data: bytes,
    certified: str,
    *,
    released: PublishedModel | None = None,
    log: ScrubLog | None = None,
    domain: Domain | None = None,
    for_people: Callable[[PublishedModel], Iterator[tuple[str, str]]] = lambda model: iter(()),
) -> Origin | None:
    """Return how a copy follows from the model of a certificate, or None if nothing that is given explains it.

    Every step is done again. The copy's own words prove nothing: a released model counts only if it has the fingerprint
    that the certificate states, and so does what is left when the edits of an additive model are taken back.

    Parameters
    ----------
    copy : ModelFile, optional
        The copy, as it was read. Without it only an export of the released model is explained, byte for byte: what
        no reader takes can still be written again.
    data : bytes
        Its file.
    certified : str
        The fingerprint of the certificate.
    released : DecisionTree, RuleList or AdditiveModel, optional
        The model as it was released, or as it was edited since: its own edits are taken back first. Without it only
        edits are explained, which keep what they replaced.
    log : ScrubLog, optional
        The log of scrubbing.
    domain : Domain, optional
        The public domain, as who verifies knows it: with a log it must be that of the log. An export may be written
        with it.
    for_people : callable, optional
        Yields what is written of a model for people alone, such as tables: a name and a text.

    Raises
    ------
    InvalidModelError
        If the released model is not that of the certificate, the log is in another domain or does not lead to what it
        says, or an edit did something else than it says.
    """
    model = released if copy is None else copy.model
    base, before, steps, typed = released, 0, list[str](), dict[str, int]()
    if base is None:
        base = editing.revert(model) if isinstance(model, AdditiveModel) else model
        if base is None or fingerprint(base) != certified:
            return None
    elif fingerprint(base) != certified:
        before = _edits_since(base, certified)
        if not before:
            raise InvalidModelError(
                "the released model is not the one that the certificate is of.",
                remedy="Give the JSON that was written with the certificate, or what was edited of it before.",
            )
        steps, typed = [*edited(before).steps], _typed(base, before)
    if log is not None:
        if domain != log.domain:
            # Cut points that were chosen by the records would pass for public ones.
            raise InvalidModelError(
                "the steps of scrubbing are in another domain than the public one that was given.",
                remedy="Give the domain that you know to be public.",
            )
        base = log.replay(base)
        steps.append(f"scrubbed: {log.text}")
    more = _edits_since(model, fingerprint(base), len(getattr(base, "edits", ())))
    if model is not None and more:
        typed = _typed(model, more if log is not None else before + more, typed.get("n_typed", 0) if log else 0)
        base, steps = model, [*steps, *edited(more).steps]
    origin = Origin(steps=tuple(steps), same_bytes=False, **typed)
    if copy is None:
        for name, text in for_people(base):
            if data == text.encode():
                return replace(origin, steps=(*origin.steps, f"exported as {name}"), same_bytes=True)
    return _as_written(copy, data, base, domain, origin)


def _edits_since(model: PublishedModel | None, start: str, n_before: int = 0) -> int:
    """Return how many edits lead from the model of a fingerprint to this one; 0 if they do not."""
    if not isinstance(model, AdditiveModel):
        return 0
    more = len(model.edits) - n_before
    if more <= 0 or fingerprint(editing.undo(model, more)) != start:
        return 0
    editing.verify(model)
    return more


def _typed(model: Any, n_edits: int, earlier: int = 0) -> dict[str, int]:
    """Return what an origin says of typed scores, those from before a step of scrubbing among them."""
    n_scores = sum(term.scores.size for term in model.terms)
    return {"n_typed": min(n_scores, typed_scores(model, n_edits) + earlier), "n_scores": n_scores}


def _as_written(
    copy: ModelFile | None, data: bytes, base: PublishedModel, domain: Domain | None, origin: Origin
) -> Origin | None:
    """Return how a file follows from a model that Glassine writes: it holds it, or is an export, or was read of one."""
    own = None if copy is None else fingerprint(copy.model)
    name = "" if copy is None else copy.form.format
    if own == fingerprint(base):
        return replace(origin, same_bytes=any(data == other for _, other in _written(base, domain, name, data)))
    for form, other in _written(base, domain, name, data):
        if data == other:
            return replace(origin, steps=(*origin.steps, f"exported as {form.name}"), same_bytes=True)
        if own is not None and form.read is not None and _again(other, domain) == own:
            return replace(origin, steps=(*origin.steps, f"exported as {form.name} and read again"))
    return None


def _written(model: PublishedModel, domain: Domain | None, name: str, data: bytes) -> Iterator[tuple[Format, bytes]]:
    """Yield what every writer writes of a model, with the domain and without; ``name`` is the format of the data."""
    for form in formats():
        if form.write is None or not isinstance(model, form.kinds):
            continue
        for declared in (None, domain) if domain is not None else (None,):
            try:
                own = form.name == name or (not name and form.read is None)
                yield form, written(model, form, declared, **(form.options(data) if own else {}))
            except GlassineError:  # this format does not hold such a model
                continue


def _again(data: bytes, domain: Domain | None) -> str | None:
    """Return the fingerprint of what is read from an export."""
    try:
        return fingerprint(load_model(FileContent(path=Path("copy"), data=data), domain))
    except GlassineError:  # what cannot be read was not read
        return None
