"""How named policies judge a subject, as findings show it."""

from __future__ import annotations

from dataclasses import dataclass

from glassine.auditing.findings.values import Verdict
from glassine.auditing.remedy import Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFinding:
    """Whether a subject meets a named policy.

    Attributes
    ----------
    name : str
        Name of the policy, such as ``tre``.
    verdict : str
        ``within policy``, ``outside policy`` or ``inconclusive``.
    against : tuple of str
        What its checks that failed or could not run say, those that failed first.
    remedy : Remedy or None
        What helps with the first of them; None where it is met, or nothing is known to help.
    """

    name: str
    verdict: Verdict
    against: tuple[str, ...] = ()
    remedy: Remedy | None = None

    def public(self) -> PolicyFinding:
        """Return it as a public report may hold it, without files of records."""
        remedy = None if self.remedy is None else self.remedy.public()
        return PolicyFinding(name=self.name, verdict=self.verdict, against=self.against, remedy=remedy)
