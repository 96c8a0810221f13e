"""The service: decisions and explanations over HTTP, from a release and a black box; no training record is near."""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from glassine import __version__
from glassine.domain import Attribute, Binary, Category, Integer
from glassine.errors import BlackBoxError, GlassineError, InvalidDataError, UnreadableFileError, installed
from glassine.files import parse_json
from glassine.report.page import environment, script_json
from glassine.server.access import Access
from glassine.server.contract import ServiceRequest, contract_of, read_asked
from glassine.server.request_limits import Gate, Limits, problem
from glassine.server.signed_releases import ReleaseFile
from glassine.surrogates.black_boxes import BlackBox
from glassine.surrogates.explaining import explain_checked
from glassine.surrogates.query_input import Layout
from glassine.surrogates.release_statements import fit_of, reveals
from glassine.surrogates.surrogate_release import SurrogateRelease

JSON = "application/json"

PROBLEM = "application/problem+json"

LARGEST = sys.float_info.max

PART = 65_536
"""Bytes of the released file that are sent at a time."""

REFUSED = {
    400: "The body is not JSON.",
    401: "The request has no token, and the service asks for one.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not said to be application/json.",
    421: "The host is named by another name than those that are allowed.",
    422: "The body is JSON, but not what the schema says.",
    429: "Too many requests; Retry-After says when to ask again.",
}


@dataclass(slots=True, kw_only=True)
class _Service:
    """A release with its black box."""

    release: SurrogateRelease
    layout: Layout
    black_box: BlackBox | None
    revealed: tuple[str, ...]
    lock: Lock = field(default_factory=Lock)

    def ask(self, records: Sequence[Any]) -> list[Any]:
        """Return the black box's decisions; one call at a time, for an estimator need not bear more."""
        if self.black_box is None:
            raise BlackBoxError("the service has no black box to ask.", remedy="Send the decision with the request.")
        built = self.layout.build(self.release.domain, records)
        with self.lock:
            answers = self.black_box(built, len(records))
        return [self._label(answer) for answer in answers.tolist()]

    def _label(self, answer: object) -> Any:
        for label in self.release.classes:
            if label == answer:
                return label
        return answer

    def explain(self, asked: ServiceRequest) -> dict[str, Any]:
        """Return an explanation as plain values."""
        how: Any = {"guided": asked.guided, "n_closest": asked.n_closest, "constraints": asked.constraints}
        if self.black_box is None:
            explanation = self.release.explain(asked.query, asked.decision, **how)
        else:
            decision = self.ask([asked.query])[0]
            explanation = explain_checked(self.release, asked.query, decision, self.ask, **how)
        return {**explanation.to_dict(), "reveals": [*self.revealed, *fit_of(explanation)]}


def create_app(
    file: ReleaseFile,
    *,
    black_box: object = None,
    takes: str | None = None,
    limits: Limits | None = None,
    access: Access | None = None,
    title: str = "Decisions, explained",
) -> Any:
    """Return the service as an ASGI application.

    It holds the release, the black box and the rates of its clients, and nothing else: killed and started again it
    answers as before. Requests are not stored.

    Parameters
    ----------
    file : ReleaseFile
        The release, from :func:`glassine.server.read_release`.
    black_box : callable or estimator, optional
        What decides. Without it a client names the decision that is to be explained, and ``/decision`` is absent. A
        black box that keeps records in itself (nearest neighbours, say) brings them into the process.
    takes : {None, "pandas", "polars"}, optional
        Data frame that the black box takes; an array by default.
    limits : Limits, optional
        How much one may ask.
    access : Access, optional
        Who may ask: by default a client that names the host as the loopback does.
    title : str, default="Decisions, explained"
        Title of the page.

    Returns
    -------
    FastAPI
        ``GET /`` is the page, ``POST /decision`` and ``POST /explanation`` answer, ``GET /release`` is the released
        file, ``GET /health`` says that the service runs, ``GET /openapi.json`` describes all of it.

    Raises
    ------
    GlassineError
        If the package fastapi is not installed.
    """
    fastapi = installed("fastapi", "serving needs", "server")
    release = file.release
    box = None if black_box is None else BlackBox(black_box)
    service = _Service(
        release=release,
        layout=Layout(names=release.domain.names, backend=takes),
        black_box=box,
        # It looks at every tree: once.
        revealed=reveals(release),
    )
    app = fastapi.FastAPI(
        title=title,
        version=__version__,
        description="Decisions of a black box, explained by the small trees of a published release.",
        docs_url=None,
        redoc_url=None,
    )
    app.openapi = lambda: _openapi(release, decides=box is not None, title=title)
    _add_routes(app, fastapi, service, file, title)
    app.add_exception_handler(importlib.import_module("starlette.exceptions").HTTPException, _http_problem)
    app.add_middleware(Gate, limits=limits or Limits(), access=access or Access())
    return app


async def _http_problem(request: Any, error: Any) -> Any:
    return _answer(error.status_code, str(error.detail), f"{request.method} is not answered here.", error.headers)


def _answer(status: int, title: str, detail: str, headers: object = None) -> Any:
    response = importlib.import_module("starlette.responses").Response
    return response(problem(status, title, detail), status, media_type=PROBLEM, headers=headers)


def _add_routes(app: Any, fastapi: Any, service: _Service, file: ReleaseFile, title: str) -> None:
    decides = service.black_box is not None
    page, policy = render_page(file.release, decides=decides, title=title)
    response, request = fastapi.Response, fastapi.Request
    streaming = importlib.import_module("starlette.responses").StreamingResponse

    def fixed(content: bytes, kind: str, **headers: str) -> Any:
        async def get() -> Any:
            return response(content, media_type=kind, headers=headers)

        return get

    named = {"content-disposition": 'attachment; filename="release.json"', "content-length": str(len(file.content))}

    async def released() -> Any:
        # In parts, so that a slow client does not make the process hold the whole.
        parts = (file.content[at : at + PART] for at in range(0, len(file.content), PART))
        return streaming(parts, media_type=JSON, headers=named)

    for path, handler in {
        "/": fixed(page.encode(), "text/html; charset=utf-8", **{"content-security-policy": policy}),
        "/release": released,
        "/health": fixed(b'{"status":"ok"}', JSON),
    }.items():
        app.add_api_route(path, handler, methods=["GET", "HEAD"])

    def posted(*, explained: bool) -> Any:
        async def post(asking: Any) -> Any:
            return await _posted(service, asking, response, explained=explained)

        # Annotations of this module are texts, which FastAPI would look up among the module's names.
        post.__annotations__ = {"asking": request}
        return post

    if decides:
        app.add_api_route("/decision", posted(explained=False), methods=["POST"], response_model=None)
    app.add_api_route("/explanation", posted(explained=True), methods=["POST"], response_model=None)


async def _posted(service: _Service, asking: Any, response: Any, *, explained: bool) -> Any:
    kind = asking.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        return _answer(415, "Unsupported media type", f"The body must be {JSON}.")
    decides = service.black_box is not None
    try:
        value = parse_json((await asking.body()).decode(), path="the request")
        asked = read_asked(value, service.release, explained=explained, decides=decides)
    except (UnreadableFileError, UnicodeDecodeError) as error:
        detail = "the request is not UTF-8 text." if isinstance(error, UnicodeDecodeError) else str(error)
        return _answer(400, "Not JSON", detail)
    except InvalidDataError as error:
        return _answer(422, "Not a valid request", str(error))
    loop = asyncio.get_running_loop()
    try:
        if not explained:
            answer = {"decision": (await loop.run_in_executor(None, service.ask, [asked.query]))[0]}
        elif decides:
            answer = await loop.run_in_executor(None, functools.partial(service.explain, asked))
        else:
            answer = service.explain(asked)
    except GlassineError:
        # What it says may quote what it knows, whatever kind of error it raises.
        return _answer(503, "No decision", "The black box did not decide on this record.")
    return response(json.dumps(_finite(answer), ensure_ascii=False, allow_nan=False).encode(), media_type=JSON)


def _finite(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose distances and costs are numbers of JSON: squares of large differences overflow."""
    if "distance" not in answer:
        return answer
    finite = {
        kind: [
            {name: min(part, LARGEST) if isinstance(part, float) else part for name, part in contrast.items()}
            for contrast in answer[kind]
        ]
        for kind in ("contrasts", "candidates")
    }
    return {**answer, "distance": min(answer["distance"], LARGEST), **finite}


def _openapi(release: SurrogateRelease, *, decides: bool, title: str) -> dict[str, Any]:
    """Return the description of the service, OpenAPI 3.1."""

    def of(name: str) -> dict[str, Any]:
        return {"$ref": f"#/components/schemas/{name}"}

    def answered(text: str, content: dict[str, Any]) -> dict[str, Any]:
        return {"description": text, "content": content}

    refused = {
        str(status): answered(text, {PROBLEM: {"schema": of("Problem")}})
        for status, text in (*REFUSED.items(), (503, "The black box did not decide."))
    }
    read = {
        "/": ("page", "The page for a subject.", {"text/html": {"schema": {"type": "string"}}}),
        "/release": ("release", "The released file, as published.", {JSON: {"schema": {"type": "object"}}}),
        "/health": ("health", "That the service runs.", {JSON: {"schema": {"type": "object"}}}),
        "/openapi.json": ("description", "This description.", {JSON: {"schema": {"type": "object"}}}),
    }
    paths: dict[str, Any] = {
        path: {
            "get": {
                "operationId": name,
                "summary": text,
                "responses": {"200": answered(text, content), "429": refused["429"]},
            }
        }
        for path, (name, text, content) in read.items()
    }
    asked = [("/explanation", "explanation", "Explanation", "The decision on a record, explained.")]
    if decides:
        asked.append(("/decision", "decision", "Decision", "The decision on a record."))
    for path, name, schema, text in asked:
        body = {"required": True, "content": {JSON: {"schema": of(f"{schema}Request")}}}
        responses = {"200": answered(text, {JSON: {"schema": of(schema)}}), **refused}
        paths[path] = {"post": {"operationId": name, "summary": text, "requestBody": body, "responses": responses}}
    schemas = contract_of(release, decides=decides)
    if not decides:
        del schemas["Decision"], schemas["DecisionRequest"]
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas},
    }


@functools.cache
def _loader() -> ChoiceLoader:
    return ChoiceLoader([PackageLoader("glassine.server"), PackageLoader("glassine.report")])


@functools.cache
def _environment() -> Environment:
    return environment().overlay(loader=_loader())


def render_page(release: SurrogateRelease, *, decides: bool, title: str) -> tuple[str, str]:
    """Return the page and the content security policy that it is to be sent with."""
    # The page talks to the service that it came from, and to no other.
    style, script = (Markup(_source(name)) for name in ("subject.css", "subject.js"))  # noqa: S704
    style = Markup(_source("report.css")) + style  # noqa: S704
    page = (
        _environment()
        .get_template("subject.html")
        .render(
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
    within = f"{attribute.lo:,.10g} to {attribute.hi:,.10g}"
    return {**common, "lo": _short(attribute.lo), "hi": _short(attribute.hi), "within": within, "step": step}


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
    # It is the first whose tree has a split, so that there is a path to show.
    group = next((g for g, tree in enumerate(release.trees) if len(tree.nodes) > 1), 0)
    return [_typed(release.domain[name], value) for name, value in release.representative(group).items()]


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
