"""The commands by name, and what becomes of their errors."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from glassine import __version__
from glassine.cli.attack import attack_command
from glassine.cli.audit import audit_command, scrub_command
from glassine.cli.compare import compare_command
from glassine.cli.disclose import disclose_command
from glassine.cli.domains import check_command, infer_command
from glassine.cli.edit import edit_command
from glassine.cli.explain import explain_command
from glassine.cli.export import export_command
from glassine.cli.fit import fit_command
from glassine.cli.ledger import budget_command, charge_command, show_command, verify_command
from glassine.cli.options import JsonOption
from glassine.cli.progress import stages
from glassine.cli.reconstruct import reconstruct_command
from glassine.cli.serve import check_command as check_release_command
from glassine.cli.serve import keys_command, serve_command, sign_command
from glassine.cli.usage import ParserError, refusal
from glassine.cli.writing import drop_output, print_value, refuse_dash, say, tell
from glassine.errors import GlassineError

__all__ = ["main"]

STATUS = "Exit status: "
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="glassine",
    help="The privacy of interpretable models: what a published tree, rule list or additive model tells of the people "
    "it was learnt from, and models that provably do not tell. Begin with glassine demo, or with glassine domain "
    "infer RECORDS and glassine audit MODEL.",
    epilog=f"{STATUS}0 done, or within policy; 1 outside policy, or over a limit; 2 bad input or not done; "
    "3 inconclusive; 130 interrupted. Each command's --help has its own.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=SETTINGS,
)
domain_app = typer.Typer(
    help="Write and check domains: what is publicly known about the attributes.",
    short_help="Write and check domains.",
    no_args_is_help=True,
)
release_app = typer.Typer(help="Sign and check releases of surrogate trees.", no_args_is_help=True)
ledger_app = typer.Typer(help="Keep the privacy budgets of data sets.", no_args_is_help=True)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        say(f"glassine {__version__}")
        raise typer.Exit


def demo_command(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Write models, domain and reports into it.")
    ] = Path("glassine-demo"),
    as_json: JsonOption = False,
) -> None:
    """Train a tree and a rule list on scikit-learn's breast-cancer records, audit both, write reports.

    Exit status: 0 when all was written, 2 if not.
    """
    from glassine.cli.demo import run_demo

    refuse_dash(output)
    with stages() as progress:
        result = run_demo(output, progress=progress)
    print_value(result.to_dict() if as_json else result.to_text(), as_json)


def _add(to: typer.Typer, name: str, command: Callable[..., None], short: str, needs: str = "") -> None:
    """Add a command; what its docstring says of the exit status stands at the end of its help."""
    text, found, status = (inspect.getdoc(command) or "").partition(f"\n\n{STATUS}")
    text = f"{text}\n\n{needs}".rstrip()
    ending = " ".join(f"{STATUS}{status}".split()) if found else None
    to.command(name, help=text, short_help=short, epilog=ending, context_settings=SETTINGS)(command)


_add(app, "audit", audit_command, "Audit a published model or release.")
_add(app, "attack", attack_command, "Tell training records from others.")
_add(app, "disclose", disclose_command, "Tell what a tree discloses of people.")
_add(
    app,
    "reconstruct",
    reconstruct_command,
    "Rebuild training records from a model.",
    "Rows of forests need pip install 'glassine[solver]'.",
)
_add(app, "scrub", scrub_command, "Write a copy that tells less.")
_add(app, "fit", fit_command, "Learn a private model.")
_add(app, "compare", compare_command, "Compare private and ordinary learners.")
_add(app, "export", export_command, "Write a model in another format.")
_add(app, "edit", edit_command, "Edit an additive model.")
_add(app, "explain", explain_command, "Explain a black box by small trees.")
_add(app, "serve", serve_command, "Serve explanations over HTTP.")
_add(app, "demo", demo_command, "Audit two example models.")
_add(domain_app, "infer", infer_command, "Draft a domain from records.")
_add(domain_app, "check", check_command, "Check a domain, and records against it.")
_add(ledger_app, "show", show_command, "Show budgets and charges.")
_add(ledger_app, "budget", budget_command, "Set the total budget of a data set.")
_add(ledger_app, "charge", charge_command, "Charge a release of other software.")
_add(ledger_app, "verify", verify_command, "Check a ledger, and certificates against it.")
_add(release_app, "keys", keys_command, "Make a pair of keys.")
_add(release_app, "sign", sign_command, "Sign a release.")
_add(release_app, "check", check_release_command, "Check a release and its signature.")
app.add_typer(domain_app, name="domain")
app.add_typer(ledger_app, name="ledger")
app.add_typer(release_app, name="release")
GROUPS = [["domain"], ["ledger"], ["release"]]


def main() -> None:
    """Run the command line; known errors become one line on standard error and exit status 2."""
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGINT, _interrupt)
    sys.exit(_run(sys.argv[1:]))


def _run(given: list[str]) -> int:
    """Run a command and return its exit status."""
    command = typer.main.get_command(app)
    # Run by hand: the parser's own way ends with 1 on a closed pipe, which means "outside policy".
    try:
        with command.make_context("glassine", list(given)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        # A group of commands without one has done nothing, though some versions of the parser end well.
        return int(ended.exit_code) or (2 if given == [] or given in GROUPS else 0)
    except ParserError as error:
        return _refuse(error, given)
    except GlassineError as error:
        tell(f"glassine: {error}")
    except BrokenPipeError:
        drop_output()
        return 0 if not given or not {"-h", "--help"}.isdisjoint(given) else 2
    except OSError as error:
        drop_output()
        named = "" if error.filename is None else f"{error.filename}: "
        tell(f"glassine: cannot go on: {named}{error.strerror or error}.")
    except Exception:
        # Status 1 means "outside policy": a defect of our own must not look like a verdict.
        tell(f"{traceback.format_exc()}glassine: internal error, please report it with the lines above.")
    else:
        return 0
    return 2


def _refuse(error: Exception, given: list[str]) -> int:
    """Tell what the parser refuses; a group of commands without one is answered by its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        tell(str(getattr(error, "message", "")))
    else:
        tell(f"glassine: {refusal(error, given)}")
    return 2


def _interrupt(*_: Any) -> None:
    # The stream may be in use where the signal arrives: its file is not.
    with contextlib.suppress(OSError):
        os.write(2, b"glassine: interrupted.\n")
    sys.exit(130)


def _show_warning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
    tell(f"glassine: warning: {message}")
