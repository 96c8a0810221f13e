"""What the commands read: domains, policies and models, each with a clear error."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.naming import in_commands, in_options, listed, nearest
from glassine.cli.steps import INFERRED, OF_ANOTHER, READING, STATED
from glassine.cli.writing import tell
from glassine.domain import Category, Domain, OneOf, Real
from glassine.errors import (
    GlassineError,
    InvalidDataError,
    InvalidParameterError,
    InvalidPolicyError,
    SeveralTreesError,
    UnjudgedModelError,
    UnreadableFileError,
    UnsupportedModelError,
    first_of,
)
from glassine.files import FileContent, read_once
from glassine.records import schema
from glassine.records.files import contents
from glassine.records.headers import RecordsFile, columns_of_file, header_of
from glassine.records.lines import WINDOWS
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings, InputFile
    from glassine.auditing.policy import Policy
    from glassine.auditing.samples import Unopened
    from glassine.cli.options import RecordsFileOptions
    from glassine.data.record_table import RecordTable
    from glassine.domain import Attribute
    from glassine.formats import EnsembleFile, ModelFile, PublishedModel
    from glassine.models import DecisionTree, RuleList
    from glassine.records.schemas import Schema
    from glassine.surrogates import SurrogateRelease

OWN_SCHEMA = re.compile(r"glassine\.[a-z-]{1,40}/[0-9]{1,3}")
PUBLISHED = ("glassine.model/", "glassine.surrogates/", "glassine.signed-release/", "glassine.summary/")
"""Schemas of what can be audited."""
SIGNED = b'"glassine.signed-release/'
HEAD = 400
"""Bytes at the start of a release in which its schema stands."""


def opened(path: Path | None) -> FileContent | None:
    """Return a file that was read once, if one is given."""
    return None if path is None else read_once(path)


def read_domain(path: str | os.PathLike[str] | None) -> Domain | None:
    """Return the domain of a file, JSON or TOML by its ending, if one is given."""
    return None if path is None else stated_domain(path)


def stated_domain(path: str | os.PathLike[str]) -> Domain:
    """Return the domain of a file, JSON or TOML by its ending."""
    try:
        return Domain.read(path)
    except UnreadableFileError as error:
        if os.fspath(path).lower().endswith(".toml") or not Path(path).is_file():
            raise
        raise error.advise(
            "--domain is a JSON or TOML file that describes what is public. From records, draft one: glassine domain "
            f"infer {os.fspath(path)} -o domain.json."
        ) from None


OF_FILES = {
    "separator": "--separator",
    "encoding": "--encoding",
    "header=True": "--header",
    "names": "--names",
    "missing_in": "--missing",
    "memory_limit": "--memory-limit",
}
"""Options by the parameters that errors about files of records mark."""


def read_records(
    path: Path,
    written: RecordsFileOptions,
    purpose: Purpose,
    domain: Domain | None = None,
    *,
    attributes: Mapping[str, Attribute] | None = None,
    quiet: bool = False,
) -> RecordTable:
    """Return the records of a file as :func:`glassine.data.sources.read_table`, and say which encoding was assumed."""
    # Of a private fit nothing is said that would follow from the records.
    from glassine.data.sources import read_table

    with in_options(OF_FILES):
        table = read_table(RecordsFile(path=path, dialect=written.dialect), purpose, domain, attributes=attributes)
    assumed = table.source is not None and table.source.encoding == WINDOWS and written.encoding is None
    if assumed and purpose is not Purpose.PRIVATE and not quiet:
        tell(f"glassine: {path}: lines that are not UTF-8 are read as {WINDOWS}; --encoding states another encoding.")
    return table


def of_header(table: RecordTable, whence: str, *, quiet: bool = False) -> RecordTable:
    """Return the records whose lines are as the header says, and say which rows are left out of what."""
    from glassine.data.outside import rows_of_lines
    from glassine.report.wording import row_name

    for why, rows in {} if quiet else rows_of_lines(table).items():
        some = first_of(map(row_name, rows), MOST_ROWS)
        tell(f"glassine: for the checker only: left out of {whence}, as their lines have {why}: {some}.")
    return table.of_header


MOST_ROWS = 10
"""Rows of a file that a line names."""


def records_file(
    path: Path, written: RecordsFileOptions, domain: Domain, attributes: Mapping[str, Attribute]
) -> tuple[RecordsFile, Schema]:
    """Return the records of a private fit, which are not opened, and what their header says."""
    # Values that are no numbers will count as missing without a word, so that decimal commas are asked about where the
    # header and the domain make them likely.
    declared = {**{name: domain[name] for name in domain}, **attributes}
    file = RecordsFile(path=path, dialect=written.dialect, declared=declared)
    with in_options(OF_FILES):
        header, columns = header_of(file), schema(file)
    if header is not None and header.mark == ";" and not written.decimal_comma:
        _ask_for_commas(path, domain)
    return file, columns


def check_header(path: Path, written: RecordsFileOptions) -> None:
    """Raise where the header of a file of records cannot be read; no record is."""
    with in_options(OF_FILES):
        columns_of_file(RecordsFile(path=path, dialect=written.dialect))


def columns_of_header(path: Path, written: RecordsFileOptions, domain: Domain | None = None) -> tuple[str, ...] | None:
    """Return the columns of a file of records without reading a record; None where its first line does not say."""
    if path.is_dir() or not os.access(path, os.R_OK):
        contents(path)  # which says why it cannot
    if not path.is_file():
        return None  # a pipe is read once
    declared = {} if domain is None else {name: domain[name] for name in domain}
    try:
        # A line without a declared name may be a record, of which nothing is quoted.
        return columns_of_file(RecordsFile(path=path, dialect=written.dialect, declared=declared))[0]
    except Exception:
        return None


def unopened(
    path: Path | None,
    written: RecordsFileOptions,
    domain: Domain | None,
    attributes: Mapping[str, Attribute],
    *,
    columns: Mapping[str, str | None],
    hints: bool = False,
    quiet: bool = False,
) -> Unopened | None:
    """Return the records of a file to be opened when they are needed; raise if its header lacks a column.

    ``columns`` are those that options name; ``hints`` says whether these are training records: columns that look like
    identifiers are pointed out. Of a holdout, lines that are not as the header says are left out.
    """
    from glassine.auditing.samples import Unopened

    if path is None:
        return None

    def check(names: Sequence[str]) -> None:
        check_person(columns.get("person"), {path: names})
        check_target(columns.get("target"), path, names)

    def opening() -> RecordTable:
        table = read_records(path, written, Purpose.AUDIT, domain, attributes=attributes, quiet=quiet)
        check(table.names)
        if not hints:
            return of_header(table, "the holdout", quiet=quiet)
        if not quiet:
            tell_repeats(table, columns.get("person"))
        return table

    names = columns_of_header(path, written, domain)
    if names is not None:
        check(names)
    return Unopened(names, opening)


def _ask_for_commas(path: Path, domain: Domain | None) -> None:
    """Point out numbers of a file that may have decimal commas, by its header and the domain alone."""
    columns = [] if domain is None else [name for name in domain if isinstance(domain[name], Real)]
    if columns:
        tell(
            f"glassine: {path} has semicolons between its columns, as files with decimal commas do. If "
            f"{first_of(columns)} may hold numbers such as 1,5, give --decimal-comma: without it they count as missing."
        )


def read_policy(option: Path | None) -> tuple[Policy, FileContent | None]:
    """Return the policy of a name or of a file, and that file; the default one where none is given."""
    from glassine.auditing.policy import NAMED, Policy

    if option is None:
        return Policy(), None
    if str(option) in NAMED:
        return Policy.named(str(option)), None
    names = f"There are {', '.join(NAMED)}; or give a TOML file of limits, such as smallest_leaf = 20."
    if not option.exists():
        near = nearest(str(option), NAMED).strip()
        raise InvalidPolicyError(
            f"--policy {option} is neither a named policy nor a file.", remedy=f"{near} {names}".strip()
        )
    content = read_once(option)
    try:
        return Policy.from_toml(content), content
    except InvalidPolicyError as error:
        raise error if "is not valid TOML" not in error.message else error.advise(names) from None


def load(path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool) -> DecisionTree | RuleList:
    """Return the tree or rule list of a file."""
    from glassine.formats import tree_or_rules

    try:
        return tree_or_rules(load_kind(path, domain, trust_pickle))
    except UnsupportedModelError as error:
        name = os.fspath(path)
        raise error if str(error).startswith(name) else error.within(name) from None


ALL_TREES = "--tree 0 reads the first; glassine rebuild reads all, if its trees publish counts."
"""What to do with a file of several trees."""
LOADING = {
    "tree": "--tree",
    "trust_pickle": "--trust-pickle",
    "estimators_[0]": "--tree 0",
    "reconstruct_records": "glassine rebuild",
    "SurrogateExplainer": "glassine explain make",
}
"""Options and commands by what loading names."""


@contextlib.contextmanager
def telling_kinds(file: FileContent) -> Iterator[None]:
    """Raise UnjudgedModelError in place of what a reader says of a file of a kind that is known and not judged."""
    try:
        yield
    except GlassineError as error:
        from glassine.auditing.unjudged import UnjudgedFile, unjudged_kind

        kind = unjudged_kind(file.data, error)
        if kind is None:
            raise
        document = UnjudgedFile(
            name=file.path.name, n_bytes=len(file.data), sha256=file.sha256, kind=kind, refused=str(error)
        )
        raise UnjudgedModelError(f"{file.path} holds {kind.name}, which is not judged.", document=document) from None


def load_whole(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, tree: int | None = None
) -> ModelFile:
    """Return the model of a file and what of the file may be released."""
    from glassine.formats import load_file

    with _as_commands():
        return load_file(path, domain, trust_pickle=trust_pickle, tree=tree)


def load_judged(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, tree: int | None = None
) -> ModelFile | EnsembleFile:
    """Return what an audit judges of a file: one model, or several trees together unless one is asked for."""
    from glassine.formats import load_judged

    with _as_commands():
        return load_judged(path, domain, trust_pickle=trust_pickle, tree=tree)


@contextlib.contextmanager
def _as_commands() -> Iterator[None]:
    """Word errors of readers: where they say how Python takes one of several trees or a pickle, as a command does."""
    from glassine.formats.builder import ONE_OF_SEVERAL

    try:
        yield
    except (InvalidParameterError, SeveralTreesError, UnreadableFileError, UnsupportedModelError) as error:
        if isinstance(error, SeveralTreesError) and error.remedy is not None:
            error.advise(error.remedy.replace(ONE_OF_SEVERAL, ALL_TREES))
        error.word(LOADING)
        raise


def load_kind(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, tree: int | None = None
) -> PublishedModel:
    """Return the model of a file, of any kind; of several trees, the one of this place."""
    from glassine.formats import load_model

    with _as_commands():
        return load_model(path, domain, trust_pickle=trust_pickle, tree=tree)


def load_published(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, tree: int | None = None
) -> Any:
    """Return a model or one of its trees as a plain value, or a fitted forest unchanged."""
    from glassine.formats.loading import load_estimator
    from glassine.formats.sklearn.forest import is_sklearn_forest

    try:
        return load_kind(path, domain, trust_pickle, tree)
    except UnsupportedModelError:
        try:
            estimator = load_estimator(path, trust_pickle=trust_pickle)
        except UnsupportedModelError:
            estimator = None
        if not is_sklearn_forest(estimator):
            raise
        return estimator


def load_trees(path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool) -> Any:
    """Return a tree, a rule list or a fitted forest, and the trees of a file that holds several as a forest."""
    from glassine.formats import load_forest
    from glassine.models import AdditiveModel

    try:
        read = load_published(path, domain, trust_pickle)
        # It has no leaves: refused by its name.
        return load(path, domain, trust_pickle) if isinstance(read, AdditiveModel) else read
    except SeveralTreesError:
        return load_forest(path, domain, trust_pickle=trust_pickle)


def input_files(**files: Path | FileContent | None) -> tuple[InputFile, ...]:
    """Return the files that were given, by role; the SHA-256 of those that were read once, so never of records."""
    from glassine.auditing.findings import InputFile

    return tuple(
        InputFile(role=role, name=file.path.name, sha256=file.sha256)
        if isinstance(file, FileContent)
        else InputFile(role=role, name=file.name)
        for role, file in files.items()
        if file is not None
    )


def with_inputs(
    findings: Findings,
    files: Mapping[str, FileContent | None],
    records: Mapping[str, Path | None],
    *,
    policy: Path | None = None,
    options: Mapping[str, str | None] | None = None,
) -> Findings:
    """Return findings with the files that were read, advice in commands."""
    # Which records a private model has is for the checker only. A built-in policy has a name, and no file; other
    # options, by role, are those with which the model and the records were read.
    # As typed, so that commands can be pasted; but a report leaves the machine, and the folders above stay there.
    paths = {role: file.path for role, file in files.items() if file is not None}
    names = _typed(({} if policy is None else {"policy": policy}) | paths)
    of_records, data = {}, records.get("data")
    if data is not None:
        of_records = {role: option for role, option in (options or {}).items() if option} | _typed(
            {role: path for role, path in records.items() if path is not None}
        )
    # A target without records is that of the domain.
    typed = (READING, STATED, "n_records", *(("target",) if data is None else ()))
    names |= {role: (options or {}).get(role) or "" for role in typed}
    domain = read_domain(files.get("domain"))
    names[INFERRED] = "yes" if domain is not None and domain.inferred else ""
    names[OF_ANOTHER] = (options or {}).get(OF_ANOTHER) or ""
    inputs, findings = input_files(**files, **records), in_commands(findings, names, of_records)
    if findings.holder is None:
        return replace(findings, inputs=inputs)
    return replace(findings, inputs=input_files(**files), holder=replace(findings.holder, inputs=inputs))


def _typed(paths: Mapping[str, Path]) -> dict[str, str]:
    return {role: path.name if path.is_absolute() else path.as_posix() for role, path in paths.items()}


def is_release(file: FileContent) -> bool:
    """Return whether a file is a release of surrogate trees, signed or not."""
    head = file.data[:HEAD]
    return head.lstrip()[:1] == b"{" and any(schema in head for schema in (SIGNED, b'"glassine.surrogates/'))


def is_summary_file(file: FileContent) -> bool:
    """Return whether a file is a private summary."""
    return file.data[:HEAD].lstrip()[:1] == b"{" and b'"glassine.summary/' in file.data[:HEAD]


LAYOUTS: tuple[dict[str, Any], ...] = ({}, {"indent": 2}, {"separators": (",", ":")})
"""How releases, summaries and signed files are written."""


def refuse_more(file: FileContent) -> None:
    """Raise if the JSON of a release or a summary is spaced or spelled otherwise than Glassine writes it."""
    text = file.data.decode("utf-8-sig")
    value = json.loads(text)
    written = (json.dumps(value, ensure_ascii=ascii_, **layout) for layout in LAYOUTS for ascii_ in (False, True))
    if text.rstrip("\n") not in written:
        raise UnreadableFileError(
            f"{file.path} holds its values, but not as Glassine writes them: records can hide between them.",
            remedy="Ask for the file as Glassine wrote it.",
            path=file.path,
        )


def companion(file: FileContent) -> str:
    """Return the schema of a file of Glassine that holds no model, such as a domain; empty for any other file."""
    if b'"glassine.' not in file.data[:HEAD]:
        return ""
    try:
        plain = json.loads(file.data)
    except (ValueError, RecursionError):
        return ""
    schema = plain.get("schema") if isinstance(plain, dict) else None
    # It is printed to logs, so that nothing else may pass for a schema.
    own = isinstance(schema, str) and OWN_SCHEMA.fullmatch(schema) and not schema.startswith(PUBLISHED)
    return str(schema) if own else ""


def load_release(file: FileContent) -> SurrogateRelease:
    """Return the release of a file; a signature of it is checked."""
    from glassine.surrogates import SurrogateRelease

    if SIGNED in file.data[:HEAD]:
        from glassine.server import read_release

        return read_release(file).release
    return SurrogateRelease.from_json(file)


def written_values(model: Any, sensitive: str) -> dict[str, Attribute]:
    """Return the columns that a tree reads as texts, and the attribute that it predicts: 01 is to stay 01."""
    from glassine.models import DecisionTree

    texts: dict[str, list[str]] = {}
    for literal in model.literals if isinstance(model, DecisionTree) else ():
        if isinstance(literal, OneOf) and literal.values and all(isinstance(value, str) for value in literal.values):
            texts.setdefault(literal.attribute, []).extend(map(str, literal.values))
    classes = getattr(model, "classes", None) or ()
    if isinstance(model, DecisionTree) and any(isinstance(name, str) for name in classes):
        texts[sensitive] = [name for name in classes if isinstance(name, str)]
    return {name: Category(tuple(dict.fromkeys(values))) for name, values in texts.items()}


def identifiers(person: str | None) -> dict[str, Attribute]:
    """Return how identifiers are read: as written, so that 01 and 1 are two persons."""
    return {} if person is None else {person: Category(("an identifier",))}


def check_person(person: str | None, names: Mapping[Path | None, Sequence[str] | None]) -> None:
    """Raise if records lack the column of identifiers, or none are given; ``names`` are the columns of each file."""
    columns_of_files = {path: columns for path, columns in names.items() if path is not None}
    if person is not None and not columns_of_files:
        raise InvalidParameterError("--person names a column of the records, and none are given.", remedy="Add --data.")
    for path, columns in columns_of_files.items():
        if person is not None and columns is not None and person not in columns:
            raise InvalidDataError(
                f"--person names {person!r}, which is not a column of {path}.",
                remedy=f"Check its spelling.{listed(person, columns)}",
            )


def check_target(target: str | None, data: Path | None, names: Sequence[str] | None) -> None:
    """Raise if the target is no column of the records."""
    if target is not None and names is not None and target not in names:
        raise InvalidDataError(
            f"--target names {target!r}, which is not a column of {data}.",
            remedy=f"Check its spelling; columns of lists and structures are not read.{listed(target, names)}",
        )


def tell_repeats(table: RecordTable | None, person: str | None = None) -> None:
    """Warn on standard error of columns that look like identifiers and repeat, or of persons written in two ways."""
    from glassine.data.identifiers import repeats
    from glassine.data.person_counts import spelled_alike, spelling_advice

    if table is not None and person is not None:
        if said := spelling_advice(spelled_alike(table.frame[person].to_list())):
            tell(f"glassine: for the checker only: {person}:{said}")
    elif table is not None and len(table):
        repeated = list(repeats(table))
        for repeat in repeated:
            tell(f"glassine: for the checker only: {repeat}")
        if repeated:
            tell(
                "glassine: for the checker only: If such a column identifies people, a guarantee for one record does "
                "not cover all records of a person. Records are counted here; --person "
                f"{shlex.quote(repeated[0].column)} counts people."
            )
