"""The commands by name, and what becomes of their errors."""

from __future__ import annotations

import gc
import inspect
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from glassine import __version__
from glassine.cli.deferring import deferred
from glassine.cli.grouped_commands import GroupedCommand, command, without_validators
from glassine.cli.naming import DRAFTING, nearest
from glassine.cli.process import STANDING, Interrupted, conclude
from glassine.cli.progress import announce_compilation
from glassine.cli.writing import drop_output, say, tell
from glassine.errors import PYTHON, GlassineError
from glassine.files import recorded

ParserError: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""Base class of what the parser raises; the versions of typer keep it in different modules."""

RULES = (
    (r"'(?P<value>.*)' is not one of (?P<rule>.*?)\.?", "one of {rule}"),
    (r".*not a valid (?:integer|int).*|.*valid integer.*", "a whole number"),
    (r".*not a valid float.*|.*valid number.*", "a number"),
    (r".*not a valid boolean.*|.*valid boolean.*", "true or false"),
)
"""What the parser says of a value, and the rule in our words."""


def refusal(error: Any, words: Sequence[str]) -> str:
    """Return one line for what the parser refuses."""
    context = getattr(error, "ctx", None)
    path = "glassine" if context is None else context.command_path
    kind, said = type(error).__name__, path.removeprefix("glassine ")
    if kind == "NoSuchOption":
        sentence = _option(error.option_name, context, said)
    elif kind == "MissingParameter":
        name = _called(error.param)
        sentence = f"{said} needs {name}{_choices(error)}.{f' {DRAFTING}' if name == '--domain' else ''}"
    elif kind == "BadParameter" and error.param is not None:
        sentence = _value(error, words)
    else:
        sentence = _other(error.format_message(), context, path)
    return f"{sentence} See {path} --help."


def _option(option: str, context: Any, path: str) -> str:
    options = [name for param in context.command.params for name in (*param.opts, *param.secondary_opts)]
    return f"{path} has no option {option}.{nearest(option, [name for name in options if name.startswith('--')])}"


def _called(param: Any) -> str:
    """Return the name of an option, or the word that stands for an argument."""
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name).strip("[]{}")


def _choices(error: Any) -> str:
    words = re.findall(r"[\w-]+", error.format_message().partition("Choose from:")[2])
    return f", one of {', '.join(words)}" if words else ""


def _value(error: Any, typed: Sequence[str]) -> str:
    name, message = _called(error.param), str(error.message).removeprefix("Value error, ")
    value = _word_of(error.param, typed)
    for pattern, rule in RULES:
        match = re.fullmatch(pattern, message, flags=re.DOTALL)
        if match is None:
            continue
        parts = match.groupdict()
        words = re.findall(r"'([^']*)'", parts.get("rule") or "")
        value = parts.get("value", value)
        got = "" if value is None else f", got {value!r}"
        comma = re.fullmatch(r"-?\d+,\d+", value or "") and rule == "a number"
        hint = f" Write {value.replace(',', '.')}." if value and comma else nearest(value or "", words)
        return f"{name} must be {rule.format(rule=', '.join(words))}{got}.{hint}"
    return f"{name}: {message.rstrip('.')}."


def _word_of(param: Any, typed: Sequence[str]) -> str | None:
    """Return the word that was passed for an option, if it can be identified."""
    for option in param.opts if param.param_type_name == "option" else ():
        for word, following in zip(typed, [*typed[1:], None], strict=True):
            if word == option:
                return following
            if word.startswith(f"{option}="):
                return word[len(option) + 1 :]
    return None


def _other(message: str, context: Any, path: str) -> str:
    said = path.removeprefix("glassine ")
    if match := re.match(r"No such command '(.*?)'\.", message):
        return (
            f"there is no command {path} {match[1]}.{nearest(match[1], list(getattr(context.command, 'commands', ())))}"
        )
    if match := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message, flags=re.DOTALL):
        options = {name for param in context.command.params for name in param.opts}
        model = " A model goes to --model." if "--model" in options else ""
        return f"{said} takes no further argument, got {match[1]!r}.{model}"
    if match := re.match(r"Option '(.*)' requires an argument", message):
        return f"{match[1]} needs a value."
    if match := re.match(r"Option '(.*)' does not take a value", message):
        return f"{match[1]} takes no value."
    if message.startswith("Missing command"):
        return f"{said} needs a command."
    return message if message.endswith((".", "?")) else f"{message}."


STATUS = "Exit status: "
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class QuickGroup(TyperGroup):
    """Commands that share a word, whose options are read without validators."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, that of the help among them."""
        return without_validators(super().get_params(ctx))


class OrderedGroup(QuickGroup):
    """The commands in the order in which they are listed here, whether they have one word or two."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in order."""
        return sorted(self.commands, key=list(dict.fromkeys(name.split()[0] for name, *_ in COMMANDS)).index)


COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("audit", "Audit a published model or release against a policy.", "audit.audit_command"),
    ("scrub", "Write a copy of a model that reveals less.", "scrub.scrub_command"),
    ("edit", "Edit an additive model.", "edit.edit_command"),
    ("fit tree", "Train a private decision tree.", "fit.fit_tree_command"),
    ("fit rule-list", "Train a private rule list.", "fit.fit_rule_list_command"),
    ("fit greedy-rule-list", "Train a private rule list rule by rule.", "fit.fit_greedy_command"),
    ("fit additive", "Train a private additive model, of classes or numbers.", "fit.fit_additive_command"),
    ("fit scorecard", "Train a private scorecard: few items worth points.", "fit.fit_scorecard_command"),
    ("summarize", "Release one private summary, from which models follow.", "summarize.summarize_command"),
    ("sample", "Draw rows from a private summary.", "sample.sample_command"),
    ("merge", "Merge private additive models of several sites.", "merge.merge_command"),
    ("compare", "Compare private and ordinary models on the same records.", "compare.compare_command"),
    ("rebuild", "Rebuild training records from the counts of models.", "rebuild.rebuild_command"),
    ("export", "Write a model in another format.", "export.export_command"),
    ("domain infer", "Draft a domain from records.", "domains.infer_command"),
    ("domain new", "Write a domain from a code book, or a form from a model.", "domains.new_command"),
    ("domain check", "Check a domain, and records against it.", "domains.check_command"),
    ("ledger show", "Show budgets and charges.", "ledger.show_command"),
    ("ledger budget", "Set the total budget of a dataset.", "ledger.budget_command"),
    ("ledger charge", "Charge a release of other software.", "ledger.charge_command"),
    ("ledger verify", "Check a ledger, and certificates against it.", "ledger.verify_command"),
    ("evidence", "Answer what authorities and checkers ask.", "certificate.evidence_command"),
    (
        "certificate verify",
        "Verify that a certificate is of a model and its file.",
        "certificate.verify_certificate_command",
    ),
    ("certificate keys", "Make a pair of keys for signing.", "releases.keys_command"),
    ("certificate sign", "Sign a certificate.", "certificate.sign_certificate_command"),
    ("certificate tie", "Tie a model to its records, for their holder alone.", "certificate.tie_command"),
    ("certificate registry", "Draft a record for the registry of deployments.", "certificate.registry_command"),
    ("explain make", "Make a release of small trees that explain a black box.", "explain.make_command"),
    ("explain answer", "Explain one decision from a release.", "releases.answer_command"),
    ("explain keys", "Make a pair of keys for signing.", "releases.keys_command"),
    ("explain sign", "Sign a release.", "releases.sign_command"),
    ("explain verify", "Verify a release and its signature.", "releases.verify_command"),
    ("explain serve", "Serve explanations over HTTP.", "releases.serve_command"),
    ("desk", "Check, ask, vote, sign and release in a browser.", "desk.desk_command"),
    ("demo", "Audit two example models.", "demo.demo_command"),
)
"""Every command with a line on it and its function in this room, in the order of the help."""

GROUPS = {
    "fit": "Train a private model, and write it with its certificate.",
    "domain": "Draft and check domains: public knowledge of attributes.",
    "ledger": "Keep the privacy budgets of datasets.",
    "certificate": "Verify and sign certificates, and tie models to records.",
    "explain": "Explain a black box by small trees, and serve them.",
}
"""What the commands of two words have in common."""


def application(loaded: Collection[str] | None = None) -> typer.Typer:
    """Return the parser of the command line, with the options of some commands, or of all."""
    # loaded: the commands whose options are read. The others have their name and their line in the help alone, as the
    # module of each takes time to import.
    app = typer.Typer(
        name="glassine",
        cls=OrderedGroup,
        help="The privacy of interpretable models: what a published tree, rule list or additive model reveals about "
        "its training data, and how to train one that reveals less. Begin with glassine demo, or with glassine domain "
        "infer RECORDS and glassine audit MODEL.",
        epilog=f"{STATUS}0 done, or within policy; 1 outside policy, or over a limit; 2 bad input or not done; "
        "3 inconclusive; 130 interrupted; 143 terminated. Each command's --help has its own.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings=SETTINGS,
    )
    app.callback(invoke_without_command=True)(_root)
    groups = {name: typer.Typer(cls=QuickGroup, help=text, no_args_is_help=True) for name, text in GROUPS.items()}
    for words, short, place in COMMANDS:
        first, _, second = words.partition(" ")
        to, name = (groups[first], second) if second else (app, first)
        if loaded is None or words in loaded:
            _add(to, name, place, short)
        else:
            to.command(name, short_help=short)(_not_loaded)
    for name, group in groups.items():
        app.add_typer(group, name=name)
    return app


def _not_loaded() -> None:
    raise RuntimeError("a command that was not loaded cannot run")


def _add(to: typer.Typer, name: str, place: str, short: str) -> None:
    """Add a command; what its docstring says of the exit status stands at the end of its help."""
    module, _, attribute = place.partition(".")
    function: Callable[..., None] = getattr(import_module(f"glassine.cli.{module}"), attribute)
    text, _, status = (inspect.getdoc(function) or "").partition(f"\n\n{STATUS}")
    ending = " ".join(f"{STATUS}{status}".split()) if status else None
    to.command(name, cls=GroupedCommand, help=text, short_help=short, epilog=ending, context_settings=SETTINGS)(
        command(function)
    )


def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        say(f"glassine {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; known errors become one line on standard error and exit status 2."""
    warnings.showwarning = _show_warning
    # What is imported lives to the end: looking for garbage in it takes a tenth of a small fit.
    gc.set_threshold(200_000, 50, 100)
    announce_compilation()
    # Modules that read tables, models or rules import narwhals and polars; an audit of a model file alone uses neither.
    # A library that OpenDP uses imports asyncio.
    with deferred("asyncio", "narwhals", "polars"), recorded() as written:
        try:
            status = _run(sys.argv[1:])
            conclude()
        except Interrupted:
            _list(written())
            raise
        if status is None:
            _list(written())
            status = 2
    # Nor is there a need to look for it in the end, which frees everything.
    gc.disable()
    sys.exit(status)


@cache
def _parser(loaded: frozenset[str]) -> Any:
    """Return the parser of some commands, which is built once: it takes longer than many commands."""
    return typer.main.get_command(application(loaded))


def _list(written: Sequence[Path]) -> None:
    """Say what stands of a command that ended early: what is charged, and the files that are written whole."""
    if written:
        STANDING.append(f"already written: {', '.join(map(str, written))}.")
    for sentence in STANDING:
        tell(f"glassine: {sentence}")


def _run(arguments: list[str]) -> int | None:
    """Run a command and return its exit status, None if it ended early by an error, which was said."""
    # Neither --version nor --help, which may stand before a command, has a value.
    words = [word for word in arguments if not word.startswith("-")]
    command = _parser(frozenset({" ".join(words[:1]), " ".join(words[:2])}))
    # Run by hand: the parser's own way ends with 1 on a closed pipe, which means "outside policy".
    try:
        with command.make_context("glassine", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        # A group of commands without one has done nothing, though some versions of the parser end well.
        return int(ended.exit_code) or (2 if arguments == [] or (len(arguments) == 1 and arguments[0] in GROUPS) else 0)
    except ParserError as error:
        _refuse(error, arguments)
    except GlassineError as error:
        tell(f"glassine: {error.word(PYTHON)}")
    except BrokenPipeError:
        drop_output()
        return 0 if not arguments or not {"-h", "--help"}.isdisjoint(arguments) else None
    except OSError as error:
        drop_output()
        named = "" if error.filename is None else f"{error.filename}: "
        tell(f"glassine: cannot go on: {named}{error.strerror or error}.")
    except MemoryError:
        tell("glassine: this machine has too little memory for the command. Give fewer records or columns.")
    except Exception:
        # Status 1 means "outside policy": a defect of our own must not look like a verdict.
        tell(f"{traceback.format_exc()}glassine: internal error, please report it with the lines above.")
    else:
        return 0
    return None


def _refuse(error: Exception, arguments: list[str]) -> None:
    """Say what the parser refuses; a group of commands without one is answered by its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        tell(str(getattr(error, "message", "")))
    else:
        tell(f"glassine: {refusal(error, arguments)}")


def _show_warning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
    tell(f"glassine: warning: {message}")
