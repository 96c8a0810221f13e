"""Findings as a bill of materials, CycloneDX 1.6: a machine-learning model, and what is declared of it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from glassine.auditing.findings import Findings, ModelSummary
from glassine.report import wording
from glassine.report.blocks import CheckRow
from glassine.report.exchange.pipelines import checked

TASKS = {"regression tree": "regression"}
WORDS = {
    "pass": "The model keeps the rule: {label}.",
    "fail": "The model breaks the rule: {label}.",
    "unknown": "It is not known whether the model keeps the rule: {label}.",
}


def as_cyclonedx(findings: Findings, name: str, at: datetime) -> dict[str, Any]:
    """Return a bill of materials of one model, its rules as a standard, its checks as claims with their evidence."""
    # Persons, their affirmation and a day of expiry are not stated: only persons can. The findings hold nothing that is
    # for the checker only; the time of the audit has its zone.
    made, judged = at.isoformat(timespec="seconds"), [one for one in checked(findings) if one.status in WORDS]
    tool = {"type": "application", "name": "Glassine", "version": findings.version}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": made, "tools": {"components": [tool]}},
        "components": [_model(findings, name, judged)],
        "definitions": {"standards": [_standard(findings, judged)]},
        "declarations": {
            "assessors": [{"bom-ref": "assessor", "thirdParty": False}],
            "attestations": [_attestation(findings, judged)],
            "claims": [_claim(one) for one in judged],
            "evidence": [_evidence(one, made) for one in judged],
        },
    }


def _model(findings: Findings, name: str, judged: list[CheckRow]) -> dict[str, Any]:
    subject = findings.subject
    parameters: dict[str, Any] = {"approach": {"type": "supervised"}, "modelArchitecture": subject.kind}
    if isinstance(subject, ModelSummary):
        parameters["task"] = TASKS.get(subject.kind, "classification" if subject.classes else "regression")
        parameters["architectureFamily"] = subject.kind
    out: dict[str, Any] = {
        "type": "machine-learning-model",
        "bom-ref": "model",
        "name": wording.clean(name),
        "modelCard": {
            "modelParameters": parameters,
            "quantitativeAnalysis": {
                "performanceMetrics": [{"type": one.rule, "value": one.measured} for one in judged]
            },
            "considerations": {"technicalLimitations": [wording.clean(note) for note in findings.notes]},
        },
        "properties": _properties(findings),
    }
    digests = [file.sha256 for file in findings.inputs if file.role in ("model", "release") and file.sha256]
    if digests:
        out["hashes"] = [{"alg": "SHA-256", "content": digest} for digest in digests]
    return out


def _properties(findings: Findings) -> list[dict[str, str]]:
    stated: dict[str, str] = {"verdict": findings.verdict, "counted": findings.counted}
    if (guarantee := findings.guarantee) is not None:
        stated |= {
            "differential-privacy:epsilon": f"{guarantee.epsilon:g}",
            "differential-privacy:delta": f"{guarantee.delta:g}",
            "differential-privacy:neighboring": guarantee.neighboring,
            "differential-privacy:unit": guarantee.unit,
            "differential-privacy:standing": guarantee.standing,
        }
    return [{"name": f"glassine:{name}", "value": wording.clean(value)} for name, value in stated.items()]


def _standard(findings: Findings, judged: list[CheckRow]) -> dict[str, Any]:
    return {
        "bom-ref": "policy",
        "name": "Disclosure policy of Glassine",
        "version": findings.version,
        "description": wording.clean(findings.policy_source),
        "requirements": [
            {"bom-ref": f"rule:{one.rule}", "identifier": one.rule, "title": one.label, "text": one.limit}
            for one in judged
        ],
    }


def _attestation(findings: Findings, judged: list[CheckRow]) -> dict[str, Any]:
    return {
        "summary": f"{findings.verdict}.",
        "assessor": "assessor",
        "map": [
            {
                "requirement": f"rule:{one.rule}",
                ("counterClaims" if one.status == "fail" else "claims"): [f"claim:{one.rule}"],
                **({} if one.status == "unknown" else {"conformance": {"score": int(one.status == "pass")}}),
            }
            for one in judged
        ],
    }


def _claim(one: CheckRow) -> dict[str, Any]:
    return {
        "bom-ref": f"claim:{one.rule}",
        "target": "model",
        "predicate": WORDS[one.status].format(label=one.label),
        "reasoning": one.meaning,
        "evidence": [f"evidence:{one.rule}"],
    }


def _evidence(one: CheckRow, made: str) -> dict[str, Any]:
    content = json.dumps({"measured": one.measured, "limit": one.limit, "status": one.status})
    return {
        "bom-ref": f"evidence:{one.rule}",
        "propertyName": f"glassine:check:{one.rule}",
        "description": one.sentence,
        "created": made,
        "data": [
            {"name": one.rule, "contents": {"attachment": {"contentType": "application/json", "content": content}}}
        ],
    }
