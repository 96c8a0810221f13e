"""The average case: what no attack exceeds on average, and how many people can be certain all the same."""

from __future__ import annotations

from collections.abc import Mapping

from glassine.auditing.findings import Findings
from glassine.capacity import AverageCase
from glassine.report.section import shows


@shows(
    "capacity",
    "capacity",
    "What no attack exceeds on average",
    "Average case",
    """
Mean advantage of any attack | at most {mean} | Proved, if the statement of the class is true. True less false \
positive rate, on average over people and draws.
True positive rate at 1% false positives | at most {rate} | Of any attack, on average over the same.
People identified for certain | {certain} | A mean clears no single person: these may be anyone.
Class that was stated | {declared} | It must have been fixed before the draw.
What is published | {published} | Everything that is released must be counted.
Size of the release | {size} | Structures, then counts in full.
Assumed | {assumed} | The report believes these statements.
""",
    sentence="{sentence} The class was stated: {declared}.",
    text_title="What no attack exceeds on average",
    rank=55,
)
def capacity_section(bounds: AverageCase, findings: Findings) -> Mapping[str, object]:
    """Return the bounds of the game that the publisher answers for; how many are exposed stands beside the mean."""
    one = bounds.strictest
    certain = "not bounded without the list of people" if one.certain is None else f"at most {one.certain:,}"
    return {
        "mean": f"{one.mean_advantage:g}",
        "rate": f"{100 * one.true_positive_rate:.3g}%",
        "certain": certain,
        "size": f"{bounds.structure_bits:,.1f} + {bounds.figures_bits:,.1f} bits",
        "assumed": "; ".join(bounds.assumptions),
        "sentence": bounds.sentence,
    }


STABILITY = shows(
    "stability",
    "stability",
    "What retraining says of the average case",
    "Stability",
    """
Length of this model | {length:,.1f} bits | In a code that was learned from {n_retrained} models of random draws; \
{class_bits:,.1f} bits without.
Mean advantage of any attack | at most {mean_advantage:g} | Given this model, except for a share of {delta:g} of draws.
People identified for certain | at most {certain:,} | A mean clears no single person: these may be anyone.
""",
    text_title="What no attack exceeds on average",
    rank=56,
)
