"""The help of every command, walked: exit statuses, one sentence for one option, names of values, defaults."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from glassine.cli.compare import MODELS
from glassine.cli.entry import application
from glassine.cli.grouped_commands import names_one_file
from tests.cli.running import Run


def walk(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, by its words."""
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
        return
    for name, one in below.items():
        yield from walk(one, f"{path} {name}".strip())


COMMANDS = dict(walk(typer.main.get_command(application())))
OPTIONS = [
    (path, max(param.opts, key=len), param)
    for path, command in COMMANDS.items()
    for param in command.params
    if param.param_type_name == "option"
]

DIFFERENT = {
    "--statements": "what a person signs of an audit, or what the registry requires of a release",
    "--to": "the form of a model to write, or another tool and the path of what it reads",
    "--output": "each command writes a thing of its own, and says which",
    "--epsilon": "the budget of a fit, a list of budgets to compare, or whether trees are private at all",
    "--delta": "of an additive model, of a mechanism that needs one, or of a charge",
    "--min-samples-leaf": "of the trees that are made, or what is assumed of the learner of a given one",
    "--accounting": "of a greedy rule list and of boosting, each with words of its own",
    "--max-depth": "a fit may take it from a public rule",
    "--monotone": "an attribute before the fit, a term and its bins after it",
    "--seed": "reproducible attacks lose nothing, a reproducible fit its guarantee",
    "--target": "a black box is no model that predicts the column: it may be left out of the records",
    "--splits": "divisions of the records when models are compared, tests of a tree when one is attacked",
    "--time-limit": "seconds of a solver, or an estimate before a fit",
    "--measure": "the figure that ranks what is compared, what splits lower, or a model whose figures are released",
    "--key": "what is signed: a certificate, a release, or what a desk decides and exports",
    "--public-key": "at a desk it goes with an export that is checked",
    "--note": "all that a charge by hand is for, or what is added to the note that a fit writes",
    "--summary": "in place of records, or the summary that a measured model came from",
}
"""Options of one name whose sentences differ, and why."""

UNLIKE = {
    "--delta": "compared models have one; a fit's depends on the model; a charge's is 0 unless said",
    "--max-rules": "compared lists are shorter, so that all learners take about as long",
    "--output": "the demonstration makes a folder",
    "--seed": "a fit and a release draw anew each time, or their guarantee would not hold",
    "--splits": "a number of divisions, or a way in which a tree splits",
    "--time-limit": "many fits are compared",
}
"""Options of one name whose defaults differ, and why."""

EXTRAS = {
    "audit": "formats",
    "export": "formats",
    "explain make": "formats",
    "rebuild": "solver",
    "explain serve": "server",
    "desk": "desk",
    "explain keys": "server",
    "explain sign": "server",
    "explain verify": "server",
    "certificate verify": "server",
    "certificate keys": "server",
    "certificate sign": "server",
}


@pytest.mark.parametrize("path", COMMANDS)
def test_a_help_ends_with_the_exit_statuses(path: str) -> None:
    ending = COMMANDS[path].epilog
    assert ending is not None, f"the docstring of {path} must end with a paragraph 'Exit status: ...'"
    assert re.fullmatch(r"Exit status: .*\b0\b.*\b2\b.*\.", ending), ending
    assert "Exit status" not in COMMANDS[path].help
    assert COMMANDS[path].help.strip()


@pytest.mark.parametrize("path", COMMANDS)
def test_a_help_is_printed_and_fits_a_terminal(
    path: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for word in ("--help", "-h"):
        done = run(*path.split(), word, cwd=tmp_path)
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith(f"Usage: glassine {path}")
        # A list of choices is one word.
        assert max(len(line) for line in done.out.splitlines() if "|" not in line) <= 80
        assert "Exit status:" in done.out.rsplit("\n\n", 1)[1]
        options = done.out.partition("Options:")[2]
        assert "list[" not in options
        assert "range>" not in options


@pytest.mark.parametrize("path", COMMANDS)
def test_an_option_says_what_it_does_and_what_its_value_is(path: str) -> None:
    context = typer.Context(COMMANDS[path])
    for name, param in ((name, param) for command, name, param in OPTIONS if command == path):
        said = param.help
        assert re.fullmatch(r"([A-Z]|known:).*[.?]", said), (name, said)
        assert not re.search(r"[;,] [\d.e-]+\.$|\bby default\b|\bdefault \S*\d", said), (
            f"the default of {name} belongs to the option: {said}"
        )
        assert not re.search(r": \w+, \w+(, \w+)* (or|and) \w+\.$", said) or param.metavar, "list words as choices"
        # An option that another one names is hidden, and needs a name of its value all the same.
        shown = (param.get_help_record(context) or ("", ""))[0]
        if not getattr(param, "is_flag", False) and "|" not in shown:
            assert re.fullmatch(r"[A-Z].*", param.metavar or ""), f"{name} needs a metavar"


def test_an_option_of_one_name_has_one_sentence() -> None:
    said: defaultdict[str, set[str]] = defaultdict(set)
    for _, name, param in OPTIONS:
        said[name].add(param.help)
    differing = {name for name, sentences in said.items() if len(sentences) > 1}
    assert differing - set(DIFFERENT) == set()
    assert set(DIFFERENT) - differing == set(), "what no longer differs needs no reason"
    assert all(DIFFERENT.values())


def test_an_option_of_one_name_has_one_kind_of_value() -> None:
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for _, name, param in OPTIONS:
        kinds[name].add(str(param.metavar))
    allowed = {
        "--output": {"FILE", "FOLDER"},
        "--epsilon": {"NUMBER", "A,B"},
        "--splits": {"N", "None"},
        "--max-depth": {"N", "N|auto:N"},
        "--monotone": {"NAME:DIRECTION", "TERM[:FIRST..LAST]:DIRECTION"},
        "--to": {"FORMAT PATH", "FORM"},
        "--measure": {"MODEL", "NAME", "None"},
    }
    assert {name: found for name, found in kinds.items() if len(found) > 1} == allowed


def test_one_short_name_for_the_output() -> None:
    for path, name, param in OPTIONS:
        assert ("-o" in param.opts) == (name == "--output"), path
        if name == "--output":
            assert param.help.startswith("Write ")


@pytest.mark.parametrize("path", EXTRAS)
def test_a_help_names_the_extra_that_the_command_needs(path: str, tmp_path: Path, run: Run) -> None:
    said = " ".join(run(*path.split(), "--help", cwd=tmp_path).out.split())
    assert f"pip install 'glassine[{EXTRAS[path]}]'" in said


def test_shown_defaults_of_fit_are_those_of_the_learners() -> None:
    from glassine.learners.additive.estimators import PrivateEBMClassifier
    from glassine.learners.additive.scorecards import PrivateScorecardClassifier, ScorecardClassifier
    from glassine.learners.exhaustive.optimal import OptimalRuleListClassifier, OptimalTreeClassifier
    from glassine.learners.exhaustive.private import (
        PrivateRuleListClassifier,
        PrivateTreeClassifier,
        PrivateTreeRegressor,
    )
    from glassine.learners.greedy.ordinary_lists import GreedyRuleListClassifier
    from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier

    learners: dict[str, list[Any]] = {
        "fit tree": [PrivateTreeClassifier, OptimalTreeClassifier, PrivateTreeRegressor],
        "fit rule-list": [PrivateRuleListClassifier, OptimalRuleListClassifier],
        "fit greedy-rule-list": [PrivateGreedyRuleListClassifier, GreedyRuleListClassifier],
        "fit additive": [PrivateEBMClassifier],
        "fit scorecard": [PrivateScorecardClassifier, ScorecardClassifier],
    }
    checked = 0
    for path, _, param in OPTIONS:
        if not path.startswith("fit ") or not isinstance(param.show_default, str):
            continue
        given = {
            f"{value:g}" if isinstance(value, int | float) else str(value)
            for learner in learners[path]
            if (found := inspect.signature(learner).parameters.get(param.name)) is not None
            and (value := found.default) is not None
        }
        for value in given - {"0" if param.name != "interactions" and param.name != "penalty" else ""}:
            shown = param.show_default.replace("4e9", "4e+09")
            assert value in shown, f"{param.name}: {value} is not in {param.show_default!r}"
            checked += 1
    assert checked > 12


def test_the_learners_that_compare_names_are_those_there_are() -> None:
    from glassine.comparison import CANDIDATES

    assert tuple(CANDIDATES) == MODELS


def test_no_arguments_show_the_help(tmp_path: Path, run: Run) -> None:
    for words in ((), ("domain",), ("ledger",), ("fit",), ("explain",)):
        done = run(*words, cwd=tmp_path)
        assert done.status == 2
        assert "Commands:" in done.err + done.out
    assert "Exit status:" in run("--help", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audti", "m"), "there is no command glassine audti. Did you mean 'audit'? See glassine --help."),
        (("ledger", "shwo"), "there is no command glassine ledger shwo. Did you mean 'show'?"),
        (("audit", "m", "--domian", "d"), "audit has no option --domian. Did you mean --domain?"),
        (("fit", "p.csv"), "there is no command glassine fit p.csv. See glassine fit --help."),
        (("fit", "tree", "p.csv", "-o", "m.json"), "fit tree needs --target. See glassine fit tree --help."),
        (("fit", "tre", "p.csv"), "there is no command glassine fit tre. Did you mean 'tree'?"),
        (("disclose", "m"), "there is no command glassine disclose. See glassine --help."),
        (("audit",), "audit needs MODEL."),
        (("export", "m"), "export needs --to."),
        (
            ("export", "m", "--to", "sqll"),
            "--to must be one of onnx, pmml, python, sql, sklearn, text, json, card, csv, got 'sqll'.",
        ),
        (("export", "m", "--to", "sqll"), "Did you mean 'sql'?"),
        (("audit", "m", "--shadows", "many"), "--shadows must be a whole number, got 'many'."),
        (("audit", "m", "--confidence=high"), "--confidence must be a number, got 'high'."),
        (("audit", "m", "--leaves", "all"), "--leaves must be one of counts, error-rates, labels, got 'all'."),
        (("scrub", "m", "extra", "--domain", "d", "-o", "c"), "scrub takes no further argument, got 'extra'."),
        (("domain", "new", "m.json"), "got 'm.json'. A model goes to --model."),
        (("audit", "m", "--domain"), "--domain needs a value."),
        (
            ("compare", "p.csv", "--target", "t", "--models", "tre"),
            "'tre', which is not a model type. Did you mean 'tree'?",
        ),
    ],
)
def test_what_the_parser_refuses_is_one_line(words: tuple[str, ...], said: str, tmp_path: Path, run: Run) -> None:
    done = run(*words, cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("glassine: ")
    assert done.err.count("\n") == 1
    assert said in done.err


def test_an_option_of_one_name_has_one_default() -> None:
    defaults: defaultdict[str, set[str]] = defaultdict(set)
    for _, name, param in OPTIONS:
        if not param.required:
            defaults[name].add(str(param.default))
    found = {name for name, values in defaults.items() if len(values) > 1}
    assert found == set(UNLIKE), found
    assert all(UNLIKE.values())


TOP = ["audit", "scrub", "edit", "fit", "summarize", "sample", "merge", "compare", "rebuild", "export", "domain"]
TOP += ["ledger", "evidence", "certificate", "explain", "desk", "demo"]


def test_the_commands_stand_in_the_order_of_their_use(tmp_path: Path, run: Run) -> None:
    listed = run("--help", cwd=tmp_path).out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == TOP
    for path, command in COMMANDS.items():
        assert not re.search(r"\bsafe\b|provabl", f"{command.help} {command.short_help}"), path


@pytest.mark.parametrize("path", [path for path in COMMANDS if path.startswith("fit ")])
def test_the_help_of_a_fit_fits_a_screen_and_has_its_own_options_alone(
    path: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    said = run(*path.split(), "--help", cwd=tmp_path).out
    assert 24 <= said.count("\n") <= 43
    own = {"tree": "--split-weight", "rule-list": "--rule-weight", "greedy-rule-list": "--mechanism"}
    own |= {"additive": "--interactions", "scorecard": "--max-items"}
    assert [name for name, option in own.items() if option in said] == [path.removeprefix("fit ")]


def test_fit_lists_its_models_with_a_line_each(tmp_path: Path, run: Run) -> None:
    listed = run("fit", "--help", cwd=tmp_path).out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed if line] == [
        "tree",
        "rule-list",
        "greedy-rule-list",
        "additive",
        "scorecard",
    ]


def test_the_help_of_an_audit_has_a_heading_for_each_attack(tmp_path: Path, run: Run) -> None:
    said = run("audit", "--help", cwd=tmp_path).out
    order = ["Options:", "Records:", "Membership", "--shadows", "Disclosure", "--leaves", "Output:", "--json"]
    assert [said.index(word) for word in order] == sorted(said.index(word) for word in order)


def test_no_function_of_the_command_line_takes_more_than_eight_values() -> None:
    folder = Path(inspect.getfile(typer.main.get_command(application()).__class__)).parent
    assert folder.name == "cli"
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                assert len([one for one in taken if one.arg not in ("self", "cls")]) <= 8, f"{path.name}: {node.name}"


@pytest.mark.parametrize(
    ("path", "name", "param"),
    [one for one in OPTIONS if names_one_file(one[2])],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_option_of_one_file_is_not_given_twice(path: str, name: str, param: Any, run: Run, tmp_path: Path) -> None:
    """Of two files or forms, one would be lost: an output that nobody writes, or records that nobody reads."""
    values = ["1"] * param.nargs
    done = run(*path.split(), name, *values, name, *values, cwd=tmp_path)
    assert done.status == 2
    assert f"{max(param.opts, key=len)} is given 2 times, and takes one value. Give it once a run." in done.err
