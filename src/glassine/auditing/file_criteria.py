"""Criteria on a file as a whole: what it holds beside the model, and what parts of a pipeline hold of the data."""

from __future__ import annotations

from glassine.auditing.criterion import (
    BYTES,
    DOMAIN,
    VALUES,
    Criterion,
    Ruling,
    Words,
    failed,
    for_kinds,
    passed,
    remedy,
    unknown,
    whole_limit,
)
from glassine.auditing.evidence import Evidence, Kind
from glassine.errors import first_of
from glassine.formats.contents import FileContents

FILES: tuple[Kind, ...] = ("tree", "rule list", "additive model", "several models")
"""What files are read of."""

CLEAN = remedy(
    "Write a copy that holds the model and nothing else, and audit that copy: {step}.",
    "export",
    python="`load_model`, then `write_model`",
    clean=True,
)
"""What helps with the contents of a file beside its model."""


def _judge_other(limit: int, contents: FileContents, evidence: Evidence) -> Ruling:
    n = contents.n_other
    several = evidence.kind == "several models"
    file, model = ("files hold", "models") if several else ("file holds", "model")
    if not n:
        return passed(f"The {file} the {model} and nothing else.", 0)
    places = f"{len(contents.others):,} places" if len(contents.others) > 1 else "one place"
    meaning = (
        f"The {file} {n:,} bytes that the {model} {'do' if several else 'does'} not need, in {places}, listed "
        'under "What the file holds".'
    )
    if n > limit:
        found = f"{meaning} They can be records, and nothing here says what they reveal."
        if contents.others and {other.kind for other in contents.others} == {"padding"}:
            found += (
                " scikit-learn keeps arrays with gaps, and joblib and pickle write what memory held there before: "
                "save the model with skops or as JSON."
            )
        return failed(found, n)
    return passed(meaning, n)


OTHER_CONTENT: Criterion[int, FileContents] = Criterion(
    name="other_content",
    limit=whole_limit(BYTES, 0),
    words=Words(
        label="Content beside the model",
        measures="Largest number of bytes that a file may hold beside the model: attributes, metadata, comments, "
        "arrays, trailing bytes. Judged where a file is audited.",
        unmeasured="What the file holds beside the model is not known: {reason}",
    ),
    reads=lambda evidence: evidence.contents,
    judge=_judge_other,
    of_file=True,
    remedies=for_kinds(FILES, CLEAN),
)


def _judge_fitted(limit: int, contents: FileContents, evidence: Evidence) -> Ruling | None:
    if not contents.fitted:
        return None
    n = sum(entry.n_private or 0 for entry in contents.fitted)
    open_ = sum(entry.n_values for entry in contents.fitted if entry.n_private is None)
    listed = dict.fromkeys(
        f"{entry.statistic} of {entry.attribute}"
        for entry in contents.fitted
        if entry.n_private or entry.n_private is None
    )
    which = first_of(list(listed))
    if n > limit:
        return failed(f"Parts of the pipeline hold {n:,} values taken from the training data: {which}.", n)
    if open_:
        return unknown(
            f"Parts of the pipeline hold values of the training data: {which}. Which of them are public was not "
            "measured: it needs a domain."
        )
    if not n:
        return passed("Every value that the pipeline was fitted to is public.", 0)
    return passed(f"Parts of the pipeline hold {n:,} values taken from the training data: {which}.", n)


FITTED_VALUES: Criterion[int, FileContents] = Criterion(
    name="fitted_values",
    limit=whole_limit(VALUES, 0),
    words=Words(
        label="Training values in the pipeline",
        measures="Largest number of values of the training data that scalers, imputers, encoders and other parts of a "
        "pipeline may hold: extremes, medians, categories. Those that the domain declares do not count.",
        unmeasured="What the pipeline holds of the training data is not known: {reason}",
    ),
    reads=lambda evidence: evidence.contents,
    judge=_judge_fitted,
    of_file=True,
    remedies=for_kinds(FILES, CLEAN),
    inputs=for_kinds(FILES, DOMAIN),
)
