"""What all displays share: they are drawn on axes of matplotlib, which comes with an extra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import installed

Array: TypeAlias = npt.NDArray[np.float64]

COLOR = "#a8552e"
"""Color of what is drawn first, as reports have it."""


@dataclass(kw_only=True)
class OnAxes(ABC):
    """A figure that is drawn on axes of matplotlib.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.
    """

    ax_: Any = field(default=None, init=False, repr=False, compare=False)
    figure_: Any = field(default=None, init=False, repr=False, compare=False)

    def plot(self, *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; new axes by default.
        **line_kw
            Passed to the main call of matplotlib.

        Raises
        ------
        GlassineError
            If matplotlib is not installed.
        """
        pyplot = installed("matplotlib.pyplot", "plots need", "plots")
        if ax is None:
            ax = pyplot.subplots()[1]
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, line_kw)
        return self

    @abstractmethod
    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        """Draw it on axes."""
