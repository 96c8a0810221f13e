"""Settings that ``glassine fit`` chooses instead of being given them: by a private search, or by a public rule."""

from __future__ import annotations

import csv
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from glassine.cli.naming import nearest
from glassine.cli.steps import option_of
from glassine.errors import InvalidParameterError

if TYPE_CHECKING:
    from glassine.cli.options import OptionGroup

DEFAULT_GRIDS: dict[str, dict[str, list[Any]]] = {
    "tree": {"max_depth": [1, 2, 3, 4]},
    "rule-list": {"max_rules": [1, 2, 3, 4]},
    "greedy-rule-list": {"max_rules": [1, 2, 3, 5, 8]},
    "additive": {"interactions": [0, 3]},
    "scorecard": {"max_items": [5, 10]},
}
"""The grid of ``--search default`` by kind of model: the sizes that the benchmark of searches compares."""

FIXED = ("memory_limit", "time_limit", "delta", "accounting", "not_private", "penalty", "min_samples_leaf",
         "target_range", "measure")  # fmt: skip
"""Options that are the same in every setting: limits, what is spent and how it is added up."""

AUTO = "auto:"

WRITTEN: dict[str, tuple[Any, ...]] = {"max_depth": (int,), "interactions": (Literal["auto"], int)}
"""Values in a search of options that take more than a search can list: rules, and pairs by name."""


def depth_or_rule(text: str) -> int | str:
    """Return the value of ``--max-depth``: a whole number, or ``auto:N``, as it was given."""
    digits = text.removeprefix(AUTO)
    if not (digits.isascii() and digits.isdigit()):
        raise typer.BadParameter(
            f"must be a whole number, or {AUTO}N with a public guess N of the number of records, got {text!r}"
        )
    return text if text.startswith(AUTO) else int(digits)


def depth_of(text: str, learner: Any, public: Mapping[str, Any], options: Mapping[str, Any]) -> int:
    """Return the depth that public figures suggest for a private tree; no record is read."""
    from glassine.learners.exhaustive.sizes import suggested_depth

    if public["domain"] is None:
        raise InvalidParameterError(
            f"--max-depth {text} needs a public domain.", remedy="Give --domain FILE, or a depth."
        )
    plain = {name: value for name, value in options.items() if name not in ("max_depth", "ledger", "dataset")}
    n_literals = learner(**public, **plain).n_conditions()
    # A record counts as often as the records of a person may.
    epsilon = options["epsilon"] / options.get("records_per_person", 1)
    return suggested_depth(int(text.removeprefix(AUTO)), epsilon, n_literals)


def searchable(groups: Sequence[type[OptionGroup]]) -> dict[str, Any]:
    """Return the parameters that may be searched, with the types of their values, from the options of a command."""
    out: dict[str, Any] = {}
    for group in groups:
        hints = get_type_hints(group)
        for field in fields(group):
            kinds = [kind for kind in _members(hints[field.name]) if kind is not type(None)]
            if field.name in WRITTEN:
                out[field.name] = WRITTEN[field.name]
            elif field.name not in FIXED and not any(kind is bool or get_origin(kind) is list for kind in kinds):
                out[field.name] = tuple(kinds)
    return {name: kinds for name, kinds in out.items() if set(kinds) <= {int, float, str} or _words(kinds)}


def grid_of(
    texts: Sequence[str], model: str, groups: Sequence[type[OptionGroup]], options: Mapping[str, Any]
) -> dict[str, list[Any]] | None:
    """Return the grid that ``--search NAME=A,B``, perhaps repeated, or ``--search default`` asks for."""
    if not texts:
        return None
    kinds_of = {name.replace("_", "-"): kinds for name, kinds in searchable(groups).items()}
    grid: dict[str, list[Any]] = {}
    for text in texts:
        if text == "default":
            added = DEFAULT_GRIDS[model]
        else:
            name, equals, values = text.partition("=")
            name = name.strip().removeprefix("--").replace("_", "-")
            if not equals or not name:
                raise InvalidParameterError(
                    f"--search must be an option and its values, such as {_example(model)}, or default, got {text!r}."
                )
            if name not in kinds_of:
                raise InvalidParameterError(
                    f"--search names {name!r}, which cannot be searched for this model.{nearest(name, kinds_of)} There "
                    f"are {', '.join(kinds_of)}."
                )
            added = {name.replace("-", "_"): _values(name, values, kinds_of[name])}
        for name in added:
            if name in grid:
                raise InvalidParameterError(
                    f"--search sets {name.replace('_', '-')} twice.", remedy="List its values once."
                )
        grid |= added
    for name in grid:
        if options.get(name) is not None:
            option = option_of(name)
            raise InvalidParameterError(f"{option} and --search both set {option}.", remedy="Leave one out.")
    if prod(map(len, grid.values())) < 2:
        raise InvalidParameterError(
            "--search has one setting, so that there is nothing to choose.", remedy="List two values, or leave it out."
        )
    return grid


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _words(kinds: Sequence[Any]) -> list[str]:
    return [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]


def _example(model: str) -> str:
    name, values = next(iter(DEFAULT_GRIDS[model].items()))
    return f"{name.replace('_', '-')}={','.join(map(str, values))}"


def _values(name: str, text: str, kinds: Sequence[Any]) -> list[Any]:
    """Return the values of an option, each of one of its types."""
    values = [_value(name, part.strip(), kinds) for part in next(csv.reader([text]), [])]
    if not values:
        raise InvalidParameterError(f"--search {name}= has no value.", remedy="List values, separated by commas.")
    if len(set(values)) < len(values):
        raise InvalidParameterError(f"--search {name}= lists a value twice.", remedy="Drop the repeat.")
    return values


def _value(name: str, text: str, kinds: Sequence[Any]) -> Any:
    words = _words(kinds)
    if text in words:
        return text
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    if str in kinds and int not in kinds and text:
        return text
    what = [*words, *(["a whole number"] if int in kinds else ["a number"] if float in kinds else [])]
    raise InvalidParameterError(
        f"--search {name}= must list {' or '.join(what) or 'words'}, got {text!r}.{nearest(text, words)}"
    )


def check_search(
    kind: str, grid: Mapping[str, Any] | None, options: Mapping[str, Any], *, private: bool, number: bool
) -> None:
    """Refuse a search where there is none."""
    if grid is None:
        if isinstance(options.get("max_depth"), str) and not private:
            raise InvalidParameterError(f"--max-depth auto does not apply to {kind}.", remedy="Give a depth.")
        return
    if not private or number:
        kind = "a model of numbers" if number else kind
        raise InvalidParameterError(f"--search does not apply to {kind}.", remedy="Leave it out.")
    if isinstance(options.get("max_depth"), str):
        raise InvalidParameterError(
            "--max-depth auto and --search contradict each other: both choose.",
            remedy="Give the depths to --search, or leave it out.",
        )
    if options.get("accounting") == "published":
        raise InvalidParameterError("--search does not apply to --accounting published.", remedy="Leave one out.")
