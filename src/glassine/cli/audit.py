"""``glassine audit``."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glassine.auditing.remedy import Remedy
from glassine.cli.audit_options import OPTIONS, AuditOptions
from glassine.cli.naming import in_options, listed, options_of
from glassine.cli.options import filled_in
from glassine.cli.progress import stages
from glassine.cli.reading import (
    check_person,
    check_target,
    companion,
    identifiers,
    is_release,
    is_summary_file,
    load_judged,
    load_release,
    load_whole,
    of_header,
    opened,
    read_domain,
    read_policy,
    read_records,
    refuse_more,
    telling_kinds,
    unopened,
    with_inputs,
    written_values,
)
from glassine.cli.steps import READING, STATED, WRITTEN
from glassine.cli.writing import check_outputs, check_report, print_value, shown_of, write_by_ending, write_report
from glassine.errors import (
    GlassineError,
    InvalidDataError,
    InvalidParameterError,
    PrivacyLeakWarning,
    UnjudgedModelError,
)
from glassine.files import FileContent, read_once
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    from glassine.attacks.outcome import Audience
    from glassine.auditing.findings import Findings
    from glassine.auditing.policy import Policy
    from glassine.auditing.unjudged import UnjudgedFile
    from glassine.data.labels import Sample
    from glassine.domain import Domain
    from glassine.surrogates import SurrogateRelease

IN_PIPELINES = (
    "Records need not be in the pipeline: audit the model with `--data` where they are, before you commit it. Here let "
    "status 3 pass (GitHub: `tolerate-unknown: true`; GitLab: `allow_failure: {exit_codes: 3}`)."
)
"""What to do in a pipeline with advice to give records."""
IN_PIPELINES_PLAIN = "Records need not be in the pipeline: audit the model where they are, before you commit it."
"""The same for people without a shell."""
INCONCLUSIVE = 3
"""Exit status where no verdict is possible."""
WORST_FIRST = (2, 1, 3, 0)
"""Exit statuses from bad input to within policy: an open check is better than a failed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """What was found of one file."""

    path: Path  # The file
    findings: Findings | None = None  # What was found; None where it could not be audited
    error: str = ""  # Why not
    document: UnjudgedFile | None = None  # What to do with a file of a kind that is not judged
    status: int = 2  # Exit status of its audit
    skipped: str = ""  # Schema of a file that holds no model and was not audited; else empty


def audit_command(options: AuditOptions) -> None:
    """Audit a published model, or a release of surrogate trees.

    If the policy accepts the guarantee of a private model, verdict and exit status do not depend on --data and
    --holdout; with --audience public neither does the report. A file that cannot be read is bad input. For several
    models a table is printed, and the exit status is the worst: bad input, outside policy, inconclusive, within policy;
    other files of Glassine, such as domains, are skipped. With --together the models are judged as one.

    Exit status: 0 within policy, or the policy has no check of --only; 1 outside policy; 2 bad input, or --only cannot
    be measured; 3 inconclusive.
    """
    records, report = options.records, options.report
    read = [*options.models, options.domain, records.data, records.holdout, options.policy, options.signed.statements]
    check_outputs([report.output, report.clean_copy], read, overwrite=report.overwrite)
    check_report(report.output)
    options.exchange.check(read, small=report.show_small_counts, overwrite=report.overwrite)
    _check_holdout(options)
    several = len(options.models) > 1
    if report.clean_copy is not None and (several or options.measurements):
        raise InvalidParameterError(
            "--clean-copy writes the copy of one model, audited as a whole.",
            remedy="Audit that model alone, without --only.",
        )
    options.check_together()
    # The log of a pipeline has other readers than the report that it keeps.
    printed: Audience = "public" if options.public else "checker"
    if several and not options.together:
        options.stated.stated_class.check_several(len(options.models))
        if options.exchange.to is not None:
            raise InvalidParameterError("--to writes one report.", remedy="Audit one model, or add --together.")
        verdicts = [_verdict_on(path, options) for path in options.models]
        if all(verdict.skipped for verdict in verdicts):
            raise InvalidParameterError("none of the files holds a model.", remedy="Name at least one model.")
        options.exchange.write({one.path: one.findings or one.error for one in verdicts if not one.skipped})
        if report.output is not None:
            _write_page(verdicts, report.output)
        if printed == "public":
            verdicts = [replace(one, findings=one.findings and one.findings.public()) for one in verdicts]
        print_value(_plain_verdicts(verdicts) if report.as_json else _verdict_table(verdicts, printed), report.as_json)
        raise typer.Exit(_worst_status(verdicts))
    if options.together and not several:
        raise InvalidParameterError("--together needs several models.", remedy="Name them, or leave it out.")
    try:
        with warnings.catch_warnings():
            if printed == "checker" and not report.as_json:
                # The text that is printed has them as notes.
                warnings.simplefilter("ignore", PrivacyLeakWarning)
            findings = _together(options) if several else _findings_on(options.models[0], options)
    except UnjudgedModelError as error:
        options.exchange.write({options.models[0]: str(error)})
        one = FileVerdict(path=options.models[0], error=str(error), document=error.document, status=INCONCLUSIVE)
        text = _write_page([one], report.output)
        text = text if report.output is None else f"{text.rstrip()}\n\nReport: {report.output}\n"
        print_value(_plain_verdicts([one]) if report.as_json else text, report.as_json)
        raise typer.Exit(INCONCLUSIVE) from None
    except GlassineError as error:
        # A pipeline shall not read the report of an earlier run.
        options.exchange.write({options.models[0]: str(error)})
        raise
    if report.output is not None:
        title = "" if several else options.models[0].name
        write_report(findings, report.output, title=title or None)
    options.exchange.write({options.models[0]: findings})
    audience_findings = findings.public() if printed == "public" else findings
    print_value(
        audience_findings.to_dict() if report.as_json else shown_of(audience_findings, report.output), report.as_json
    )
    raise typer.Exit(_status(findings, options))


def _write_page(verdicts: Sequence[FileVerdict], output: Path | None) -> str:
    """Write the report on several files, or on one that is not judged, in the form of its ending; return the text."""
    from glassine.report import files_page, render_html, render_text

    audited = (one for one in verdicts if not one.skipped)
    page = files_page([(one.path.name, one.findings or one.document or one.error) for one in audited])
    text = render_text(page)
    write_by_ending(output, _plain_verdicts(verdicts), text, lambda: render_html(page))
    return text


def _status(findings: Findings, options: AuditOptions) -> int:
    # What was asked for was measured, and nothing was to be judged.
    return 0 if options.measurements and not findings.checks else findings.exit_status


def _verdict_on(path: Path, options: AuditOptions) -> FileVerdict:
    """Audit one of several files; a file that cannot be audited also has a verdict."""
    try:
        if schema := companion(read_once(path)):
            return FileVerdict(path=path, skipped=schema)
        findings = _findings_on(path, options)
    except UnjudgedModelError as error:
        return FileVerdict(path=path, error=str(error), document=error.document, status=INCONCLUSIVE)
    except GlassineError as error:
        return FileVerdict(path=path, error=str(error))
    return FileVerdict(path=path, findings=findings, status=_status(findings, options))


def _limits(options: AuditOptions) -> tuple[Policy, FileContent | None]:
    limits, file = read_policy(options.policy)
    largest = options.membership.max_advantage
    if largest is None:
        return limits, file
    measured = None if limits.largest_measured_advantage is None else largest
    with in_options(OPTIONS):
        return replace(limits, largest_attack_advantage=largest, largest_measured_advantage=measured), file


def _finished(findings: Findings, files: dict[str, FileContent | None], options: AuditOptions) -> Findings:
    """Return findings with their files and the sign-off, for the audience."""
    with in_options(options_of("day", "review_by")):
        signed = options.signed.sign_off()
    records = options.records
    findings = with_inputs(
        findings,
        files,
        {"data": records.data, "holdout": records.holdout},
        policy=options.policy,
        options={
            "target": records.target,
            "person": records.person,
            "sensitive": options.disclosure.sensitive,
            "criterion": options.disclosure.criterion,
            "n_records": str(options.stated.n_records or ""),
            WRITTEN: shlex.join(options.written.words),
            READING: shlex.join(options.reading.words),
            STATED: " ".join(options.stated.names),
        },
    )
    findings = replace(findings, sign_off=signed)
    if (
        options.exchange.ci is not None
        and records.data is None
        and any("data" in one.parameters for one in findings.advice)
    ):
        more = Remedy(text=IN_PIPELINES, plain=IN_PIPELINES_PLAIN)
        findings = replace(findings, advice=(*findings.advice, more))
    return findings.public() if options.report.audience == "public" else findings


def _findings_on(path: Path, options: AuditOptions) -> Findings:
    """Audit one file."""
    from glassine.attacks.outcome import Failed, NotApplicable

    file, domain_file = read_once(path), opened(options.domain)
    limits, policy_file = _limits(options)
    files: dict[str, FileContent | None]
    with in_options(OPTIONS):
        if is_summary_file(file):
            findings = _of_summary(file, options, limits)
            files = {"summary": file, "policy": policy_file}
        elif is_release(file):
            findings = _of_release(file, options, limits)
            files = {"release": file, "policy": policy_file}
        else:
            findings = _of_model(file, read_domain(domain_file), options, limits)
            files = {"model": file, "domain": domain_file, "policy": policy_file}
    public = options.report.audience == "public"
    if public and options.measurements and findings.measured.for_checker.issuperset(options.measurements):
        raise InvalidParameterError(
            f"{options.measurements[0]} is measured on records, which is for the checker only.",
            remedy="Leave --audience public out.",
        )
    for name in options.measurements or () if findings.holder is None else ():
        if isinstance(outcome := findings.measured[name], NotApplicable | Failed):
            raise GlassineError(f"{name} cannot be measured: {outcome.reason}")
    return _finished(findings, files, options)


def _together(options: AuditOptions) -> Findings:
    """Audit what several models of the same records reveal together."""
    from glassine.auditing.api import audit
    from glassine.auditing.several_models import SeveralModels

    files = [read_once(path) for path in options.models]
    domain_file = opened(options.domain)
    limits, policy_file = _limits(options)
    domain, records = read_domain(domain_file), options.records
    with in_options(OPTIONS), stages() as progress:
        models = tuple(load_whole(file, domain, options.reading.trust_pickle) for file in files)
        data = None if records.data is None else read_records(records.data, options.written, Purpose.AUDIT, domain)
        findings = audit(
            SeveralModels(
                models=models,
                names=tuple(path.name for path in options.models),
                samples=None if options.samples is None else tuple(options.samples),
                same_records=options.same_records,
            ),
            data,
            records.target,
            domain=domain,
            policy=limits,
            settings=options.settings(statements=options.stated.value, max_steps=options.max_steps, progress=progress),
        )
    named = {f"model {number}": file for number, file in enumerate(files, start=1)}
    return _finished(findings, {**named, "domain": domain_file, "policy": policy_file}, options)


def _check_holdout(options: AuditOptions) -> None:
    """Raise if there is a holdout, and what attacks on membership or remedies need beside it is not given."""
    records, alone = options.records, options.alone
    if records.holdout is None:
        return
    if alone == "disclosure" and not options.disclosure.remedies:
        raise InvalidParameterError("--holdout is for --remedies.", remedy="Add it, or leave the held-out records out.")
    if alone != "disclosure" and (records.data is None or records.target is None):
        raise GlassineError(
            "--holdout needs --data and --target: membership attacks use the class of each record.",
            remedy="Add them, or leave the holdout out.",
        )


def _of_model(file: FileContent, domain: Domain | None, options: AuditOptions, limits: Policy) -> Findings:
    from glassine.auditing.api import audit, tested_by
    from glassine.auditing.audit_settings import MembershipSettings
    from glassine.formats import write_clean
    from glassine.formats.loading import beside_target
    from glassine.models import TreeEnsemble

    records, membership, asked, reading = options.records, options.membership, options.disclosure, options.reading
    settings = asked.settings(alone=options.alone == "disclosure")
    with telling_kinds(file):
        open_model = partial(load_judged, file, trust_pickle=reading.trust_pickle, tree=reading.tree)
        whole: Any = beside_target(open_model, domain, records.target)
        read: Any = whole.model
    alone = options.alone == "membership" and not isinstance(read, TreeEnsemble)
    with stages() as progress:
        progress("reading the records")
        texts = {} if asked.sensitive is None else written_values(read, asked.sensitive)
        # A column of persons that the model tests is an attribute, which is read as one.
        person = None if records.person in tested_by(read) else records.person
        texts |= identifiers(person)
        check_person(records.person, {records.data: None, records.holdout: None})
        # The people of an attack on the sensitive attribute may lack it, and so the target that names it.
        named = settings is None or records.target != asked.sensitive
        columns = {"person": records.person, "target": records.target if named else None}
        table, others = (
            unopened(
                path, options.written, domain, texts, columns=columns, hints=path == records.data, quiet=options.public
            )
            for path in (records.data, records.holdout)
        )
        names = [*(domain or ()), *(() if table is None else table.names or ())]
        if table is None or table.names is not None:
            advice = f" If the tree predicts it, add --target {asked.sensitive}." if settings is not None else ""
            if named and asked.sensitive is not None:
                _check_names("--sensitive", (asked.sensitive,), names, advice)
            _check_names("--quasi", asked.quasi or (), names)
        if options.report.clean_copy is not None:
            whole = write_clean(whole, options.report.clean_copy)
        return audit(
            read if alone else whole,
            table,
            records.target,
            domain=domain,
            holdout=others,
            persons=records.person,
            policy=limits,
            settings=options.settings(
                sensitive=asked.sensitive,
                quasi=asked.quasi or None,
                criterion=None if asked.criterion is None else asked.criterion.replace("-", "_"),
                splits=asked.splits,
                membership=MembershipSettings(
                    n_shadows=membership.shadows,
                    confidence=membership.confidence,
                    seconds=membership.shadow_seconds,
                    event=membership.event,
                ),
                disclosure=settings,
                statements=options.stated.value,
                **filled_in(options.retrained),
                max_steps=options.max_steps,
                progress=progress,
            ),
        )


def _of_summary(file: FileContent, options: AuditOptions, limits: Policy) -> Findings:
    from glassine.auditing.api import audit
    from glassine.learners.summaries.private_summary import PrivateSummary

    records = options.records
    files = {"--domain": options.domain, "--data": records.data, "--holdout": records.holdout}
    files["--clean-copy"] = options.report.clean_copy
    if named := [name for name, value in files.items() if value is not None]:
        raise InvalidParameterError("a summary is audited alone.", remedy=f"Leave {' and '.join(named)} out.")
    summary = PrivateSummary.read(file)
    refuse_more(file)
    return audit(summary, policy=limits)


def _of_release(file: FileContent, options: AuditOptions, limits: Policy) -> Findings:
    from glassine.auditing.api import audit
    from glassine.auditing.samples import Unopened

    if options.domain is not None or options.report.clean_copy is not None:
        raise InvalidParameterError(
            "a release holds its own domain, and is released as it was written.",
            remedy="Leave --domain and --clean-copy out.",
        )
    release, records = load_release(file), options.records
    refuse_more(file)
    with stages() as progress:
        progress("reading the records")
        check_person(records.person, {records.data: None, records.holdout: None})
        people, others = (
            None if path is None else Unopened(None, partial(_sample, release, path, options))
            for path in (records.data, records.holdout)
        )
        progress("auditing the release")
        return audit(
            release,
            people,
            holdout=others,
            persons=records.person,
            policy=limits,
            settings=options.settings(sensitive=options.disclosure.sensitive),
        )


def _sample(release: SurrogateRelease, path: Path, options: AuditOptions) -> Sample:
    """Return records as the release names them, and their true labels."""
    from glassine.data.labels import Sample

    target, person = options.records.target, options.records.person
    # An explainer that was given an array numbers the columns.
    numbered = release.domain.names == tuple(f"x{i}" for i in range(len(release.domain)))
    domain = None if numbered else release.domain
    labels, texts = None, identifiers(person)
    table = read_records(path, options.written, Purpose.AUDIT, domain, attributes=texts, quiet=options.public)
    if numbered:
        # An array of records says nothing of their lines.
        table = of_header(table, str(path), quiet=options.public)
    check_person(person, {path: table.names})
    if target is not None:
        check_target(target, path, table.names)
        labels = table.frame[target].to_numpy()
        table = table.restrict(name for name in table.names if name != target)
    absent = any(name not in table.names for name in release.domain)
    if numbered and absent and len(table.names) == len(release.domain):
        return Sample(table.frame.to_numpy(), labels)
    return Sample(table, labels)


def _check_names(option: str, asked: Sequence[str], names: Sequence[str], advice: str = "") -> None:
    """Raise if an option names what is neither in the domain nor a column of the data, where one of them is given."""
    for name in asked:
        if names and name not in names:
            raise InvalidDataError(
                f"{option} names {name!r}, which is neither in the domain nor a column of the data.{advice}"
                f"{listed(name, dict.fromkeys(names))}"
            )


def _worst_status(verdicts: Sequence[FileVerdict]) -> int:
    """Return the worst exit status: bad input, outside policy, inconclusive, within policy."""
    return min((verdict.status for verdict in verdicts if not verdict.skipped), key=WORST_FIRST.index)


def _plain_verdicts(verdicts: Sequence[FileVerdict]) -> dict[str, Any]:
    """Return the verdicts as plain JSON values, each with its findings."""
    return {
        "schema": "glassine.verdicts/3",
        "status": _worst_status(verdicts),
        "models": [
            {
                "file": str(verdict.path),
                "status": verdict.status,
                "error": verdict.error or None,
                "unjudged": None if verdict.document is None else verdict.document.to_dict(),
                "findings": None if verdict.findings is None else verdict.findings.to_dict(),
            }
            for verdict in verdicts
            if not verdict.skipped
        ],
        "skipped": [{"file": str(verdict.path), "schema": verdict.skipped} for verdict in verdicts if verdict.skipped],
    }


def _verdict_table(verdicts: Sequence[FileVerdict], audience: Audience) -> str:
    """Return a table of the files, worst first, with the checks that failed or could not run."""
    from glassine.report.wording import NOTICES

    ordered = sorted(verdicts, key=lambda verdict: (bool(verdict.skipped), WORST_FIRST.index(verdict.status)))
    rows = [(str(verdict.path), _verdict(verdict), _against(verdict)) for verdict in ordered]
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    lines = [f"{name.ljust(widths[0])}  {said.ljust(widths[1])}  {why}".rstrip() for name, said, why in rows]
    if (one := next((v for v in ordered if v.findings is not None and v.findings.advice), None)) is not None:
        command = shlex.join(["glassine", "audit", str(one.path)])
        lines.append(f"For what to do, audit one alone with the same options: {command}")
    return "\n".join([NOTICES[audience], *lines])


def _verdict(verdict: FileVerdict) -> str:
    if verdict.skipped:
        return "SKIPPED"
    if verdict.document is not None:
        return "NOT JUDGED"
    return "BAD INPUT" if verdict.findings is None else verdict.findings.verdict.upper()


def _against(verdict: FileVerdict) -> str:
    if verdict.findings is None:
        return f"no model, but of schema {verdict.skipped}" if verdict.skipped else verdict.error
    said = [
        f"{check.status}: {check.rule}"
        for status in ("fail", "unknown")
        for check in verdict.findings.checks
        if check.status == status
    ]
    if verdict.status == 0 and not all(file.canonical for file in verdict.findings.files):
        said.append("release only the clean copy")
    return ", ".join(said)
