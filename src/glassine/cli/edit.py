"""``glassine edit``: changes to a published additive model that spend no budget."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.naming import nearest
from glassine.cli.options import (
    JsonOption,
    OptionGroup,
    OverwriteOption,
    argument,
    flag,
    number_of,
    option,
    output_option,
)
from glassine.cli.writing import check_ending, check_outputs, one_line, print_value
from glassine.errors import GlassineError, InvalidParameterError, UnsupportedModelError
from glassine.files import write_text

if TYPE_CHECKING:
    from glassine.models import AdditiveModel, Term

Texts = list[str] | None

EXAMPLE = "For example: --set 'age:40 to 50=0.2'."


class EditInputs(OptionGroup):
    """The model, and what is written."""

    model: Path = argument("MODEL", "The additive model, Glassine's JSON.")
    output: Path | None = output_option("Write the edited model, JSON.")
    page: Path | None = option("FILE", "Write an editor page, HTML: edit in the browser.")
    overwrite: OverwriteOption = False
    log: bool = flag("Print the log of edits.")
    as_json: JsonOption = False


class UndoOptions(OptionGroup, heading="Taking back"):
    """What is taken back first."""

    undo: int = option("N", "First take back so many edits.", 0)
    revert: bool = flag("First take back every edit.")


class EditOptions(OptionGroup, heading="Edits"):
    """What is edited."""

    zero: Texts = option("TERM", "It adds nothing from now on; repeat it for more.")
    set_: Texts = option(
        "TERM:BIN=SCORE",
        "Set a score. A bin is its label or number; a range is FIRST..LAST; repeat it for more.",
        names=("--set",),
    )
    flatten: Texts = option("TERM[:FIRST..LAST]", "One mean score; repeat it for more.")
    smooth: Texts = option("TERM[:FIRST..LAST]", "Scores towards neighbors; repeat it for more.")
    monotone: Texts = option(
        "TERM[:FIRST..LAST]:DIRECTION", "Scores in order, increasing or decreasing; repeat it for more."
    )
    strength: float = option("NUMBER", "Of --smooth: how far, above 0 up to 1.", 0.5)
    passes: int = option("N", "Of --smooth: how often.", 1)
    label: str | None = option("CLASS", "Edit the scores of this class only.", names=("--class",), shown_default="all")
    reason: str = option("TEXT", "Reason for the edits, recorded in the log.", "")


def edit_command(files: EditInputs, back: UndoOptions, edits: EditOptions) -> None:
    """Edit an additive model: undo, then zero, set, flatten, smooth and put in order. No budget is spent.

    Exit status: 0 when it was done, 2 if not.
    """
    from glassine.formats import load_model, write_model
    from glassine.models import AdditiveModel, editing

    output, page = files.output, files.page
    if output is None and page is None and not files.log:
        raise GlassineError("the edited model goes nowhere.", remedy="Give -o, --page or --log.")
    if back.revert and back.undo:
        raise GlassineError("--revert takes back every edit, --undo some.", remedy="Give one of them.")
    check_outputs([output, page], [files.model], overwrite=files.overwrite)
    check_ending(page, (".html", ".htm"), "an editor page is HTML")
    read = load_model(files.model)
    if not isinstance(read, AdditiveModel):
        raise UnsupportedModelError(
            f"{files.model} is a {read}. Only additive models can be edited.", remedy="Train a new model instead."
        )
    editing.verify(read)
    kept = editing.revert(read) if back.revert else editing.undo(read, back.undo)
    edited = _edited(kept, edits, {"reason": edits.reason, "output": _output(kept, edits.label)})
    if output is not None:
        write_model(edited, output, overwrite=True)
    if page is not None:
        from glassine.report.editor_page import render_editor

        write_text(render_editor(edited), page)
    done = {"undone": len(read.edits) - len(kept.edits), "made": len(edited.edits) - len(kept.edits)}
    written = {"file": None if output is None else str(output), "page": None if page is None else str(page)}
    if files.as_json:
        from glassine.formats.json import to_dict

        print_value({**done, "edits": to_dict(edited)["edits"], **written}, True)
        return
    lines = ([one_line(str(edit)) for edit in edited.edits] or ["no edit"]) if files.log else []
    lines += [f"{name.capitalize()}: {path}" for name, path in written.items() if path is not None]
    if done["undone"] or done["made"]:
        lines.append(f"Edits taken back: {done['undone']}, made: {done['made']}. No budget is spent.")
    print_value("\n".join(lines), False)


def _edited(model: AdditiveModel, asked: EditOptions, common: dict[str, Any]) -> AdditiveModel:
    from glassine.models import editing

    for text in asked.zero or ():
        model = editing.zero(model, _term(model, text, "--zero")[0].name, **common)
    for text in asked.set_ or ():
        where, separator, value = text.rpartition("=")
        term, rest = _term(model, where if separator else text, "--set")
        if not separator or not rest:
            raise InvalidParameterError(f"--set needs TERM:BIN=SCORE, got {text!r}.", remedy=EXAMPLE)
        score = number_of(value, f"--set needs a number behind the last '=', got {text!r}.", EXAMPLE)
        model = editing.set_score(model, term.name, _bins(term, rest), score, **common)
    for text in asked.flatten or ():
        term, rest = _term(model, text, "--flatten")
        model = editing.flatten(model, term.name, _range(term, rest), **common)
    parameters: dict[str, Any] = {"strength": asked.strength, "passes": asked.passes}
    for text in asked.smooth or ():
        term, rest = _term(model, text, "--smooth")
        model = editing.smooth(model, term.name, _range(term, rest), **parameters, **common)
    for text in asked.monotone or ():
        where, _, direction = text.rpartition(":")
        term, rest = _term(model, where, "--monotone")
        model = editing.monotone(model, term.name, direction, _range(term, rest), **common)
    return model


def _output(model: AdditiveModel, label: str | None) -> int | None:
    """Return the index of a class by its text."""
    if label is None:
        return None
    names = [str(name) for name in model.classes or ()]
    if model.n_outputs < 2 or label not in names:
        scored = ", ".join(names) if model.n_outputs > 1 else "one score for all"
        raise InvalidParameterError(
            f"--class must name a class that has its own score, got {label!r}.", remedy=f"The model has {scored}."
        )
    return names.index(label)


def _term(model: AdditiveModel, text: str, option: str) -> tuple[Term, str]:
    """Return the term that a text begins with, and what stands behind the colon; the longest name wins."""
    for term in sorted(model.terms, key=lambda term: -len(term.name)):
        if text == term.name:
            return term, ""
        if text.startswith(f"{term.name}:"):
            return term, text[len(term.name) + 1 :]
    names = [term.name for term in model.terms]
    meant = nearest(text.partition(":")[0], names) or f" Known: {', '.join(map(repr, names))}."
    raise InvalidParameterError(f"{option} must begin with the name of a term, got {text!r}.{meant}")


def _bin(term: Term, axis: int, text: str) -> int | None:
    """Return a bin by its label, else by its number; None if it is neither."""
    labels = term.bins[axis].labels
    if text in labels:
        return labels.index(text)
    return int(text) if text.isascii() and text.isdigit() and int(text) < len(labels) else None


def _range(term: Term, text: str) -> Any:
    return _bins(term, text) if text else None


def _bins(term: Term, text: str) -> Any:
    """Return the bin, range or cell that a text names."""
    alone = _bin(term, 0, text) if len(term.bins) == 1 else None
    if alone is not None:
        return alone
    mark, axis = ("..", 0) if len(term.bins) == 1 else (" & ", 1)
    for first, last in _splits(text, mark):
        pair = (_bin(term, 0, first), _bin(term, axis, last))
        if None not in pair:
            return pair
    shape = "BIN or FIRST..LAST" if axis == 0 else "BIN & BIN"
    some = "; ".join(repr(label) for bins in term.bins for label in bins.labels[:4])
    raise InvalidParameterError(f"{term.name!r} has no {shape} {text!r}. Bins are named like {some}.")


def _splits(text: str, mark: str) -> Iterable[tuple[str, str]]:
    parts = text.split(mark)
    return ((mark.join(parts[:i]), mark.join(parts[i:])) for i in range(1, len(parts)))
