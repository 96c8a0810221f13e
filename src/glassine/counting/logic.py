"""What the domain alone says about conjunctions of literals: which of them no record can satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.counting.space import Space
from glassine.domain import Domain, Literal

__all__ = ["LiteralLogic"]

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
