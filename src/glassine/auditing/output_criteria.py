"""Criteria of output checkers, as SACRO-ML judges trees, and on a file as a whole: what it holds beside the model."""

from __future__ import annotations

import math

import numpy as np

from glassine.auditing.criterion import (
    BYTES,
    COUNTED,
    FILES,
    ONE_SAMPLE,
    RECORDS,
    ROUNDED_SHARE,
    SAMPLED,
    VALUES,
    WITHOUT,
    Check,
    Criterion,
    Limit,
    covered,
    covered_of,
    criterion,
    failed,
    for_kinds,
    inapplicable,
    passed,
    share_limit,
    unknown,
    whole_limit,
)
from glassine.auditing.facts import Case, FittedValues, Kind, OutcomeCells
from glassine.auditing.remedy import remedy
from glassine.errors import first_of
from glassine.formats.canonical import FileForm, LongText

MERGE = for_kinds(
    ("tree", "rule list"),
    remedy("Publish labels without counts: {step}. Or {retrain} with larger leaves.", "scrub", counts="remove"),
)

EMPTY = "All published counts are zero, so the model says nothing about any record."
LABELS_ALONE = "Labels alone are published: no class can be seen to be small or absent."
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
)
def SMALLEST_CLASS_COUNT(limit: int, cells: OutcomeCells, case: Case) -> Check:
    """Judge the fewest records of a class that has any, in any part."""
    if cells.certain is None and cells.counts.upper.any():
        return inapplicable(LABELS_ALONE)
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
    if doubt := cells.unsettled or case.contrary:
        return unknown(doubt)
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
)
def ZERO_CLASSES(limit: int, cells: OutcomeCells, case: Case) -> Check:
    """Judge how many parts hold no record of some class."""
    if cells.certain is None and cells.counts.upper.any():
        return inapplicable(LABELS_ALONE)
    if not cells.counts.by_outcome:
        return unknown(NO_CLASS_COUNTS)
    occupied = cells.counts.upper.any(axis=1)
    surely = int((occupied & (cells.counts.upper == 0).any(axis=1)).sum())
    possibly = int((occupied & (cells.counts.lower == 0).any(axis=1)).sum())
    of = f"of {int(occupied.sum()):,} {case.part if occupied.sum() == 1 else case.parts}"
    if surely > limit:
        hold = "holds" if surely == 1 else "hold"
        return failed(f"{surely:,} {of} {hold} no {case.counted} of some class, which excludes it for all.", surely)
    if doubt := cells.unsettled or case.contrary:
        return unknown(doubt)
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
)
def DEGREES_OF_FREEDOM(limit: int, cells: OutcomeCells, case: Case) -> Check:
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


OF_REGRESSIONS: tuple[Kind, ...] = ("regression",)
RESIDUAL_DEGREES: Criterion[int, float] = Criterion(
    name="residual_degrees_of_freedom",
    reads="residual",
    limit=DEGREES_OF_FREEDOM.limit,
    judge=lambda limit, degrees, case: (failed if degrees < limit else passed)(
        f"The regression has {degrees:,.0f} residual degrees of freedom. This says little of what it reveals.", degrees
    ),
    label="Residual degrees of freedom",
    measures="Fewest residual degrees of freedom of a regression, as ACRO demands: records less parameters.",
    unmeasured="The residual degrees of freedom are not known: {reason}",
    by_guarantee=covered_of(OF_REGRESSIONS, ", however many parameters the model has"),
    key="degrees_of_freedom",
    remedies={"regression": remedy("{Retrain} with fewer columns, or with more records.")},
)


@criterion(
    "fitted_values",
    "fitted",
    whole_limit(VALUES, 0),
    label="Values of single records",
    measures="Largest number of values of single records that follow from a regression: residuals, the times of a "
    "baseline hazard, a design matrix, outcomes of a model with as many parameters as records.",
    unmeasured="Whether values of single records follow is not known: {reason}",
    by_guarantee=covered_of(OF_REGRESSIONS, ", single values included"),
    remedies={"regression": WITHOUT, "several regressions": ONE_SAMPLE},
    inputs={"regression": COUNTED, "several regressions": SAMPLED},
)
def FITTED_VALUES(limit: int, fitted: FittedValues, case: Case) -> Check:
    """Judge how many values of single records follow from a regression."""
    said = " ".join(fitted.reasons)
    if fitted.number > limit:
        return failed(said, fitted.number)
    if fitted.unsettled:
        return unknown(fitted.unsettled)
    return passed(said or "No value of a single record is published beside the coefficients.", fitted.number)


@criterion(
    "largest_leverage",
    "leverage",
    share_limit(ROUNDED_SHARE),
    label="Largest leverage",
    measures="Largest share of a fitted value of a regression that the record's own outcome may make, in (0, 1]; "
    "judged with the data, and off unless it is set.",
    unmeasured="How much an outcome makes of its fitted value is not known: {reason}",
    by_guarantee=covered_of(OF_REGRESSIONS, ", however much one record weighs"),
    remedies={"regression": remedy("{Retrain} with fewer columns, or join categories of few {units}.")},
    inputs={"regression": COUNTED},
)
def LARGEST_LEVERAGE(limit: float, largest: float, case: Case) -> Check:
    """Judge how much the outcome of the most exposed record makes of its fitted value."""
    share = min(1.0, math.ceil(largest * 100) / 100)
    said = f"An outcome makes up to {share:.0%} of its record's fitted value"
    if largest > limit:
        return failed(f"{said} (limit {limit:.0%}).", share)
    doubt = case.mismatch or case.unconfirmed
    return unknown(doubt, share) if doubt else passed(f"{said}.", share)


FILES_OF: tuple[Kind, ...] = ("tree", "rule list", "additive model", "regression", "ensemble")
"""What files are read of, one a model."""
SEVERAL: tuple[Kind, ...] = ("several models", "several regressions")
"""What several files are read of."""

CLEAN_COPY = remedy(
    "Write the clean copy, and release that file alone: {step}.",
    "audit",
    python="`write_clean(load_file(model), copy)`",
    clean_copy=None,
)
"""What helps with a file that Glassine did not write."""
CLEAN_COPIES = remedy("Audit each model alone, write its clean copy, and release these copies alone.")
"""The same of files that are audited together."""
LOOK_THROUGH = remedy(
    "Ask the publisher for the fitted estimator, or for the file that its library writes: of this file no clean copy "
    "can be written. Or look through what it holds beside its trees."
)
"""What helps with a file of trees that predict together in a way that is not read."""
SHORTER = remedy(
    "Shorten the names of attributes and classes, and leave out classes that no record has, before the model is fitted."
)


@criterion(
    "require_clean_copy",
    "files",
    Limit(unit=FILES, default=None, most=0, range="true or false", switch=True),
    label="Files that Glassine did not write",
    measures="Whether a file fails that is not, byte for byte, what Glassine writes of its model, unless its clean "
    "copy is written. Judged where a file is audited; a pipeline always requires it.",
    unmeasured="Whether Glassine wrote the file is not known: {reason}",
    of_file=True,
    remedies=for_kinds(FILES_OF, CLEAN_COPY) | for_kinds(SEVERAL, CLEAN_COPIES),
)
def REQUIRE_CLEAN_COPY(limit: int, files: tuple[FileForm, ...], case: Case) -> Check:
    """Judge how many files Glassine did not write, of which no clean copy was written."""
    foreign = [file for file in files if not file.canonical]
    if not foreign:
        return passed(f"Glassine wrote {'this file' if len(files) == 1 else 'these files'}, byte for byte.", 0)
    if all(file.clean_copy is not None and file.clean_copy.name for file in foreign):
        return passed("The clean copy was written. Release it alone.", 0)
    n = len(foreign)
    which = "The file is" if len(files) == 1 else f"{n:,} of {len(files):,} files {'is' if n == 1 else 'are'}"
    return failed(f"{which} not what Glassine writes of the model, and can hold records in any place.", n)


@criterion(
    "long_texts",
    "texts",
    whole_limit(BYTES, 0),
    label="Texts beyond what a model needs",
    measures="Largest number of bytes of a model's names and texts that are longer than 200 characters, of whole "
    "numbers of more than 25 digits, and of unused names of more than 3,000 characters together.",
    unmeasured="How long the texts of the model are is not known: {reason}",
    of_file=True,
    remedies=for_kinds((*FILES_OF, *SEVERAL), SHORTER),
)
def LONG_TEXTS(limit: int, texts: tuple[LongText, ...], case: Case) -> Check | None:
    """Judge how many bytes of texts a model does not need."""
    n = sum(text.n_bytes for text in texts)
    if not n and not case.facts.get("files"):
        return None  # a model in memory is no file yet, so that passing says nothing
    if not n:
        return passed("No name or other text of the model is longer than one needs to be.", 0)
    places = first_of([text.where for text in texts])
    sentence = f"The model has {n:,} bytes of texts that are too long, or names of nothing that it uses: {places}."
    return failed(f"{sentence} They can be records.", n) if n > limit else passed(sentence, n)
