"""The commands by name, and what becomes of their errors."""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from glassine import __version__
from glassine.cli.audit import audit_command
from glassine.cli.certificate import registry_command, sign_certificate_command, tie_command, verify_certificate_command
from glassine.cli.compare import compare_command
from glassine.cli.domains import check_command, infer_command, new_command
from glassine.cli.edit import edit_command
from glassine.cli.evidence import evidence_command
from glassine.cli.explain import make_command
from glassine.cli.export import export_command
from glassine.cli.fit import (
    fit_additive_command,
    fit_greedy_command,
    fit_rule_list_command,
    fit_scorecard_command,
    fit_tree_command,
)
from glassine.cli.interrupts import install
from glassine.cli.ledger import budget_command, charge_command, show_command
from glassine.cli.ledger import verify_command as verify_ledger_command
from glassine.cli.options import GroupedCommand, JsonOption, OverwriteOption, command
from glassine.cli.progress import stages
from glassine.cli.rebuild import rebuild_command
from glassine.cli.releases import answer_command, keys_command, serve_command, sign_command, verify_command
from glassine.cli.scrub import scrub_command
from glassine.cli.summarize import summarize_command
from glassine.cli.usage import ParserError, refusal
from glassine.cli.writing import check_outputs, drop_output, print_value, refuse_dash, say, tell
from glassine.errors import GlassineError

__all__ = ["main"]

STATUS = "Exit status: "
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class OrderedGroup(TyperGroup):
    """The commands in the order in which they are listed here, whether they have one word or two."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in order."""
        return sorted(self.commands, key=list(dict.fromkeys(name.split()[0] for name, *_ in COMMANDS)).index)


app = typer.Typer(
    name="glassine",
    cls=OrderedGroup,
    help="The privacy of interpretable models: what a published tree, rule list or additive model reveals about its "
    "training data, and how to train one that reveals less. Begin with glassine demo, or with glassine domain infer "
    "RECORDS and glassine audit MODEL.",
    epilog=f"{STATUS}0 done, or within policy; 1 outside policy, or over a limit; 2 bad input or not done; "
    "3 inconclusive; 130 interrupted; 143 terminated. Each command's --help has its own.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=SETTINGS,
)


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
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a tree and a rule list on scikit-learn's breast-cancer records, audit both, write reports.

    Exit status: 0 when all was written, 2 if not.
    """
    from glassine.cli.demo import FILES, run_demo

    refuse_dash(output)
    if output.is_dir():
        check_outputs([output / name for name in FILES], [], overwrite=overwrite)
    with stages() as progress:
        result = run_demo(output, progress=progress)
    print_value(result.to_dict() if as_json else result.to_text(), as_json)


COMMANDS: tuple[tuple[str, str, Callable[..., None]], ...] = (
    ("audit", "Audit a published model or release against a policy.", audit_command),
    ("scrub", "Write a copy of a model that reveals less.", scrub_command),
    ("edit", "Edit an additive model.", edit_command),
    ("fit tree", "Train a private decision tree.", fit_tree_command),
    ("fit rule-list", "Train a private rule list.", fit_rule_list_command),
    ("fit greedy-rule-list", "Train a private rule list rule by rule.", fit_greedy_command),
    ("fit additive", "Train a private additive model, of classes or numbers.", fit_additive_command),
    ("fit scorecard", "Train a private scorecard: few items worth points.", fit_scorecard_command),
    ("summarize", "Release one private summary, from which models follow.", summarize_command),
    ("compare", "Compare private and ordinary models on the same records.", compare_command),
    ("rebuild", "Rebuild training records from the counts of models.", rebuild_command),
    ("export", "Write a model in another format.", export_command),
    ("domain infer", "Draft a domain from records.", infer_command),
    ("domain new", "Write a domain from a code book, or a form from a model.", new_command),
    ("domain check", "Check a domain, and records against it.", check_command),
    ("ledger show", "Show budgets and charges.", show_command),
    ("ledger budget", "Set the total budget of a data set.", budget_command),
    ("ledger charge", "Charge a release of other software.", charge_command),
    ("ledger verify", "Check a ledger, and certificates against it.", verify_ledger_command),
    ("evidence", "Answer what authorities and checkers ask.", evidence_command),
    ("certificate verify", "Verify that a certificate is of a model and its file.", verify_certificate_command),
    ("certificate keys", "Make a pair of keys for signing.", keys_command),
    ("certificate sign", "Sign a certificate.", sign_certificate_command),
    ("certificate tie", "Tie a model to its records, for their holder alone.", tie_command),
    ("certificate registry", "Draft a record for the registry of deployments.", registry_command),
    ("explain make", "Make a release of small trees that explain a black box.", make_command),
    ("explain answer", "Explain one decision from a release.", answer_command),
    ("explain keys", "Make a pair of keys for signing.", keys_command),
    ("explain sign", "Sign a release.", sign_command),
    ("explain verify", "Verify a release and its signature.", verify_command),
    ("explain serve", "Serve explanations over HTTP.", serve_command),
    ("demo", "Audit two example models.", demo_command),
)
"""Every command with a line on it, in the order of the help."""

GROUPS = {
    "fit": "Train a differentially private model, and write it with its certificate.",
    "domain": "Draft and check domains: what is publicly known about the attributes.",
    "ledger": "Keep the privacy budgets of data sets.",
    "certificate": "Verify and sign certificates of private models, and tie models to their records.",
    "explain": "Explain a black box by small trees: make, sign, verify and serve releases.",
}
"""What the commands of two words have in common."""


def _add(to: typer.Typer, name: str, function: Callable[..., None], short: str) -> None:
    """Add a command; what its docstring says of the exit status stands at the end of its help."""
    text, _, status = (inspect.getdoc(function) or "").partition(f"\n\n{STATUS}")
    ending = " ".join(f"{STATUS}{status}".split()) if status else None
    to.command(name, cls=GroupedCommand, help=text, short_help=short, epilog=ending, context_settings=SETTINGS)(
        command(function)
    )


groups = {name: typer.Typer(help=text, no_args_is_help=True) for name, text in GROUPS.items()}
for words, line, function in COMMANDS:
    first, _, second = words.partition(" ")
    _add(groups[first] if second else app, second or first, function, line)
for name, group in groups.items():
    app.add_typer(group, name=name)


def main() -> None:
    """Run the command line; known errors become one line on standard error and exit status 2."""
    warnings.showwarning = _show_warning
    install()
    sys.exit(_run(sys.argv[1:]))


@cache
def _parser() -> Any:
    """Return the parser of all commands, which is built once: it takes longer than many commands."""
    return typer.main.get_command(app)


def _run(given: list[str]) -> int:
    """Run a command and return its exit status."""
    command = _parser()
    # Run by hand: the parser's own way ends with 1 on a closed pipe, which means "outside policy".
    try:
        with command.make_context("glassine", list(given)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        # A group of commands without one has done nothing, though some versions of the parser end well.
        return int(ended.exit_code) or (2 if given == [] or (len(given) == 1 and given[0] in GROUPS) else 0)
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


def _show_warning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
    tell(f"glassine: warning: {message}")
