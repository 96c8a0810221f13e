"""What a set of literals leaves of the domain, by its logic alone: kernels that read no record and no count."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from glassine.compiling import compiled
from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.records.arrays import AnyArray

__all__: list[str] = []


class Atoms(NamedTuple):
    """The conditions as sets of atoms of their block of dependent attributes; conditions are sorted by block.

    ``blocks`` (p,) is the block of each condition, ``starts`` (blocks + 1,) the first condition of each block,
    ``masks`` (p, w) the atoms of each condition as bits, ``full`` (blocks, w) all atoms of each block.
    """

    blocks: AnyArray
    starts: AnyArray
    masks: AnyArray
    full: AnyArray

    @classmethod
    def of(cls, logic: LiteralLogic | RuleLogic) -> Atoms:
        """Return the atoms of a logic, for the kernels."""
        return cls(logic.blocks, logic.starts, logic.masks, logic.full)


@compiled
def admissible(
    chosen: AnyArray, signs: int, atoms: Atoms, mask: AnyArray, out: AnyArray
) -> bool:  # pragma: no cover - compiled
    """Mark the literals that cut a node into two parts, neither empty by the domain's logic."""
    # Returns whether the node itself is possible.
    # chosen: (m,), increasing; mask: room of shape (w,); out: (p,). Literals are sorted by block, so that one pass
    # forms what the node leaves of each block. Literals of other blocks are possible with any of these: they stay.
    # Rules of several literals have the block -1, and are passed over.
    blocks, starts, masks, full = atoms
    out[:] = True
    m, width = len(chosen), masks.shape[1]
    i = 0
    while i < m:
        block = blocks[chosen[i]]
        if block < 0:
            i += 1
            continue
        # Word by word: Numba takes seconds to compile an assignment of one array to another, with all it may raise.
        for w in range(width):
            mask[w] = full[block, w]
        while i < m and blocks[chosen[i]] == block:
            for w in range(width):
                mask[w] &= masks[chosen[i], w] if signs >> i & 1 else ~masks[chosen[i], w]
            i += 1
        some = np.uint64(0)
        for w in range(width):
            some |= mask[w]
        if some == 0:
            return False
        for literal in range(starts[block], starts[block + 1]):
            true = np.uint64(0)
            false = np.uint64(0)
            for w in range(width):
                true |= mask[w] & masks[literal, w]
                false |= mask[w] & ~masks[literal, w]
            out[literal] = true != 0 and false != 0
    return True


@compiled
def possible_signs(
    chosen: AnyArray, atoms: Atoms, regions: AnyArray, possible: AnyArray
) -> int:  # pragma: no cover - compiled
    """Mark the signs under which a set of literals leaves something of every block of dependent attributes."""
    # Returns the number of patterns of the first block; what each leaves of it stands in regions.
    # regions: (2^k, w), room; possible: (2^k,). Literals are sorted by block, and blocks are taken from the last to the
    # first, so that the regions of the first one are those that stay.
    blocks, _, masks, full = atoms
    width, end, own = masks.shape[1], len(chosen), 1
    possible[:] = True
    while end > 0:
        block, begin = blocks[chosen[end - 1]], end - 1
        while begin > 0 and blocks[chosen[begin - 1]] == block:
            begin -= 1
        # Word by word: Numba takes seconds to compile an assignment of one array to another, with all it may raise.
        for w in range(width):
            regions[0, w] = full[block, w]
        own = 1
        for i in range(begin, end):
            for q in range(own):
                for w in range(width):
                    regions[q + own, w] = regions[q, w] & masks[chosen[i], w]
                    regions[q, w] &= ~masks[chosen[i], w]
            own *= 2
        for q in range(own):
            some = np.uint64(0)
            for w in range(width):
                some |= regions[q, w]
            if some == 0:
                # All patterns with these bits of the block.
                for high in range(q << begin, len(possible), own << begin):
                    for s in range(high, high + (1 << begin)):
                        possible[s] = False
        end = begin
    return own


@compiled
def n_splits(
    chosen: AnyArray, signs: int, atoms: Atoms, mask: AnyArray, allowed: AnyArray
) -> int:  # pragma: no cover - compiled
    """Return the number of literals that cut a node into two parts, or less than twice -p where it is impossible."""
    if not admissible(chosen, signs, atoms, mask, allowed):
        return -4 * len(allowed)
    out = 0
    for literal in range(len(allowed)):
        out += allowed[literal]
    return out
