"""What noise costs, before anything is spent: private models of records that are invented within public bounds."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassine.desk.workers import Job, Workers
from glassine.errors import RefusedActionError

DIAL = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Epsilons that are simulated."""
RULES = 3
"""Rules that classes are invented by, one for each set of records."""
TESTED = 2000
"""Invented records that no model is trained on."""
FOLLOWED = 0.8
"""Share of the records whose class follows the rule; the others have any class, each as often."""
COLUMNS = 3
"""Most columns that a rule uses."""
LONGEST = 20
"""Seconds that the fit of a tree or a list may take, by an estimate."""
DOMAIN = "invented.json"
RECORDS = tuple(f"invented-{number}.csv" for number in range(RULES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What is simulated: all of it is public, or stated to be."""

    domain: Path
    sha256: str  # Of the domain
    kind: str  # Of the model, as glassine compare names it
    target: str  # The column to predict
    classes: Sequence[str]  # None where the domain declares them
    n_records: int  # How many records a model is trained on

    async def run(self, workers: Workers, place: Path) -> dict[str, Any]:
        """Return accuracies on invented records by epsilon, from the lowest of the rules to the highest.

        Parameters
        ----------
        workers : Workers
            What runs the fits.
        place : path
            A folder for the invented records, which are deleted.

        Raises
        ------
        RefusedActionError
            If no records can be invented of the domain, or no model was made of them.
        """
        public = f"domain{os.path.splitext(self.domain.name)[1]}"
        inventing = Job(
            words=(public, self.target, str(self.n_records), *self.classes),
            reads={public: self.domain},
            digests={public: self.sha256},
            writes=(DOMAIN, *RECORDS),
            module="glassine.desk.invented",
            said="Inventing records",
        )
        invented = await workers.run(inventing)
        if invented.status != 0:
            raise RefusedActionError(invented.message, field="classes")
        comparisons: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory(prefix="invented-", dir=place) as folder:
            for name in (DOMAIN, *RECORDS):
                Path(folder, name).write_bytes(invented.files[name])
            for number, name in enumerate(RECORDS, 1):
                said = f"Models of invented records, {number} of {RULES}"
                reads = {one: Path(folder, one) for one in (DOMAIN, name)}
                done = await workers.run(Job(words=self._words(name), reads=reads, said=said))
                if done.status != 0:
                    raise RefusedActionError(done.message)
                comparisons.append(json.loads(done.out))
        n_classes = len(comparisons[0]["classes"])
        return {
            "n_records": self.n_records,
            "rules": RULES,
            "columns": COLUMNS,
            "best": FOLLOWED + (1 - FOLLOWED) / n_classes,
            "guess": 1 / n_classes,
            "rows": [_row(epsilon, comparisons) for epsilon in DIAL],
        }

    def _words(self, name: str) -> tuple[str, ...]:
        """Return the command that measures the models of one file of invented records."""
        return (
            *("compare", f"./{name}", f"--target={self.target}", "--domain", DOMAIN, "--models", self.kind),
            *("--epsilon", ",".join(map(str, DIAL)), "--splits", "1", "--time-limit", str(LONGEST)),
            *("--test-share", f"{TESTED / (self.n_records + TESTED):.9f}", "--json"),
        )


def _row(epsilon: float, comparisons: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the lowest and the highest accuracy at an epsilon, or why there is none."""
    rows = [row for one in comparisons for row in one["rows"] if row["epsilon"] == epsilon]
    values = [row["accuracy"]["value"] for row in rows if row["status"] == "measured"]
    if len(values) < len(comparisons):
        return {"epsilon": epsilon, "refusal": next(row["reason"] for row in rows if row["status"] != "measured")}
    return {"epsilon": epsilon, "low": min(values), "high": max(values), "refusal": ""}
