"""The nearest records so far: a heap whose top is the farthest of them, ties by the record's number."""

from __future__ import annotations

from typing import Any

from glassine.counting.compiling import compiled

__all__ = ["push", "replace_top"]


@compiled
def push(distances: Any, numbers: Any, places: Any, size: int, distance: float, number: int, place: int) -> None:
    """Add a record to a heap that holds ``size`` of them."""
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if distances[parent] > distance or (distances[parent] == distance and numbers[parent] > number):
            break
        distances[at], numbers[at], places[at] = distances[parent], numbers[parent], places[parent]
        at = parent
    distances[at], numbers[at], places[at] = distance, number, place


@compiled
def replace_top(distances: Any, numbers: Any, places: Any, size: int, distance: float, number: int, place: int) -> None:
    """Put a record in the place of the farthest one."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            distances[other] > distances[child]
            or (distances[other] == distances[child] and numbers[other] > numbers[child])
        ):
            child = other
        if distance > distances[child] or (distance == distances[child] and number > numbers[child]):
            break
        distances[at], numbers[at], places[at] = distances[child], numbers[child], places[child]
        at = child
    distances[at], numbers[at], places[at] = distance, number, place
