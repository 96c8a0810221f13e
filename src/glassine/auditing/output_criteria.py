"""Criteria of output checkers, as SACRO-ML judges trees, and on a file as a whole: what it holds beside the model."""

from __future__ import annotations

import numpy as np

from glassine.auditing.criterion import (
    BYTES,
    COUNTED,
    DOMAIN,
    RECORDS,
    VALUES,
    Check,
    covered,
    criterion,
    failed,
    for_kinds,
    passed,
    remedy,
    unknown,
    whole_limit,
)
from glassine.auditing.facts import Case, Cells, Kind
from glassine.auditing.membership_criteria import COUNTS
from glassine.errors import first_of
from glassine.formats.contents import FileContents

MERGE = for_kinds(
    ("tree", "rule list"),
    remedy("Publish labels without counts: {step}. Or {retrain} with larger leaves.", "scrub", counts="remove"),
)
INPUTS = for_kinds(("tree", "rule list"), COUNTED)

EMPTY = "All published counts are zero, so the model says nothing about any record."
NO_CLASS_COUNTS = "The model does not publish how many records of each class its leaves hold."


@criterion(
    "smallest_class_count",
    "classes",
    whole_limit(RECORDS, fewest=True),
    label="Smallest class in a {part}",
    measures="Fewest training records of one class that a leaf or rule may hold, other than none; off unless it is "
    "set.",
    unmeasured="How many records of each class stand behind it is not known: {reason}",
    by_guarantee=covered(", however few share a class"),
    remedies=MERGE,
    inputs=INPUTS,
    requests=(COUNTS,),
)
def SMALLEST_CLASS_COUNT(limit: int, cells: Cells, case: Case) -> Check:
    """Judge the fewest records of a class that has any, in any part."""
    if not cells.counts.by_outcome:
        return unknown(NO_CLASS_COUNTS)
    lower, upper = cells.counts.lower, cells.counts.upper
    few = (lower > 0) & (upper < limit)
    if few.any():
        n, n_small = len(lower), int(few.any(axis=1).sum())
        parts = case.part if n == 1 else case.parts
        fewest = int(upper[few].min())
        hold = "holds" if n_small == 1 else "hold"
        return failed(
            f"{n_small:,} of {n:,} {parts} {hold} a class of fewer than {limit:,} {case.counted}, but not of none.",
            fewest,
        )
    if cells.unsettled:
        return unknown(cells.unsettled)
    if ((upper > 0) & (lower < limit)).any():
        return unknown(f"The published counts are rounded, so that a class may hold fewer than {limit:,}.")
    if not upper.any():
        return unknown(EMPTY)
    fewest = int(lower[lower > 0].min())
    return passed(f"Every class of a {case.part} holds none or at least {limit:,} {case.counted}.", fewest)


@criterion(
    "zero_classes",
    "classes",
    whole_limit(VALUES),
    label="Absent classes",
    measures="Largest number of leaves or rules that hold no training record of some class; off unless it is set.",
    unmeasured="Which classes stand behind it is not known: {reason}",
    by_guarantee=covered(", absent classes included"),
    remedies=MERGE,
    inputs=INPUTS,
    requests=(COUNTS,),
)
def ZERO_CLASSES(limit: int, cells: Cells, case: Case) -> Check:
    """Judge how many parts hold no record of some class."""
    if not cells.counts.by_outcome:
        return unknown(NO_CLASS_COUNTS)
    occupied = cells.counts.upper.any(axis=1)
    surely = int((occupied & (cells.counts.upper == 0).any(axis=1)).sum())
    possibly = int((occupied & (cells.counts.lower == 0).any(axis=1)).sum())
    of = f"of {int(occupied.sum()):,} {case.part if occupied.sum() == 1 else case.parts}"
    if surely > limit:
        hold = "holds" if surely == 1 else "hold"
        return failed(f"{surely:,} {of} {hold} no {case.counted} of some class, which excludes it for all.", surely)
    if cells.unsettled:
        return unknown(cells.unsettled)
    if possibly > limit:
        return unknown(f"The published counts are rounded: up to {possibly:,} {of} may lack a class.")
    if not occupied.any():
        return unknown(EMPTY)
    lacks = "lacks a class" if surely <= 1 else "lack a class"
    return passed(f"{surely:,} {of} {lacks}." if surely else f"Every {case.part} holds every class.", surely)


@criterion(
    "degrees_of_freedom",
    "classes",
    whole_limit(VALUES, fewest=True),
    label="Residual degrees of freedom",
    measures="Fewest residual degrees of freedom: records, or people where persons are stated, less twice the "
    "splits, less the leaves or rules times the classes but one; off unless it is set.",
    unmeasured="The number of records is not known: {reason}",
    by_guarantee=covered(", however many parameters the model has"),
    remedies=for_kinds(("tree", "rule list"), remedy("{Retrain} a smaller model, or with more records.")),
    inputs=INPUTS,
    requests=(COUNTS,),
)
def DEGREES_OF_FREEDOM(limit: int, cells: Cells, case: Case) -> Check:
    """Judge records less parameters: twice the splits, and of each leaf the shares of all classes but one."""
    # People are counted once: several records of one person are no independent observations.
    sizes_low, sizes_high = cells.counts.sizes
    if not sizes_high.any():
        return unknown(EMPTY)
    n_parameters = 2 * cells.n_splits + len(sizes_low) * (cells.counts.n_outcomes - 1)
    least, most = int(np.floor(sizes_low.sum())) - n_parameters, int(np.ceil(sizes_high.sum())) - n_parameters
    if cells.n_people is not None:
        least = most = cells.n_people - n_parameters
    counted = case.counted.capitalize()
    if most < limit:
        return failed(f"{counted} less parameters leave fewer than {limit:,} degrees of freedom.", most)
    if cells.unsettled:
        return unknown(cells.unsettled)
    if least < limit:
        return unknown("How many degrees of freedom remain is not known: the number of records is not known exactly.")
    return passed(f"{counted} less parameters leave at least {limit:,} degrees of freedom.", least)


FILES: tuple[Kind, ...] = ("tree", "rule list", "additive model", "several models")
"""What files are read of."""

CLEAN = remedy(
    "Write a copy that holds the model and nothing else, and audit that copy: {step}.",
    "export",
    python="`load_model`, then `write_model`",
    clean=True,
)
"""What helps with the contents of a file beside its model."""


@criterion(
    "other_content",
    "contents",
    whole_limit(BYTES, 0),
    label="Content beside the model",
    measures="Largest number of bytes that a file may hold beside the model: attributes, metadata, comments, "
    "arrays, trailing bytes. Judged where a file is audited.",
    unmeasured="What the file holds beside the model is not known: {reason}",
    of_file=True,
    remedies=for_kinds(FILES, CLEAN),
)
def OTHER_CONTENT(limit: int, contents: FileContents, case: Case) -> Check:
    """Judge how many bytes a file holds beside the model."""
    n = contents.n_other
    several = case.kind == "several models"
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


@criterion(
    "fitted_values",
    "contents",
    whole_limit(VALUES, 0),
    label="Training values in the pipeline",
    measures="Largest number of values of the training data that scalers, imputers, encoders and other parts of a "
    "pipeline may hold: extremes, medians, categories. Those that the domain declares do not count.",
    unmeasured="What the pipeline holds of the training data is not known: {reason}",
    of_file=True,
    remedies=for_kinds(FILES, CLEAN),
    inputs=for_kinds(FILES, DOMAIN),
)
def FITTED_VALUES(limit: int, contents: FileContents, case: Case) -> Check | None:
    """Judge how many values of the training data the parts of a pipeline hold."""
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
