"""``glassine compare --twin``: a private model beside its twin without privacy, for the checker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.naming import in_options
from glassine.cli.options import HoldoutOption, OptionGroup, TrustOption, option
from glassine.cli.progress import stages
from glassine.cli.reading import check_person, identifiers, load_published, read_domain, read_records
from glassine.cli.training import TrainingFile, usable_domain
from glassine.cli.writing import one_line, print_value, write_by_ending
from glassine.errors import InvalidParameterError, UnsupportedModelError
from glassine.records.purpose import Purpose
from glassine.scrubbing.cost import BASELINES, sentences

if TYPE_CHECKING:
    from glassine.comparison.twin import TwinComparison, TwinSide
    from glassine.domain import Domain

SCHEMA = "glassine.twin/1"
FOR_CHECKER = "For the checker. Do not publish it: it was measured on the training records, and no guarantee covers it."
SAID = {
    "contradicted": "An attack exceeds what the guarantee allows: the claim is false, or these are not its records.",
    "not contradicted": "No attack exceeds what the guarantee allows. That is no proof: verify the certificate.",
    "does not hold": "The model says itself that its guarantee does not hold, so there is nothing to compare with.",
    "no guarantee": "The model claims no differential privacy.",
    "unknown": "Whether an attack exceeds what the guarantee allows is unknown.",
}
STATUS = {"contradicted": 1, "not contradicted": 0, "does not hold": 3, "no guarantee": 3, "unknown": 3}


class TwinOptions(OptionGroup, heading="A private model and its twin without privacy"):
    """A private model and its twin."""

    twin: Path | None = option("MODEL", "Private model that was trained on the records.")
    ordinary: Path | None = option("MODEL", "Its twin.", shown_default="one is trained on the records")
    holdout: HoldoutOption = None
    trust_pickle: TrustOption = False

    @property
    def files(self) -> list[Path | None]:
        """The files that are read."""
        return [self.twin, self.ordinary, self.holdout]

    def refuse_alone(self) -> None:
        """Raise if options of a twin are given without one."""
        for name, value in (("--ordinary", self.ordinary), ("--holdout", self.holdout)):
            if value is not None:
                raise InvalidParameterError(f"{name} is for --twin.", remedy="Name the private model with --twin.")


@dataclass(frozen=True, slots=True)
class TwinReport:
    """What the comparison found, with its text and JSON."""

    comparison: TwinComparison

    @property
    def exit_status(self) -> int:
        """0 where nothing contradicts the guarantee, 1 where an attack does, 3 where that is open."""
        return STATUS[self.comparison.standing]

    def text(self) -> str:
        """Return the comparison as text."""
        comparison, claim = self.comparison, self.comparison.claim
        lines = [FOR_CHECKER, SAID[comparison.standing], ""]
        if claim is not None:
            delta = f", delta {claim.delta:g}" if claim.delta else ""
            lines.append(f"Claim: epsilon {claim.epsilon:g}{delta}, by {comparison.claimed_by}.")
            lines += [f"It does not hold: {one_line(caveat)}." for caveat in claim.caveats]
        if comparison.ceiling is not None:
            lines.append(f"It allows any attack on membership an advantage of at most {comparison.ceiling:.3f}.")
        lines += [line for side in (comparison.private, comparison.twin) for line in ("", *_lines(side, comparison))]
        lines += [
            "",
            *_price(comparison),
            f"Attacked on {comparison.n_members:,} members and {comparison.n_others:,} others.",
            *comparison.doubts,
        ]
        return "\n".join(lines)

    def write(self, output: Path | None, *, as_json: bool) -> None:
        """Write the comparison to a file, and print it."""
        plain: dict[str, Any] = {
            "schema": SCHEMA,
            "audience": "checker",
            "meaning": SAID[self.comparison.standing],
            **self.comparison.to_dict(),
        }
        write_by_ending(output, plain, self.text() + "\n")
        print_value(plain if as_json else self.text(), as_json)


def _price(comparison: TwinComparison) -> list[str]:
    lines = []
    if (lost := comparison.accuracy_lost) is not None:
        lines.append(
            f"Accuracy lost against the twin: {100 * lost.value:.1f} points ({100 * lost.low:.1f} to "
            f"{100 * lost.high:.1f}, {lost.confidence:.0%} confidence)."
        )
    if (added := comparison.rmse_added) is not None:
        lines.append(
            f"Root mean squared error added to the twin's: {added.value:.4g} ({added.low:.4g} to {added.high:.4g}, "
            f"{added.confidence:.0%} confidence)."
        )
    return lines


def _lines(side: TwinSide, comparison: TwinComparison) -> list[str]:
    out = [f"{side.title[0].upper()}{side.title[1:]}"]
    if (accuracy := side.accuracy) is not None:
        base = comparison.baseline
        alone = "" if base is None else f"; {BASELINES['accuracy']}: {base.accuracy:.1%}"
        out.append(
            f"  Accuracy on the holdout: {accuracy.value:.1%} ({accuracy.low:.1%} to {accuracy.high:.1%}){alone}."
        )
        names = ("auroc", "log_loss")
        measures = {name: {"value": getattr(side, name), "baseline": getattr(base, name, None)} for name in names}
        out += [f"  {line}" for line in sentences(measures, "holdout")]
    if (rmse := side.rmse) is not None:
        alone = "" if comparison.baseline_rmse is None else f"; {BASELINES['rmse']}: {comparison.baseline_rmse:.4g}"
        out.append(
            f"  Root mean squared error on the holdout: {rmse.value:.4g} ({rmse.low:.4g} to {rmse.high:.4g}){alone}."
        )
    if side.advantage is None:
        return [*out, "  No attack on membership could be made."]
    value, low, high = (round(one, 3) + 0.0 for one in (side.advantage.value, side.advantage.low, side.advantage.high))
    return [
        *out,
        f"  Best of {side.n_attacks} attacks on membership, {side.attack}: advantage {value:.3f} "
        f"({low:.3f} to {high:.3f}).",
        f"  By the attacks, a guarantee without delta has an epsilon of at least {side.epsilon_at_least:.3g}."
        if side.epsilon_at_least
        else "  The attacks show no epsilon above 0.",
    ]


def compare_with_twin(file: TrainingFile, target: str, domain: Path | None, twin: TwinOptions) -> TwinReport:
    """Read the models and records, and compare them."""
    from glassine.comparison.twin import compare_twin

    data, person = file.path, file.person
    attributes = usable_domain(read_domain(domain), file.exclude, target, person)
    if twin.twin is None or twin.holdout is None:
        raise InvalidParameterError(
            "--twin needs --holdout: records of the same population that were not used for training.", remedy="Add it."
        )
    with in_options({"twin": "--ordinary"}), stages() as progress:
        progress("reading the records")
        paths = (data, twin.holdout)
        tables = [
            read_records(path, file.written, Purpose.ORDINARY, attributes, attributes=identifiers(person))
            for path in paths
        ]
        check_person(person, {path: table.names for path, table in zip(paths, tables, strict=True)})
        progress("attacking both models")
        members, others = (table.frame.to_native().drop(file.exclude, strict=False) for table in tables)
        return TwinReport(
            compare_twin(
                _loaded(twin.twin, attributes, twin.trust_pickle),
                members,
                others,
                target,
                twin=None if twin.ordinary is None else _loaded(twin.ordinary, attributes, twin.trust_pickle),
                domain=attributes,
                persons=person,
            )
        )


def _loaded(path: Path, domain: Domain | None, trust_pickle: bool) -> Any:
    """Return a model as a value; an estimator of another library that states an epsilon, unchanged."""
    from glassine.formats import load_model
    from glassine.formats.loading import load_estimator

    try:
        estimator = load_estimator(path, trust_pickle=trust_pickle)
    except UnsupportedModelError:
        return load_model(path, domain, trust_pickle=trust_pickle)
    of_another = not type(estimator).__module__.startswith("glassine.")
    if of_another and hasattr(estimator, "epsilon") and hasattr(estimator, "predict"):
        return estimator
    return load_published(path, domain, trust_pickle)
