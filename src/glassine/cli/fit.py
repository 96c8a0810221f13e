"""``glassine fit``: a private tree, rule list or additive model from records, with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from glassine.cli.additive import read_bins, read_directions, read_interactions, read_range
from glassine.cli.fitting import Files, Order, run
from glassine.cli.ledger import PersonOption
from glassine.cli.naming import in_options
from glassine.cli.options import (
    AuditOption,
    ClassesOption,
    DatasetOption,
    DomainOption,
    GrownDepthOption,
    InferClassesOption,
    InferDomainOption,
    JsonOption,
    LedgerOption,
    OverwriteOption,
    PolicyOption,
    RecordsArgument,
    RequiredTargetOption,
    UnprotectedSeedOption,
)
from glassine.cli.progress import progress
from glassine.cli.summary import to_dict, to_text
from glassine.cli.writing import print_value

__all__ = ["fit_command"]


def fit_command(
    data: RecordsArgument,
    target: RequiredTargetOption,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the model, JSON.")],
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="NUMBER", help="Privacy budget of the fit, such as 0.1.")
    ] = None,
    domain: DomainOption = None,
    model: Annotated[
        Literal["tree", "rule-list", "greedy-rule-list", "additive"], typer.Option("--model", help="What to learn.")
    ] = "tree",
    max_depth: GrownDepthOption = None,
    max_rules: Annotated[
        int | None,
        typer.Option(
            "--max-rules",
            metavar="N",
            help="Rule lists: most rules besides the default one.",
            show_default="5; of an optimal one, 3",
        ),
    ] = None,
    literals: Annotated[
        Literal["auto", "thresholds", "quantiles"] | None,
        typer.Option(
            "--literals",
            help="Trees and lists: cut points of numbers, those of the domain, private quantiles, or auto: both.",
            show_default="auto",
        ),
    ] = None,
    pool: Annotated[
        Literal["literals", "pairs"] | None,
        typer.Option("--pool", help="Rule lists: conditions of a rule, 1 or 2.", show_default="literals"),
    ] = None,
    n_quantiles: Annotated[
        int | None,
        typer.Option(
            "--n-quantiles",
            metavar="N",
            help="Trees and lists: private quantiles of a number.",
            show_default="7; of an optimal model, 15",
        ),
    ] = None,
    quantile_share: Annotated[
        float | None,
        typer.Option(
            "--quantile-share",
            metavar="SHARE",
            help="Trees and lists: share of epsilon for private quantiles, if any.",
            show_default="0.2",
        ),
    ] = None,
    leaf_counts_share: Annotated[
        float | None,
        typer.Option(
            "--leaf-counts-share",
            metavar="SHARE",
            help="Trees and lists: share of epsilon for counts; 0 publishes none.",
            show_default="0.05; of a greedy one, by its mechanism",
        ),
    ] = None,
    split_weight: Annotated[
        float | None,
        typer.Option(
            "--split-weight",
            metavar="NUMBER",
            help="Tree: prior weight of a split; below 1 for small trees.",
            show_default="1",
        ),
    ] = None,
    rule_weight: Annotated[
        float | None,
        typer.Option(
            "--rule-weight",
            metavar="NUMBER",
            help="Rule list: prior weight of a rule; below 1 for short lists.",
            show_default="1",
        ),
    ] = None,
    mechanism: Annotated[
        Literal[
            "counted-gini",
            "smooth-laplace",
            "smooth-cauchy",
            "global-laplace",
            "global-gaussian",
            "global-exponential",
            "noisy-counts",
        ]
        | None,
        typer.Option("--mechanism", help="Greedy rule list: how a rule is chosen.", show_default="counted-gini"),
    ] = None,
    accounting: Annotated[
        Literal["strict", "published", "gdp", "classic"] | None,
        typer.Option(
            "--accounting",
            help="Greedy rule list: strict, or the paper's, published, which does not hold. Additive, boosting: gdp or "
            "classic.",
            show_default="strict; gdp",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta",
            metavar="NUMBER",
            help="Additive: delta. Greedy rule list: delta, for the mechanisms that need one.",
            show_default="1e-06 of an additive model",
        ),
    ] = None,
    algorithm: Annotated[
        Literal["penalized", "boosting", "marginals"] | None,
        typer.Option("--algorithm", help="Additive: how scores are learnt.", show_default="penalized"),
    ] = None,
    target_range: Annotated[
        str | None,
        typer.Option("--target-range", metavar="LO,HI", help="Additive: the public range of a number to predict."),
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            "--monotone",
            metavar="NAME:DIRECTION",
            help="Additive: scores of an attribute in order, increasing or decreasing; repeat it for more.",
        ),
    ] = None,
    bins: Annotated[
        Path | None,
        typer.Option(
            "--bins", metavar="FILE", help="Additive: fixed bins, JSON: cut points of numbers, groups of values."
        ),
    ] = None,
    min_support: Annotated[
        float | None,
        typer.Option(
            "--min-support",
            metavar="SHARE",
            help="Greedy rule list: least share of the records.",
            show_default="0.05",
        ),
    ] = None,
    interactions: Annotated[
        list[str] | None,
        typer.Option(
            "--interactions",
            metavar="N|auto|PAIR",
            help="Additive: pairs of attributes with a term: how many, auto, or 'NAME & NAME', repeated for more.",
            show_default="0",
        ),
    ] = None,
    classes: ClassesOption = None,
    infer_domain: InferDomainOption = False,
    infer_classes: InferClassesOption = False,
    infer_range: Annotated[
        bool,
        typer.Option("--infer-range", help="Take the target's range from the data: the guarantee does not hold."),
    ] = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    person: Annotated[
        str | None,
        typer.Option(
            "--person",
            metavar="COLUMN",
            help="Column that says whose record each is, with --records-per-person.",
        ),
    ] = None,
    records_per_person: PersonOption = None,
    seed: UnprotectedSeedOption = None,
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Find the model of fewest errors instead, without any guarantee.")
    ] = False,
    penalty: Annotated[
        float | None,
        typer.Option(
            "--penalty",
            metavar="SHARE",
            help="Not private: cost of a split or rule as a share of the records.",
            show_default="0",
        ),
    ] = None,
    memory_limit: Annotated[
        float | None,
        typer.Option("--memory-limit", metavar="BYTES", help="Most bytes of the tables.", show_default="4e9"),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="Trees and lists: most seconds of a fit, by an estimate.",
            show_default="600",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="Write the certificate, JSON.", show_default="beside the model"
        ),
    ] = None,
    report: AuditOption = None,
    policy: PolicyOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn a differentially private tree, rule list or additive model, and write it with its certificate.

    It needs --epsilon and a public --domain; what is --not-private needs neither. Everything is checked before the
    ledger is charged. --report takes the model's guarantee for granted, unless --policy says otherwise.

    Exit status: 0 if all was written, whatever the verdict of --report, 2 if not.
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
        person=person,
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
            "records_per_person": records_per_person,
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
    if not model.name:
        return model / "certificate.json"
    stem = model.stem if model.suffix.lower() == ".json" else model.name
    return model.with_name(f"{stem}.certificate.json")
