"""An ensemble of trees in the report: what all trees together reveal."""

from __future__ import annotations

from glassine.auditing.findings import Findings
from glassine.auditing.findings.ensemble import EnsembleFinding
from glassine.report import wording
from glassine.report.blocks import Paragraph, Piece
from glassine.report.figures import facts, table
from glassine.report.section import MODEL, Body, facts_of, shows

FIGURES = table("""
Trees | {n_trees:count} | With {leaves}, {n_leaves:count} together. |
[boosted] Learning rate | {rate:.3g} | How much of a leaf's mean each round adds. |
Records per effective leaf | {records_per_leaf:.3g} | They imply a membership advantage of {implied}. | \
It needs the number of training records.
Spread of the outcome | {spread:.2f} | By {spread_by}: 1 for two equal classes, less for a rare or a certain outcome. |
Thresholds | {n_thresholds:count} | Distinct ones of all trees. |
[joint] Records alone in a combination of leaves | {alone:percent} | This alone says nothing. |
""")


@shows("ensemble", "model", "The ensemble, and what all trees reveal together", "Ensemble", rank=MODEL)
def ENSEMBLE(finding: EnsembleFinding, findings: Findings) -> Body:
    """Show the figures, how shadow models were trained, and what the file gives away."""
    few, most = finding.fewest_leaves, finding.most_leaves
    leaves = f"{few:,} leaves each" if few == most else f"{few:,} to {most:,} leaves each"
    implied = "an unknown size" if finding.advantage is None else f"about {finding.advantage:.2g}"
    figures = facts(
        FIGURES,
        finding,
        findings,
        leaves=leaves,
        implied=implied,
        boosted=finding.rate is not None,
        joint=finding.alone is not None,
    )
    said = [*finding.published, *([finding.shadows] if finding.shadows else [])]
    if finding.unknown:
        said.append(f"The membership advantage does not follow: {finding.unknown}")
    pieces: list[Piece] = [
        Paragraph(text=wording.clean(finding.meaning), tone="lead"),
        figures,
        *(Paragraph(text=wording.clean(text), tone="note") for text in said),
    ]
    return pieces, (wording.clean(finding.meaning), *facts_of(figures), *map(wording.clean, said))
