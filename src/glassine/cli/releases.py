"""``glassine explain``: releases of surrogate trees asked, signed, verified and served; and black boxes."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from glassine.cli.naming import in_options, options_of
from glassine.cli.options import (
    BlackBoxOptions,
    JsonOption,
    OptionGroup,
    OverwriteOption,
    ReleaseArgument,
    argument,
    at_least,
    number_of,
    option,
    output_option,
    words_of,
)
from glassine.cli.steps import option_of
from glassine.cli.writing import check_outputs, print_value, say, tell
from glassine.errors import BlackBoxError, GlassineError, InvalidParameterError, UnreadableFileError, marked
from glassine.files import parse_json
from glassine.privacy.signing import make_keys

if TYPE_CHECKING:
    from glassine.domain.attributes import Scalar
    from glassine.server import ReleaseFile
    from glassine.surrogates import ContrastConstraints, Explanation

FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class ArrayBox:
    """A black box that takes arrays, asked with data frames: so its records keep the names of their columns."""

    def __init__(self, box: Any) -> None:
        # __wrapped__: the black box itself: a function of arrays, or an estimator.
        self.__wrapped__ = box

    def predict(self, records: Any) -> Any:
        """Return what the black box says of the records as an array, its columns in their order."""
        method = getattr(self.__wrapped__, "predict", None)
        ask = method if callable(method) else self.__wrapped__
        return ask(records.to_numpy())


class PandasBox(ArrayBox):
    """A black box that takes frames of pandas, asked with those of another library."""

    def predict(self, records: Any) -> Any:
        """Return what the black box says of the records as a frame of pandas."""
        method = getattr(self.__wrapped__, "predict", None)
        ask = method if callable(method) else self.__wrapped__
        return ask(records.to_pandas())


def black_box_of(text: str) -> Any:
    """Return the black box that an option names; a file wins over a module."""
    if not FUNCTION.fullmatch(text) or os.path.isfile(text):
        from glassine.surrogates import load_black_box

        return load_black_box(text)
    module, _, name = text.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        imported: Any = importlib.import_module(module)
    # A module that ends the process would end this one with its own exit code.
    except (Exception, SystemExit) as error:
        raise BlackBoxError(
            f"the module {module} of --black-box cannot be imported ({type(error).__name__}).",
            remedy="Run it alone to see.",
        ) from None
    try:
        for part in name.split("."):
            imported = getattr(imported, part)
    except AttributeError:
        raise GlassineError(
            f"--black-box: the module {module} has no {name}.", remedy="Name a function of it."
        ) from None
    return imported


@contextlib.contextmanager
def given_as(takes: str) -> Iterator[None]:
    """Say where a black box fails what it was given, which may not be what it takes."""
    try:
        yield
    except BlackBoxError as error:
        form = "a NumPy array" if takes == "array" else f"a {takes} data frame"
        advice = marked(error.remedy or "")
        error.advise(f"{advice} It was given {form}; --takes names another form.".strip())
        raise


def takes_of(text: str) -> str | None:
    """Return the library of the frames that a black box takes; None for arrays."""
    return None if text == "array" else text


KeyOption = Annotated[Path | None, option("FILE", "The publisher's public key, PEM: the file must be signed by it.")]
PrivateKeyOption = Annotated[Path, option("FILE", "The private key, PEM.")]


class ServiceOptions(OptionGroup, heading="The service"):
    """How a release is served."""

    host: str = option("ADDRESS", "Address to listen on.", "127.0.0.1")
    port: int = option("N", "Port; 0 takes a free one.", 8000)
    rate: float = option(
        "NUMBER", "Requests per second of one client in the long run; 0 for no limit.", 10.0, callback=at_least(0)
    )
    burst: int = option("N", "Requests that a client may make at once.", 40, callback=at_least(1))
    total_rate: float = option(
        "NUMBER", "Requests per second of all clients together; 0 for no limit.", 500.0, callback=at_least(0)
    )
    connections: int = option("N", "Connections that a client may have at a time.", 64, callback=at_least(1))
    host_name: list[str] | None = option(
        "NAME",
        "Name by which clients may call the service; repeat it for more. Loopback names always may.",
        shown_default="the address to listen on",
    )
    token_file: Path | None = option(
        "FILE", "Tokens, one a line: requests must have one (Authorization: Bearer), but for /health."
    )
    trusted_proxy: list[str] | None = option(
        "ADDRESS", "Address or network of a proxy whose X-Forwarded-For is believed; repeat it for more."
    )
    title: str = option("TEXT", "Title of the page.", "Decisions, explained")


class ConstraintOptions(OptionGroup, heading="Contrasts"):
    """What the contrasts of an explanation may change."""

    fixed: str | None = option("A,B", "Attributes that cannot change, separated by commas.")
    only_up: str | None = option("A,B", "Numbers that can only rise, such as an age.")
    only_down: str | None = option("A,B", "Numbers that can only fall.")
    costs: str | None = option("A=NUMBER,B=NUMBER", "What it costs to change attributes; 1 for others.")
    at_least: float | None = option("NUMBER", "Smallest answer to lead to, of numbers.")
    at_most: float | None = option("NUMBER", "Largest answer to lead to, of numbers.")


CONSTRAINED = ("fixed", "only_up", "only_down", "costs", "at_least", "at_most")
"""What options say of contrasts, by the parameters that errors name."""


def _constraints(options: ConstraintOptions) -> ContrastConstraints:
    """Return the constraints that options state; put a name with a comma in double quotes."""
    from glassine.surrogates import ContrastConstraints

    costs: dict[str, float] = {}
    for entry in words_of(options.costs, "--costs", "attributes") if options.costs is not None else ():
        name, _, number = entry.rpartition("=")
        try:
            cost = float(number)
        except ValueError:
            cost = math.nan
        if not name or name in costs or not 0 < cost < math.inf:
            raise InvalidParameterError(
                f"--costs must list each attribute once with a number above 0, such as income=2, got {entry!r}.",
                remedy="Attributes without a cost count as 1.",
            )
        costs[name] = cost
    texts = {name: getattr(options, name) for name in ("fixed", "only_up", "only_down")}
    listed = {name: words_of(text, option_of(name), "attributes") for name, text in texts.items() if text is not None}
    return ContrastConstraints(costs=costs, at_least=options.at_least, at_most=options.at_most, **listed)


def answer_command(
    release: ReleaseArgument,
    box: BlackBoxOptions,
    changes: ConstraintOptions,
    query: Annotated[str, option("JSON", "A record as a JSON object, to be explained.")],
    decision: Annotated[
        str | None, option("CLASS", "The decision on --query, or its number, where no black box is given.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain one decision from a release.

    With --black-box it names the nearest change that the black box confirms, and that --fixed, --only-up, --only-down
    and --costs allow. Of numbers it leads to one that is --at-least and --at-most so large. --json also has the changes
    that lead the small tree alone elsewhere.

    Exit status: 0 when it was explained, 2 if not.
    """
    from glassine.surrogates import BlackBox
    from glassine.surrogates.explaining import explain_checked
    from glassine.surrogates.query_input import Layout

    if (decision is None) == (box.black_box is None):
        raise GlassineError(
            "an explanation needs the decision, or the black box that makes it.",
            remedy="Give either --decision or --black-box.",
        )
    file = _read(release, None).release
    with in_options(options_of(*CONSTRAINED)):
        constraints = _constraints(changes)
        constraints.check(file.domain, numeric=file.answer is not None)
    try:
        record = file.query(parse_json(query, path="--query"))
    except UnreadableFileError as error:
        raise error.advise(f"""For example: --query '{{"{file.domain.names[0]}": VALUE, ...}}'.""") from None
    label: Scalar
    labels = {str(label): label for label in file.classes} | {json.dumps(label): label for label in file.classes}
    explanation: Explanation | None = None
    if box.black_box is not None:
        layout, asked = (
            Layout(names=file.domain.names, backend=takes_of(box.takes)),
            BlackBox(black_box_of(box.black_box)),
        )

        def ask(records: Sequence[Any]) -> list[Any]:
            return list(asked(layout.build(file.domain, records), len(records)).tolist())

        with given_as(box.takes):
            explanation = explain_checked(file, record, ask([record])[0], ask, constraints=constraints)
    elif file.answer is not None:
        problem = f"--decision must be a number of this release, got {decision or ''!r}."
        label = number_of(decision or "", problem, "State the number that the black box gave, such as 2.5.")
    elif decision in labels:
        label = labels[decision]
    else:
        raise InvalidParameterError(f"--decision must be one of {', '.join(map(str, file.classes))}, got {decision!r}.")
    if explanation is None:
        explanation = file.explain(record, label, constraints=constraints)
    text = str(explanation)
    if constraints and not explanation.contrasts and not explanation.candidates:
        met = constraints.seeks and constraints.sought(explanation.tree_decision)
        other = "another decision" if file.answer is None else "such a mean" if constraints.seeks else "another mean"
        text += "\nThe tree's mean is so already." if met else f"\nNo allowed change leads the tree to {other}."
    print_value(explanation.to_dict() if as_json else text, as_json)


def serve_command(
    release: ReleaseArgument, box: BlackBoxOptions, service: ServiceOptions, public_key: KeyOption = None
) -> None:
    """Serve a release over HTTP: decisions, explanations, and a page for the people they are about.

    Serving needs pip install 'glassine[server]'.

    Exit status: 0 when it was stopped, 2 if it could not start.
    """
    from glassine.report.wording import plural
    from glassine.server import Access, Limits, create_app, listen, read_tokens, run

    if not 0 <= service.port <= 65_535:
        raise InvalidParameterError(
            f"--port must lie in [0, 65535], got {service.port}.",
            remedy="Use a free port such as 8000; 0 takes any that is free.",
        )
    file = _read(release, public_key)
    decides = None if box.black_box is None else black_box_of(box.black_box)
    limits = Limits(
        rate=service.rate or math.inf,
        burst=service.burst,
        total_rate=service.total_rate or math.inf,
        connections=service.connections,
    )
    with in_options({"host_names": "--host-name", "trusted_proxies": "--trusted-proxy"}):
        access = Access(
            host_names=tuple([service.host] if service.host_name is None else service.host_name),
            tokens=() if service.token_file is None else read_tokens(service.token_file),
            trusted_proxies=tuple(service.trusted_proxy or ()),
        )
    app = create_app(
        file, black_box=decides, takes=takes_of(box.takes), limits=limits, access=access, title=service.title
    )
    listening = listen(service.host, service.port)
    address = f"[{service.host}]" if ":" in service.host else service.host
    signed = f"signed by {file.public_key}" if file.public_key else "not signed"
    tell(f"Serving {plural(file.release.n_groups, 'group')} of {release} ({signed}).")
    say(f"http://{address}:{listening.getsockname()[1]}/")
    run(app, listening, limits=limits, access=access)


def _read(release: Path, public_key: Path | None) -> ReleaseFile:
    from glassine.server import read_public_key, read_release

    return read_release(release, None if public_key is None else read_public_key(public_key))


def keys_command(
    private: Annotated[Path, argument("PRIVATE", "File of the private key to write, PEM.")],
    public: Annotated[Path, argument("PUBLIC", "File of the public key to write, PEM.")],
    as_json: JsonOption = False,
) -> None:
    """Make a pair of keys for signing releases and certificates. Keys need pip install 'glassine[server]'.

    Exit status: 0 when both were written, 2 if not.
    """
    # Whatever exists is refused where it is made: no option replaces a key.
    check_outputs([private, public], [], overwrite=True)
    key = make_keys(private, public)
    plain = {"private": str(private), "public": str(public), "public_key": key}
    print_value(plain if as_json else f"Private key: {private}\nPublic key: {public}\n{key}", as_json)


def sign_command(
    release: ReleaseArgument,
    key: PrivateKeyOption,
    output: Annotated[Path, output_option("Write the signed release, JSON.")],
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Sign a release, so that others can verify whose it is and that it is whole.

    Signing needs pip install 'glassine[server]'.

    Exit status: 0 when it was written, 2 if not.
    """
    from glassine.server import sign_release

    check_outputs([output], [key] if output == release else [release, key], overwrite=overwrite)
    public = sign_release(release, key, output)
    print_value({"file": str(output), "public_key": public} if as_json else f"Signed: {output}\n{public}", as_json)


def verify_command(release: ReleaseArgument, public_key: KeyOption = None, as_json: JsonOption = False) -> None:
    """Verify a release and its signature, and say what it reveals.

    Verifying a signature needs pip install 'glassine[server]'.

    Exit status: 0 when the release is whole and, with --public-key, signed by it; 2 if not.
    """
    from glassine.report.wording import plural
    from glassine.surrogates.release_statements import reveals

    file = _read(release, public_key)
    plain = {
        "file": str(release),
        "public_key": file.public_key,
        "n_groups": file.release.n_groups,
        "k": file.release.k,
        "form": file.release.provenance.form,
        "reveals": list(reveals(file.release)),
    }
    signed = f"signed by {file.public_key}" if file.public_key else "not signed"
    lines = [f"{plural(file.release.n_groups, 'group')}, {signed}.", *reveals(file.release)]
    print_value(plain if as_json else "\n".join(lines), as_json)
