"""What a caller asks of an audit: what is measured, and what its attackers are assumed to know."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from glassine.auditing.statements import NOTHING_STATED, Statements, check_kind
from glassine.capacity.learned import FEWEST, MOST
from glassine.counting import MAX_STEPS
from glassine.errors import InvalidParameterError, check_choice, check_whole, parameter

if TYPE_CHECKING:
    from glassine.attacks.disclosure import CountNoise

CRITERIA = ("gini", "entropy", "gain_ratio", "misclassification", "none")
SPLITS = ("auto", "multiway", "binary")


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipSettings:
    """How membership is attacked.

    Attributes
    ----------
    n_shadows : int or None
        Shadow models of the likelihood-ratio attack, at least 4; 0 leaves it out. By default 16 for ensembles of trees,
        whose members other attacks miss, and none for other models.
    seconds : float
        Most seconds of the shadow models. Where they would take longer, attacks with them have failed.
    event : str or None
        Of a Cox regression, the column of 0/1 that says whether the time is that of an event; by default as R's
        formula names it.
    confidence : float
        Confidence of each attack's interval, in (0, 1). All six hold together with at least 94 % at the default.
    """

    n_shadows: int | None = None
    confidence: float = 0.99
    seconds: float = 600.0
    event: str | None = None

    def shadows(self, default: int = 0) -> int:
        """Return the number of shadow models, for a kind of models with a usual number."""
        return default if self.n_shadows is None else self.n_shadows


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureSettings:
    """What an attacker on the sensitive attribute is assumed to know, and what is tried against the attack.

    With it the estimate rests on these assumptions alone, however long it takes: where they contradict the tree, that
    is an error. The data may lack the sensitive column if the target is named.

    Attributes
    ----------
    leaves, internal_nodes, candidates, min_samples_leaf, training, sampling_fraction, noise
        As for :class:`~glassine.attacks.Adversary`. Its criterion and splits are those of the audit; by default the
        leaves show what the tree publishes.
    truth : bool or None
        Whether the estimate is compared with the sensitive column of the data; None if there is one.
    remedies : bool
        Whether remedies are tried; they are also measured on the holdout, if one is given.
    time_limit : float
        Most seconds of each remedy.
    folder : path or None
        Each remedy is written to it once it is measured, as for
        :func:`~glassine.attacks.disclosure.remedies.measure_remedies`.
    """

    leaves: Literal["leaf_counts", "error_rates", "labels_only"] | None = None
    internal_nodes: bool = True
    candidates: Literal["all_attributes", "same_attribute"] = "all_attributes"
    min_samples_leaf: int | None = None
    training: Literal["known", "sample"] = "known"
    sampling_fraction: float | None = None
    noise: CountNoise | None = None
    truth: bool | None = None
    remedies: bool = False
    time_limit: float = 60.0
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.training == "sample" and self.remedies:
            raise InvalidParameterError(
                f"{parameter('remedies')} are measured on the training records.",
                remedy=f"Take {parameter('training', 'known')}.",
            )


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """What an audit looks at, what its attackers are assumed to know, and how much work it may be.

    Attributes
    ----------
    sensitive : str, optional
        An attribute of the domain, or a column of the data, to look at more closely. Where a tree predicts it, it is
        measured what can be inferred about every person's value: see :func:`glassine.infer_sensitive`.
    quasi : sequence of str, optional
        Columns of the data that the attacker knows about every person; all attributes of the tree by default.
    criterion : {"gini", "entropy", "gain_ratio", "misclassification", "none"}, optional
        By which measure splits were selected, for this attacker; ``none`` if they were not always the best. A fitted
        estimator states its own. Without either, the attacker of the leaves alone is measured.
    splits : {"auto", "multiway", "binary"}, default="auto"
        How that learning algorithm split categories, as for :class:`~glassine.attacks.Adversary`. A fitted estimator
        states it.
    membership : MembershipSettings
        How membership is attacked.
    disclosure : DisclosureSettings, optional
        What an attacker on the sensitive attribute is assumed to know. Without it, what the tree publishes and states.
    statements : Statements
        What the publisher states of the training data, if it is not passed: that no person has several records, the
        smallest leaf, the step of rounded counts, that no weights were used, the class of models. It is believed.
    measurements : collection of str, optional
        Names of the measurements to make, such as ``{"membership"}``; the verdict then covers these alone. Some take
        minutes and are only made on request: ``rows``. Of a fitted forest, ``{"membership"}`` alone is measured.
    show_small_counts : bool, default=False
        Whether counts below the policy's ``suppress_below`` are shown.
    max_steps : int, default=300,000
        Steps that exact counts may take; beyond them reconstruction is reported as failed.
    random_state : int, Generator or None, default=0
        For attacks that draw.
    progress : callable, optional
        Called with the name of each stage as it starts.
    retrainable : bool, default=False
        Whether you can train the model again: advice is then to do so, even without the records, and not to ask its
        publisher.
    require_clean_copy : bool, default=False
        Whether a file fails that Glassine did not write, under every policy: as in a pipeline.
    stability : int, optional
        Retrain the fitted estimator on so many random draws, in [25, 400], for bounds by a learned code. It needs the
        data, everyone else of the list as holdout, and a declared class. The figures are for the checker only.
    stability_seconds : float, default=600.0
        Most seconds of it; if they are over, it has no figure.

    Raises
    ------
    InvalidParameterError
        If a value is not of its type or lies outside its range.

    Examples
    --------
    >>> AuditSettings(sensitive="disease", measurements={"disclosure"}).criterion is None
    True
    >>> AuditSettings(measurements="membership")
    Traceback (most recent call last):
    ...
    glassine.errors.InvalidParameterError: measurements must be several names, got 'membership'. List them.
    """

    sensitive: str | None = None
    quasi: Sequence[str] | None = None
    criterion: str | None = None
    splits: Literal["auto", "multiway", "binary"] = "auto"
    membership: MembershipSettings = MembershipSettings()
    disclosure: DisclosureSettings | None = None
    statements: Statements = NOTHING_STATED
    measurements: Collection[str] | None = None
    show_small_counts: bool = False
    max_steps: int = MAX_STEPS
    random_state: int | np.random.Generator | None = 0
    progress: Callable[[str], None] | None = None
    retrainable: bool = False
    require_clean_copy: bool = False
    stability: int | None = None
    stability_seconds: float = 600.0

    def __post_init__(self) -> None:
        for name, value in (("quasi", self.quasi), ("measurements", self.measurements)):
            several: object = value
            if isinstance(several, str) or not isinstance(several, Collection | None):
                raise InvalidParameterError(
                    f"{parameter(name)} must be several names, got {several!r}.", remedy="List them."
                )
        if self.criterion is not None:
            check_choice(self.criterion, "criterion", CRITERIA, remedy="Name one.")
        check_choice(self.splits, "splits", SPLITS, remedy="Name one.")
        # What is misplaced would else be ignored, or fail where the parameter is not named.
        check_kind("sensitive", self.sensitive, str | None, "a string")
        check_kind("membership", self.membership, MembershipSettings, "MembershipSettings")
        check_kind("statements", self.statements, Statements, "Statements")
        check_kind("disclosure", self.disclosure, DisclosureSettings | None, "DisclosureSettings")
        check_kind("show_small_counts", self.show_small_counts, bool | np.bool_, "True or False")
        check_kind("retrainable", self.retrainable, bool, "True or False")
        check_kind("require_clean_copy", self.require_clean_copy, bool, "True or False")
        check_kind("progress", self.progress, Callable | None, "callable or None")
        check_whole(self.max_steps, "max_steps", 0)
        if self.stability is not None:
            check_whole(self.stability, "stability", FEWEST, MOST)
        if isinstance(self.stability_seconds, bool) or not self.stability_seconds > 0:
            raise InvalidParameterError(
                f"{parameter('stability_seconds')} must be a positive number, got {self.stability_seconds!r}."
            )


DEFAULTS = AuditSettings()
