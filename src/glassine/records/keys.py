"""Keys of coded records: codes of several attributes share one 64-bit number, mixed-radix.

Few whole numbers are grouped much faster than many columns, and each distinct record takes few bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from glassine.domain.attributes import Attribute, Category, Integer, Real
from glassine.records.arrays import AnyArray, Array, Ints
from glassine.records.cells import Reader
from glassine.records.columns import ConformedColumns, columns_of
from glassine.records.cuts import Cuts, cell_ends

LARGEST_KEY = 2**62
"""The codes that share a key have numbers of values whose product is at most this."""

ROOM = 2
"""Codes begin at -2, that of a category which is kept apart because it is not declared."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Keys:
    """How coded attributes share keys, mixed-radix, and which numbers are keys of their own.

    Attributes
    ----------
    attributes : mapping of str to Attribute
        What distinguishes records.
    ends : mapping of str to ndarray of float64, shape (k,)
        The largest number of each cell, of the numbers that are known by their cell.
    words : tuple of tuple of (str, int)
        For each key its attributes, and how many codes each can have.
    loose : tuple of str
        The numbers that are keys of their own.
    """

    attributes: Mapping[str, Attribute]
    ends: Mapping[str, Array]
    words: tuple[tuple[tuple[str, int], ...], ...]
    loose: tuple[str, ...]

    @classmethod
    def of(cls, attributes: Mapping[str, Attribute], cuts: Cuts) -> Keys:
        """Return the keys of some attributes, numbers that have cuts known by their cell."""
        ends: dict[str, Array] = {}
        loose: list[str] = []
        words: list[list[tuple[str, int]]] = []
        product = LARGEST_KEY
        for name, attribute in attributes.items():
            if isinstance(attribute, Integer | Real):
                if name not in cuts:
                    loose.append(name)
                    continue
                ends[name] = cell_ends(attribute, cuts[name])
                n_codes = len(ends[name]) + ROOM
            else:
                n_codes = (len(attribute.values) if isinstance(attribute, Category) else 2) + ROOM
            if product * n_codes > LARGEST_KEY:
                words.append([])
                product = 1
            words[-1].append((name, n_codes))
            product *= n_codes
        return cls(attributes=dict(attributes), ends=ends, words=tuple(map(tuple, words)), loose=tuple(loose))

    @property
    def names(self) -> list[str]:
        """The columns by which records are grouped."""
        return [f"w{i}" for i in range(len(self.words))] + [f"x{i}" for i in range(len(self.loose))]

    def pack(self, columns: ConformedColumns) -> dict[str, AnyArray]:
        """Return the keys of records, shape (n,) each."""
        out: dict[str, AnyArray] = {}
        for i, word in enumerate(self.words):
            key = np.zeros(columns.n_records, dtype=np.int64)
            stride = 1
            for name, n_codes in word:
                key += (self._codes(columns, name) + ROOM) * stride
                stride *= n_codes
            out[f"w{i}"] = key
        return out | {f"x{i}": columns.numbers[name] for i, name in enumerate(self.loose)}

    def _codes(self, columns: ConformedColumns, name: str) -> Ints:
        if name not in self.ends:
            return columns.codes[name].astype(np.int64)
        numbers = columns.numbers[name]
        cells = np.searchsorted(self.ends[name][:-1], numbers, side="left").astype(np.int64)
        cells[np.isnan(numbers)] = -1
        return cells

    def unpack(self, grouped: pl.DataFrame) -> ConformedColumns:
        """Return the columns that keys stand for."""
        arrays: dict[str, AnyArray] = {name: grouped[f"x{i}"].to_numpy() for i, name in enumerate(self.loose)}
        for i, word in enumerate(self.words):
            rest = grouped[f"w{i}"].to_numpy().astype(np.int64)
            for name, n_codes in word:
                code = rest % n_codes - ROOM
                rest //= n_codes
                # The entry after the last is that of code -1, a missing number.
                if name in self.ends:
                    arrays[name] = np.append(self.ends[name], np.nan)[code]
                else:
                    arrays[name] = code.astype(Reader(self.attributes[name]).dtype)
        return columns_of(self.attributes, {name: arrays[name] for name in self.attributes})
