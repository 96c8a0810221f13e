"""The commands by name, and what becomes of their errors."""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
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
from glassine.cli.ledger import budget_command, charge_command, show_command
from glassine.cli.options import JsonOption
from glassine.cli.progress import stages
from glassine.cli.reconstruct import reconstruct_command
from glassine.cli.serve import check_command as check_release_command
from glassine.cli.serve import keys_command, serve_command, sign_command
from glassine.cli.writing import print_value
from glassine.errors import GlassineError

__all__ = ["main"]

app = typer.Typer(
    name="glassine",
    help="The privacy of interpretable models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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
        typer.echo(f"glassine {__version__}")
        raise typer.Exit


def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path("glassine-demo"),
    as_json: JsonOption = False,
) -> None:
    """Train a tree and a rule list on scikit-learn's breast-cancer records, audit both, write reports."""
    from glassine.demo import run_demo

    with stages() as progress:
        result = run_demo(output, progress=progress)
    print_value(result.to_dict() if as_json else result.to_text(), as_json)


app.command("audit", short_help="Audit a published model or release.")(audit_command)
app.command("attack", short_help="Tell training records from others.")(attack_command)
app.command("disclose", short_help="Tell what a tree discloses of people.")(disclose_command)
app.command("reconstruct", short_help="Rebuild training records from a model.")(reconstruct_command)
app.command("scrub", short_help="Write a copy that tells less.")(scrub_command)
app.command("fit", short_help="Learn a private model.")(fit_command)
app.command("compare", short_help="Compare private and ordinary learners.")(compare_command)
app.command("export", short_help="Write a model in another format.")(export_command)
app.command("edit", short_help="Edit an additive model.")(edit_command)
domain_app.command("infer")(infer_command)
domain_app.command("check")(check_command)
app.add_typer(domain_app, name="domain")
ledger_app.command("show")(show_command)
ledger_app.command("budget")(budget_command)
ledger_app.command("charge")(charge_command)
app.add_typer(ledger_app, name="ledger")
app.command("explain", short_help="Explain a black box by small trees.")(explain_command)
app.command("serve", short_help="Serve explanations over HTTP.")(serve_command)
release_app.command("keys")(keys_command)
release_app.command("sign")(sign_command)
release_app.command("check")(check_release_command)
app.add_typer(release_app, name="release")
app.command("demo", short_help="Audit two example models.")(demo_command)


def main() -> None:
    """Run the command line; known errors become one line on standard error and exit status 2."""
    warnings.showwarning = _show_warning
    # The parser would end an interrupted run with 1, which means "outside policy".
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    try:
        app()
    except GlassineError as error:
        typer.echo(f"glassine: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(2)
    except Exception:
        # Status 1 means "outside policy": a defect of our own must not look like a verdict.
        traceback.print_exc()
        typer.echo("glassine: internal error, please report it with the lines above.", err=True)
        sys.exit(2)


def _show_warning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
    typer.echo(f"glassine: warning: {message}", err=True)
