"""``glassine serve`` and ``glassine release``: a service for a release, and signatures of releases."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassine.cli.black_box import black_box_of, takes_of
from glassine.cli.options import BlackBoxOption, JsonOption, ReleaseArgument, TakesOption, at_least
from glassine.cli.writing import check_outputs, print_value, say, tell
from glassine.errors import InvalidParameterError

if TYPE_CHECKING:
    from glassine.server import ReleaseFile

__all__ = ["check_command", "keys_command", "serve_command", "sign_command"]

KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--public-key", metavar="FILE", help="The publisher's public key, PEM: it must have signed the release."
    ),
]


def serve_command(
    release: ReleaseArgument,
    black_box: BlackBoxOption = None,
    takes: TakesOption = "polars",
    public_key: KeyOption = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="Port; 0 takes a free one.")] = 8000,
    rate: Annotated[
        float,
        typer.Option(
            "--rate",
            metavar="NUMBER",
            help="Requests a second of one client in the long run; 0 for no limit.",
            callback=at_least("--rate", 0),
        ),
    ] = 10.0,
    burst: Annotated[
        int,
        typer.Option(
            "--burst",
            metavar="N",
            help="Requests that a client may make at once.",
            callback=at_least("--burst", 1),
        ),
    ] = 40,
    total_rate: Annotated[
        float,
        typer.Option(
            "--total-rate",
            metavar="NUMBER",
            help="Requests a second of all clients together; 0 for no limit.",
            callback=at_least("--total-rate", 0),
        ),
    ] = 500.0,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Title of the page.")] = "Decisions, explained",
) -> None:
    """Serve a release over HTTP: decisions, explanations, and a page for the people they are about.

    Serving needs pip install 'glassine[server]'.

    Exit status: 0 when it was stopped, 2 if it could not start.
    """
    from glassine.report.wording import plural
    from glassine.server import Limits, create_app, listen, run

    if not 0 <= port <= 65_535:
        raise InvalidParameterError(f"--port must lie in [0, 65535], got {port}.")
    frame = takes_of(takes)
    file = _read(release, public_key)
    box = None if black_box is None else black_box_of(black_box)
    limits = Limits(rate=rate or math.inf, burst=burst, total_rate=total_rate or math.inf)
    app = create_app(file, black_box=box, takes=frame, limits=limits, title=title)
    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    signed = f"signed by {file.public_key}" if file.public_key else "not signed"
    tell(f"Serving {plural(file.release.n_groups, 'group')} of {release} ({signed}).")
    say(f"http://{shown}:{listening.getsockname()[1]}/")
    run(app, listening)


def _read(release: Path, public_key: Path | None) -> ReleaseFile:
    from glassine.server import read_public_key, read_release

    return read_release(release, None if public_key is None else read_public_key(public_key))


def keys_command(
    private: Annotated[Path, typer.Argument(metavar="PRIVATE", help="File of the private key to write, PEM.")],
    public: Annotated[Path, typer.Argument(metavar="PUBLIC", help="File of the public key to write, PEM.")],
    as_json: JsonOption = False,
) -> None:
    """Make a pair of keys for signing releases. Keys need pip install 'glassine[server]'.

    Exit status: 0 when both were written, 2 if not.
    """
    from glassine.server import make_keys

    check_outputs([private, public], [])
    key = make_keys(private, public)
    told = {"private": str(private), "public": str(public), "public_key": key}
    print_value(told if as_json else f"Private key: {private}\nPublic key: {public}\n{key}", as_json)


def sign_command(
    release: ReleaseArgument,
    key: Annotated[Path, typer.Option("--key", metavar="FILE", help="The private key, PEM.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the signed release, JSON.")],
    as_json: JsonOption = False,
) -> None:
    """Sign a release, so that a reader can tell whose it is and that it is whole.

    Signing needs pip install 'glassine[server]'.

    Exit status: 0 when it was written, 2 if not.
    """
    from glassine.server import sign_release

    check_outputs([output], [key] if output == release else [release, key])
    public = sign_release(release, key, output)
    print_value({"file": str(output), "public_key": public} if as_json else f"Signed: {output}\n{public}", as_json)


def check_command(
    release: ReleaseArgument,
    public_key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a release and its signature, and tell what it reveals.

    Checking a signature needs pip install 'glassine[server]'.

    Exit status: 0 when the release is whole and, with --public-key, signed by it; 2 if not.
    """
    from glassine.report.wording import plural
    from glassine.surrogates.statements import reveals

    file = _read(release, public_key)
    told = {
        "file": str(release),
        "public_key": file.public_key,
        "n_groups": file.release.n_groups,
        "k": file.release.k,
        "form": file.release.provenance.form,
        "reveals": list(reveals(file.release)),
    }
    signed = f"signed by {file.public_key}" if file.public_key else "not signed"
    lines = [f"{plural(file.release.n_groups, 'group')}, {signed}.", *reveals(file.release)]
    print_value(told if as_json else "\n".join(lines), as_json)
