"""Try remedies on the bytes of a model, in a worker: what each copy would be, for checkers and for the reply."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from glassine.auditing.api import audit
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.policy import NAMED, Policy
from glassine.auditing.statements import Statements
from glassine.auditing.trying import remedies_to_try, try_remedy
from glassine.data.labels import Sample
from glassine.desk.stops import samples_of
from glassine.domain import Domain
from glassine.errors import GlassineError
from glassine.files import json_text, read_once, write_bytes
from glassine.formats import load_file

PUBLIC = "What is public: a file of the folder that has the cut points of each column, as the workbench writes it."
"""What is asked of the analyst where a copy needs to know what is public: only analysts can state it."""


def main() -> None:
    """Try each remedy of a model's audit that makes a copy.

    Arguments: the model, a domain or ``-``, a policy, a TOML file or a name, and what is stated, in a JSON file; then,
    if it is measured, the target, the records, and held-out records if there are any. It writes ``trial.json``, and the
    copies as ``copy-N``.
    """
    model, domain_path, limits, stated, *measured = sys.argv[1:]
    domain = None if domain_path == "-" else Domain.read(domain_path)
    settings = AuditSettings(statements=Statements(**json.loads(Path(stated).read_text())))
    results = tried(Path(model), domain, limits, settings, *samples_of(measured, domain))
    write_bytes(json_text(results).encode(), "trial.json")


def tried(
    model: Path, domain: Domain | None, limits: str, settings: AuditSettings, members: Sample, holdout: Sample
) -> list[dict[str, Any]]:
    """Return what the model is with records, if there are any, and what each copy would be, or why there is none."""
    file = read_once(model)
    policy = NAMED[limits].policy if limits in NAMED else Policy.from_toml(limits)
    others = None if holdout.data is None else holdout
    whole = load_file(file, domain)
    context: dict[str, Any] = {"domain": domain, "policy": policy, "settings": settings}
    findings = audit(whole, members.data, members.target, holdout=others, **context)
    out: list[dict[str, Any]] = []
    if members.data is not None:
        odd = [check.meaning for check in findings.checks if check.status in ("fail", "unknown")]
        out.append({"own": findings.verdict, "odd": " ".join(odd), "asks": ""})
    for remedy in remedies_to_try(findings.advice):
        one: dict[str, Any] = {"plain": remedy.plain, "note": "", "reply": remedy.plain, "failure": "", "asks": ""}
        try:
            done = try_remedy(file, remedy, members=members, holdout=holdout, **context)
        except GlassineError as error:
            one["failure"] = str(error.message)
            if domain is None and error.parameter == "domain":
                one["asks"] = PUBLIC
        else:
            write_bytes(done.file.data, f"copy-{len(out)}")
            one |= {
                "note": done.note,
                "reply": done.reply,
                "verdict": done.findings.verdict,
                "ending": done.file.path.suffix,
            }
        out.append(one)
    return out


if __name__ == "__main__":
    main()
