"""What noise costs, before anything is spent: private models of records that are invented within public bounds."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassine.desk.workers import Job, Workers
from glassine.errors import RefusedActionError

DIAL = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Epsilons that are simulated."""
RULES = 3
"""Rules that targets are invented by, one for each set of records."""
TESTED = 2000
"""Invented records that no model is trained on."""
FOLLOWED = 0.8
"""Share of the records whose target follows the rule; the others have any value, each as often."""
COLUMNS = 3
"""Most columns that a rule uses."""
LONGEST = 5
"""Seconds that the fit of a tree or a list may take, by an estimate; fifteen such fits end before a worker must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What is simulated: all of it is public, or stated to be."""

    domain: Path
    sha256: str  # Of the domain
    kind: str  # Of the model, as the comparison of models names it
    target: str  # The column to predict
    classes: Sequence[str]  # None where the domain declares them, or the target is a number
    target_range: tuple[float, float] | None  # None where the domain declares it, or the target has classes
    n_records: int  # How many records a model is trained on

    async def run(self, workers: Workers) -> dict[str, Any]:
        """Return figures on invented records by epsilon, from the lowest of the rules to the highest.

        Of classes they are shares that are right, of numbers mean absolute errors. No record is read or written.

        Raises
        ------
        RefusedActionError
            If no records can be invented of the domain, or the kind does not predict such a target.
        """
        public = f"domain{os.path.splitext(self.domain.name)[1]}"
        stated = {"classes": list(self.classes), "target_range": self.target_range, "n_rules": RULES}
        job = Job(
            words=(public, self.kind, self.target, str(self.n_records), json.dumps(stated)),
            reads={public: self.domain},
            digests={public: self.sha256},
            module="glassine.desk.invented",
            said="Models of invented records",
        )
        done = await workers.run(job)
        if done.status != 0:
            raise RefusedActionError(done.message, field="classes")
        figures: dict[str, Any] = json.loads(done.out)
        return {"n_records": self.n_records, "columns": COLUMNS, **figures}
