"""Work of the published recursion: the possible records of each rule of a list, by equations 13 to 15."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from protocol import stopwatch
from warm import Done, Work

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.oracles.worlds import published_captures


def count(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the count of a random list; its literals are numbers of attributes from 1 on, negative if negated."""

    def work(seed: int) -> Done:
        lists = arrays["lists"]
        antecedents = [frozenset(map(int, row)) for row in lists[seed % len(lists)]]
        with stopwatch() as seconds:
            counted = published_captures(antecedents, settings["n_attributes"])
        return seconds, {"worlds": list(map(str, counted))}

    return work


WORKS = {"count": count}
