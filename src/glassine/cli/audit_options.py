"""The options of ``glassine audit``, and its findings for pipelines and other tools."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from glassine.cli.naming import DRAFTING, options_of
from glassine.cli.options import (
    AudienceOption,
    ConfidenceOption,
    DataOption,
    DomainOption,
    HoldoutOption,
    JsonOption,
    LimitOptions,
    ModelFileOptions,
    ModelsArgument,
    NoiseOption,
    OptionGroup,
    OverwriteOption,
    PersonColumnOption,
    PolicyOption,
    RecordsFileOptions,
    ReportOption,
    ResumeOption,
    SeedOption,
    TargetOption,
    at_least,
    filled_in,
    flag,
    noise_of,
    option,
    options_in,
)
from glassine.cli.writing import check_outputs, tell
from glassine.errors import InvalidParameterError, UnreadableFileError
from glassine.files import write_json, write_text

if TYPE_CHECKING:
    from glassine.auditing.audit_settings import AuditSettings, DisclosureSettings
    from glassine.auditing.findings import Findings, SignOff
    from glassine.auditing.statements import StatedClass, Statements

FORMATS = ("acro", "junit", "plain", "sarif", "summary")
FOR_CHECKERS = ("acro", "plain")
"""Formats for a checker, who sees all."""
JUNIT = Path("glassine.xml")
"""Where --ci writes a JUnit report."""
SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a job summary."""


class ExchangeOptions(OptionGroup, heading="Pipelines and other tools"):
    """Findings for pipelines and other tools."""

    ci: Literal["github", "gitlab", "junit"] | None = option(
        None, f"Report as a pipeline shows it: annotations and a summary, or JUnit in {JUNIT}."
    )
    to: tuple[str, Path] | None = option("FORMAT PATH", f"Write it for another tool: {', '.join(FORMATS)}.")

    def check(self, read: list[Path | None], *, small: bool, overwrite: bool) -> None:
        """Raise before any work if something cannot be written, or would hold what only a checker may see."""
        if self.to is None and self.ci is None:
            return
        if small and (self.ci is not None or (self.to is not None and self.to[0] not in FOR_CHECKERS)):
            raise InvalidParameterError(
                "what is written for pipelines is public, and --show-small-counts is for the checker.",
                remedy="Leave one of them out.",
            )
        if self.ci in ("gitlab", "junit"):
            # A pipeline runs again and again, and the report has one name.
            check_outputs([JUNIT], read, overwrite=True)
        if self.to is None:
            return
        form, path = self.to
        if form not in FORMATS:
            raise InvalidParameterError(f"--to must be one of {', '.join(FORMATS)}, got {form!r}.")
        if form != "acro":
            check_outputs([path], read, overwrite=overwrite)
        elif os.path.lexists(path):
            raise UnreadableFileError(f"cannot write {path}: it exists.", remedy="Name a new folder.", path=path)

    def write(self, audits: Mapping[Path, Findings | str]) -> None:
        """Write what was asked for of each file, or why it could not be audited; what a pipeline shows is public."""
        for model, findings in audits.items():
            if self.to is None or isinstance(findings, str):
                continue
            if self.to[0] == "acro":
                # The checker decides about the release, and sees all.
                command = shlex.join(["glassine", *sys.argv[1:]])
                from glassine.report.exchange import write_acro

                write_acro(findings, self.to[1], model.name, command, datetime.now(UTC).replace(tzinfo=None))
            elif self.to[0] == "plain":
                from glassine.report.exchange import as_plain

                write_json(as_plain(findings, model.name), self.to[1])
            else:
                _write_to(*self.to, findings.public(), model.as_posix())
        if self.ci is None:
            return
        public = {path.as_posix(): one if isinstance(one, str) else one.public() for path, one in audits.items()}
        if self.ci == "github":
            _show_on_github(public)
        else:
            from glassine.report.exchange import as_junit

            write_text(as_junit(public), JUNIT)


def _show_on_github(public: Mapping[str, Findings | str]) -> None:
    from glassine.report.exchange import as_annotations, as_summary

    for path, findings in public.items():
        # GitHub reads both streams; standard output stays what was asked for.
        if lines := as_annotations(findings, path):
            tell(lines.rstrip("\n"))
        if not isinstance(findings, str) and os.environ.get(SUMMARY):
            # Each step of a job adds to the same file.
            with Path(os.environ[SUMMARY]).open("a", encoding="utf-8") as stream:
                stream.write(as_summary(findings, path))


def _write_to(form: str, output: Path, public: Findings, path: str) -> None:
    from glassine.report.exchange import as_junit, as_sarif, as_summary

    if form == "sarif":
        write_json(as_sarif(public, path), output)
    else:
        write_text(as_junit({path: public}) if form == "junit" else as_summary(public, path), output)


LEAVES: dict[str, Literal["leaf_counts", "error_rates", "labels_only"]] = {
    "counts": "leaf_counts",
    "error-rates": "error_rates",
    "labels": "labels_only",
}


class RecordOptions(OptionGroup, heading="Records"):
    """The records of a model."""

    data: DataOption = None
    holdout: HoldoutOption = None
    target: TargetOption = None
    person: PersonColumnOption = None


class MembershipOptions(OptionGroup, heading="Membership (needs --data, --holdout and --target)"):
    """How membership is attacked."""

    shadows: int | None = option(
        "N",
        "Shadow models of the likelihood-ratio attack; 0 leaves it out.",
        shown_default="16 of ensembles, else 0",
        callback=at_least(0, "16 or more give steady figures."),
    )
    event: str | None = option(
        "COLUMN",
        "Of a Cox regression: column that says whether the time in --target is that of an event: 1 of 0 and 1, 2 of 1 "
        "and 2.",
        shown_default="as R's formula names it",
    )
    shadow_seconds: float = option("S", "Most seconds of the shadow models.", 600.0)
    confidence: ConfidenceOption = 0.99
    max_advantage: float | None = option(
        "NUMBER",
        "Largest advantage of an attack: limit of both checks on measured advantages.",
        shown_default="as the policy says",
    )


class DisclosureOptions(OptionGroup, heading="Disclosure of the attribute that a tree predicts (needs --data)"):
    """What an attacker on the attribute that a tree predicts is assumed to know."""

    sensitive: str | None = option("COLUMN", "Attribute to look at more closely.")
    quasi: list[str] | None = option(
        "COLUMN", "A column that attackers know of all people; repeat it for more.", shown_default="all of the tree"
    )
    criterion: Literal["gini", "entropy", "gain-ratio", "misclassification", "none"] | None = option(
        None, "How splits were selected; none if not by their quality.", shown_default="as the model states"
    )
    splits: Literal["auto", "multiway", "binary"] = option(
        None, "Categories split into all values, or one against the rest; auto: as the model states.", "auto"
    )
    leaves: Literal["counts", "error-rates", "labels"] | None = option(
        None, "What the leaves reveal.", shown_default="what the tree publishes"
    )
    internal_nodes: bool = option(None, "Whether attackers use that splits were the best.", True)
    same_attribute: bool = flag("Splits were the best of their attribute only.")
    min_samples_leaf: int | None = option("N", "Fewest records of a branch that was allowed.")
    training: Literal["known", "sample"] = option(
        None, "known: --data is the training records; sample: more than these.", "known"
    )
    sampling_fraction: float | None = option("SHARE", "Of a sample: its share of --data, if known.")
    noise: NoiseOption = None
    truth: bool | None = option(None, "Compare with the sensitive column of --data.", shown_default="if there is one")
    remedies: bool = flag("Try what can be done; needs the sensitive column, also in --holdout.")
    time_limit: float | None = option("SECONDS", "With --remedies: most seconds of each.", shown_default="60")
    resume: ResumeOption = None

    def settings(self, *, alone: bool) -> DisclosureSettings | None:
        """Return the assumptions, if some are stated or the attack is all that is asked for."""
        from glassine.auditing.audit_settings import DisclosureSettings

        if not self.remedies and (self.time_limit is not None or self.resume is not None):
            option = "--resume" if self.time_limit is None else "--time-limit"
            raise InvalidParameterError(f"{option} is for --remedies.", remedy="Add it, or leave the option out.")
        stated = DisclosureSettings(
            leaves=None if self.leaves is None else LEAVES[self.leaves],
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


STATED = "What the publisher states of the training data (without --data)"


class ClassOptions(OptionGroup, heading=STATED):
    """The class of models that is stated, by the names of :class:`StatedClass`."""

    depth: int | None = option(
        "N", "Trees of at most this depth over the cut points of --domain were the class.", names=("--class-depth",)
    )
    rules: int | None = option(
        "N", "Rule lists of at most so many rules were the class, fixed before the draw.", names=("--class-rules",)
    )
    longest: int = option("N", "Of rule lists: most conditions of a rule.", 1, names=("--class-conditions",))
    n: int | None = option("N", "People in the training data, if the model has no counts.", names=("--class-people",))
    population: int | None = option(
        "N", "People of the list from which the training data were drawn at random.", names=("--drawn-from",)
    )
    unlisted: bool = option(
        None, "No list exists of the people from whom the training data were drawn.", value=False, names=("--no-list",)
    )
    options: int = option("N", "Settings among which one was chosen on the data.", 1, names=("--settings-tried",))
    class_models: int = option("N", "Models of this class, published of the same people.", 1)

    def check_several(self, n_files: int) -> None:
        """Raise where a class is stated of several files, and fewer models of the same people: one draw is stated."""
        if self.value is not None and self.class_models < n_files:
            raise InvalidParameterError(
                f"a class is stated of {n_files:,} files, and all that is released of the same people counts.",
                remedy=f"Add --class-models {n_files}, or audit models of other people on their own.",
            )

    @property
    def value(self) -> StatedClass | None:
        """The class that is stated, if one is."""
        from glassine.auditing.statements import StatedClass

        if self.depth is not None or self.rules is not None:
            return StatedClass(**filled_in(self, "class_models"), models=self.class_models)
        if self.population is not None or self.unlisted:
            raise InvalidParameterError(
                f"{'--no-list' if self.unlisted else '--drawn-from'} is for a class that is stated.",
                remedy="Add --class-depth or --class-rules.",
            )
        return None


class StatementOptions(OptionGroup, heading=STATED):
    """What the publisher states of the training data, by the names of :class:`Statements`; it is believed."""

    one_record_per_person: bool = flag("No person has several training records.")
    smallest_leaf: int | None = option("N", "Fewest training records of any leaf or rule.", names=("--stated-leaf",))
    rounded_to: int | None = option(
        "N", "Step to whose multiples published counts are rounded.", names=("--stated-step",)
    )
    unweighted: bool = flag("No weights were used in training: sums of weights are counts.")
    public_cuts: bool = flag("All cut points were fixed without the training data.")
    n_records: int | None = option("N", "Training records of a regression or an ensemble.", names=("--n",))
    family: str | None = option("NAME", "Family of a regression: gaussian, binomial, poisson, gamma, cox, multinomial.")
    errors: Literal["model", "robust"] | None = option(
        None, "Standard errors of a regression; model: of a converged fit without weights or a penalty."
    )
    learning_rate: float | None = option("NUMBER", "Learning rate of boosted trees.")
    base_rate: float | None = option("SHARE", "Share of the rarer of two classes in the training data of an ensemble.")
    stated_class: ClassOptions

    @property
    def names(self) -> list[str]:
        """The options that were given, by name."""
        called = {"smallest_leaf": "--stated-leaf", "rounded_to": "--stated-step", "n_records": "--n"}
        answers = filled_in(self, "stated_class")
        return [
            called.get(name, f"--{name.replace('_', '-')}") for name, value in answers.items() if value is not False
        ]

    @property
    def value(self) -> Statements:
        """What is stated."""
        from glassine.auditing.statements import Statements

        return Statements(**filled_in(self, "stated_class"), stated_class=self.stated_class.value)


class StabilityOptions(OptionGroup, heading=STATED):
    """Whether and how long the model is trained again on random draws."""

    stability: int | None = option("N", "Retrain on so many random draws, 25 to 400, for bounds by a learned code.")
    stability_seconds: float = option("SECONDS", "Most seconds of --stability.", 600.0, names=("--stability-time",))


class ReportOptions(OptionGroup, heading="Output"):
    """Where findings go."""

    output: ReportOption = None
    clean_copy: Path | None = option("FILE", "Write what may be released, as Glassine writes it.", shown_default="none")
    require_clean_copy: bool = flag("Fail a file that Glassine did not write, unless its clean copy is written.")
    audience: AudienceOption = "checker"
    overwrite: OverwriteOption = False
    as_json: JsonOption = False
    show_small_counts: bool = flag("Do not suppress small counts.")


class SignOffOptions(OptionGroup, heading="Sign-off (Glassine fills in nothing itself)"):
    """What only a person can state of a release."""

    statements: Path | None = option("FILE", "The fields below in a TOML file; options replace them.")
    who: str | None = option("TEXT", "Who decided.")
    role: str | None = option("TEXT", "Their role.")
    decision: str | None = option("TEXT", "What was decided.", names=("--decided",))
    day: str | None = option("DAY", "Day of the decision, as 2026-11-23.")
    review_by: str | None = option("DAY", "Day until which the decision holds.")
    purpose: str | None = option("TEXT", "Purpose of the release.")
    recipient: str | None = option("TEXT", "Who gets the model.")
    conditions: str | None = option("TEXT", "Conditions of the release.")

    def sign_off(self) -> SignOff:
        """Return what is stated, by the file and by options."""
        from glassine.auditing.findings import SignOff

        filed = SignOff() if self.statements is None else SignOff.from_toml(self.statements)
        stated = {name: getattr(self, name) for name in SignOff.names()}
        return replace(filed, **{name: text for name, text in stated.items() if text is not None})


class AuditOptions(OptionGroup):
    """What is audited, beside which records, and how."""

    models: ModelsArgument
    domain: DomainOption = None
    policy: PolicyOption = None
    together: bool = flag("Audit what several models of the same records reveal together.")
    samples: list[str] | None = option(
        "COLUMN",
        "Of regressions with --together: column of 0/1 of --data that says on which records a table was fitted; once "
        "a table, in their order.",
        shown_default="those without a gap",
    )
    same_records: bool = flag("Of regressions with --together: the publisher states that all are of the same records.")
    measurements: list[str] | None = option(
        "NAME",
        "Measure this alone, such as membership or disclosure; repeat it for more.",
        names=("--only",),
        shown_default="all but rows",
    )
    max_steps: int = option("N", "Steps that exact counts may take.", 300_000)
    limits: LimitOptions
    seed: SeedOption = 0
    records: RecordOptions
    membership: MembershipOptions
    disclosure: DisclosureOptions
    stated: StatementOptions
    retrained: StabilityOptions
    report: ReportOptions
    exchange: ExchangeOptions
    signed: SignOffOptions
    reading: ModelFileOptions
    written: RecordsFileOptions

    @property
    def alone(self) -> str:
        """The one measurement that is asked for; empty if there are others."""
        return next(iter(named)) if len(named := set(self.measurements or ())) == 1 else ""

    @property
    def public(self) -> bool:
        """Whether what is printed is for the public: the log of a pipeline has other readers than its report."""
        return self.exchange.ci is not None or self.report.audience == "public"

    def check_together(self) -> None:
        """Raise where an option is given that says nothing of several models together, or of one model."""
        if len(self.models) < 2 or not self.together:
            if self.samples or self.same_records:
                named = "--samples" if self.samples else "--same-records"
                raise InvalidParameterError(f"{named} is of several tables.", remedy="Name them, and add --together.")
            return
        groups: tuple[OptionGroup, ...] = (self.membership, self.disclosure, self.retrained, self.reading, self.records)
        used = ("max_advantage", "trust_pickle", "data", "target")
        ignored = [
            name
            for group in groups
            for field, name in options_in(type(group)).items()
            if field not in used and getattr(group, field) != getattr(type(group)(), field)
        ]
        if ignored:
            raise InvalidParameterError(
                f"--together makes no attack on records, so that {ignored[0]} has no meaning.",
                remedy=f"Leave {' and '.join(ignored)} out.",
            )

    def settings(self, **own: Any) -> AuditSettings:
        """Return the settings that audits of every kind take, and further ones of one kind."""
        from glassine.auditing.audit_settings import AuditSettings

        return AuditSettings(
            measurements=self.measurements,
            show_small_counts=self.report.show_small_counts,
            random_state=self.seed,
            require_clean_copy=self.report.require_clean_copy or self.exchange.ci is not None,
            **own,
        )


OPTIONS = {
    **options_in(StatementOptions, StabilityOptions),
    **options_of("random_state", "confidence", "min_samples_leaf", "sampling_fraction", "remedies", "time_limit"),
    **options_of(
        "training",
        "samples",
        "same_records",
        "event",
        measurements="--only",
        stated_class="--class-depth",
        n_shadows="--shadows",
    ),
    **dict.fromkeys(("largest_attack_advantage", "largest_measured_advantage"), "--max-advantage"),
    "domain=, the public bounds and categories": f"--domain FILE. {DRAFTING.removesuffix('.')}",
}
"""Options by the parameters that they set."""
