"""What the commands read: records, domains, policies and models, each with a clear error."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.naming import in_commands
from glassine.domain.attributes import Integer, Real
from glassine.errors import InvalidParameterError, SeveralTreesError, UnreadableFileError
from glassine.files import FileContent, read_bytes, read_once

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings, InputFile
    from glassine.auditing.policy import Policy
    from glassine.domain import Attribute, Domain
    from glassine.formats.sklearn.interpret import EbmExtras
    from glassine.models import AdditiveModel, DecisionTree, RuleList

__all__ = [
    "input_files",
    "is_typed",
    "load",
    "load_extras",
    "load_kind",
    "opened",
    "policy_of",
    "read_domain",
    "read_frame",
    "with_inputs",
]

EXACT = 2**53
"""Whole numbers below it are doubles, and no other number is rounded to them."""


def read_frame(
    path: Path,
    domain: Domain | None = None,
    *,
    attributes: Mapping[str, Attribute] | None = None,
    lenient: bool = False,
) -> Any:
    """Return a CSV or Parquet file as a frame, read by content and with a clear error.

    The type of a declared column of a CSV file is at most a convenience: where some text is no number, it stays text,
    from which :func:`glassine.data.conform.conform` reads the same. Categories of words stay as they are written,
    so that 01 stays 01. Columns that nothing declares get the type that all their values have in common.

    Parameters
    ----------
    path : Path
        The file.
    domain : Domain, optional
        The public domain.
    attributes : mapping of str to Attribute, optional
        Further declared columns, or others in place of those of the domain.
    lenient : bool, default=False
        Whether a row with too many fields, or with bytes that are no UTF-8, is read as far as it can be.

    Raises
    ------
    UnreadableFileError
        If the file cannot be read.
    """
    import polars as pl

    head = _head(path)
    if not head.strip():
        raise UnreadableFileError(f"{path} is empty. Give a CSV file with a header, or a Parquet file.", path=path)
    declared = {**({} if domain is None else {name: domain[name] for name in domain}), **(attributes or {})}
    try:
        frame = pl.read_parquet(path) if is_typed(path) else _read_csv(path, declared, lenient=lenient)
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        # The value that cannot be read is one record's, and so are the places that are told of it.
        first = "its rows or quotes are malformed" if lenient else re.sub(r"`[^`]*(`|$)", "a value", first)
        raise UnreadableFileError(
            f"{path} is not a CSV or Parquet file that can be read: {first}.", path=path
        ) from None
    if any("\r" in name for name in frame.columns):
        raise UnreadableFileError(f"{path} ends its lines with CR alone. Write LF or CRLF.", path=path)
    twice = [name for name in frame.columns if "_duplicated_" in name]
    if twice:
        name = twice[0].rsplit("_duplicated_", 1)[0]
        raise UnreadableFileError(f"{path} has two columns named {name!r}. Rename one.", path=path)
    if len(frame.columns) == 1 and any(mark in frame.columns[0] for mark in ";\t|"):
        raise UnreadableFileError(f"{path} is not separated by commas: its header is {frame.columns[0]!r}.", path=path)
    return frame


def is_typed(path: Path) -> bool:
    """Return whether a file says the types of its columns: a Parquet file does."""
    return _head(path) == b"PAR1"


def _read_csv(path: Path, declared: Mapping[str, Attribute], *, lenient: bool) -> Any:
    """Return the columns of a CSV file: declared ones value by value, the others by what all values have in common."""
    import polars as pl

    from glassine.data.conform_values import GAP_TEXTS

    how: dict[str, Any] = {"encoding": "utf8-lossy", "truncate_ragged_lines": True} if lenient else {}
    names = pl.read_csv(path, n_rows=0, infer_schema=False, **how).columns
    rest = [name for name in names if name not in declared]
    if len(rest) == len(names):
        return pl.read_csv(path, infer_schema_length=None, null_values=list(GAP_TEXTS), **how)
    own = [name for name in names if name in declared]
    texts = pl.read_csv(path, columns=own, infer_schema=False, **how)
    frame = pl.DataFrame([_typed(texts[name], declared[name]) for name in own])
    if rest:
        others = pl.read_csv(path, columns=rest, infer_schema_length=None, null_values=list(GAP_TEXTS), **how)
        frame = frame.hstack(others)
    return frame.select(names)


def _typed(texts: Any, attribute: Attribute) -> Any:
    """Return a column of texts as numbers where each of them is one, with nulls for gaps."""
    import numpy as np
    import polars as pl

    from glassine.data.columns import values_of
    from glassine.data.conform_values import GAP_TEXTS, numbers_of_texts

    numeric = isinstance(attribute, Integer | Real)
    values = () if numeric else values_of(attribute)
    # Polars takes an empty field for none.
    texts = texts.fill_null("")
    gaps = texts.is_in([gap for gap in GAP_TEXTS if gap not in values])
    texts = texts.set(gaps, None)
    if any(isinstance(value, str) for value in values):
        return texts
    whole = texts.cast(pl.Int64, strict=False)
    if (whole.is_null() == gaps).all():
        return whole
    words = texts.str.to_lowercase()
    if not numeric and (words.is_in(["true", "false"]) | gaps).all():
        return (words == "true").alias(texts.name)
    numbers = numbers_of_texts(texts)
    if (np.isnan(numbers) == gaps.to_numpy()).all() and (
        numeric or all(not isinstance(v, str) and abs(v) < EXACT for v in values)
    ):
        return pl.Series(texts.name, numbers, nan_to_null=True)
    return texts


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(4)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}.", path=path) from None


def opened(path: Path | None) -> FileContent | None:
    """Return a file that was read once, if one is given."""
    return None if path is None else read_once(path)


def read_domain(path: str | os.PathLike[str] | None) -> Domain | None:
    """Return the domain of a file, if one is given."""
    from glassine.domain import Domain

    return None if path is None else Domain.from_json(path)


def policy_of(path: str | os.PathLike[str] | None) -> Policy:
    """Return the policy of a file, or the default one."""
    from glassine.auditing.policy import Policy

    return Policy() if path is None else Policy.from_toml(path)


def load(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, tree: int | None = None
) -> DecisionTree | RuleList:
    """Return the model of a file; of several trees, the one of this place."""
    from glassine.formats import load_model

    with _one_of_several():
        return load_model(path, domain, trust_pickle=trust_pickle, tree=tree)


def load_kind(
    path: str | os.PathLike[str], domain: Domain | None, trust_pickle: bool, tree: int | None = None
) -> DecisionTree | RuleList | AdditiveModel:
    """Return the model of a file, additive models among them; of several trees, the one of this place."""
    from glassine.formats import load_any

    with _one_of_several():
        return load_any(path, domain, trust_pickle=trust_pickle, tree=tree)


@contextmanager
def _one_of_several() -> Iterator[None]:
    """Say how a command takes one of several trees, where the reader says how Python does."""
    from glassine.formats.several import ONE_OF_SEVERAL

    here = {
        ONE_OF_SEVERAL: "--tree 0 reads the first; glassine reconstruct reads all, where its trees tell counts.",
        ": tree must": ": --tree must",
    }
    try:
        yield
    except (InvalidParameterError, SeveralTreesError) as error:
        message = str(error)
        for said, meant in here.items():
            message = message.replace(said, meant)
        error.args = (message, *error.args[1:])
        raise


def load_extras(path: str | os.PathLike[str]) -> EbmExtras | None:
    """Return what the JSON of an explainable boosting machine publishes beside the model; None for other files."""
    from glassine.files import read_json
    from glassine.formats.sklearn.interpret import extras_of_interpret, is_interpret_json

    if read_bytes(path).lstrip()[:1] != b"{":
        return None
    data = read_json(path)
    return extras_of_interpret(data) if is_interpret_json(data) else None


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
    found: Findings, files: Mapping[str, FileContent | None], records: Mapping[str, Path | None]
) -> Findings:
    """Return findings with the files that were read, advice in commands.

    What records a private model has is told to their holder only.
    """
    given, found = input_files(**files, **records), in_commands(found)
    if found.holder is None:
        return replace(found, inputs=given)
    return replace(found, inputs=input_files(**files), holder=replace(found.holder, inputs=given))
