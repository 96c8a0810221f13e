"""Rollback journals of SQLite, written by hand (sqlite.org/fileformat2.html, section 3)."""

from __future__ import annotations

PAGE, SECTOR = 4096, 512


def journal_of(old: bytes, *, first: int = 1) -> bytes:
    """Return the rollback journal that takes a file back to its older pages, as SQLite would write it."""
    pages = {number + 1: old[start : start + PAGE] for number, start in enumerate(range(0, len(old), PAGE))}
    order = sorted(pages, key=lambda number: (number != first, number))
    nonce = 12345
    magic = bytes.fromhex("d9d505f920a163d7")
    numbers = (len(pages), nonce, len(pages), SECTOR, PAGE)
    out = (magic + b"".join(number.to_bytes(4) for number in numbers)).ljust(SECTOR, b"\0")
    for number in order:
        check = (nonce + sum(pages[number][place] for place in range(PAGE - 200, 0, -200))) % 2**32
        out += number.to_bytes(4) + pages[number] + check.to_bytes(4)
    return out
