"""What a release and its answers tell about the records behind them, in words."""

from __future__ import annotations

from glassine.surrogates.release import SurrogateRelease
from glassine.surrogates.values import Explanation

__all__ = ["reveals", "reveals_of"]


def reveals(release: SurrogateRelease) -> tuple[str, ...]:
    """Return what a release tells about the records that it was made of, a sentence or two a piece.

    **Guarantee**: none; what is claimed is the certificate's, and the sentences say when there is none.

    Parameters
    ----------
    release : SurrogateRelease
        The release.
    """
    made = release.provenance
    if made.records == "queries":
        return (
            "The representatives and the trees were made of queries drawn from the public domain and of the black "
            "box's answers. They hold nobody's record; of the training records they tell what the black box's "
            "decisions tell.",
        )
    out = []
    if made.partition == "public":
        out.append("The representatives are points of a public grid: they tell of nobody.")
    else:
        rounded = ", rounded" if made.form == "safe" else ""
        out.append(
            f"The representative is the middle of the records of at least {release.k} people{rounded}. That many share "
            "it; this says nothing of the tree, nor of values that all of them share."
        )
    out.append(_of_trees(release))
    out.append(_of_certificate(release))
    return tuple(out)


def _of_trees(release: SurrogateRelease) -> str:
    made = release.provenance
    taught = "the black box's decisions on these people" if made.labels == "black-box" else "these people's true labels"
    certified = release.certificate is not None and release.certificate.holds
    if certified:
        return f"The tree was learnt from {taught} with noise; its splits are on public points."
    if made.form == "paper":
        return (
            f"The tree was learnt from {taught}, and shows where single people's values lie: its thresholds are "
            "middles of two of them, and its leaves may hold one person alone."
        )
    return (
        f"The tree was learnt from {taught}. Its thresholds are public points, no leaf was made for fewer than "
        f"{made.min_samples_leaf} people, and no counts are told."
    )


def _of_certificate(release: SurrogateRelease) -> str:
    certificate = release.certificate
    if certificate is None or not certificate.holds:
        return (
            "No differential privacy is claimed. Everyone can ask for every group, so what the whole release tells is "
            "what counts: have it audited."
        )
    delta = f" and delta {certificate.delta:g}" if certificate.delta else ""
    return (
        f"The whole release is claimed to be differentially private with epsilon {certificate.epsilon:g}{delta}: "
        "whether your record was among those it was made of changes the chance of any release by little."
    )


def reveals_of(release: SurrogateRelease, explanation: Explanation) -> tuple[str, ...]:
    """Return what one answer tells: that of the release, and how far the answer fits.

    Parameters
    ----------
    release : SurrogateRelease
        The release.
    explanation : Explanation
        One of its answers.
    """
    out = list(reveals(release))
    if not explanation.agrees:
        tried = "closest tree does not decide" if explanation.n_closest == 1 else "closest trees decides"
        subject = "The" if explanation.n_closest == 1 else f"None of the {explanation.n_closest}"
        out.append(f"{subject} {tried} as the black box does: the tree shown explains decisions nearby, not this one.")
    elif explanation.rank is not None and explanation.rank > 1:
        out.append(
            f"The tree is that of representative number {explanation.rank} by distance: the closer ones decide "
            "otherwise. Choosing among several trees makes agreement easier than it looks."
        )
    return tuple(out)
