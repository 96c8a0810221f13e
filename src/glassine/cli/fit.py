"""``glassine fit``: private trees, rule lists and additive models from records, with their certificates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer

from glassine.cli.fitting import ADDITIVE, GREEDY, RULE_LIST, SCORECARD, TREE, FitOptions, Order, run
from glassine.cli.naming import in_options
from glassine.cli.options import Group, option
from glassine.cli.progress import progress
from glassine.cli.searching import depth_or_rule, grid_of
from glassine.cli.summary import to_dict, to_text
from glassine.cli.training import NumberOptions, range_of
from glassine.cli.writing import print_value
from glassine.errors import InvalidParameterError, UnreadableFileError

DeltaOption = Annotated[float | None, option("NUMBER", "Delta.", default="1e-06")]
BinsOption = Annotated[Path | None, option("FILE", "Fixed bins, JSON: cut points, groups of values.")]
NotPrivateOption = Annotated[
    bool, typer.Option("--not-private", help="Fit the records without noise or any guarantee.")
]
MemoryOption = Annotated[float | None, option("BYTES", "Most memory.", default="4e9")]
LeafCountsOption = Annotated[float | None, option("SHARE", "Share of epsilon for counts; 0: none.", default="0.095")]

MeasureOption = Annotated[
    Literal["additive", "gini", "errors", "log-loss"] | None,
    option("NAME", "Of a summary: additive, gini, errors or log-loss.", default="additive"),
]


def _records_or_share(text: str) -> int | float:
    """Return a number of records, or a share of them where it is written with a point."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise typer.BadParameter(f"must be a number of records or a share of them, got {text!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPointOptions(Group):
    """Where numbers are cut."""

    heading: ClassVar[str] = "The model"

    literals: Annotated[
        Literal["auto", "thresholds", "quantiles", "coarse"] | None,
        option("KIND", "Cut points: auto, thresholds, quantiles or coarse.", default="auto"),
    ] = None
    # Hidden, so that the help fits a screen: the next option names it.
    n_quantiles: Annotated[
        int | None, option("N", "Quantiles of a number.", default="7; not private, 15", hidden=True)
    ] = None
    quantile_share: Annotated[
        float | None, option("SHARE", "Epsilon for quantiles; how many: --n-quantiles N.", default="0.2")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions(Group):
    """How all models of a class are searched."""

    heading: ClassVar[str] = "The model"

    accuracy_share: Annotated[
        float | None, option("SHARE", "Errors in the loss; 0 ranks best.", default="0.3; not private, 1")
    ] = None
    not_private: NotPrivateOption = False
    penalty: Annotated[float | None, option("SHARE", "Not private: cost of a split or rule.", default="0")] = None
    min_samples_leaf: Annotated[
        float | None, option("N", "Not private: fewest records of a leaf.", default="1", parser=_records_or_share)
    ] = None
    # Hidden, so that the help fits a screen: the next option names it.
    memory_limit: Annotated[float | None, option("BYTES", "Most memory.", default="4e9", hidden=True)] = None
    time_limit: Annotated[
        float | None, option("SECONDS", "Most seconds; most memory: --memory-limit BYTES.", default="600")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions(Group):
    """The size of a rule list."""

    heading: ClassVar[str] = "The model"

    max_rules: Annotated[
        int | None, option("N", "Rule lists: maximum number of rules.", default="5; not private, 3")
    ] = None
    pool: Annotated[
        Literal["literals", "pairs"] | None, option(None, "Conditions of a rule: 1 or 2.", default="literals")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOptions(NumberOptions):
    """What a private tree is."""

    # A string as well, which the annotation of the parser does not allow: the rule of suggested_depth by its name.
    max_depth: Annotated[
        str | None,
        option("N|auto:N", "Most splits on a path; auto: by a public guess.", default="3", parser=depth_or_rule),
    ] = None
    split_weight: Annotated[
        float | None, option("NUMBER", "Prior weight of a split; below 1 for small trees.", default="1")
    ] = None
    leaf_counts_share: LeafCountsOption = None
    measure: MeasureOption = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleListOptions(ListOptions):
    """What a private rule list is."""

    rule_weight: Annotated[
        float | None, option("NUMBER", "Prior weight of a rule; below 1 for short lists.", default="1")
    ] = None
    leaf_counts_share: LeafCountsOption = None
    measure: MeasureOption = None


def _mechanism_of(name: str) -> str:
    """Return the name of a mechanism; they are looked up here, as that imports the learner."""
    from glassine.learners.greedy.plan import MECHANISMS

    if name not in MECHANISMS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, MECHANISMS))}.")
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyOptions(ListOptions):
    """How a rule list is grown rule by rule."""

    mechanism: Annotated[
        str | None,
        option("NAME", "Choice of rules; another word lists all.", default="counted-gini", parser=_mechanism_of),
    ] = None
    accounting: Annotated[
        Literal["strict", "published"] | None, option(None, "The paper's, published, does not hold.", default="strict")
    ] = None
    delta: Annotated[float | None, option("NUMBER", "Delta, for the mechanisms that need one.")] = None
    min_support: Annotated[float | None, option("SHARE", "Least share of the records of a rule.", default="0.05")] = (
        None
    )
    leaf_counts_share: Annotated[
        float | None, option("SHARE", "Share of epsilon for counts; 0: none.", default="by mechanism")
    ] = None
    not_private: NotPrivateOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveOptions(NumberOptions):
    """What an additive model is."""

    algorithm: Annotated[
        Literal["penalized", "boosting"] | None, option(None, "How scores are trained.", default="penalized")
    ] = None
    accounting: Annotated[
        Literal["gdp", "classic"] | None, option(None, "Of boosting: how epsilon is added up.", default="gdp")
    ] = None
    delta: DeltaOption = None
    bins: BinsOption = None
    monotone: Annotated[list[str] | None, option("NAME:DIRECTION", "Scores increasing or decreasing; repeat it.")] = (
        None
    )
    interactions: Annotated[
        list[str] | None, option("N|auto|PAIR", "Pairs: how many, auto, or 'NAME & NAME'; repeat it.", default="0")
    ] = None
    infer_range: Annotated[bool, typer.Option("--infer-range", help="Take it from the data. Voids the guarantee.")] = (
        False
    )
    not_private: NotPrivateOption = False
    memory_limit: MemoryOption = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorecardOptions(Group):
    """What a scorecard is."""

    heading: ClassVar[str] = "The model"

    max_items: Annotated[int | None, option("N", "Most items.", default="10")] = None
    max_points: Annotated[int | None, option("N", "Most points of an item.", default="5")] = None
    calibration_share: Annotated[
        float | None, option("SHARE", "Share of the budget for counts at each total.", default="0.15")
    ] = None
    delta: DeltaOption = None
    bins: BinsOption = None
    monotone: Annotated[list[str] | None, option("NAME:DIRECTION", "Points increasing or decreasing; repeat it.")] = (
        None
    )
    not_private: NotPrivateOption = False
    memory_limit: MemoryOption = None


def fit_tree_command(shared: FitOptions, tree: TreeOptions, cuts: CutPointOptions, search: SearchOptions) -> None:
    """Train a differentially private decision or regression tree, and write it with its certificate.

    Exit status: 0 if all was written, for any verdict of --report, 2 if not.
    """
    _fit(_order(TREE, shared, tree, cuts, search))


def fit_rule_list_command(
    shared: FitOptions, rules: RuleListOptions, cuts: CutPointOptions, search: SearchOptions
) -> None:
    """Train a differentially private rule list, and write it with its certificate.

    Exit status: 0 if all was written, for any verdict of --report, 2 if not.
    """
    _fit(_order(RULE_LIST, shared, rules, cuts, search))


def fit_greedy_command(shared: FitOptions, rules: GreedyOptions, cuts: CutPointOptions) -> None:
    """Train a rule list greedily, with differential privacy, and write it with its certificate.

    Exit status: 0 if all was written, for any verdict of --report, 2 if not.
    """
    _fit(_order(GREEDY, shared, rules, cuts))


def fit_additive_command(shared: FitOptions, additive: AdditiveOptions) -> None:
    """Train a differentially private additive model, and write it with its certificate.

    Exit status: 0 if all was written, for any verdict of --report, 2 if not.
    """
    options = _parameters(additive) | {
        "target_range": range_of(additive.target_range),
        "monotone": _directions_of(additive.monotone or []),
        "bins": _bins_of(additive.bins),
        "interactions": _interactions_of(additive.interactions or []),
    }
    infer_range, private = options.pop("infer_range"), not options.pop("not_private")
    grid = grid_of(shared.budget.search or [], ADDITIVE, [AdditiveOptions], options)
    _fit(Order(model=ADDITIVE, private=private, shared=shared, options=options, grid=grid, infer_range=infer_range))


def fit_scorecard_command(shared: FitOptions, card: ScorecardOptions) -> None:
    """Train a differentially private scorecard of few items, and write it with its certificate.

    Print the card with glassine export --to card.

    Exit status: 0 if all was written, 2 if not.
    """
    options = _parameters(card) | {"monotone": _directions_of(card.monotone or []), "bins": _bins_of(card.bins)}
    private = not options.pop("not_private")
    grid = grid_of(shared.budget.search or [], SCORECARD, [ScorecardOptions], options)
    _fit(Order(model=SCORECARD, private=private, shared=shared, options=options, grid=grid))


def _order(model: str, shared: FitOptions, *groups: Group) -> Order:
    """Return what is to be trained, from the options of a tree or a list."""
    options = {name: value for group in groups for name, value in _parameters(group).items()}
    private = not options.pop("not_private")
    if "target_range" in options:
        options["target_range"] = range_of(options["target_range"])
    grid = grid_of(shared.budget.search or [], model, [type(group) for group in groups], options)
    return Order(model=model, private=private, shared=shared, options=options, grid=grid)


def _parameters(group: Any) -> dict[str, Any]:
    return {field.name: getattr(group, field.name) for field in fields(group)}


def _fit(order: Order) -> None:
    if order.shared.summary is not None:
        from glassine.cli.summarize import fit_from_summary

        fit_from_summary(order, order.shared.summary)
        return
    for value, name in ((order.shared.path, "RECORDS, or --summary"), (order.shared.column, "--target")):
        if value is None:
            raise InvalidParameterError(
                f"fit {order.model} needs {name}.", remedy=f"See glassine fit {order.model} --help."
            )
    names = {name: f"--{name.replace('_', '-')}" for name in order.given}
    names |= {"random_state": "--seed", "grid": "--search", "domain": "--domain", "classes": "--classes"}
    as_json = order.shared.files.as_json
    with progress(quiet=as_json) as display, in_options(names):
        outcome = run(order, display)
    print_value(to_dict(outcome) if as_json else to_text(outcome), as_json)


def _directions_of(texts: Sequence[str]) -> dict[str, str] | None:
    """Return what ``--monotone NAME:increasing``, perhaps repeated, asks for."""
    out: dict[str, str] = {}
    for text in texts:
        name, colon, direction = text.rpartition(":")
        if not colon or not name or direction not in ("increasing", "decreasing"):
            raise InvalidParameterError(
                f"--monotone must be NAME:increasing or NAME:decreasing, got {text!r}.",
                remedy="For example: --monotone age:increasing.",
            )
        if name in out:
            raise InvalidParameterError(f"--monotone names {name!r} twice.", remedy="Give one direction.")
        out[name] = direction
    return out or None


def _interactions_of(texts: Sequence[str]) -> int | str | list[tuple[str, str]] | None:
    """Return what ``--interactions`` asks for: a number of pairs, ``"auto"``, or the pairs."""
    if not texts:
        return None
    if len(texts) == 1 and (texts[0] == "auto" or (texts[0].isascii() and texts[0].isdigit())):
        return texts[0] if texts[0] == "auto" else int(texts[0])
    pairs = []
    for text in texts:
        parts = text.split(" & ")
        if len(parts) != 2 or not all(parts):
            raise InvalidParameterError(
                f"--interactions must be a number of pairs, auto, or 'NAME & NAME', repeated for more, got {text!r}.",
                remedy="For example: --interactions 'age & income'.",
            )
        pairs.append((parts[0], parts[1]))
    return pairs


def _bins_of(path: Path | None) -> Mapping[str, Any] | None:
    """Return the bins of a JSON file: for each attribute its cut points, or its groups of values."""
    from glassine.files import read_json

    if path is None:
        return None
    bins = read_json(path)
    if not isinstance(bins, dict) or not all(isinstance(one, list) for one in bins.values()):
        raise UnreadableFileError(
            f"{path} must map attributes to cut points or to groups of values, such as "
            '{"age": [30, 50], "job": [["clerk"], ["baker", "pilot"]]}.',
            path=path,
        )
    return dict(bins)
