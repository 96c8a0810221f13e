"""``glassine certificate``: certificates signed, compared with models, and tied to records; ``glassine evidence``."""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassine.cli.options import (
    DataOption,
    DomainOption,
    JsonOption,
    LedgerOption,
    ModelArgument,
    ModelFileOptions,
    OptionGroup,
    OverwriteOption,
    RecordsFileOptions,
    StepsOption,
    argument,
    option,
    output_option,
)
from glassine.cli.reading import MOST_ROWS, check_header, load_kind, load_whole, read_domain, read_records
from glassine.cli.releases import KeyOption, PrivateKeyOption
from glassine.cli.writing import check_ending, check_outputs, one_line, print_value, tell, write_by_ending
from glassine.errors import (
    GlassineError,
    InvalidModelError,
    InvalidParameterError,
    LedgerError,
    UnreadableFileError,
    first_of,
)
from glassine.files import read_json, read_once, read_text, write_json
from glassine.privacy.signing import read_public_key
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    from glassine.auditing.copies import Origin
    from glassine.formats.loading import ModelFile
    from glassine.privacy.certificate import Certificate

CertificateArgument = Annotated[Path, argument("CERTIFICATE", "The certificate, JSON, signed or not.")]
UNEXPLAINED = (
    "No reader takes the file, and it is none of what Glassine writes of the released model: it was changed, or is of "
    "another model. Export the released model again."
)
TieKeyOption = Annotated[Path | None, option("FILE", "The holder's key of the tie; made if there is none.")]


class CopyOfOptions(OptionGroup, heading="A copy of the released model"):
    """What shows how a copy follows from the model that was released."""

    released: Path | None = option("FILE", "The model as it was released, or edited since, JSON.")
    steps: StepsOption = None
    domain: DomainOption = None


class TieOptions(OptionGroup, heading="The records (for their holder alone)"):
    """What ties the model to its records."""

    tie: Path | None = option("FILE", "The tie, which glassine certificate tie wrote.")
    data: DataOption = None
    tie_key: TieKeyOption = None


def verify_certificate_command(
    model: ModelArgument,
    certificate: CertificateArgument,
    reading: ModelFileOptions,
    copy: CopyOfOptions,
    records: TieOptions,
    ledger: LedgerOption = None,
    public_key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Verify that a certificate is of this model and file, adds up, and was paid for.

    A copy that was edited, scrubbed or exported is verified with the model that was released: every step is done again.
    Edits keep what they replaced, and need no other file. A signature that does not hold is an error. Verifying one
    needs pip install 'glassine[server]'.

    Exit status: 0 when all that was compared agrees, 1 when something contradicts the certificate, 2 when a file cannot
    be read or its signature does not hold, 3 when something is not known, such as which file was written.
    """
    from glassine.auditing.certified import Match, compare_certificate, compare_payment
    from glassine.formats.json import fingerprint
    from glassine.privacy.ledger import NO_LEDGER, Ledger

    try:
        claimed, key = read_certificate(certificate, public_key)
    except GlassineError:
        if not _is_certificate(model):
            raise
        raise InvalidParameterError(
            f"{model} is a certificate, and stands where the model belongs.",
            remedy=f"Give the model first: glassine certificate verify {certificate} {model}.",
        ) from None
    file = read_once(model)
    read, origin, fault = None, None, ""
    try:
        read = load_whole(file, read_domain(copy.domain), reading.trust_pickle, reading.tree)
    except GlassineError:
        # Exports that no reader takes, such as SQL, are written again from what they are of.
        if copy.released is None:
            raise
    try:
        origin = origin_of(read, file.data, claimed, copy)
        fault = UNEXPLAINED if read is None and origin is None else ""
    except InvalidModelError as error:
        fault = str(error)
    published = load_kind(copy.released or model, None, trust_pickle=False) if read is None else read.model
    matches = [*compare_certificate(claimed, published, file.sha256, origin, fault)]
    if ledger is not None:
        try:
            matches.append(compare_payment(Ledger(ledger).verify([claimed]).payments[0]))
        except LedgerError as error:
            if error.remedy == NO_LEDGER:
                error.advise("Check the path: name the ledger that the fit charged.")
            raise
    if records.tie is not None or records.tie_key is not None or records.data is not None:
        holds = _tied(records, fingerprint(published))
        said = "The model is tied to these records." if holds else "The tie is of other records, model or key."
        matches.append(Match(name="records", status="pass" if holds else "fail", statement=said))
    plain = {"model": str(model), "certificate": str(certificate), "public_key": key}
    signed = f"signed by {key}" if key else "not signed"
    if as_json:
        from glassine.auditing.findings.root import plain_value

        print_value({**plain, "matches": plain_value(tuple(matches))}, True)
    else:
        lines = (f"[{match.status}] {match.name}: {one_line(match.statement)}" for match in matches)
        print_value("\n".join([f"The certificate is {signed}.", *lines]), False)
    status = {match.status for match in matches}
    raise typer.Exit(1 if "fail" in status else 3 if "unknown" in status else 0)


def origin_of(read: ModelFile | None, data: bytes, certificate: Certificate, copy: CopyOfOptions) -> Origin | None:
    """Return how a copy follows from the model of a certificate; None where nothing explains it."""
    from glassine.auditing.copies import follow
    from glassine.cli.export import for_people
    from glassine.scrubbing.log import ScrubLog

    if copy.steps is not None and copy.released is None:
        raise GlassineError("--steps needs --released: they are done again on that model.", remedy="Add it.")
    if certificate.model is None:
        return None
    released = None if copy.released is None else load_kind(read_once(copy.released), None, trust_pickle=False)
    log = None if copy.steps is None else ScrubLog.from_json(copy.steps)
    domain = read_domain(copy.domain)
    return follow(read, data, certificate.model, released=released, log=log, domain=domain, for_people=for_people)


def read_certificate(path: Path, public_key: Path | None = None) -> tuple[Certificate, str | None]:
    """Return the certificate of a file and the key that signed it; a signature of it is checked."""
    from glassine.privacy.certificate import SIGNED, Certificate

    key = None if public_key is None else read_public_key(public_key)
    try:
        opened = SIGNED.open(path, key)
    except UnreadableFileError as error:
        raise error if error.remedy else error.advise("Give the certificate, as glassine fit writes it.") from None
    try:
        return Certificate.from_dict(opened.values), opened.public_key
    except GlassineError as error:
        raise error.within(str(path)) from None


def _is_certificate(path: Path) -> bool:
    with contextlib.suppress(GlassineError):
        read_certificate(path)
        return True
    return False


def _tied(records: TieOptions, model: str) -> bool:
    from glassine.privacy.receipt import Tie, read_tie_key

    if records.tie is None or records.tie_key is None or records.data is None:
        raise GlassineError("--tie, --tie-key and --data go together.", remedy="Give all three, or none.")
    return Tie.from_json(records.tie).holds(model, read_once(records.data), read_tie_key(records.tie_key))


def sign_certificate_command(
    certificate: CertificateArgument,
    key: PrivateKeyOption,
    output: Annotated[Path, output_option("Write the signed certificate, JSON.")],
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Sign a certificate, so that others can verify whose it is and that it is whole.

    Signing needs pip install 'glassine[server]'.

    Exit status: 0 when it was written, 2 if not.
    """
    from glassine.privacy.certificate import SIGNED

    check_outputs([output], [certificate, key], overwrite=overwrite)
    read_certificate(certificate)
    public = SIGNED.sign(certificate, key, output)
    print_value({"file": str(output), "public_key": public} if as_json else f"Signed: {output}\n{public}", as_json)


def registry_command(
    certificate: CertificateArgument,
    statements: Annotated[Path, option("FILE", "What only a person can state, TOML.")],
    output: Annotated[Path, output_option("Write the record, JSON or YAML.")],
    overwrite: OverwriteOption = False,
) -> None:
    """Draft a record of a private release for the registry of deployments of differential privacy.

    The file of statements names at least name, data_curators, description, intended_use, data_product_region,
    publication_date and registry_authors. YAML reads JSON, so that the record may end in .yaml.

    Exit status: 0 when it was written, 2 if not.
    """
    from glassine.report.exchange import as_registry

    check_outputs([output], [certificate, statements], overwrite=overwrite)
    check_ending(output, (".json", ".yaml", ".yml"), "records are written as JSON, which is YAML")
    text = read_text(statements)
    try:
        stated = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidParameterError(
            f"{statements} is not valid TOML: {str(error).splitlines()[0]}.",
            remedy='Write one NAME = "VALUE" per line.',
        ) from None
    write_json(as_registry(read_certificate(certificate)[0], stated), output)
    print_value(f"Record: {output}", False)


def tie_command(
    model: ModelArgument,
    data: Annotated[Path, argument("RECORDS", "The stored file of the training records.")],
    output: Annotated[Path, output_option("Write the tie, JSON.")],
    tie_key: TieKeyOption,
    reading: ModelFileOptions,
    written: RecordsFileOptions,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tie a model to the file of its records, for their holder alone.

    Neither the tie nor its key is to be published: who has both can try out candidates for a record. The tie is of the
    bytes of the file: what no fit can read is refused, and damaged lines are pointed out.

    Exit status: 0 when it was written, 2 if not.
    """
    from glassine.formats.json import fingerprint
    from glassine.privacy.receipt import Tie, make_tie_key, read_tie_key

    if tie_key is None:
        raise GlassineError("a tie needs a key.", remedy="Give --tie-key, a file that is made if there is none.")
    check_outputs([output], [model, data, tie_key], overwrite=overwrite)
    read = load_kind(read_once(model), None, reading.trust_pickle, reading.tree)
    if data.is_file():
        _tell_of_damage(data, written)
    key = read_tie_key(tie_key) if tie_key.exists() else make_tie_key(tie_key)
    Tie.of(fingerprint(read), read_once(data), key).to_json(output)
    tell("glassine: the tie and its key are for the holder of the data only.")
    plain: dict[str, Any] = {"tie": str(output), "key": str(tie_key)}
    print_value(plain if as_json else f"Tie: {output}\nKey: {tie_key}", as_json)


def _tell_of_damage(data: Path, written: RecordsFileOptions) -> None:
    """Say to the holder which lines of a file are damaged; raise where no fit can read its header."""
    from glassine.data.outside import rows_of_lines
    from glassine.report.wording import row_name

    of_bytes = "The tie is of these bytes: if you mend the file, train on the mended file and tie that."
    check_header(data, written)
    try:
        table = read_records(data, written, Purpose.AUDIT)
    except GlassineError as error:
        tell(f"glassine: for the holder only: {one_line(str(error))} {of_bytes}")
        return
    damage = [
        f"lines have {why}: {first_of(map(row_name, rows), MOST_ROWS)}" for why, rows in rows_of_lines(table).items()
    ]
    for said in damage if len(table) else ["it holds no record"]:
        tell(f"glassine: for the holder only: {data}: {said}. {of_bytes}")


class EvidenceCopyOptions(CopyOfOptions, heading="A copy of the released model"):
    """The copy that the report is of, if it is not the model of the certificate."""

    audited: Path | None = option("FILE", "The audited copy, as it was edited, scrubbed or exported.")


def evidence_command(
    files: Annotated[list[Path], argument("REPORT|CERTIFICATE...", "A report as JSON, a certificate, or one of each.")],
    which: Annotated[
        Literal["tre", "tehdas", "edpb", "nist", "iso27559", "hipaa"],
        option(None, "Who asks: each item of their list is answered.", names=("--for",)),
    ],
    copy: EvidenceCopyOptions,
    output: Annotated[
        Path | None, output_option("Write the answers: HTML, Markdown, JSON or text by its ending.")
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer what authorities and checkers ask of a published model, item by item.

    Each item has a figure with its method, a reason why it was not measured, or an empty field for what only a person
    can state.

    Exit status: 0 when it was written, 2 if not.
    """
    from glassine.report.evidence import evidence

    check_outputs([output], list(files), overwrite=overwrite)
    check_ending(output, (".md", ".json", ".txt", ".html"), "evidence is written as HTML, Markdown, JSON or text")
    stated: dict[str, Any] = {}
    for path in files:
        kind, value = _read(path)
        if kind in stated:
            raise InvalidParameterError(f"{path} is a second {kind}.", remedy="Give one report and one certificate.")
        stated[kind] = value
    origin = _audited_copy(copy, stated)
    try:
        document = evidence(which, findings=stated.get("report"), certificate=stated.get("certificate"), origin=origin)
    except GlassineError as error:
        raise error.word({"findings": "the report"}) from None

    def other() -> str:
        """Return it as a page of HTML with the certificate, or as Markdown."""
        if output is None or output.suffix != ".html":
            return document.markdown()
        from glassine.report import render_html
        from glassine.report.evidence.page import evidence_page

        return render_html(evidence_page(document, stated.get("certificate")))

    write_by_ending(output, document.to_dict(), document.text(), other)
    if as_json or output is None:
        print_value(json.loads(json.dumps(document.to_dict())) if as_json else document.text(), as_json)
    else:
        print_value(f"Evidence: {output}", False)


def _audited_copy(copy: EvidenceCopyOptions, stated: Mapping[str, Any]) -> Origin | None:
    """Return how the audited model follows from that of the certificate, where a copy of it is given."""
    if copy.audited is None:
        if copy.released is not None:
            raise GlassineError("--released needs --audited: the copy that was audited.", remedy="Add it.")
        return None
    if len(stated) < 2:
        raise GlassineError("--audited needs a report and a certificate: it ties the one to the other.")
    file = read_once(copy.audited)
    audited = {one["sha256"] for one in stated["report"].get("inputs", ()) if one.get("role") == "model"}
    if file.sha256 not in audited:
        raise InvalidParameterError(
            f"{copy.audited} is not the file that the report is of.", remedy="Give the file that was audited."
        )
    read = load_whole(file, read_domain(copy.domain), trust_pickle=False)
    origin = origin_of(read, file.data, stated["certificate"], copy)
    if origin is None:
        raise InvalidParameterError(
            f"nothing shows that {copy.audited} follows from the model of the certificate.",
            remedy="Give the released model with --released, and the steps of scrubbing with --steps.",
        )
    return origin


def _read(path: Path) -> tuple[str, Any]:
    """Return what a file holds, by its schema: a report or a certificate."""
    try:
        values = read_json(path)
    except UnreadableFileError:
        if not path.is_file():
            raise
        values = None
    schema = values.get("schema") if isinstance(values, dict) else None
    if isinstance(schema, str) and schema.startswith("glassine.findings/"):
        return "report", values
    if isinstance(schema, str) and schema.startswith(("glassine.certificate/", "glassine.signed-certificate/")):
        return "certificate", read_certificate(path)[0]
    raise InvalidParameterError(
        f"{path} is neither the JSON report of an audit nor a certificate.",
        remedy="Give the JSON report, which glassine audit MODEL --output report.json writes, or the certificate.",
    )
