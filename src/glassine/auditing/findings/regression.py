"""What the audit of a regression found, as findings show it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from glassine.attacks.outcome import ShownCount


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFinding:
    """One row of the table of coefficients.

    Attributes
    ----------
    name : str
        The column.
    coefficients : tuple of float
        One per output.
    errors : tuple of float or None
        Their standard errors, as published.
    indicator : bool
        Whether the file or the domain says that it is of 0/1.
    bound : int or None
        Records, or records of its rarer outcome, that it holds at least by its standard error; None without a bound.
    size : ShownCount or None
        Fewer of the records, or people, of either value of a column of 0/1, counted in the data; None without data.
    """

    name: str
    coefficients: tuple[float, ...]
    errors: tuple[float, ...] | None
    indicator: bool
    bound: int | None
    size: ShownCount | None

    def public(self) -> ColumnFinding:
        """Return it without the size that was counted in the data."""
        return replace(self, size=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionFinding:
    """What a regression publishes.

    Attributes
    ----------
    meaning : str
        What it is, with what its file or its publisher says of the fit.
    link : str
        What a score is; empty where nothing says so.
    outputs : tuple of str
        Names of the outputs of a model of several classes; else one empty name.
    intercept : tuple of float
        Score of each output before any column.
    intercept_errors : tuple of float or None
        Their standard errors.
    columns : tuple of ColumnFinding
        The rows of the table.
    n_records : int or None
        Training records, as the file or its publisher says.
    n_parameters : int or None
        Coefficients that were fitted.
    effective : float or None
        Effective parameters by the data: fewer than the coefficients under a penalty.
    advantage : float or None
        Membership advantage that parameters per record imply.
    unbounded : str
        Why standard errors bound no count; empty if they do.
    largest_leverage : float or None
        Largest leverage of a record: how much of its fitted value its outcome makes. None without data.
    n_leverage : ShownCount or None
        Records whose outcome makes more than half of their own fitted value.
    published : tuple of str
        What else the file holds of the training data.
    """

    meaning: str
    link: str
    outputs: tuple[str, ...]
    intercept: tuple[float, ...]
    intercept_errors: tuple[float, ...] | None
    columns: tuple[ColumnFinding, ...]
    n_records: int | None
    n_parameters: int | None
    effective: float | None
    advantage: float | None
    unbounded: str
    largest_leverage: float | None
    n_leverage: ShownCount | None
    published: tuple[str, ...]

    def public(self) -> RegressionFinding:
        """Return it without what was measured on records."""
        return replace(
            self,
            columns=tuple(column.public() for column in self.columns),
            effective=None,
            advantage=self.advantage if self.effective is None else None,
            largest_leverage=None,
            n_leverage=None,
        )
