"""The page on which a subject asks for a decision and its explanation."""

from __future__ import annotations

import base64
import functools
import hashlib
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from glassine import __version__
from glassine.domain import Attribute, Binary, Category, Integer
from glassine.report.page import script_json
from glassine.surrogates.release import SurrogateRelease
from glassine.surrogates.statements import reveals


@functools.cache
def _loader() -> ChoiceLoader:
    return ChoiceLoader([PackageLoader("glassine.server"), PackageLoader("glassine.report")])


@functools.cache
def _environment() -> Environment:
    return Environment(
        loader=_loader(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_page(release: SurrogateRelease, *, decides: bool, title: str) -> tuple[str, str]:
    """Return the page and the content security policy that it is to be sent with.

    The page talks to the service that it came from, and to no other.
    """
    environment = _environment()
    style, script = (Markup(_source(name)) for name in ("subject.css", "subject.js"))  # noqa: S704
    style = Markup(_source("report.css")) + style  # noqa: S704
    page = environment.get_template("subject.html").render(
        title=title,
        version=__version__,
        style=style,
        script=script,
        fields=[_field(release, name) for name in release.domain],
        grouped=release.provenance.partition != "public",
        decides=decides,
        answer=release.answer,
        classes=[_text(label) for label in release.classes],
        n_closest=min(release.n_closest, release.n_groups),
        n_groups=release.n_groups,
        reveals=reveals(release),
        data=script_json(
            {
                "decides": decides,
                "classes": list(release.classes),
                "tolerance": None if release.answer is None else release.answer.tolerance,
                "fields": [_choices(release.domain[name]) for name in release.domain],
                "names": list(release.domain),
                "example": _example(release),
                "unit": release.provenance.counted,
                "labels": release.provenance.labels,
            }
        ),
    )
    policy = (
        f"default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    return page, policy


def _source(name: str) -> str:
    """Return a file of the templates as it stands; it holds no placeholders."""
    return _loader().get_source(_environment(), name)[0]


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _field(release: SurrogateRelease, name: str) -> dict[str, Any]:
    """Return how one attribute is asked for."""
    attribute = release.domain[name]
    common = {"name": name, "missing": attribute.missing, "values": None, "lo": None, "hi": None, "step": None}
    common["ordered"] = not isinstance(attribute, Category)
    if isinstance(attribute, Category | Binary):
        return {**common, "values": [_text(value) for value in _listed(attribute)]}
    step = 1 if isinstance(attribute, Integer) else "any"
    return {**common, "lo": _short(attribute.lo), "hi": _short(attribute.hi), "step": step}


def _text(value: object) -> str:
    """Return a listed value as the script shows it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _short(bound: float) -> str:
    """Return a bound without an idle fraction."""
    return str(int(bound)) if bound == int(bound) and abs(bound) < 1e15 else repr(bound)


def _listed(attribute: Category | Binary) -> tuple[Any, ...]:
    return attribute.values if isinstance(attribute, Category) else (0, 1)


def _choices(attribute: Attribute) -> list[Any] | None:
    return list(_listed(attribute)) if isinstance(attribute, Category | Binary) else None


def _example(release: SurrogateRelease) -> list[str]:
    """Return what to type for a worked example: a published representative, as far as the fields take its values."""
    return [_typed(release.domain[name], value) for name, value in release.representative(0).items()]


def _typed(attribute: Attribute, value: Any) -> str:
    """Return what the field of an attribute holds for a value."""
    if isinstance(attribute, Category | Binary):
        # A representative is a mean, also of a binary attribute.
        listed = round(value) if isinstance(attribute, Binary) and value is not None else value
        return "missing" if value is None else str(_listed(attribute).index(listed))
    if value is None:
        return ""
    # A representative is a mean: those of whole numbers need not be whole, and others have many digits.
    rounded = float(round(value) if isinstance(attribute, Integer) else f"{value:.6g}")
    return _short(min(max(rounded, attribute.lo), attribute.hi))
