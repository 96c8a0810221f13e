"""Editing fitted additive estimators: an editor of what they released, and new estimators with the edited model."""

from __future__ import annotations

import copy
from typing import Self

from sklearn.utils.validation import check_is_fitted

from glassine.editing import Editor, revert, verify
from glassine.errors import InvalidModelError
from glassine.models import AdditiveModel

__all__ = ["Editable"]


class Editable:
    """Methods of a fitted additive estimator that edit its model without spending budget."""

    model_: AdditiveModel

    def edit(self) -> Editor:
        """Return an editor of the released model; its ``model`` is a new one, and this estimator stays as it is.

        Guarantee
        ---------
        That of the fit: an edit reads the released model alone; see ``editing/applying.md``.

        Returns
        -------
        Editor
            With ``set``, ``shift``, ``smooth``, ``flatten``, ``monotone``, ``zero``, ``undo``, ``redo`` and ``revert``.
        """
        check_is_fitted(self, "model_")
        return Editor(self.model_)

    def with_model(self, model: AdditiveModel | Editor) -> Self:
        """Return a new fitted estimator that predicts with an edited model, this one's certificate kept.

        Guarantee
        ---------
        That of the fit, for no record is read again; see ``editing/applying.md``. The certificate names the model as
        it was released, to which the log of edits leads back.

        Parameters
        ----------
        model : AdditiveModel or Editor
            An edited form of this estimator's model, also one read by :func:`glassine.load_additive`.

        Raises
        ------
        InvalidModelError
            If taking back its edits does not lead to the model that this estimator released, or an edit of the log
            does something else than it says.
        """
        check_is_fitted(self, "model_")
        edited = model.model if isinstance(model, Editor) else model
        if not isinstance(edited, AdditiveModel):
            raise InvalidModelError(
                f"with_model() takes an edited additive model, got {type(edited).__name__}. Edit that of edit()."
            )
        verify(edited)
        if revert(edited) != revert(self.model_):
            raise InvalidModelError(
                "the model is not an edited form of what this estimator released: without its edits it differs from "
                "model_. Start from edit(), or from the file that model_ was written to."
            )
        new = copy.copy(self)
        new.model_ = edited
        return new
