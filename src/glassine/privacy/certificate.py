"""The certificate: what a private release guarantees, event by event, as a value that travels with it."""

from __future__ import annotations

import dataclasses
import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from glassine import __version__
from glassine.errors import GlassineError, InvalidCertificateError, InvalidMechanismError, UnknownEventError, quoted
from glassine.files import parse_json
from glassine.privacy import accounting
from glassine.privacy.events import KINDS, UNPROVED, DiscreteGaussianNoise, Event, Parallel, refuse
from glassine.privacy.receipt import Receipt
from glassine.privacy.unit import RECORD, PrivacyUnit

__all__ = [
    "LARGEST",
    "ONE_PERSON",
    "ONE_RECORD",
    "SCHEMA",
    "TOLERANCE",
    "Certificate",
    "event_from_dict",
    "event_to_dict",
]

# Events as plain values, and back: a certificate's JSON.


LARGEST = 1e300
"""Largest size of a number in an event: beyond it, whole numbers have no floating-point form."""


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain values, its kind under ``event``.

    Raises
    ------
    UnknownEventError
        If it is of no known kind.
    """
    if type(event).__name__ not in KINDS or type(event) is not KINDS[type(event).__name__]:
        raise refuse(event)
    if isinstance(event, Parallel):
        branches = [[event_to_dict(inner) for inner in branch] for branch in event.branches]
        return {"event": "Parallel", "name": event.name, "branches": branches, "proof": event.proof}
    values = {"event": type(event).__name__, **dataclasses.asdict(event)}
    if values.get("records") == 1:
        del values["records"]  # so that certificates for one record read as they always did
    return values


def event_from_dict(values: object) -> Event:
    """Return the event that :func:`event_to_dict` wrote; unknown, missing and mistyped fields are errors.

    Raises
    ------
    InvalidMechanismError
        If a field is unknown, missing or of the wrong type.
    UnknownEventError
        If the kind is unknown.
    """
    if not isinstance(values, dict):
        raise InvalidMechanismError(f"an event must be an object, got {values!r}. Use event_to_dict.")
    given = dict(values)
    kind = KINDS.get(str(given.pop("event", None)))
    if kind is None:
        raise UnknownEventError(
            f"an event must name its kind, one of {', '.join(KINDS)}, got {values.get('event')!r}.", event=values
        )
    fields = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    for counted in ("units", "records"):
        if counted in fields:
            given.setdefault(counted, 1)  # certificates of earlier versions do not tell it
    wrong = sorted(set(map(str, given)) ^ set(fields))
    if wrong:
        raise InvalidMechanismError(f"{kind.__name__} has the fields {sorted(fields)}; unknown or missing: {wrong}.")
    for name, declared in fields.items():
        if not _fits(given[name], declared):
            raise InvalidMechanismError(f"{kind.__name__}.{name} must be {declared}, got {given[name]!r}.")
    if kind is Parallel:
        given["branches"] = tuple(tuple(event_from_dict(inner) for inner in branch) for branch in given["branches"])
    return kind(**given)


def _fits(value: object, declared: str) -> bool:
    if declared.startswith("tuple"):
        return isinstance(value, list) and all(isinstance(inner, list) for inner in value)
    if declared == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if declared == "str":
        return isinstance(value, str)
    if value is None:
        return "None" in declared
    return isinstance(value, int if declared == "int" else int | float) and abs(value) <= LARGEST


SCHEMA = "glassine.certificate/1"

ONE_RECORD, ONE_PERSON = "add-or-remove-one", "add-or-remove-one-person"
"""Neighboring relations: one record more or less; all records of one person more or less."""

TOLERANCE = 1e-12
"""How far the accountant's epsilon may lie above the claim, for rounding; relative above epsilon 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What a release guarantees, the events that it rests on, and what it does not cover.

    Guarantee
    ---------
    None of its own. The constructor adds up the events and refuses a claim that is too small.

    Parameters
    ----------
    epsilon, delta : float
        The claim. Epsilon may be infinite where a caveat says so: see :meth:`none`.
    events : tuple of Event
        Everything that was released.
    neighboring : str, default="add-or-remove-one"
        The neighboring relation; "add-or-remove-one-person" where the unit is a person, and only there.
    unit : PrivacyUnit, default=RECORD
        What neighbors differ by: one record, or all records of one person. The events' sensitivities are for this unit.
    assumptions : tuple of str
        What the guarantee takes for granted: running time not observed, accounting as published, and so on.
    caveats : tuple of str
        What voids it: "seeded: not private", "domain inferred from the data: the guarantee does not cover it".
    public : dict
        What is taken as public knowledge, as JSON values.
    model : str, optional
        SHA-256 of the JSON of the model that was released, so that a certificate is not put beside another: see
        ``glassine.formats.fingerprint``.
    version : str
        Version of this package.
    receipt : Receipt, optional
        The charge of a ledger that paid for the release.

    Attributes
    ----------
    holds : bool
        Whether no caveat voids the guarantee.

    Raises
    ------
    InvalidCertificateError
        If a field is out of its range, the events spend more than is claimed, or an event has no proof and no caveat
        says so.
    UnknownEventError
        If the accountant has no rule for an event.

    Examples
    --------
    >>> from glassine.privacy.accounting import Selection
    >>> tree = Selection(name="the tree", inverse_temperature=0.5, sensitivity=1, monotone=True)
    >>> Certificate(epsilon=0.5, events=(tree,)).holds
    True
    """

    epsilon: float
    delta: float = 0.0
    events: tuple[Event, ...]
    neighboring: str = ONE_RECORD
    unit: PrivacyUnit = RECORD
    assumptions: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    public: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    version: str = __version__
    receipt: Receipt | None = None

    def __post_init__(self) -> None:
        unbounded = self.epsilon == math.inf and bool(tuple(self.caveats))
        for name in ("delta",) if unbounded else ("epsilon", "delta"):
            object.__setattr__(self, name, _number(getattr(self, name), name))
        if not self.delta < 1:
            raise InvalidCertificateError(f"delta must lie in [0, 1), got {self.delta}.")
        for name in ("events", "assumptions", "caveats"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        model: object = self.model
        if model is not None and not (isinstance(model, str) and len(model) == 64):
            raise InvalidCertificateError(f"model must be the 64 digits of a SHA-256, got {model!r}.")
        unit: object = self.unit
        if not isinstance(unit, PrivacyUnit):
            raise InvalidCertificateError(f"unit must be a PrivacyUnit, got {quoted(unit)}. Use RECORD or person(m).")
        receipt: object = self.receipt
        if receipt is not None and not isinstance(receipt, Receipt):
            raise InvalidCertificateError(f"receipt must be a Receipt or None, got {quoted(receipt)}.")
        for text in (self.neighboring, self.version, *self.assumptions, *self.caveats):
            _check_text(text)
        if unit.is_person != (self.neighboring == ONE_PERSON):
            raise InvalidCertificateError(
                f"the unit {str(unit)!r} contradicts the neighboring relation {self.neighboring!r}. A person goes with "
                f"{ONE_PERSON!r}, a record with any other."
            )
        object.__setattr__(self, "public", _plain(self.public))
        spent = accounting.epsilon(self.events, self.delta)
        if not spent <= self.epsilon + TOLERANCE * max(1.0, self.epsilon):
            raise InvalidCertificateError(
                f"a certificate must claim what its events spend: they come to epsilon={spent!r} at "
                f"delta={self.delta!r}, the claim is {self.epsilon!r}. Raise the claim or the noise."
            )
        odd = None if self.caveats else next(filter(None, map(_unproved, self.events)), None)
        if odd is not None:
            raise InvalidCertificateError(
                f"the event {odd!r} has no proof, and a certificate that holds rests on proofs alone. State a caveat."
            )

    def __hash__(self) -> int:
        return hash(self.to_json())

    @property
    def holds(self) -> bool:
        """Whether no caveat voids the guarantee."""
        return not self.caveats

    @classmethod
    def none(cls, reason: str) -> Certificate:
        """Return the certificate of what is not private, for a stated reason: epsilon is infinite, nothing holds."""
        return cls(epsilon=math.inf, events=(), caveats=(f"not private: {reason}",))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the schema's name first; ``receipt`` only if there is one."""
        return {
            "schema": SCHEMA,
            "holds": self.holds,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "delta": self.delta,
            "neighboring": self.neighboring,
            "unit": str(self.unit),
            "events": [event_to_dict(event) for event in self.events],
            "assumptions": list(self.assumptions),
            "caveats": list(self.caveats),
            "public": _plain(self.public),
            "model": self.model,
            "version": self.version,
            **({"receipt": self.receipt.to_dict()} if self.receipt else {}),
        }

    def to_json(self) -> str:
        """Return the JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, values: object) -> Certificate:
        """Return the certificate that :meth:`to_dict` wrote, checked anew.

        Raises
        ------
        InvalidCertificateError
            If a field is missing, unknown or of the wrong type, the schema is another one, ``holds`` contradicts the
            caveats, the events spend more than is claimed, or an event has no proof and there is no caveat.
        """
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            found = values.get("schema") if isinstance(values, dict) else type(values).__name__
            raise InvalidCertificateError(f"a certificate must have the schema {SCHEMA!r}, got {found!r}.")
        # Certificates of earlier versions were for records, and had no unit.
        entries: dict[str, Any] = {"unit": str(RECORD), **values}
        wrong = sorted(({str(key) for key in entries} ^ _FIELDS) - {"receipt"})
        if wrong:
            raise InvalidCertificateError(
                f"a certificate has the fields {sorted(_FIELDS)}; unknown or missing: {wrong}."
            )
        for name in ("events", "assumptions", "caveats"):
            if not isinstance(entries[name], list):
                raise InvalidCertificateError(f"{name} must be a list, got {entries[name]!r}.")
        try:
            events = tuple(event_from_dict(event) for event in entries["events"])
        except GlassineError as error:
            raise InvalidCertificateError(f"a certificate's events must be readable: {error}") from error
        try:
            unit = PrivacyUnit.parse(entries["unit"])
        except GlassineError as error:
            raise InvalidCertificateError(str(error)) from None
        fields = {name: entries[name] for name in _FIELDS - {"schema", "holds", "events", "unit"}}
        if fields["epsilon"] is None:
            fields["epsilon"] = math.inf
        receipt = Receipt.from_dict(entries["receipt"]) if "receipt" in entries else None
        certificate = cls(events=events, unit=unit, receipt=receipt, **fields)
        if entries["holds"] is not certificate.holds:
            raise InvalidCertificateError(
                f"holds must be {certificate.holds} with {len(certificate.caveats)} caveats, got {entries['holds']!r}."
            )
        return certificate

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate of a JSON text; errors as :meth:`from_dict`.

        Raises
        ------
        InvalidCertificateError
            If the text is not JSON, or as :meth:`from_dict`.
        """
        try:
            values = parse_json(text, path="the certificate")
        except GlassineError as error:
            raise InvalidCertificateError(str(error)) from None
        return cls.from_dict(values)

    def text(self) -> str:
        """Return the certificate as a person reads it."""
        lines = [self._headline(), f"Privacy unit: {self.unit}. Neighboring relation: {self.neighboring}."]
        lines += [f"Does not hold: {caveat}." for caveat in self.caveats]
        lines += ["Releases:"] if self.events else ["Releases: none."]
        for event in self.events:
            lines += _lines(event, "  ")
        if self.assumptions:
            lines += ["Assumptions:", *(f"  - {assumption}" for assumption in self.assumptions)]
        if self.public:
            lines += ["Taken as public:"]
            lines += [f"  - {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in self.public.items()]
        if self.model:
            lines.append(f"Of the model with the SHA-256 {self.model}.")
        if self.receipt:
            lines.append(f"Paid for by charge {self.receipt.charge} of the ledger {self.receipt.ledger}.")
        return "\n".join([*lines, f"glassine {self.version}"])

    def __str__(self) -> str:
        return self.text()

    def _headline(self) -> str:
        delta = f", delta = {self.delta:.6g}" if self.delta else ""
        return f"{'' if self.holds else 'NOT '}differentially private: epsilon = {self.epsilon:.6g}{delta}".capitalize()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(event.name)}</td><td>{html.escape(_mechanism(event))}</td>"
            f"<td>{accounting.cost(event).pure:.6g}</td><td>{html.escape(event.proof)}</td></tr>"
            for event in self.events
        )
        notes = "".join(
            f"<li>{html.escape(f'{kind}: {text}')}</li>"
            for kind, texts in (("does not hold", self.caveats), ("assumes", self.assumptions))
            for text in texts
        )
        return (
            f"<div><p><strong>{html.escape(self._headline())}</strong>, {html.escape(self.neighboring)}; unit: "
            f"{html.escape(str(self.unit))}</p>"
            "<table><thead><tr><th>Release</th><th>Mechanism</th><th>Epsilon</th><th>Proof</th></tr></thead>"
            f"<tbody>{rows}</tbody></table><ul>{notes}</ul></div>"
        )


_FIELDS = {
    "schema",
    "holds",
    "epsilon",
    "delta",
    "neighboring",
    "unit",
    "events",
    "assumptions",
    "caveats",
    "public",
    "model",
    "version",
}


def _unproved(event: Event) -> str | None:
    """Return the name of an event, or of one within it, that has no proof."""
    if isinstance(event, Parallel):
        return next(filter(None, (_unproved(inner) for branch in event.branches for inner in branch)), None)
    return event.name if event.proof == UNPROVED else None


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise InvalidCertificateError(f"{name} must be a finite number of at least 0, got {quoted(value)}.")
    return float(value)


def _check_text(text: object) -> None:
    if not isinstance(text, str) or not text:
        raise InvalidCertificateError(f"a certificate's statements must be non-empty text, got {quoted(text)}.")


def _plain(values: object) -> dict[str, Any]:
    """Return a copy of a mapping as JSON would read it back."""
    try:
        plain = json.loads(json.dumps(dict(values), allow_nan=False))  # type: ignore[call-overload]  # checked by use
    except (TypeError, ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise InvalidCertificateError(f"public must be a mapping of JSON values: {reason}.") from None
    out: dict[str, Any] = plain
    return out


def _mechanism(event: Event) -> str:
    """Return in words what ran; the JSON has every parameter."""
    if isinstance(event, Parallel):
        parts = f"on {len(event.branches)} disjoint part{'s' * (len(event.branches) > 1)} of the records"
        inner = _alike(event)
        return parts if inner is None else f"{_mechanism(inner)}, {parts}"
    words = {
        "Selection": "one draw by the exponential mechanism",
        "NoisyMax": "one noisy choice",
        "LaplaceNoise": "Laplace noise of scale {scale:.6g}",
        "DiscreteLaplaceNoise": "discrete Laplace noise of scale {scale:.6g}",
        "GaussianNoise": "Gaussian noise of standard deviation {sigma:.6g}",
        "DiscreteGaussianNoise": "discrete Gaussian noise of standard deviation {deviation:.6g}{steps}",
        "CauchyNoise": "Cauchy noise of scale {scale:.6g}",
        "SmoothCauchyNoise": "Cauchy noise of {ratio:.6g} times the smooth sensitivity",
        "SmoothCauchyMax": "one noisy choice of {candidates}, Cauchy noise of {ratio:.6g} times the smooth sensitivity",
        "GaussianMax": "one noisy choice of {candidates}, Gaussian noise of standard deviation {sigma:.6g}",
        "CountBound": "a noisy count less {threshold} taken for a lower bound",
        "Stated": "as stated elsewhere",
    }
    values = event_to_dict(event)
    if isinstance(event, DiscreteGaussianNoise):
        # The figures are in steps of a grid; a reader sees multiples of one, such as records.
        values["deviation"] = event.sigma / event.units
        values["steps"] = f" in steps of {_share_of_one(event.units)}" if event.units > 1 else ""
    said = words.get(values["event"], values["event"]).format(**values)
    if event.count > 1:
        said += f", {event.count} times"
    return said if event.share is None else f"{said}, {100 * event.share:.3g}% of the budget"


def _share_of_one(units: int) -> str:
    return f"2^-{units.bit_length() - 1}" if units & (units - 1) == 0 else f"1/{units}"


def _alike(event: Parallel) -> Event | None:
    """Return the one event of every branch, if all branches are alike but for their names."""
    values = [{**event_to_dict(inner), "name": ""} for branch in event.branches for inner in branch]
    if not values or any(value != values[0] for value in values) or any(len(branch) != 1 for branch in event.branches):
        return None
    return event.branches[0][0]


def _lines(event: Event, indent: str) -> list[str]:
    pure = accounting.cost(event).pure
    spent = f"epsilon = {pure:.6g}" if math.isfinite(pure) else "no pure epsilon"
    proof = f"; proof: {event.proof}" if event.proof else ""
    lines = [f"{indent}- {event.name}: {_mechanism(event)}; {spent}{proof}"]
    if isinstance(event, Parallel) and _alike(event) is None:
        for branch in event.branches:
            for inner in branch:
                lines += _lines(inner, indent + "  ")
    return lines
