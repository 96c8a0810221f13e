"""What an analyst states of the training data, as the answer form of the desk has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from glassine.desk.folder import Folder
from glassine.desk.phrases import PHRASES
from glassine.errors import DeskError, RefusedActionError


@dataclass(frozen=True, slots=True)
class StatedField:
    """What an analyst can state of the training data."""

    option: str  # Of the command that audits
    kind: Literal["flag", "number", "share", "choice", "file"]
    words: str
    choices: tuple[str, ...] = ()
    most: float = 0.5  # The largest share
    of: tuple[str, ...] = ()  # Words of which the kind of a model has one; empty for all kinds

    def asks(self, kind: str) -> bool:
        """Return whether it is asked of models of a kind."""
        return not self.of or not kind or any(word in kind for word in self.of)


CELLS = ("tree", "rule", "ensemble", "additive", "surrogate")
WORDS = PHRASES["stated"]
STATED: dict[str, StatedField] = {
    "one_record_per_person": StatedField("--one-record-per-person", "flag", WORDS["one_record_per_person"]),
    "unweighted": StatedField("--unweighted", "flag", WORDS["unweighted"]),
    "public_cuts": StatedField("--public-cuts", "flag", WORDS["public_cuts"], of=CELLS),
    "stated_leaf": StatedField("--stated-leaf", "number", WORDS["stated_leaf"], of=CELLS),
    "stated_step": StatedField("--stated-step", "number", WORDS["stated_step"], of=CELLS),
    "n": StatedField("--n", "number", WORDS["n"], of=("regression", "ensemble", "additive")),
    "base_rate": StatedField("--base-rate", "share", WORDS["base_rate"], of=("ensemble",)),
    "learning_rate": StatedField("--learning-rate", "share", WORDS["learning_rate"], most=1.0, of=("ensemble",)),
    "family": StatedField(
        "--family",
        "choice",
        WORDS["family"],
        ("gaussian", "binomial", "poisson", "gamma", "cox", "multinomial"),
        of=("regression",),
    ),
    "errors": StatedField("--errors", "choice", WORDS["errors"], ("model", "robust"), of=("regression",)),
    "settings_tried": StatedField("--settings-tried", "number", WORDS["settings_tried"]),
    "domain": StatedField("--domain", "file", WORDS["domain"], of=(*CELLS, "regression")),
}
"""What an analyst can state, by field of the form."""


CALLED = {"stated_leaf": "smallest_leaf", "stated_step": "rounded_to", "n": "n_records"}
"""What fields are called in the library, where the form has another name."""


def statements_of(answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers that are statements on the training data, as parameters of ``Statements``."""
    inputs = [name for name in answers if name in STATED and name not in ("settings_tried", "domain")]
    return {CALLED.get(name, name): answers[name] for name in inputs}


def stated_of(asked: Mapping[str, Any], folder: Folder) -> dict[str, Any]:
    """Return what the answer form states; a file by its name and the hash of its bytes.

    Raises
    ------
    RefusedActionError
        If a value is none of its kind, or a file is none of the folder.
    """
    stated: dict[str, Any] = {}
    for name, statement in STATED.items():
        kind, words = statement.kind, statement.words
        value = asked.get(name)
        if value in (None, "", False):
            continue
        if kind == "flag":
            stated[name] = True
        elif kind == "number":
            text = str(value).strip()
            if not (text.isascii() and text.isdigit() and int(text[:10]) >= 1 and len(text) <= 9):
                raise RefusedActionError(f"{words} must be a whole number of at least 1.", field=name)
            stated[name] = int(text)
        elif kind == "share":
            try:
                share = float(str(value))
            except ValueError:
                share = 0.0
            if not 0 < share <= statement.most:
                raise RefusedActionError(f"{words}: state a number above 0, up to {statement.most:g}.", field=name)
            stated[name] = share
        elif kind == "choice":
            if value not in statement.choices:
                raise RefusedActionError(f"{words}: choose one of {', '.join(statement.choices)}.", field=name)
            stated[name] = value
        else:
            try:
                digest, _ = folder.digest(str(value))
            except DeskError:
                raise RefusedActionError("there is no such file in the folder.", field=name) from None
            stated[name] = {"name": str(value), "sha256": digest}
    return stated
