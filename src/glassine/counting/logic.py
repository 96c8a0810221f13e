"""What the domain alone says about conjunctions of literals: which of them no record can satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.space import Box, Space
from glassine.domain import Domain, Literal
from glassine.records.arrays import Bools, Ints

# Atoms of a block are bits of 64-bit words, as the kernels read them.
WORD = 64
FEW_WORDS = 4
"""Words of atoms up to which those of all pairs are looked at together."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LiteralLogic:
    """Public literals in blocks, with the possible truth values of each block.

    Literals of one block speak of one attribute, or of attributes that the domain's groups tie. Blocks are independent:
    a conjunction is possible if and only if its part in every block is. Each block has finitely many *atoms*, the sets
    of values that its literals cannot distinguish; a literal is the bit set of the atoms on which it holds.

    What is possible is judged by complete records, in which no value is missing: so no conjunction holds for missing
    values alone. Only of an attribute with a literal that tests nothing else, such as "age is missing", a missing value
    is a value like others.
    """

    # The literals, sorted by block. Those that are true or false for all complete records are left out.
    literals: tuple[Literal, ...]
    blocks: Ints  # Block of each literal, increasing; shape (p,)
    starts: Ints  # First literal of each block, and p; shape (b + 1,)
    masks: npt.NDArray[np.uint64]  # Atoms on which each literal holds; shape (p, w)
    full: npt.NDArray[np.uint64]  # The atoms of complete records of each block; shape (b, w)

    @classmethod
    def of(cls, domain: Domain, literals: Sequence[Literal], *, up_to_negation: bool) -> LiteralLogic:
        """Return the logic of some literals in a domain."""
        space = Space(domain, literals, domain_aware=True)
        return cls._of(space, complete_atoms(space, literals), literals, up_to_negation=up_to_negation)

    @classmethod
    def _of(
        cls, space: Space, full: Sequence[int], literals: Sequence[Literal], *, up_to_negation: bool
    ) -> LiteralLogic:
        kept: list[tuple[int, int, int, Literal]] = []
        seen: set[tuple[int, int]] = set()
        for position, literal in enumerate(dict.fromkeys(literals)):
            block = space.factor_of[literal.attribute]
            # Literals that differ on missing values alone are different.
            possible = space.factors[block].possible
            mask = space.box([literal])[block] & possible
            if mask & full[block] in (0, full[block]) or (block, mask) in seen:
                continue
            seen.add((block, mask))
            if up_to_negation:
                seen.add((block, possible & ~mask))
            kept.append((block, position, mask, literal))
        kept.sort(key=lambda entry: entry[:2])
        used = sorted({block for block, _, _, _ in kept})
        at = {block: i for i, block in enumerate(used)}
        blocks = np.array([at[block] for block, _, _, _ in kept], dtype=np.int64)
        width = max((-(-space.factors[block].possible.bit_length() // WORD) for block in used), default=1)
        return cls(
            literals=tuple(literal for _, _, _, literal in kept),
            blocks=blocks,
            starts=np.searchsorted(blocks, np.arange(len(used) + 1)).astype(np.int64),
            masks=_words([mask for _, _, mask, _ in kept], width),
            full=_words([full[block] for block in used], width),
        )

    def __repr__(self) -> str:
        return f"<LiteralLogic of {len(self.literals)} literals in {len(self.full)} blocks>"


def complete_atoms(space: Space, literals: Sequence[Literal]) -> list[int]:
    """Return the atoms of complete records of each factor, as bit masks."""
    # A missing value is a value like others where a literal distinguishes it alone, such as "age is missing".
    full = [factor.present for factor in space.factors]
    for literal in literals:
        # Attributes that are tied to others are never missing.
        factor = space.factor_of[literal.attribute]
        present, possible = space.factors[factor].present, space.factors[factor].possible
        mask = space.box([literal])[factor]
        if mask & present in (0, present) and mask & possible not in (0, possible):
            full[factor] = possible
    return full


def _words(masks: Sequence[int], width: int) -> npt.NDArray[np.uint64]:
    data = b"".join(mask.to_bytes(width * WORD // 8, "little") for mask in masks)
    return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(len(masks), width)


def shared_atoms(atoms_in: npt.NDArray[Any], possible: npt.NDArray[Any], low: int, high: int) -> npt.NDArray[np.int64]:
    """Return how many atoms literals ``low`` to ``high`` of a block share with each from ``low + 1`` on.

    Shapes: ``atoms_in`` (p, w), the atoms of each; ``possible`` (w,); the result (high - low, p - low - 1).
    """
    if atoms_in.shape[1] <= FEW_WORDS:
        together = atoms_in[low:high, None] & atoms_in[None, low + 1 :]
        return np.asarray(np.bitwise_count(together).sum(axis=2, dtype=np.int64))
    later, shared = atoms_in[low + 1 :], np.empty((high - low, len(atoms_in) - low - 1), dtype=np.int64)
    sizes = np.bitwise_count(later).sum(axis=1, dtype=np.int64)
    for row, own in enumerate(atoms_in[low:high]):
        # Of a literal that holds on few atoms, or on nearly all, few words decide: those where it holds, or where it
        # does not.
        rest = possible & ~own
        inside = np.count_nonzero(own) <= np.count_nonzero(rest)
        part = own if inside else rest
        at = np.flatnonzero(part)
        counted = np.bitwise_count(later[:, at] & part[at]).sum(axis=1, dtype=np.int64)
        shared[row] = counted if inside else sizes - counted
    return shared


# What the domain alone says about rules: which of them can take nothing, or leave nothing, after others.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RuleLogic:
    """A public pool of rules, each a conjunction of literals.

    Rules of one literal come first and are sorted by block, as in :class:`~glassine.counting.logic.LiteralLogic`; for
    them the logic is exact. A rule of several literals has block -1 and is compared with one other rule at a time.
    """

    # The p rules. Those that are always true or always false for complete records, or equal to an earlier one, are left
    # out.
    antecedents: tuple[tuple[Literal, ...], ...]
    # blocks, starts, masks, full: as in :class:`~glassine.counting.logic.LiteralLogic`; masks of rules of several
    # literals are zero.
    blocks: Ints
    starts: Ints
    masks: npt.NDArray[np.uint64]
    full: npt.NDArray[np.uint64]
    # Whether after rule i rule j takes nothing or leaves nothing; empty when all rules have one literal; shape (p, p)
    # or (0, 0).
    covers: Bools

    @classmethod
    def of(cls, domain: Domain, antecedents: Sequence[Sequence[Literal]]) -> RuleLogic:
        """Return the logic of a pool of rules in a domain."""
        rules = [tuple(antecedent) for antecedent in antecedents]
        literals = [literal for rule in rules for literal in rule]
        space = Space(domain, literals, domain_aware=True)
        full = complete_atoms(space, literals)
        possible = [factor.possible for factor in space.factors]
        ones = [rule[0] for rule in rules if len(rule) == 1]
        single = LiteralLogic._of(space, full, ones, up_to_negation=False)
        alone = [(literal,) for literal in single.literals]
        seen = {_key(constrained(space.box(rule), possible)) for rule in alone}
        wide: list[tuple[Literal, ...]] = []
        for rule in rules:
            box = constrained(space.box(rule), possible)
            taken = constrained(box, full)
            if len(rule) < 2 or not taken or 0 in taken.values() or _key(box) in seen:
                continue
            seen.add(_key(box))
            wide.append(rule)
        boxes = [constrained(space.box(rule), full) for rule in (*alone, *wide)]
        pad = ((0, len(wide)), (0, 0))
        return cls(
            antecedents=(*alone, *wide),
            blocks=np.concatenate([single.blocks, np.full(len(wide), -1, dtype=np.int64)]),
            starts=single.starts,
            masks=np.pad(single.masks, pad),
            full=single.full,
            covers=_covers(full, boxes) if wide else np.zeros((0, 0), dtype=bool),
        )

    def __repr__(self) -> str:
        return f"<RuleLogic of {len(self.antecedents)} rules>"


def constrained(box: Box, full: Sequence[int]) -> Box:
    """Return the factors of which a box takes a part, or nothing, of some atoms, with what it takes of these."""
    taken = {factor: mask & full[factor] for factor, mask in box.items()}
    return {factor: mask for factor, mask in taken.items() if mask != full[factor]}


def _key(box: Box) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(box.items()))


def _covers(full: Sequence[int], boxes: Sequence[Box]) -> Bools:
    """Return whether after rule i rule j takes nothing, or leaves nothing."""
    out = np.zeros((len(boxes), len(boxes)), dtype=bool)
    by_factors: dict[tuple[int, ...], list[int]] = {}
    for i, box in enumerate(boxes):
        by_factors.setdefault(tuple(sorted(box)), []).append(i)
    for j, then in enumerate(boxes):
        factors = sorted(then)
        # Only a rule on some of the same factors can hold all that this one takes.
        for size in range(1, len(factors) + 1):
            for subset in combinations(factors, size):
                for i in by_factors.get(subset, ()):
                    takes_nothing = all(not then[factor] & ~mask for factor, mask in boxes[i].items())
                    leaves_nothing = len(factors) == 1 and not (
                        full[factors[0]] & ~boxes[i][factors[0]] & ~then[factors[0]]
                    )
                    out[i, j] = takes_nothing or leaves_nothing
    return out
