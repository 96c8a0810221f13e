"""``glassine fit``: a private tree, rule list or additive model from records, with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from glassine.cli.additive import read_bins, read_directions, read_interactions, read_range
from glassine.cli.fitting import Files, Order, run
from glassine.cli.naming import in_options
from glassine.cli.options import JsonOption, PolicyOption
from glassine.cli.progress import progress
from glassine.cli.summary import to_dict, to_text
from glassine.cli.writing import print_value

__all__ = ["fit_command"]


def fit_command(
    data: Annotated[Path, typer.Argument(help="Training records, CSV or Parquet.")],
    target: Annotated[str, typer.Option("--target", help="Column to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model, JSON.")],
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="Privacy budget of the fit, such as 0.1.")] = None,
    domain: Annotated[
        Path | None, typer.Option("--domain", help="Domain, JSON: what is public. It may declare the target.")
    ] = None,
    model: Annotated[
        Literal["tree", "rule-list", "greedy-rule-list", "additive"], typer.Option("--model", help="What to learn.")
    ] = "tree",
    max_depth: Annotated[int | None, typer.Option("--max-depth", help="Tree: most splits on a path; 3.")] = None,
    max_rules: Annotated[
        int | None, typer.Option("--max-rules", help="Rule list: most rules besides the default one; 5.")
    ] = None,
    literals: Annotated[
        Literal["auto", "thresholds", "quantiles"] | None,
        typer.Option("--literals", help="Cut points of numbers: of the domain, private quantiles, or auto: both."),
    ] = None,
    pool: Annotated[
        Literal["literals", "pairs"] | None, typer.Option("--pool", help="Rule list: conditions of a rule, 1 or 2.")
    ] = None,
    n_quantiles: Annotated[int | None, typer.Option("--n-quantiles", help="Private quantiles of a number; 7.")] = None,
    quantile_share: Annotated[
        float | None, typer.Option("--quantile-share", help="Share of epsilon for private quantiles, if any; 0.2.")
    ] = None,
    leaf_counts_share: Annotated[
        float | None, typer.Option("--leaf-counts-share", help="Share of epsilon for counts; 0 publishes none.")
    ] = None,
    split_weight: Annotated[
        float | None, typer.Option("--split-weight", help="Tree: prior weight of a split; below 1 for small trees.")
    ] = None,
    rule_weight: Annotated[
        float | None, typer.Option("--rule-weight", help="Rule list: prior weight of a rule; below 1 for short lists.")
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", help="Greedy rule list: how a rule is chosen; counted-gini.")
    ] = None,
    accounting: Annotated[
        Literal["strict", "published", "gdp", "classic"] | None,
        typer.Option(
            "--accounting",
            help="Greedy rule list: strict, or the paper's, published, which does not hold. Additive, boosting: gdp or "
            "classic.",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta", help="Additive: delta; 1e-6. Greedy rule list: delta, for the mechanisms that need one."
        ),
    ] = None,
    algorithm: Annotated[
        Literal["penalized", "boosting", "marginals"] | None,
        typer.Option("--algorithm", help="Additive: how scores are learnt; penalized."),
    ] = None,
    target_range: Annotated[
        str | None,
        typer.Option("--target-range", help="Additive: the public range of a number to predict, LO,HI."),
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option("--monotone", help="Additive: NAME:increasing or NAME:decreasing; repeat it for more."),
    ] = None,
    bins: Annotated[
        Path | None,
        typer.Option("--bins", help="Additive: fixed bins, JSON: cut points of numbers, groups of values."),
    ] = None,
    min_support: Annotated[
        float | None, typer.Option("--min-support", help="Greedy rule list: least share of the records; 0.05.")
    ] = None,
    interactions: Annotated[
        list[str] | None,
        typer.Option(
            "--interactions",
            help="Additive: pairs of attributes with a term: a number, auto, or 'NAME & NAME', repeated.",
        ),
    ] = None,
    classes: Annotated[str | None, typer.Option("--classes", help="The public classes, separated by commas.")] = None,
    infer_domain: Annotated[
        bool, typer.Option("--infer-domain", help="Take the domain from the data: the guarantee does not hold.")
    ] = False,
    infer_classes: Annotated[
        bool, typer.Option("--infer-classes", help="Take the classes from the data: the guarantee does not hold.")
    ] = False,
    infer_range: Annotated[
        bool,
        typer.Option("--infer-range", help="Take the target's range from the data: the guarantee does not hold."),
    ] = False,
    ledger: Annotated[Path | None, typer.Option("--ledger", help="Ledger to charge; see glassine ledger.")] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Name of the data set in the ledger.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Make the fit repeatable: the guarantee does not hold.")
    ] = None,
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Find the model of fewest errors instead, without any guarantee.")
    ] = False,
    penalty: Annotated[
        float | None, typer.Option("--penalty", help="Not private: cost of a split or rule as a share of the records.")
    ] = None,
    memory_limit: Annotated[float | None, typer.Option("--memory-limit", help="Most bytes of the tables.")] = None,
    time_limit: Annotated[float | None, typer.Option("--time-limit", help="Most seconds, by an estimate.")] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Where to write the certificate; beside the model by default.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Audit the model, its guarantee taken for granted, and write the report."),
    ] = None,
    policy: PolicyOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Learn a differentially private tree, rule list or additive model, and write it with its certificate.

    Exit status: 0 if all was written, 2 if not. Everything is checked before the ledger is charged.
    """
    order = Order(
        model=model,
        private=not not_private,
        data=data,
        target=target,
        domain=domain,
        policy=policy,
        ledger=ledger,
        dataset=dataset,
        classes=classes,
        infer_domain=infer_domain,
        infer_classes=infer_classes,
        infer_range=infer_range,
        files=Files(model=output, certificate=certificate or _beside(output), report=report),
        overwrite=overwrite,
        options={
            "epsilon": epsilon,
            "max_depth": max_depth,
            "max_rules": max_rules,
            "literals": literals,
            "pool": pool,
            "n_quantiles": n_quantiles,
            "quantile_share": quantile_share,
            "leaf_counts_share": leaf_counts_share,
            "split_weight": split_weight,
            "rule_weight": rule_weight,
            "mechanism": mechanism,
            "accounting": accounting,
            "delta": delta,
            "algorithm": algorithm,
            "target_range": read_range(target_range),
            "monotone": read_directions(monotone or []),
            "bins": read_bins(bins),
            "interactions": read_interactions(interactions or []),
            "min_support": min_support,
            "ledger": ledger,
            "dataset": dataset,
            "random_state": seed,
            "penalty": penalty,
            "memory_limit": memory_limit,
            "time_limit": time_limit,
        },
    )
    with progress(quiet=as_json) as display, in_options(_option_names(order)):
        outcome = run(order, display)
    print_value(to_dict(outcome) if as_json else to_text(outcome), as_json)


def _option_names(order: Order) -> dict[str, str]:
    """Return the option that sets each parameter of a learner."""
    names = {name: f"--{name.replace('_', '-')}" for name in order.options}
    return {**names, "random_state": "--seed", "domain": "--domain", "classes": "--classes"}


def _beside(model: Path) -> Path:
    """Return where the certificate of a model goes if nothing is said: of m.json it is m.certificate.json."""
    stem = model.stem if model.suffix.lower() == ".json" else model.name
    return model.with_name(f"{stem}.certificate.json")
