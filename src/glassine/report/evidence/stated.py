"""Figures of what is stated: the guarantee, its certificate, and the report itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from glassine.auditing.policy import Policy
from glassine.files import PICKLES
from glassine.privacy import accounting
from glassine.privacy.certificate import LOSS_BOUND
from glassine.report import wording
from glassine.report.evidence.basis import (
    NO_CERTIFICATE,
    NO_REPORT,
    Answer,
    Basis,
    EvidenceFigure,
    Missing,
    NoFigureError,
    answer,
    bounded,
    declare,
    in_words,
    judged,
)
from glassine.report.sections.policy import limits_of


@answer
def _bounds(basis: Basis) -> Iterator[Answer]:
    bounds = basis.bounds
    if isinstance(bounds, Missing):
        raise NoFigureError(bounds.reason)
    yield from map(bounded, bounds)


@answer
def _standing(basis: Basis) -> Iterator[Answer]:
    if basis.findings is None and basis.certificate is not None:
        yield NO_REPORT
        yield from _claim(basis)
        return
    guarantee = basis.report["guarantee"]
    if guarantee is None:
        raise NoFigureError("the model claims no differential privacy")
    yield EvidenceFigure(f"claimed by {guarantee['claimed_by']}; {guarantee['standing']}", "the claim, and the policy")


@answer
def _claim(basis: Basis) -> Iterator[Answer]:
    guarantee = None if basis.findings is None else basis.findings["guarantee"]
    stated: Any = basis.certificate or guarantee
    if stated is None:
        raise NoFigureError("the model claims no differential privacy" if basis.findings else NO_CERTIFICATE.reason)
    values = stated if isinstance(stated, Mapping) else stated.to_dict()
    if values["epsilon"] is None:
        raise NoFigureError(f"the certificate claims nothing: {'; '.join(values['caveats'])}")
    against = f". It does not hold: {'; '.join(values['caveats'])}" if values["caveats"] else ""
    added = "events added up again when the certificate was read"
    method = added if basis.certificate is not None else "as the model states it; a model cannot prove it"
    yield EvidenceFigure(
        f"epsilon {values['epsilon']:.6g}, delta {values['delta']:.3g}, {values['neighboring']}{against}", method
    )


@answer
def _certificate(basis: Basis) -> Iterator[Answer]:
    stated = basis.stated
    if stated.model is None:
        raise NoFigureError("the certificate names no model")
    file = "" if stated.file is None else f"; of the file {stated.file}"
    yield EvidenceFigure(
        f"SHA-256 of the model's canonical form {stated.model}{file}", "compared when the certificate is verified"
    )


@answer
def _variant(basis: Basis) -> Iterator[Answer]:
    stated = basis.stated
    words = {
        "pure": "pure differential privacy",
        "approximate": "approximate differential privacy",
        "none": "no differential privacy",
    }
    rho = "" if stated.rho is None else f"; its events cost rho = {stated.rho:.4g} in zCDP"
    yield EvidenceFigure(f"{words[stated.variant]}{rho}", "added up from the events")


@answer
def _mechanisms(basis: Basis) -> Iterator[Answer]:
    if not basis.stated.events:
        yield Missing("the certificate has no events")
    for event in basis.stated.events:
        cost = accounting.cost(event)
        kind = type(event).__name__
        said = f"{event.name}: {kind}, epsilon {cost.pure:.6g}, rho {cost.rho:.4g}"
        yield EvidenceFigure(said, event.proof or "the mechanism's own proof")


@answer
def _unit(basis: Basis) -> Iterator[Answer]:
    stated = basis.stated
    records = wording.plural(stated.unit.most_records, "record")
    k = "" if stated.unit.is_person else " k records of one person are protected with k times epsilon."
    yield EvidenceFigure(f"unit: {stated.unit}; {records} a unit.{k}", stated.neighboring)


@answer
def _public_knowledge(basis: Basis) -> Iterator[Answer]:
    names = ", ".join(basis.stated.public)
    yield EvidenceFigure(
        f"taken as public: {names}" if names else "nothing is taken as public", "as the certificate states"
    )
    for caveat in basis.stated.caveats:
        yield EvidenceFigure(f"does not hold: {caveat}", "as the certificate states")


@answer
def _error_bound(basis: Basis) -> Iterator[Answer]:
    stated = basis.stated
    if LOSS_BOUND in stated.public:
        loss = f"a loss of at most {stated.public[LOSS_BOUND]:,} records above that of the best model of the class"
        yield EvidenceFigure(
            f"{loss}, with probability 0.95", "utility of the exponential mechanism; public numbers alone"
        )
        return
    if stated.error_bound is None:
        raise NoFigureError("no bound on the loss in accuracy is proved for this learner")
    yield EvidenceFigure(
        f"at most {stated.error_bound:,} errors more on the training records than the best model of the class, "
        "with probability 0.95",
        "utility of the exponential mechanism; public numbers alone",
    )


@answer
def _arithmetic(basis: Basis) -> Iterator[Answer]:
    stated = basis.stated
    if stated.arithmetic == "not stated":
        raise NoFigureError("the certificate does not state it")
    yield EvidenceFigure(f"random bits: {stated.randomness}. {stated.arithmetic}", "proofs beside the samplers")


@answer
def _assumptions(basis: Basis) -> Iterator[Answer]:
    for text in () if basis.certificate is None else basis.certificate.assumptions:
        yield EvidenceFigure(f"assumed: {text}", "as the certificate states")


@answer
def _checks(basis: Basis) -> Iterator[Answer]:
    for check in basis.report["checks"]:
        yield EvidenceFigure(in_words(basis, check), check["basis"])


@answer
def _policy(basis: Basis) -> Iterator[Answer]:
    policy = Policy(**basis.report["policy"])
    stated = [f"{label} {limit}" for label, limit, _ in limits_of(policy, basis.report["subject"]["kind"])]
    accepted = "accepted in place of counts" if policy.accept_guarantee else "not accepted in place of counts"
    said = f"Limits that are set: {'; '.join(stated) or 'none'}. A guarantee within its limits is {accepted}."
    yield EvidenceFigure(said, f"policy: {basis.report['policy_source']}")


@answer
def _advice(basis: Basis) -> Iterator[Answer]:
    for entry in basis.report["advice"]:
        yield EvidenceFigure(f"advised: {entry['text']}", "what would help with a failed or an unknown check")
    if not basis.report["advice"]:
        yield EvidenceFigure("no measure is advised", "no check failed or is unknown")


@answer
def _versions(basis: Basis) -> Iterator[Answer]:
    if basis.findings is not None:
        yield EvidenceFigure(
            f"audited by Glassine {basis.findings['version']}, with fixed seeds", "recorded in the report"
        )
    if basis.certificate is not None:
        yield EvidenceFigure(f"trained by Glassine {basis.certificate.version}", "recorded in the certificate")


@answer
def _files(basis: Basis) -> Iterator[Answer]:
    for file in basis.report["inputs"]:
        digest = "no digest: records" if file["sha256"] is None else f"SHA-256 {file['sha256']}"
        yield EvidenceFigure(f"{file['role']}: {file['name']}, {digest}", "bytes that were read")
    if not basis.report["inputs"]:
        yield Missing("the audit was called from a program, and read no file")


@answer
def _audience(basis: Basis) -> Iterator[Answer]:
    checker = basis.report["audience"] == "checker"
    said = "the report holds figures for the checker only" if checker else "the report may be published"
    yield EvidenceFigure(said, "marked in the report")


@answer
def _no_digest(basis: Basis) -> Iterator[Answer]:
    plain = [file for file in basis.report["inputs"] if file["role"] in ("data", "holdout") and file["sha256"]]
    yield EvidenceFigure(
        f"digests of records in the report: {len(plain)}",
        "a plain digest gives a record away to who has the others; ties are by a key that the holder keeps",
    )


@answer
def _schemas(basis: Basis) -> Iterator[Answer]:
    for values in (basis.findings, None if basis.certificate is None else basis.certificate.to_dict()):
        if values is not None:
            yield EvidenceFigure(f"JSON, schema {values['schema']}", "documented schema")


@answer
def _format(basis: Basis) -> Iterator[Answer]:
    yield from judged(basis, "long_texts", "require_clean_copy")
    model = next((file for file in basis.report["inputs"] if file["role"] == "model"), None)
    if model is None:
        raise NoFigureError("the audit read no file of the model")
    binary = model["name"].lower().endswith((*PICKLES, ".skops", ".onnx", ".ubj"))
    yield EvidenceFigure(f"{model['name']}: {'a binary file' if binary else 'text'}", "ending of the file")


@answer
def _roles(basis: Basis) -> Iterator[Answer]:
    sensitive = basis.report["sensitive"]
    finding = basis.measured("disclosure")
    quasi = () if isinstance(finding, Missing) else finding["quasi_identifiers"]
    for name in basis.report["subject"].get("attributes", ()):
        role = "sensitive" if name == sensitive else "quasi-identifier" if name in quasi else "tested, no role stated"
        yield EvidenceFigure(f"{name}: {role}", "as stated for the audit")
    if sensitive is None:
        yield Missing("no sensitive attribute was named")


declare("""
ledger | certificate | charge {receipt.charge} of the ledger {receipt.ledger:.12}…; the dataset spent a total of \
epsilon {receipt.spent_epsilon:.6g} and delta {receipt.spent_delta:.3g}, this release included | receipt of the \
ledger; plain sums | no ledger was charged, so that other releases were not added up
release_type | certificate | {derived.release_type} | true of every certificate
trust_model | certificate | {derived.trust_model} | true of every certificate
verdict | report | {verdict} | the checks of the policy together
rounding | report.policy | counts from 1 to below {suppress_below} are not shown, and shares and bits are rounded | \
suppression
""")
