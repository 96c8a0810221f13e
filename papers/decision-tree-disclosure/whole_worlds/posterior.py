"""The exact posterior of each person's class over whole-number worlds.

The result compares it with the maximum-entropy relaxation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.leaf_constraints import ExpectedLeaves
from glassine.attacks.disclosure.uncertain_membership import SampleEstimate, sample_estimate
from glassine.attacks.disclosure.worlds import NoWorldError, StartError
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.errors import (
    CostLimitError,
    InvalidParameterError,
    UndefinedMeasureError,
    check_choice,
    check_whole,
    parameter,
)
from glassine.records.arrays import Array, Indices
from whole_worlds.chains import BATCHES, Chains, run_chains
from whole_worlds.enumeration import Enumeration, enumerate_worlds

METHODS = ("auto", "enumeration", "chain")
CONVERGED = 1.05
"""R-hat up to which chains count as converged."""

APART = 0.05
"""Total variation from which a relaxation and a posterior are said to differ about a person."""

NOISE = 4.0
"""Standard errors of a total variation that are put down to chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainDiagnostics:
    """How far the chains can be trusted.

    Attributes
    ----------
    r_hat : float
        The largest of all cells: rank-normalised, split, and folded.
    effective_size : float
        The smallest effective sample size of all cells, by batch means: that of rare classes is itself uncertain.
    median_effective_size : float
        The median.
    n_chains, draws : int
        Chains, and draws of each that were kept.
    burn_in, thin : int
        Sweeps before the first draw and between draws; a sweep is a move for each person.
    accepted, accepted_larger : float
        Share of single moves and of larger ones that were accepted, of those that would change anything.
    searched : int
        Chains whose first table was no world, so that one was searched by simulated annealing.
    never_changed : int
        Cells that the leaves leave open and that had the same value in every draw.
    seconds : float
        Time taken.
    """

    r_hat: float
    effective_size: float
    median_effective_size: float
    n_chains: int
    draws: int
    burn_in: int
    thin: int
    accepted: float
    accepted_larger: float
    searched: int
    never_changed: int
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether the largest R-hat is below 1.05."""
        return self.r_hat < CONVERGED


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Posterior:
    """P(class | person) over all whole-number worlds, every assignment of classes to people equally likely before.

    Attributes
    ----------
    method : {"enumeration", "chain"}
        Whether all worlds were listed, or sampled.
    relaxation : Disclosure
        The maximum-entropy estimate that it stands beside.
    quasi_probabilities : ndarray, shape (q, c)
        P(class | quasi-identifier).
    quasi_errors : ndarray, shape (q, c)
        Monte-Carlo standard errors, 0 for enumeration. A cell that the leaves leave open and that never changed gets
        the size of one person in one draw: its chance was too small to be seen, not necessarily nothing.
    n_worlds : int or None
        Number of tables, if they were listed.
    log_assignments : float or None
        Natural logarithm of the number of assignments that they stand for, if they were listed.
    diagnostics : ChainDiagnostics or None
        Of the chains.
    notes : tuple of str
        What has to be kept in mind.
    sample : SampleEstimate or None
        Of a sample: P(in the sample | quasi-identifier), and P(class | quasi-identifier, in the sample). The
        probabilities above are then those of any of the people.
    """

    method: Literal["enumeration", "chain"]
    relaxation: Disclosure
    quasi_probabilities: Array
    quasi_errors: Array
    n_worlds: int | None
    log_assignments: float | None
    diagnostics: ChainDiagnostics | None
    notes: tuple[str, ...]
    sample: SampleEstimate | None = None

    def __repr__(self) -> str:
        how = f"{self.n_worlds:,} worlds" if self.n_worlds is not None else f"R-hat {self._r_hat:.3f}"
        return f"<Posterior of {self.relaxation.people.n_people} people by {self.method}: {how}>"

    @property
    def _r_hat(self) -> float:
        return 1.0 if self.diagnostics is None else self.diagnostics.r_hat

    @property
    def probabilities(self) -> Array:
        """P(class | person), shape (n, c)."""
        return np.asarray(self.quasi_probabilities[self.relaxation.people.person])

    @property
    def membership(self) -> Array:
        """P(in the training set | quasi-identifier) of each person, shape (n,); 1 where the training set is known."""
        if self.sample is None:
            return np.ones(self.relaxation.people.n_people)
        return np.asarray(self.sample.membership[self.relaxation.people.person])

    @property
    def standard_errors(self) -> Array:
        """Monte-Carlo standard errors of the probabilities, shape (n, c)."""
        return np.asarray(self.quasi_errors[self.relaxation.people.person])

    @property
    def entropy(self) -> float:
        """Entropy of the probabilities, in nats per person: what is left open about one person picked at random."""
        return self._as_estimate(self.quasi_probabilities).entropy

    def total_variation(self) -> Array:
        """Return the total variation between relaxation and posterior for each person, in [0, 1], shape (n,)."""
        return np.asarray(self._distances()[self.relaxation.people.person])

    def d_individual(self, truth: npt.ArrayLike) -> Array:
        """Return D_individual of each person's quasi-identifier, in nats, as for the relaxation.

        Of chains, a class that the leaf allows and that was drawn less than half a time counts as drawn half a time:
        its probability is not known to be nothing.

        Parameters
        ----------
        truth : array-like, shape (n,)
            Class of each person.
        """
        shares = self.quasi_probabilities
        if self.diagnostics is not None:
            half = 0.5 / (self.diagnostics.n_chains * self.diagnostics.draws * self.relaxation.people.sizes[:, None])
            shares = np.where(self.relaxation.leaf_probabilities > 0, np.maximum(shares, half), shares)
            shares = shares / shares.sum(axis=1, keepdims=True)
        return self._as_estimate(shares).d_individual(truth)

    def d_overall(self, truth: npt.ArrayLike) -> float:
        """Return D_overall, the mean of :meth:`d_individual` over the people, in nats."""
        return float(self.d_individual(truth).mean())

    def differing(self) -> Indices:
        """Return the rows of the people about whom relaxation and posterior differ by at least 0.05, beyond chance."""
        noise = NOISE * 0.5 * self.quasi_errors.sum(axis=1)
        apart = self._distances() >= APART + noise
        return np.flatnonzero(apart[self.relaxation.people.person])

    def comparison(self) -> str:
        """Return in a sentence whether relaxation and posterior differ."""
        rows, distances = self.differing(), self.total_variation()
        n = len(distances)
        if not len(rows):
            return f"Relaxation and posterior agree: no total variation of the {n:,} people is {APART} or more" + (
                "." if self.method == "enumeration" else " beyond the Monte-Carlo error."
            )
        at = int(rows[int(distances[rows].argmax())])
        return (
            f"Relaxation and posterior differ by a total variation of {APART} or more about {len(rows):,} of the {n:,} "
            f"people, by {distances[at]:.3g} about the person in row {at}: people are whole, and every world has to "
            "keep the constraints that the relaxation keeps on average."
        )

    def _distances(self) -> Array:
        return np.asarray(np.abs(self.quasi_probabilities - self.relaxation.quasi_probabilities).sum(axis=1) / 2)

    def _as_estimate(self, shares: Array) -> Disclosure:
        return replace(self.relaxation, quasi_probabilities=shares)


def infer_posterior(
    disclosure: Disclosure, *, method: str = "auto", most_worlds: int = 200_000, n_chains: int = 4, draws: int = 500,
    burn_in: int = 100, thin: int = 1, random_state: int | np.random.Generator | None = 0,
) -> Posterior:  # fmt: skip
    """Return the posterior of each person's class, given all that the attacker knows.

    Before the tree is read, every assignment of classes to people is equally likely. What agrees with the leaves and
    the internal nodes stays equally likely; nothing else stays.

    Parameters
    ----------
    disclosure : Disclosure
        What the reader knows, with the relaxation.
    method : {"auto", "enumeration", "chain"}, default="auto"
        List all worlds, sample them, or sample them if they are too many to list.
    most_worlds : int, default=200,000
        Most tables of the people of one node that are listed.
    n_chains : int, default=4
        Number of chains, at least 2. They start from different random worlds.
    draws : int, default=500
        Draws of each chain that are kept, a multiple of 20, at least 100.
    burn_in : int, default=100
        Sweeps before the first draw, of a move for each person.
    thin : int, default=1
        Sweeps from draw to draw.
    random_state : int, Generator or None, default=0
        Source of the moves.

    Raises
    ------
    InvalidParameterError
        If a parameter lies outside its range.
    CountingLimitError
        If there are too many worlds to list.
    NoWorldError
        If there is no world.
    StartError
        If no world was found to start a chain from.
    UndefinedMeasureError
        If counts are noisy, or the worlds of a sample are too many to list.

    Examples
    --------
    Six people; the tree was split by age first, which identifies the two in the middle:

    >>> import polars as pl
    >>> from glassine.attacks.disclosure import infer_sensitive
    >>> from glassine.learners.multiway_tree import MultiwayTreeClassifier
    >>> people = pl.DataFrame(
    ...     {
    ...         "education": ["phd", "phd", "msc", "phd", "msc", "msc"],
    ...         "age": ["young", "young", "mid", "mid", "old", "old"],
    ...     }
    ... )
    >>> salary = ["<=50K", "<=50K", "<=50K", ">50K", ">50K", ">50K"]
    >>> tree = MultiwayTreeClassifier(min_samples_split=3).fit(people, salary)
    >>> posterior = infer_posterior(infer_sensitive(tree, people))
    >>> posterior.n_worlds, posterior.probabilities[2:4].tolist(), posterior.d_overall(salary)
    (1, [[1.0, 0.0], [0.0, 1.0]], 0.0)
    """
    check_choice(method, "method", METHODS, remedy="Name one.")
    for name, value, least in (
        ("most_worlds", most_worlds, 1), ("n_chains", n_chains, 2), ("draws", draws, 100), ("burn_in", burn_in, 0),
        ("thin", thin, 1),
    ):  # fmt: skip
        check_whole(value, name, least)
    if draws % BATCHES:
        raise InvalidParameterError(
            f"{parameter('draws')} must be a multiple of {BATCHES}, got {draws}.", remedy="Round it up."
        )
    if isinstance(disclosure.leaves, ExpectedLeaves):
        raise UndefinedMeasureError(
            "the worlds of noisy counts are not counted one by one: the estimate is their mean already, if all class "
            "counts of a leaf were equally likely before.",
            remedy="Use the estimate.",
        )
    if method != "chain":
        try:
            return _of_enumeration(disclosure, enumerate_worlds(disclosure, most_worlds=most_worlds))
        except CostLimitError:
            if method == "enumeration":
                raise
    started = time.perf_counter()
    chains = run_chains(
        disclosure, n_chains=n_chains, draws=draws, burn_in=burn_in, thin=thin, random_state=random_state
    )
    return _of_chains(disclosure, chains, (n_chains, draws, burn_in, thin), time.perf_counter() - started)


def measure_posterior(disclosure: Disclosure, **options: Any) -> Outcome[Posterior]:
    """Return the posterior of :func:`infer_posterior` as an outcome.

    Parameters
    ----------
    disclosure : Disclosure
        What the reader knows.
    **options
        Its other parameters.

    Returns
    -------
    Measured of Posterior, NotApplicable or Failed
        Failed where there is no world or none was found, naming node and candidate, or where there are too many to
        list. NotApplicable where worlds are not counted for this reader.
    """
    try:
        return Measured(infer_posterior(disclosure, **options))
    except UndefinedMeasureError as error:
        return NotApplicable(error.text)
    except (NoWorldError, StartError, CostLimitError) as error:
        return Failed(error.text)


def _of_enumeration(disclosure: Disclosure, found: Enumeration) -> Posterior:
    sample = _sample(disclosure, found.table)
    return Posterior(
        method="enumeration",
        relaxation=disclosure,
        quasi_probabilities=found.table if sample is None else sample.probabilities,
        quasi_errors=np.zeros_like(disclosure.quasi_probabilities),
        n_worlds=found.n_worlds,
        log_assignments=found.log_assignments,
        diagnostics=None,
        notes=(),
        sample=sample,
    )


def _sample(disclosure: Disclosure, shares: Array) -> SampleEstimate | None:
    """Return what shares say of a sample whose last column are the people outside; None of a known training set."""
    if disclosure.sample is None:
        return None
    sizes, offset = disclosure.people.sizes, disclosure.leaves.offset
    table = shares * sizes[:, None]
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return sample_estimate(table, sizes, float((table * (offset - logs)).sum()))


def _of_chains(
    disclosure: Disclosure, chains: Chains, settings: tuple[int, int, int, int], seconds: float
) -> Posterior:
    n_chains, draws, burn_in, thin = settings
    alone = np.bincount(disclosure.people.leaf)[disclosure.people.leaf] == 1
    open_ = (disclosure.leaf_probabilities > 0) & (disclosure.leaf_probabilities < 1)
    if disclosure.leaves.counts is not None:
        open_ &= ~alone[:, None]
    stuck = chains.constant & open_
    varied = ~chains.constant
    diagnostics = ChainDiagnostics(
        r_hat=float(chains.r_hat[varied].max(initial=1.0)),
        effective_size=float(np.nanmin(chains.effective_size)) if varied.any() else float(n_chains * draws),
        median_effective_size=float(np.nanmedian(chains.effective_size)) if varied.any() else float(n_chains * draws),
        n_chains=n_chains,
        draws=draws,
        burn_in=burn_in,
        thin=thin,
        accepted=chains.accepted,
        accepted_larger=chains.accepted_larger,
        searched=chains.searched,
        never_changed=int(stuck.sum()),
        seconds=seconds,
    )
    notes = [
        f"{n_chains} chains of {draws} draws, {thin} sweeps apart after {burn_in}; most moves swap two people"
        f"{'' if disclosure.leaves.counts is None else ' of a leaf'}, the others make two to four swaps at once. "
        "Under internal constraints such moves need not reach every "
        "world: parts that no chain started in do not show in R-hat."
    ]
    if not diagnostics.converged:
        notes.append(f"R-hat reaches {diagnostics.r_hat:.3f}: the chains do not agree yet. Take more draws or sweeps.")
    if diagnostics.never_changed:
        notes.append(
            f"{diagnostics.never_changed:,} open cells never changed: their chances are too small, or shut off."
        )
    once = 1.0 / (n_chains * draws * disclosure.people.sizes[:, None])
    return Posterior(
        method="chain",
        relaxation=disclosure,
        quasi_probabilities=chains.table,
        quasi_errors=np.where(stuck, np.maximum(chains.standard_errors, once), chains.standard_errors),
        n_worlds=None,
        log_assignments=None,
        diagnostics=diagnostics,
        notes=tuple(notes),
    )
