"""``glassine fit``: private trees, rule lists and additive models from records, with their certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from glassine.cli.fitting import ADDITIVE, GREEDY, RULE_LIST, SCORECARD, TREE, FitOptions, FitRequest, run
from glassine.cli.naming import in_options, options_of
from glassine.cli.options import OptionGroup, flag, option
from glassine.cli.progress import progress
from glassine.cli.searching import depth_or_rule, grid_of
from glassine.cli.summary import to_dict, to_text
from glassine.cli.training import NumberOptions, range_of
from glassine.cli.writing import print_value
from glassine.errors import InvalidParameterError, UnreadableFileError
from glassine.files import read_json
from glassine.resources import MEMORY, Budget

DeltaOption = Annotated[float | None, option("NUMBER", "Delta.", shown_default="1e-06")]
BinsOption = Annotated[Path | None, option("FILE", "Fixed bins, JSON: cut points, groups of values.")]
NotPrivateOption = Annotated[bool, flag("Without noise or guarantee; weigh rows: --weights COLUMN.")]
MemoryOption = Annotated[float | None, option("BYTES", "Most memory.", shown_default="4e9")]
LeafCountsOption = Annotated[
    float | None, option("SHARE", "Share of epsilon for counts; 0: none.", shown_default="0.095")
]

MeasureOption = Annotated[
    Literal["additive", "gini", "errors", "log-loss"] | None,
    option("NAME", "Of a summary: additive, gini, errors or log-loss.", shown_default="additive"),
]


def _records_or_share(text: str) -> int | float:
    """Return a number of records, or a share of them where it is written with a point."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise typer.BadParameter(f"must be a number of records or a share of them, got {text!r}") from None


class CutPointOptions(OptionGroup, heading="The model"):
    """Where numbers are cut."""

    literals: Literal["auto", "thresholds", "quantiles", "coarse"] | None = option(
        "KIND", "Cut points: auto, thresholds, quantiles or coarse.", shown_default="auto"
    )
    # Hidden, so that the help fits a screen: the next option names it.
    n_quantiles: int | None = option("N", "Quantiles of a number.", shown_default="7; not private, 15", hidden=True)
    quantile_share: float | None = option(
        "SHARE", "Epsilon for quantiles; how many: --n-quantiles N.", shown_default="0.2"
    )


class SearchOptions(OptionGroup, heading="The model"):
    """How all models of a class are searched."""

    accuracy_share: float | None = option(
        "SHARE", "Errors in the loss; 0 ranks best.", shown_default="0.3; not private, 1"
    )
    not_private: NotPrivateOption = False
    penalty: float | None = option("SHARE", "Not private: cost of a split or rule.", shown_default="0")
    min_samples_leaf: float | None = option(
        "N", "Not private: fewest records of a leaf.", shown_default="1", parser=_records_or_share
    )
    # Hidden, so that the help fits a screen: the next option names it.
    memory_limit: float | None = option("BYTES", "Most memory.", shown_default="4e9", hidden=True)
    time_limit: float | None = option(
        "SECONDS", "Most seconds; most memory: --memory-limit BYTES.", shown_default="600"
    )


class ListOptions(OptionGroup, heading="The model"):
    """The size of a rule list."""

    max_rules: int | None = option("N", "Rule lists: maximum number of rules.", shown_default="5; not private, 3")
    pool: Literal["literals", "pairs"] | None = option(None, "Conditions of a rule: 1 or 2.", shown_default="literals")


class TreeOptions(NumberOptions):
    """What a private tree is."""

    # A string as well, which the annotation of the parser does not allow: the rule of suggested_depth by its name.
    max_depth: str | None = option(
        "N|auto:N", "Most splits on a path; auto: by a public guess.", shown_default="3", parser=depth_or_rule
    )
    split_weight: float | None = option(
        "NUMBER", "Prior weight of a split; below 1 for small trees.", shown_default="1"
    )
    leaf_counts_share: LeafCountsOption = None
    measure: MeasureOption = None


class RuleListOptions(ListOptions):
    """What a private rule list is."""

    rule_weight: float | None = option("NUMBER", "Prior weight of a rule; below 1 for short lists.", shown_default="1")
    leaf_counts_share: LeafCountsOption = None
    measure: MeasureOption = None


def _mechanism_of(name: str) -> str:
    """Return the name of a mechanism; they are looked up here, as that imports the learner."""
    from glassine.learners.greedy.greedy_plan import MECHANISMS

    if name not in MECHANISMS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, MECHANISMS))}.")
    return name


class GreedyOptions(ListOptions):
    """How a rule list is grown rule by rule."""

    mechanism: str | None = option(
        "NAME", "Choice of rules; another word lists all.", shown_default="counted-gini", parser=_mechanism_of
    )
    accounting: Literal["strict", "published"] | None = option(
        None, "The paper's, published, does not hold.", shown_default="strict"
    )
    delta: float | None = option("NUMBER", "Delta, for the mechanisms that need one.")
    min_support: float | None = option("SHARE", "Least share of the records of a rule.", shown_default="0.05")
    leaf_counts_share: float | None = option(
        "SHARE", "Share of epsilon for counts; 0: none.", shown_default="by mechanism"
    )
    not_private: NotPrivateOption = False


class AdditiveOptions(NumberOptions):
    """What an additive model is."""

    algorithm: Literal["penalized", "boosting"] | None = option(
        None, "How scores are trained.", shown_default="penalized"
    )
    accounting: Literal["gdp", "classic"] | None = option(
        None, "Of boosting: how epsilon is added up.", shown_default="gdp"
    )
    delta: DeltaOption = None
    bins: BinsOption = None
    monotone: list[str] | None = option("NAME:DIRECTION", "Scores in order; repeat it. Not private: auto.")
    interactions: list[str] | None = option(
        "N|auto|PAIR", "Pairs: how many, auto, or 'NAME & NAME'; repeat it.", shown_default="0"
    )
    objective: Literal["squared_error", "poisson"] | None = option(
        None, "Of a number: poisson for counts of events.", shown_default="squared_error"
    )
    exposure: str | None = option("COLUMN", "Of poisson: what counts are in proportion to.")
    infer_range: bool = flag("Take it from the data. Voids the guarantee.")
    not_private: NotPrivateOption = False
    memory_limit: MemoryOption = None


class ScorecardOptions(NumberOptions):
    """What a scorecard is."""

    max_items: int | None = option("N", "Most items.", shown_default="10")
    max_points: int | None = option("N", "Most points of an item.", shown_default="5")
    calibration_share: float | None = option(
        "SHARE", "Share of the budget for counts at each total.", shown_default="0.15"
    )
    delta: DeltaOption = None
    bins: BinsOption = None
    monotone: list[str] | None = option("NAME:DIRECTION", "Points in order; repeat it. Not private: auto.")
    infer_range: bool = flag("Take it from the data. Voids the guarantee.")
    not_private: NotPrivateOption = False
    memory_limit: MemoryOption = None


def fit_tree_command(shared: FitOptions, tree: TreeOptions, cuts: CutPointOptions, search: SearchOptions) -> None:
    """Train a differentially private decision or regression tree, and write it with its certificate.

    Exit status: 0 if all was written, for any verdict of --report, 2 if not.
    """
    _fit(_request(TREE, shared, tree, cuts, search))


def fit_rule_list_command(
    shared: FitOptions, rules: RuleListOptions, cuts: CutPointOptions, search: SearchOptions
) -> None:
    """Train a differentially private rule list, and write it with its certificate.

    Exit status: 0 if all was written, for any verdict of --report, 2 if not.
    """
    _fit(_request(RULE_LIST, shared, rules, cuts, search))


def fit_greedy_command(shared: FitOptions, rules: GreedyOptions, cuts: CutPointOptions) -> None:
    """Train a rule list greedily, with differential privacy, and write it with its certificate.

    Exit status: 0 if all was written, for any verdict of --report, 2 if not.
    """
    _fit(_request(GREEDY, shared, rules, cuts))


def fit_additive_command(shared: FitOptions, additive: AdditiveOptions) -> None:
    """Train a differentially private additive model, and write it with its certificate.

    Exit status: 0 if all was written, for any verdict of --report, 2 if not.
    """
    _fit(_request(ADDITIVE, shared, additive))


def fit_scorecard_command(shared: FitOptions, card: ScorecardOptions) -> None:
    """Train a differentially private scorecard of few items, and write it with its certificate.

    Print the card with glassine export --to card.

    Exit status: 0 if all was written, 2 if not.
    """
    _fit(_request(SCORECARD, shared, card))


def _request(model: str, shared: FitOptions, *groups: OptionGroup) -> FitRequest:
    """Return what is to be trained, from the options of a model."""
    options = {field.name: getattr(group, field.name) for group in groups for field in fields(group)}
    private, infer_range = not options.pop("not_private"), options.pop("infer_range", False)
    options |= {name: read(options[name]) for name, read in READ.items() if name in options}
    grid = grid_of(shared.budget.search or [], model, [type(group) for group in groups], options)
    return FitRequest(model=model, private=private, shared=shared, options=options, grid=grid, infer_range=infer_range)


def _fit(request: FitRequest) -> None:
    if request.shared.summary is not None:
        from glassine.cli.summarize import fit_from_summary

        fit_from_summary(request, request.shared.summary)
        return
    for value, name in ((request.shared.path, "RECORDS, or --summary"), (request.shared.column, "--target")):
        if value is None:
            raise InvalidParameterError(
                f"fit {request.model} needs {name}.", remedy=f"See glassine fit {request.model} --help."
            )
    names = options_of(*request.parameters, "random_state", "domain", "classes", "sample_weight", grid="--search")
    as_json = request.shared.files.as_json
    # A limit that is no number is refused with the other options.
    stated = request.parameters.get("memory_limit")
    limits = Budget(seconds=inf, memory=stated if stated is not None and stated > 0 else MEMORY)
    with progress(quiet=as_json) as display, in_options(names), limits.applied():
        outcome = run(request, display)
    print_value(to_dict(outcome) if as_json else to_text(outcome), as_json)


def _directions_of(texts: Sequence[str] | None) -> dict[str, str] | str | None:
    """Return what ``--monotone NAME:increasing``, perhaps repeated, or ``--monotone auto`` asks for."""
    if list(texts or ()) == ["auto"]:
        return "auto"
    out: dict[str, str] = {}
    for text in texts or ():
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


def _interactions_of(texts: Sequence[str] | None) -> int | str | list[tuple[str, str]] | None:
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


READ: dict[str, Callable[[Any], Any]] = {
    "target_range": range_of,
    "monotone": _directions_of,
    "bins": _bins_of,
    "interactions": _interactions_of,
}
"""What makes parameters of options, where these are texts or files."""
