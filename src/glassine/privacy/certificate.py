"""The certificate: what a private release guarantees, event by event, as a value that travels with it."""

from __future__ import annotations

import dataclasses
import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from glassine import __version__
from glassine.capacity import AverageCase
from glassine.codec import NUMBER, Codec, Field, checked, decoded, lazily, listed, optional, record, tagged
from glassine.errors import GlassineError, InvalidCertificateError, check_choice, parameter, quoted
from glassine.files import parse_json
from glassine.privacy import accounting
from glassine.privacy.events import KINDS, UNPROVED, DiscreteGaussianNoise, Event, Parallel, RepeatedSelection, refuse
from glassine.privacy.private_selection import mean_runs
from glassine.privacy.receipt import DIGEST, RECEIPT, Receipt
from glassine.privacy.signing import Signed
from glassine.privacy.unit import RECORD, PrivacyUnit

# Certificates that do not state the steps of a grid, or the records by which neighbors differ, mean one; the latter
# is left out, so that certificates for one record read as they always did.
_ONE = {"units": Field(required=False), "records": Field(required=False, omit=1)}


def _event_codec(kind: type[Event]) -> Codec[Any]:
    """Return the codec of a kind of event, every figure of which must be stated."""
    names = [field.name for field in dataclasses.fields(kind)]
    said = {name: _ONE.get(name, Field(required=True)) for name in names}
    if kind is Parallel:
        said["branches"] = Field(codec=listed(listed(lazily(lambda: EVENT))), required=True)
    return record(kind, said)


EVENT: Codec[Any] = tagged("event", {name: (kind, _event_codec(kind)) for name, kind in KINDS.items()})


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain values, its kind under ``event``."""
    if KINDS.get(type(event).__name__) is not type(event):
        raise refuse(event)
    out: dict[str, Any] = EVENT.encode(event)
    return out


LARGEST = 1e300
"""Largest size of a number in an event: beyond it, whole numbers have no floating-point form."""

SCHEMA = "glassine.certificate/2"

Origin: TypeAlias = Literal["operating system", "vouched for by the caller", "seeded", "not stated"]
"""Where random bits came from."""

Variant: TypeAlias = Literal["pure", "approximate", "none"]
"""Which form of differential privacy a certificate claims."""

SIGNED = Signed("glassine.signed-certificate/1", "certificate")
"""A certificate and who published it."""

CONSTANT = {"trust_model": "central", "release_type": "one release, not interactive"}
"""What is true of every release of this package: a curator holds the records, and publishes one thing once."""

LOSS_BOUND = "largest loss above that of the best model, in records, with probability 0.95"
"""Name of a public figure of fits whose loss is not errors alone: see ``Certificate.error_bound``."""

ONE_RECORD, ONE_PERSON = "add-or-remove-one", "add-or-remove-one-person"
"""Neighboring relations: one record more or less; all records of one person more or less."""

TOLERANCE = 1e-12
"""How far the accountant's epsilon may lie above the claim, for rounding; relative above epsilon 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What a release guarantees, the events that it rests on, and what it does not cover.

    Guarantee
    ---------
    None on its own. The constructor adds up the events and refuses a claim that is too small.

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
    randomness : {"operating system", "vouched for by the caller", "seeded", "not stated"}, default="not stated"
        Where the random bits came from. Bits of a seed void the guarantee, so that they need a caveat.
    arithmetic : str, default="not stated"
        What floating-point numbers may add, in a sentence.
    error_bound : int, optional
        How many more errors on the training records, as the fit counts them, than the best model of its class makes:
        at most so many with probability 0.95. It follows from public numbers alone. None where no bound is proved.
    model : str, optional
        SHA-256 of the canonical JSON of the model that was released, for any layout of a file that holds it: see
        ``glassine.formats.fingerprint``.
    file : str, optional
        SHA-256 of the bytes of the file that the model was written to.
    version : str
        Version of this package.
    receipt : Receipt, optional
        The charge of a ledger that paid for the release.
    average_case : AverageCase, optional
        What no attack exceeds on average over people, from the number of models of a class that was declared before the
        fit. It is no differential privacy: it changes neither ``epsilon`` nor ``holds``, and no command accepts it as a
        guarantee.

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
    randomness: Origin = "not stated"
    arithmetic: str = "not stated"
    error_bound: int | None = None
    model: str | None = None
    file: str | None = None
    version: str = __version__
    receipt: Receipt | None = None
    average_case: AverageCase | None = None

    def __post_init__(self) -> None:
        unbounded = self.epsilon == math.inf and bool(tuple(self.caveats))
        for name in ("delta",) if unbounded else ("epsilon", "delta"):
            object.__setattr__(self, name, _number(getattr(self, name), name))
        if not self.delta < 1:
            raise InvalidCertificateError(f"{parameter('delta')} must lie in [0, 1), got {self.delta}.")
        for name in ("events", "assumptions", "caveats"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("model", "file"):
            digest: object = getattr(self, name)
            if digest is not None and not (isinstance(digest, str) and DIGEST.fullmatch(digest)):
                raise InvalidCertificateError(
                    f"{parameter(name)} must be the 64 hexadecimal digits of a SHA-256, got {quoted(digest)}."
                )
        self._check_origin()
        unit: object = self.unit
        if not isinstance(unit, PrivacyUnit):
            raise InvalidCertificateError(
                f"{parameter('unit')} must be a PrivacyUnit, got {quoted(unit)}.", remedy="Use RECORD or person(m)."
            )
        statement: object = self.average_case
        if statement is not None and not isinstance(statement, AverageCase):
            raise InvalidCertificateError(
                f"{parameter('average_case')} must be an AverageCase or None, got {quoted(statement)}."
            )
        if statement is not None and not self.events and not self.caveats:
            raise InvalidCertificateError(
                "the average case of a class is no guarantee: a certificate that rests on it alone needs a caveat.",
                remedy="Use Certificate.none(reason, average_case).",
            )
        receipt: object = self.receipt
        if receipt is not None and not isinstance(receipt, Receipt):
            raise InvalidCertificateError(f"{parameter('receipt')} must be a Receipt or None, got {quoted(receipt)}.")
        for text in (self.neighboring, self.version, self.arithmetic, *self.assumptions, *self.caveats):
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
                f"a certificate must claim what its events spend: they come to {parameter('epsilon=')}{spent!r} at "
                f"{parameter('delta=')}{self.delta!r}, the claim is {self.epsilon!r}.",
                remedy="Raise the claim or the noise.",
            )
        odd = None if self.caveats else next(filter(None, map(_unproved, self.events)), None)
        if odd is not None:
            raise InvalidCertificateError(
                f"the event {odd!r} has no proof, and a certificate that holds rests on proofs alone.",
                remedy="State a caveat.",
            )

    def _check_origin(self) -> None:
        check_choice(self.randomness, "randomness", get_args(Origin), kind=InvalidCertificateError)
        if self.randomness == "seeded" and not self.caveats:
            raise InvalidCertificateError(
                "bits of a seed can be repeated, so that they need a caveat.",
                remedy="Add the caveat, or leave the seed out.",
            )
        bound: object = self.error_bound
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int) or not bound >= 0):
            raise InvalidCertificateError(
                f"{parameter('error_bound')} must be a whole number of at least 0 or None, got {quoted(bound)}."
            )

    def __hash__(self) -> int:
        return hash(self.to_json())

    @property
    def holds(self) -> bool:
        """Whether no caveat voids the guarantee."""
        return not self.caveats

    @property
    def variant(self) -> Variant:
        """Pure differential privacy, approximate with a delta, or none."""
        if self.epsilon == math.inf:
            return "none"
        return "approximate" if self.delta else "pure"

    @property
    def rho(self) -> float | None:
        """What the events cost together in zero-concentrated differential privacy; None where it does not apply."""
        costs = [accounting.cost(event) for event in self.events]
        total = math.fsum(cost.rho for cost in costs)
        return total if math.isfinite(total) and not any(cost.delta or cost.slack for cost in costs) else None

    @property
    def derived(self) -> dict[str, Any]:
        """What follows from the other fields, or holds of every release; JSON that says otherwise is refused."""
        return {"holds": self.holds, "variant": self.variant, "records_per_unit": self.unit.most_records, **CONSTANT}

    @classmethod
    def none(cls, reason: str, average_case: AverageCase | None = None) -> Certificate:
        """Return the certificate of what is not private, for a stated reason: epsilon is infinite, nothing holds."""
        return cls(epsilon=math.inf, events=(), caveats=(f"not private: {reason}",), average_case=average_case)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the schema's name first; ``receipt`` only if there is one."""
        return {"schema": SCHEMA, **self.derived, **CERTIFICATE.encode(self)}

    def to_json(self) -> str:
        """Return the JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, values: object) -> Certificate:
        """Return the certificate that :meth:`to_dict` wrote, checked again.

        Raises
        ------
        InvalidCertificateError
            If a field is missing, unknown or of the wrong type, the schema is another one, what follows from other
            fields contradicts them, the events spend more than is claimed, or an event has no proof and there is no
            caveat.
        """
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            schema = values.get("schema") if isinstance(values, dict) else type(values).__name__
            raise InvalidCertificateError(f"a certificate must have the schema {SCHEMA!r}, got {schema!r:.80}.")
        names = (*CONSTANT, "holds", "variant", "records_per_unit")
        for name in names:
            if name not in values:
                raise InvalidCertificateError(
                    f"the certificate lacks the key {name!r}.", remedy="Ask its publisher for the whole file."
                )
        entries = {key: entry for key, entry in values.items() if key not in ("schema", *names)}
        certificate = decoded(CERTIFICATE, entries, "the certificate", InvalidCertificateError)
        for name, value in certificate.derived.items():
            if type(values[name]) is not type(value) or values[name] != value:
                raise InvalidCertificateError(
                    f"{parameter(name)} must be {value!r} by the certificate's other fields, got "
                    f"{quoted(values[name])}."
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
            lines.append(
                f"Paid for by charge {self.receipt.charge} of the ledger {self.receipt.ledger}. With it, "
                f"{_amounts(self.receipt.spent_epsilon, self.receipt.spent_delta)} of this dataset is spent."
            )
        if self.average_case:
            lines += ["Average case, which is no differential privacy:", f"  {self.average_case.sentence}"]
            lines += [
                f"  Class: {self.average_case.declared}. Published: {self.average_case.published}.",
                *(f"  - assumes that {one}" for one in self.average_case.assumptions),
            ]
        return "\n".join([*lines, f"glassine {self.version}"])

    def __str__(self) -> str:
        return self.text()

    def _headline(self) -> str:
        amounts = _amounts(self.epsilon, self.delta)
        return f"{'' if self.holds else 'NOT '}differentially private: {amounts}".capitalize()

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


AVERAGE_CASE: Codec[AverageCase | None] = optional(record(AverageCase))

CERTIFICATE: Codec[Certificate] = record(
    Certificate,
    {
        # Infinity, which JSON does not have, is null.
        "epsilon": Field(
            codec=Codec(
                lambda epsilon: epsilon if math.isfinite(epsilon) else None,
                lambda plain: math.inf if plain is None else NUMBER.decode(plain),
            )
        ),
        "events": Field(codec=listed(EVENT)),
        # Certificates of earlier versions were for records, and had no unit.
        "unit": Field(codec=checked(str, PrivacyUnit.parse)),
        "public": Field(codec=checked(lambda public: _plain(public), lambda plain: _plain(plain)), required=True),
        "receipt": Field(codec=RECEIPT, omit=None),
        "average_case": Field(codec=AVERAGE_CASE, omit=None),
        **{
            name: Field(required=True)
            for name in (
                *("delta", "neighboring", "randomness", "arithmetic", "assumptions", "caveats", "error_bound"),
                *("model", "file", "version"),
            )
        },
    },
    order=(
        *("epsilon", "delta", "neighboring", "unit", "randomness", "arithmetic", "events", "assumptions", "caveats"),
        *("public", "error_bound", "model", "file", "version", "receipt", "average_case"),
    ),
)


def _amounts(epsilon: float, delta: float) -> str:
    return f"epsilon = {epsilon:.6g}" + (f", delta = {delta:.6g}" if delta else "")


def _unproved(event: Event) -> str | None:
    """Return the name of an event, or of one within it, that has no proof."""
    if isinstance(event, Parallel):
        return next(filter(None, (_unproved(inner) for branch in event.branches for inner in branch)), None)
    return event.name if event.proof == UNPROVED else None


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise InvalidCertificateError(f"{parameter(name)} must be a finite number of at least 0, got {quoted(value)}.")
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
        raise InvalidCertificateError(f"{parameter('public')} must be a mapping of JSON values: {reason}.") from None
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
        "RepeatedSelection": "one of a random number of runs, {mean:.6g} in the mean, of {candidates} candidates",
        "CountBound": "a noisy count less {threshold} taken for a lower bound",
        "Stated": "as stated elsewhere",
    }
    values = event_to_dict(event)
    if isinstance(event, RepeatedSelection):
        values["mean"] = mean_runs(event.shape, event.stop)
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
    """Return the one event of every branch, if all differ in their names only."""
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
