"""The guarantee that a publisher claims, in files that have a field or a comment for it: one spelling for all."""

from __future__ import annotations

import json
from dataclasses import replace

from glassine.codec import decoded
from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError
from glassine.files import parse_json
from glassine.formats.json import GUARANTEE
from glassine.formats.registry import PublishedModel
from glassine.models.guarantee import Guarantee

KEY = "glassine.guarantee"
"""Name of the field, and start of the comment."""
COMMENT = f"# {KEY} "


def claim_of(guarantee: Guarantee) -> str:
    """Return a guarantee as JSON of ASCII characters on one line, which closes no comment and declares no encoding."""
    text = json.dumps(GUARANTEE.encode(guarantee), ensure_ascii=True, allow_nan=False)
    # Python takes "coding: NAME" in a first comment for the encoding of the file, by which a comment may become code.
    return text.replace("/", "\\u002f").replace("coding", "\\u0063oding")


def without_counts(guarantee: Guarantee | None) -> Guarantee | None:
    """Return a guarantee of a model whose counts are left out."""
    return None if guarantee is None else replace(guarantee, count_scale=None)


def guarantee_of(claim: str) -> Guarantee:
    """Return the guarantee of a claim, which holds what the same key of Glassine's JSON does."""
    try:
        plain = parse_json(claim, path=KEY)
    except UnreadableFileError as error:
        raise InvalidModelError(str(error)) from None
    return decoded(GUARANTEE, plain, KEY, InvalidModelError)


def is_claim(claim: str) -> bool:
    """Return whether a text is a claim in the spelling of this module, and holds nothing else."""
    try:
        return claim_of(guarantee_of(claim)) == claim
    except GlassineError:
        return False


def commented(model: PublishedModel, opening: str = "# ", closing: str = "") -> str:
    """Return the line of a comment that states a model's guarantee, empty where it claims none."""
    return "" if model.guarantee is None else f"{opening}{KEY} {claim_of(model.guarantee)}{closing}\n"


def opening_claim(text: str) -> Guarantee | None:
    """Return the guarantee that the first line of a text states in a comment."""
    line = text.partition("\n")[0]
    return guarantee_of(line.removeprefix(COMMENT).rstrip()) if line.startswith(COMMENT) else None


def is_opening_claim(number: int, line: str) -> bool:
    """Return whether a line of a text, by its number from 0, is such a comment and holds nothing else."""
    return number == 0 and line.startswith(COMMENT) and is_claim(line.removeprefix(COMMENT))
