"""The tables of the page on public datasets, from the stored runs."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from public_trees import DATA, FIRST
from study import Row, read, select

from glassine.surrogates import ExplanationGoal
from papers.common.tables import markdown

NAMES = {
    "adult": "Adult",
    "compas": "COMPAS",
    "german": "German",
    "telco": "Telco",
    "california": "California",
}


def _mean(rows: list[Row], name: str) -> float:
    return fmean(float(row[name] or 0) for row in rows)


def public(results: Path) -> str:
    """Return accuracy, fidelity and leaks on each dataset at k = 100: of the paper's form, and of ours."""
    stored, out = read(results / "public_trees.csv"), []
    for data in DATA:
        forms = [select(stored, data=data, form=form, k="100", way=FIRST) for form in ("paper", "restricted")]
        pairs = [
            ", ".join(f"{_mean(rows, name):.3f}" for rows in forms)
            for name in ("accuracy", "fidelity", "fidelity guided", "gap")
        ]
        out.append([NAMES[data], f"{_mean(forms[0], 'global tree'):.3f}", *pairs])
    return markdown(["data", "global tree", "accuracy", "fidelity", "guided", "gap attack"], out)


def useful(results: Path) -> str:
    """Return what explanations say by the paper's protocol, and with what is chosen for the default goal."""
    stored, out = read(results / "useful.csv"), []
    goal = ExplanationGoal()
    for data in DATA:
        for kind, said in (("none", "Protocol 2"), ("default", "chosen")):
            rows = select(stored, data=data, goal=kind)
            names = ("conditions", "proposed", "confirmed", "confirmed held out")
            # Where nothing is proposed, nothing is confirmed or refuted.
            shares = [f"{_mean([row for row in rows if row[name]], name):.2f}" for name in names]
            reached = [row for row in rows if row["reached"] == "True"]
            too = [
                row
                for row in reached
                if float(row["conditions held out"]) >= goal.conditions
                and float(row["confirmed held out"] or 0) >= goal.confirmed
            ]
            ends = ["", ""] if kind == "none" else [f"{len(reached)} of {len(rows)}", f"{len(too)} of {len(reached)}"]
            out.append([NAMES[data], said, *shares, *ends])
    head = ["condition", "change", "confirmed", "confirmed, held out", "reached", "held out, too"]
    return markdown(["data", "protocol", *head], out)


def tables(results: Path) -> dict[str, str]:
    """Return the tables by name."""
    return {"public": public(results), "useful": useful(results)}


__all__ = ["public", "tables", "useful"]
