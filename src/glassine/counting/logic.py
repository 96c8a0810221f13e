"""What the domain alone says about conjunctions of literals: which of them no record can satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from glassine.counting.space import Box, Space
from glassine.domain import Domain, Literal

# Atoms of a block are bits of 64-bit words, as the kernels read them.
WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LiteralLogic:
    """Public literals in blocks, with the possible truth values of each block.

    Literals of one block speak of one attribute, or of attributes that the domain's groups tie. Blocks are independent:
    a conjunction is possible if and only if its part in every block is. Each block has finitely many *atoms*, the sets
    of values that its literals cannot tell apart; a literal is the bit set of the atoms on which it holds.

    Attributes
    ----------
    literals : tuple of Literal
        The literals, sorted by block. Those that the domain makes always true or always false are left out.
    blocks : ndarray of int64, shape (p,)
        Block of each literal, increasing.
    starts : ndarray of int64, shape (b + 1,)
        First literal of each block, and p.
    masks : ndarray of uint64, shape (p, w)
        Atoms on which each literal holds.
    full : ndarray of uint64, shape (b, w)
        All atoms of each block.
    """

    literals: tuple[Literal, ...]
    blocks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    masks: npt.NDArray[np.uint64]
    full: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, domain: Domain, literals: Sequence[Literal], *, up_to_negation: bool) -> LiteralLogic:
        """Return the logic of some literals in a domain.

        Parameters
        ----------
        domain : Domain
            The public domain.
        literals : sequence of Literal
            The candidates.
        up_to_negation : bool
            Whether a literal is also dropped when the domain makes it the negation of an earlier one, as a split of a
            tree on the one is a split on the other. A literal equal to an earlier one is always dropped.

        Raises
        ------
        InvalidModelError
            If a literal names an attribute or a value that the domain does not have.
        """
        space = Space(domain, literals, domain_aware=True)
        full = [factor.possible for factor in space.factors]
        kept: list[tuple[int, int, int, Literal]] = []
        seen: set[tuple[int, int]] = set()
        for position, literal in enumerate(dict.fromkeys(literals)):
            block = space.factor_of(literal.attribute)
            mask = space.box([literal])[block] & full[block]
            if mask in (0, full[block]) or (block, mask) in seen:
                continue
            seen.add((block, mask))
            if up_to_negation:
                seen.add((block, full[block] & ~mask))
            kept.append((block, position, mask, literal))
        kept.sort(key=lambda entry: entry[:2])
        used = sorted({block for block, _, _, _ in kept})
        at = {block: i for i, block in enumerate(used)}
        blocks = np.array([at[block] for block, _, _, _ in kept], dtype=np.int64)
        width = max((-(-full[block].bit_length() // WORD) for block in used), default=1)
        return cls(
            literals=tuple(literal for _, _, _, literal in kept),
            blocks=blocks,
            starts=np.searchsorted(blocks, np.arange(len(used) + 1)).astype(np.int64),
            masks=_words([mask for _, _, mask, _ in kept], width),
            full=_words([full[block] for block in used], width),
        )

    def __repr__(self) -> str:
        return f"<LiteralLogic of {len(self.literals)} literals in {len(self.full)} blocks>"

    def is_possible(self, chosen: Sequence[int], signs: Sequence[bool]) -> bool:
        """Return whether some record of the domain satisfies a conjunction; literals of sign False are negated."""
        masks = self.full.copy()
        for literal, sign in zip(chosen, signs, strict=True):
            block = self.blocks[literal]
            masks[block] &= self.masks[literal] if sign else ~self.masks[literal]
        return bool(masks.any(axis=1).all())


def _words(masks: Sequence[int], width: int) -> npt.NDArray[np.uint64]:
    rows = [[(mask >> (WORD * w)) & (2**WORD - 1) for w in range(width)] for mask in masks]
    return np.array(rows, dtype=np.uint64).reshape(len(masks), width)


# What the domain alone says about rules: which of them can take nothing, or leave nothing, after others.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RuleLogic:
    """A public pool of rules, each a conjunction of literals.

    Rules of one literal come first and are sorted by block, as in :class:`~glassine.counting.logic.LiteralLogic`; for
    them the logic is exact. A rule of several literals has block -1 and is compared with one other rule at a time.

    Attributes
    ----------
    antecedents : tuple of tuple of Literal
        The p rules. Those that the domain makes always true, always false or equal to an earlier one are left out.
    blocks, starts, masks, full
        As in :class:`~glassine.counting.logic.LiteralLogic`; masks of rules of several literals are zero.
    covers : ndarray of bool, shape (p, p) or (0, 0)
        Whether after rule i rule j takes nothing or leaves nothing; empty when all rules have one literal.
    """

    antecedents: tuple[tuple[Literal, ...], ...]
    blocks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    masks: npt.NDArray[np.uint64]
    full: npt.NDArray[np.uint64]
    covers: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, domain: Domain, antecedents: Sequence[Sequence[Literal]]) -> RuleLogic:
        """Return the logic of a pool of rules in a domain.

        Raises
        ------
        InvalidModelError
            If a literal names an attribute or a value that the domain does not have.
        """
        rules = [tuple(antecedent) for antecedent in antecedents]
        single = LiteralLogic.of(domain, [rule[0] for rule in rules if len(rule) == 1], up_to_negation=False)
        space = Space(domain, [literal for rule in rules for literal in rule], domain_aware=True)
        alone = [(literal,) for literal in single.literals]
        boxes = [_box(space, rule) for rule in alone]
        seen = {_key(box) for box in boxes}
        wide: list[tuple[Literal, ...]] = []
        for rule in rules:
            box = _box(space, rule)
            if len(rule) < 2 or not box or 0 in box.values() or _key(box) in seen:
                continue
            seen.add(_key(box))
            wide.append(rule)
            boxes.append(box)
        pad = ((0, len(wide)), (0, 0))
        return cls(
            antecedents=(*alone, *wide),
            blocks=np.concatenate([single.blocks, np.full(len(wide), -1, dtype=np.int64)]),
            starts=single.starts,
            masks=np.pad(single.masks, pad),
            full=single.full,
            covers=_covers(space, boxes) if wide else np.zeros((0, 0), dtype=bool),
        )

    def __repr__(self) -> str:
        return f"<RuleLogic of {len(self.antecedents)} rules>"


def _possible(space: Space, factor: int) -> int:
    return space.factors[factor].possible


def _box(space: Space, rule: Sequence[Literal]) -> Box:
    """Return the factors that a rule constrains, with the possible atoms that it allows."""
    box = {factor: mask & _possible(space, factor) for factor, mask in space.box(rule).items()}
    return {factor: mask for factor, mask in box.items() if mask != _possible(space, factor)}


def _key(box: Box) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(box.items()))


def _covers(space: Space, boxes: Sequence[Box]) -> npt.NDArray[np.bool_]:
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
                        _possible(space, factors[0]) & ~boxes[i][factors[0]] & ~then[factors[0]]
                    )
                    out[i, j] = takes_nothing or leaves_nothing
    return out
