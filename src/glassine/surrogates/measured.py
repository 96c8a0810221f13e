"""What every fitted explainer measures of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from glassine.domain.conforming import Columns
from glassine.learners.literals import check_whole
from glassine.surrogates import measuring, settings
from glassine.surrogates.black_boxes import BlackBox
from glassine.surrogates.fitting import Training, check_words, label_array, places_of
from glassine.surrogates.reading import open_records, read
from glassine.surrogates.release import MAX_CLOSEST, SurrogateRelease
from glassine.surrogates.values import Measures

__all__ = ["MeasuredExplainer"]


class MeasuredExplainer(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An explainer that has a release, the records behind it, and query access to the black box.

    Attributes
    ----------
    release_, training_, black_box_, information_loss_
        As in :class:`~glassine.surrogates.SurrogateExplainer`.
    """

    release_: SurrogateRelease
    training_: Training
    black_box_: BlackBox
    information_loss_: float | None

    def _released(self) -> SurrogateRelease:
        check_is_fitted(self, "release_")
        return self.release_

    def _measured(self, X: Any) -> tuple[Columns, npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return records, what the black box says of them, and its index among the classes, -1 for another label."""
        release = self._released()
        _, native, data = open_records(X, release.domain)
        columns = read(data, release.domain, refuse_outside=False)
        answered = self.black_box_(native, columns.n_records)
        return columns, answered, places_of(answered, release.classes)

    def _truth(self, y: Any, answered: npt.NDArray[Any]) -> npt.NDArray[Any]:
        truth = label_array(y, len(answered))
        check_words(truth, [*self.release_.classes, *answered.tolist()])
        return truth

    def fidelity(self, X: Any, guided: bool = True, n_closest: int | None = None) -> float:
        """Return the share of records on which the returned tree decides as the black box.

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            The records; numbers outside a declared domain are clipped.
        guided : bool, default=True
            Protocol 2, or Protocol 1.
        n_closest : int, optional
            As in :meth:`explain`.
        """
        columns, _, answers = self._measured(X)
        return measuring.agreement(self.release_, columns, answers, self._closest(guided, n_closest))

    def fidelity_null(self, X: Any, n_closest: int | None = None, n_draws: int = 10, random_state: Any = 0) -> float:
        """Return the guided fidelity with groups drawn at random instead of the closest: what choosing alone gives.

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            The records.
        n_closest : int, optional
            How many different groups are drawn for each record.
        n_draws : int, default=10
            How often all records are drawn for; the result is the mean.
        random_state : int or Generator, default=0
            For the draws.
        """
        columns, _, answers = self._measured(X)
        return measuring.null_agreement(
            self.release_,
            columns,
            answers,
            n_closest=self._closest(True, n_closest),
            n_draws=check_whole(n_draws, "n_draws", 1, 100_000),
            rng=settings.generator(random_state),
        )

    def accuracy(self, X: Any, y: Any, guided: bool = True, n_closest: int | None = None) -> float:
        """Return the share of records on which the returned tree gives the true label.

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            The records.
        y : array-like of shape (n,)
            True labels.
        guided, n_closest
            As in :meth:`explain`.
        """
        columns, answered, answers = self._measured(X)
        truth = self._truth(y, answered)
        chosen = measuring.choose(self._decided(columns, self._closest(guided, n_closest)), answers)
        classes = np.array([*self.release_.classes, None], dtype=object)
        return float((classes[chosen] == truth).mean())

    def _decided(self, columns: Columns, n_closest: int) -> npt.NDArray[np.int64]:
        return self.release_.decisions(columns, self.release_.closest(columns, n_closest))

    def _closest(self, guided: bool, n_closest: int | None) -> int:
        if not guided:
            return 1
        return self._released().n_closest if n_closest is None else check_whole(n_closest, "n_closest", 1, MAX_CLOSEST)

    def measures(
        self, X: Any, y: Any = None, n_closest: int | None = None, *, n_draws: int = 10, random_state: Any = 0
    ) -> Measures:
        """Return every measure at once.

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            Records to measure on, best those that were not used in ``fit``.
        y : array-like of shape (n,), optional
            True labels.
        n_closest : int, optional
            As in :meth:`explain`.
        n_draws, random_state
            As in :meth:`fidelity_null`.
        """
        columns, answered, answers = self._measured(X)
        return measuring.measure(
            self.release_,
            self.training_,
            columns,
            answered,
            answers,
            truth=None if y is None else self._truth(y, answered),
            n_closest=self._closest(True, n_closest),
            n_draws=check_whole(n_draws, "n_draws", 1, 100_000),
            rng=settings.generator(random_state),
            information_loss=self.information_loss_,
        )
