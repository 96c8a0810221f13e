"""What findings hold of several regressions of one data set."""

from __future__ import annotations

from dataclasses import dataclass, replace

from glassine.attacks.outcome import ShownCount


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFinding:
    """One of the tables.

    Attributes
    ----------
    name, target : str
        Its name, and what it predicts; empty where it does not say.
    n_records, n_parameters : int or None
        Training records and coefficients, as the table or its publisher says.
    covariance : bool
        Whether it publishes the covariance matrix, from which sums of products of columns follow.
    """

    name: str
    target: str
    n_records: int | None
    n_parameters: int | None
    covariance: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceFinding:
    """Records of one sample that are not in others.

    Attributes
    ----------
    larger : str
        The table whose sample holds them.
    smaller : tuple of str
        The tables whose samples do not.
    n : ShownCount
        How many; by the numbers that tables state it is public.
    """

    larger: str
    smaller: tuple[str, ...]
    n: ShownCount


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencesFinding:
    """What several regressions of one data set reveal together.

    Attributes
    ----------
    tables : tuple of TableFinding
        The tables.
    differences : tuple of DifferenceFinding
        By how many records their samples differ.
    counted : bool
        Whether differences were counted in the data; else they are those of the stated numbers.
    unknown : str
        Why samples or outcomes could not be put together; empty if they could.
    n_together, n_alone : ShownCount or None
        Outcomes that follow from all tables and from none alone, and from one alone; None without data.
    n_recovered : ShownCount or None
        Of the former, those that the published digits give; None without outcomes.
    parameters_per_record : float or None
        Independent equations per record, with data; else distinct coefficients.
    advantage : float or None
        Membership advantage that they imply at most, where that was calibrated.
    """

    tables: tuple[TableFinding, ...]
    differences: tuple[DifferenceFinding, ...]
    counted: bool
    unknown: str
    n_together: ShownCount | None
    n_alone: ShownCount | None
    n_recovered: ShownCount | None
    parameters_per_record: float | None
    advantage: float | None

    def public(self) -> DifferencesFinding:
        """Return it without what was counted in the data."""
        if not self.counted:
            return self
        return replace(
            self,
            differences=(),
            counted=False,
            unknown="",
            n_together=None,
            n_alone=None,
            n_recovered=None,
            parameters_per_record=None,
            advantage=None,
        )
