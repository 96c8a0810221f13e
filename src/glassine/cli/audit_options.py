"""The options of ``glassine audit``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from glassine.cli.exchange import ExchangeOptions
from glassine.cli.options import (
    AudienceOption,
    ConfidenceOption,
    DataOption,
    DomainOption,
    Group,
    HoldoutOption,
    JsonOption,
    ModelFileOptions,
    ModelsArgument,
    NoiseOption,
    OverwriteOption,
    PersonColumnOption,
    PolicyOption,
    RecordsFileOptions,
    ReportOption,
    ResumeOption,
    SeedOption,
    SmallOption,
    TargetOption,
    at_least,
    noise_of,
)
from glassine.errors import InvalidParameterError

if TYPE_CHECKING:
    from glassine.auditing.findings import SignOff
    from glassine.auditing.inputs import AuditSettings, DisclosureSettings

OPTIONS = {
    "n_shadows": "--shadows",
    "random_state": "--seed",
    "confidence": "--confidence",
    "largest_attack_advantage": "--max-advantage",
    "largest_measured_advantage": "--max-advantage",
    "min_samples_leaf": "--min-samples-leaf",
    "sampling_fraction": "--sampling-fraction",
    "remedies": "--remedies",
    "time_limit": "--time-limit",
    "training": "--training",
    "only": "--only",
    "smallest_leaf": "--stated-leaf",
    "rounded_to": "--stated-step",
    "domain=": "--domain FILE",
}
"""Options by the parameters that they set."""

LEAVES: dict[str, Literal["leaf_counts", "error_rates", "labels_only"]] = {
    "counts": "leaf_counts",
    "error-rates": "error_rates",
    "labels": "labels_only",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions(Group):
    """The records of a model."""

    heading: ClassVar[str] = "Records"

    data: DataOption = None
    holdout: HoldoutOption = None
    target: TargetOption = None
    person: PersonColumnOption = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipOptions(Group):
    """How membership is attacked."""

    heading: ClassVar[str] = "Membership (needs --data, --holdout and --target)"

    shadows: Annotated[
        int,
        typer.Option(
            "--shadows",
            metavar="N",
            help="Shadow models of the likelihood-ratio attack; 0 leaves it out.",
            callback=at_least(0, "16 or more give steady figures."),
        ),
    ] = 0
    confidence: ConfidenceOption = 0.99
    max_advantage: Annotated[
        float | None,
        typer.Option(
            "--max-advantage",
            metavar="NUMBER",
            help="Largest advantage of an attack: limit of both checks on measured advantages.",
            show_default="as the policy says",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureOptions(Group):
    """What an attacker on the attribute that a tree predicts is assumed to know."""

    heading: ClassVar[str] = "Disclosure of the attribute that a tree predicts (needs --data)"

    sensitive: Annotated[
        str | None, typer.Option("--sensitive", metavar="COLUMN", help="Attribute to look at more closely.")
    ] = None
    quasi: Annotated[
        list[str] | None,
        typer.Option(
            "--quasi",
            metavar="COLUMN",
            help="A column that attackers know of all people; repeat it for more.",
            show_default="all of the tree",
        ),
    ] = None
    criterion: Annotated[
        Literal["gini", "entropy", "gain-ratio", "misclassification", "none"] | None,
        typer.Option(
            "--criterion",
            help="How splits were selected; none if not by their quality.",
            show_default="as the model states",
        ),
    ] = None
    splits: Annotated[
        Literal["auto", "multiway", "binary"],
        typer.Option(
            "--splits", help="Categories split into all values, or one against the rest; auto: as the model states."
        ),
    ] = "auto"
    leaves: Annotated[
        Literal["counts", "error-rates", "labels"], typer.Option("--leaves", help="What the leaves reveal.")
    ] = "counts"
    internal_nodes: Annotated[
        bool,
        typer.Option("--internal-nodes/--no-internal-nodes", help="Whether attackers use that splits were the best."),
    ] = True
    same_attribute: Annotated[
        bool, typer.Option("--same-attribute", help="Splits were the best of their attribute only.")
    ] = False
    min_samples_leaf: Annotated[
        int | None,
        typer.Option("--min-samples-leaf", metavar="N", help="Fewest records of a branch that was allowed."),
    ] = None
    training: Annotated[
        Literal["known", "sample"],
        typer.Option("--training", help="known: --data is the training records; sample: more than these."),
    ] = "known"
    sampling_fraction: Annotated[
        float | None,
        typer.Option("--sampling-fraction", metavar="SHARE", help="Of a sample: its share of --data, if known."),
    ] = None
    noise: NoiseOption = None
    truth: Annotated[
        bool | None,
        typer.Option(
            "--truth/--no-truth",
            help="Compare with the sensitive column of --data.",
            show_default="if there is one",
        ),
    ] = None
    remedies: Annotated[
        bool,
        typer.Option("--remedies", help="Try what can be done; needs the sensitive column, also in --holdout."),
    ] = False
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", metavar="SECONDS", help="With --remedies: most seconds of each.", show_default="60"
        ),
    ] = None
    resume: ResumeOption = None

    def settings(self, *, alone: bool) -> DisclosureSettings | None:
        """Return the assumptions, if some are stated or the attack is all that is asked for."""
        from glassine.auditing.inputs import DisclosureSettings

        if not self.remedies and (self.time_limit is not None or self.resume is not None):
            option = "--resume" if self.time_limit is None else "--time-limit"
            raise InvalidParameterError(f"{option} is for --remedies.", remedy="Add it, or leave the option out.")
        stated = DisclosureSettings(
            leaves=LEAVES[self.leaves],
            internal_nodes=self.internal_nodes,
            candidates="same_attribute" if self.same_attribute else "all_attributes",
            min_samples_leaf=self.min_samples_leaf,
            training=self.training,
            sampling_fraction=self.sampling_fraction,
            noise=noise_of(self.noise),
            truth=self.truth,
            remedies=self.remedies,
            folder=self.resume,
        )
        if self.time_limit is not None:
            stated = replace(stated, time_limit=self.time_limit)
        return stated if alone or stated != DisclosureSettings() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementOptions(Group):
    """What the publisher states of the training data; it is believed."""

    heading: ClassVar[str] = "What the publisher states of the training data (without --data)"

    one_record_per_person: Annotated[
        bool, typer.Option("--one-record-per-person", help="No person has several training records.")
    ] = False
    stated_leaf: Annotated[
        int | None,
        typer.Option("--stated-leaf", metavar="N", help="Fewest training records of any leaf or rule."),
    ] = None
    stated_step: Annotated[
        int | None,
        typer.Option("--stated-step", metavar="N", help="Step to whose multiples published counts are rounded."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(Group):
    """Where findings go."""

    heading: ClassVar[str] = "Output"

    output: ReportOption = None
    audience: AudienceOption = "checker"
    overwrite: OverwriteOption = False
    as_json: JsonOption = False
    show_small_counts: SmallOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOffOptions(Group):
    """What only a person can state of a release."""

    heading: ClassVar[str] = "Sign-off (Glassine fills in nothing itself)"

    statements: Annotated[
        Path | None,
        typer.Option("--statements", metavar="FILE", help="The fields below in a TOML file; options replace them."),
    ] = None
    who: Annotated[str | None, typer.Option("--who", metavar="TEXT", help="Who decided.")] = None
    role: Annotated[str | None, typer.Option("--role", metavar="TEXT", help="Their role.")] = None
    decision: Annotated[str | None, typer.Option("--decided", metavar="TEXT", help="What was decided.")] = None
    day: Annotated[str | None, typer.Option("--day", metavar="DAY", help="Day of the decision, as 2026-11-23.")] = None
    review_by: Annotated[
        str | None, typer.Option("--review-by", metavar="DAY", help="Day until which the decision holds.")
    ] = None
    purpose: Annotated[str | None, typer.Option("--purpose", metavar="TEXT", help="Purpose of the release.")] = None
    recipient: Annotated[str | None, typer.Option("--recipient", metavar="TEXT", help="Who gets the model.")] = None
    conditions: Annotated[
        str | None, typer.Option("--conditions", metavar="TEXT", help="Conditions of the release.")
    ] = None

    def sign_off(self) -> SignOff:
        """Return what is stated, by the file and by options."""
        from glassine.auditing.findings import SignOff

        filed = SignOff() if self.statements is None else SignOff.from_toml(self.statements)
        stated = {name: getattr(self, name) for name in SignOff.names()}
        return replace(filed, **{name: text for name, text in stated.items() if text is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(Group):
    """What is audited, beside which records, and how."""

    models: ModelsArgument
    domain: DomainOption = None
    policy: PolicyOption = None
    together: Annotated[
        bool,
        typer.Option("--together", help="Audit what several models of the same records reveal together."),
    ] = False
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Measure this alone, such as membership or disclosure; repeat it for more.",
            show_default="all but rows",
        ),
    ] = None
    max_steps: Annotated[int, typer.Option("--max-steps", metavar="N", help="Steps that exact counts may take.")] = (
        300_000
    )
    seed: SeedOption = 0
    records: RecordOptions
    membership: MembershipOptions
    disclosure: DisclosureOptions
    stated: StatementOptions
    report: ReportOptions
    exchange: ExchangeOptions
    signed: SignOffOptions
    reading: ModelFileOptions
    written: RecordsFileOptions

    @property
    def alone(self) -> str:
        """The one measurement that is asked for; empty if there are others."""
        return self.only[0] if self.only is not None and len(set(self.only)) == 1 else ""

    def settings(self, **own: Any) -> AuditSettings:
        """Return the settings that audits of every kind take, and further ones of one kind."""
        from glassine.auditing.inputs import AuditSettings

        return AuditSettings(
            only=self.only, show_small_counts=self.report.show_small_counts, random_state=self.seed, **own
        )
