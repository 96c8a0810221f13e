"""Steps of remedies as commands: the one place that knows what a command takes, what was given, and what is needed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassine.auditing.remedy import Remedy

OTHERWISE = {"random_state": "--seed", "persons": "--person", "n_records": "--n", "sample_weight": "--weights"}
"""Options that are not called as the parameters that they set."""


def option_of(name: str) -> str:
    """Return a parameter as the option that sets it."""
    return OTHERWISE.get(name, f"--{name.replace('_', '-')}")


FOR_THE_USER = {
    "smallest_leaf": "N",
    "max_depth": "N",
    "class_depth": "N",
    "class_people": "N",
    "min_samples_leaf": "N",
    "n_records": "N",
    "base_rate": "SHARE",
    "learning_rate": "NUMBER",
    "family": "NAME",
    "drawn_from": "N",
    "epsilon": "NUMBER",
    "target": "COLUMN",
    "sensitive": "COLUMN",
    "persons": "COLUMN",
    "samples": "COLUMN",
    "criterion": "NAME",
    "answer": "LO,HI,STEP",
}
"""What stands after an option whose value is for the user to choose; a file otherwise."""

NEEDS = {"holdout": ("data", "target"), "sensitive": ("data",), "remedies": ("data", "sensitive")}
"""What an option of an audit needs beside it."""

ROLES = {"persons": "person"}
"""Roles that are not called as the parameters of an audit."""

COPY, AGAIN = "scrubbed.json", "scrubbed-again.json"
"""Where the copy goes in a command that names the model; the second, if the model is such a copy."""

DRAFT = {True: "domain.json", False: "domain.toml"}
"""Where a domain is drafted, from records or from the model alone: such a form has places to fill in."""

LEARNERS = {"tree": "tree", "rule list": "rule-list", "additive model": "additive"}
"""Commands of private learners, by kind of subject."""
PRIVATE, EXPLAINED = "private.json", "explained.json"
"""Where a private model and a release go."""
AUDIT_AGAIN = "audit again for the command"
"""What follows a domain that a person must complete: a command before that would be refused."""

WRITTEN, READING, CLASSES, NUMBERS = "written", "reading", "classes", "numbers"
"""Roles of options that say how records are written and how the model is read, as typed; of classes, or of none."""

STATED = "stated"
"""Role of what the publisher stated, options by their names."""

INFERRED, OF_ANOTHER = "inferred", "of another"
"""Roles that say that the domain still has values of records, so that no private fit takes it, and that an audit was
printed by another command, which has no options of audits."""


class Given:
    """What an audit was given, by role: names of files and columns as a shell takes them, and options as typed.

    Roles are those of files and columns; a name that a command cannot hold, as it would end it, is not given.
    """

    def __init__(self, files: Mapping[str, str] | None) -> None:
        named = {role: name for role, name in (files or {}).items() if name and "`" not in name}
        self.options = {role: named.pop(role, "") for role in (WRITTEN, READING)}
        self.stated = frozenset(named.pop(STATED, "").split())
        self.inferred, self.of_another = bool(named.pop(INFERRED, "")), bool(named.pop(OF_ANOTHER, ""))
        self.plain = named
        self.names = {role: shlex.quote(name) for role, name in named.items()}

    def __contains__(self, role: object) -> bool:
        return role in self.names

    def __getitem__(self, role: str) -> str:
        return self.names[role]

    @property
    def models(self) -> list[str]:
        """The models, in order."""
        return [name for role, name in self.names.items() if role.startswith("model")]

    def read(self, *roles: str) -> list[str]:
        """Return the options of roles that were given, and how the records and the model are read."""
        of_records = {"target", "person"} if "data" not in self.names else set()
        named = [f"--{role} {self.names[role]}" for role in roles if role in self.names and role not in of_records]
        written = [self.options[WRITTEN]] if "data" in roles and "data" in self.names else []
        return [*named, *filter(None, [*written, self.options[READING]])]

    @property
    def predicted(self) -> str:
        """The option that states what is predicted: public classes, or the range of a number."""
        if CLASSES in self.names:
            return f"--classes {self.names[CLASSES]}"
        return "--target-range LO,HI" if NUMBERS in self.names else "--classes A,B"

    @property
    def draft(self) -> str:
        """The file of the domain, given or to be drafted."""
        return self.names.get("domain") or free(DRAFT["data" in self.names])

    @property
    def drafting(self) -> str:
        """The command that drafts a domain of what the models test, from records if they are there."""
        models, words = self.models, ["glassine domain"]
        reading = [self.options[READING]] if models else []
        if "data" in self.names:
            words += ["infer", self.names["data"], *(f"--model {one}" for one in models), self.options[WRITTEN]]
        elif models:
            words += ["new", *(f"--model {one}" for one in models[:1])]
        else:
            words += ["infer", "RECORDS"]
        return " ".join(filter(None, [*words, *reading, f"-o {free(DRAFT['data' in self.names or not models])}"]))


def free(name: str) -> str:
    """Return a name, numbered if a file has it: a command that would replace a file is refused.

    Examples
    --------
    >>> free("no such file.json")
    'no such file.json'
    """
    path, number = Path(name), 1
    while os.path.lexists(path):
        number += 1
        path = Path(f"{Path(name).stem}-{number}{Path(name).suffix}")
    return str(path)


def is_given(remedy: Remedy, files: Mapping[str, str] | None) -> bool:
    """Return whether an audit was given all that a remedy asks for; other records can still be given.

    Examples
    --------
    >>> from glassine.auditing.remedy import remedy
    >>> held_out = remedy("Pass more records: {step}.", "audit", holdout=None)
    >>> is_given(held_out, {}), is_given(held_out, {"holdout": "others.csv"})
    (False, True)
    """
    if remedy.action != "audit" or set(remedy.parameters) <= {"data", "clean_copy"}:
        return False
    return all((files or {}).get(ROLES.get(name, name)) for name in remedy.parameters)


def _place(name: str) -> str:
    return FOR_THE_USER.get(name, "FILE")


def _options(parameters: Mapping[str, bool | float | str | None]) -> list[str]:
    """Return parameters as options, with places to fill in for what the user chooses."""
    return [
        f"{option_of(name)}{'' if value is True else f' {_place(name) if value is None else value}'}"
        for name, value in parameters.items()
    ]


def _of_audit(remedy: Remedy, stated: Given) -> str:
    """Return what the same audit is to be given more: nothing twice, and what an option needs beside it."""
    asked: dict[str, None] = {}
    for name in remedy.parameters:
        asked |= dict.fromkeys((*NEEDS.get(name, ()), name))
    missing = [name for name in asked if ROLES.get(name, name) not in stated]
    pieces = []
    # Where all of it was given, it is to be given otherwise.
    for name in missing or list(remedy.parameters):
        value = remedy.parameters.get(name)
        if name == "domain":
            filled = "" if "data" in stated else " and filled in"
            pieces.append(f"`--domain {stated.draft}`, drafted with `{stated.drafting}`{filled}")
        elif name == "clean_copy":
            pieces.append(f"`--clean-copy {free(stated.names.get('clean copy', 'FILE'))}`")
        else:
            pieces += [f"`{option}`" for option in _options({name: value})]
    if stated.of_another and "domain" in stated and "model" in stated:
        read = stated.read("data", "target", "person", "policy")
        words = ["glassine audit", stated["model"], f"--domain {stated['domain']}", *read]
        return f"`{' '.join([*words, *(piece.strip('`') for piece in pieces)])}`"
    return ", ".join(pieces)


def _of_scrub(remedy: Remedy, stated: Given) -> str:
    words = ["glassine scrub", *_options(remedy.parameters)]
    read = stated.read("data", "target", "person", "policy")
    if "model" in stated:
        copy = free(AGAIN if PurePath(stated.plain["model"]).name.startswith("scrubbed") else COPY)
        words = ["glassine scrub", stated["model"], f"--domain {stated.draft}", *words[1:]]
        return f"`{' '.join([*words, *read, f'-o {copy}'])}`"
    return f"`{' '.join([*words, *read])}`"


def _of_fit(remedy: Remedy, stated: Given) -> str:
    """Return the command that trains a private model in place of this one; before that, what its domain lacks."""
    if "domain" in stated and stated.inferred:
        return f"replace the inferred ranges and categories of `{stated['domain']}` by public ones, then {AUDIT_AGAIN}"
    if "domain" not in stated and "data" in stated:
        return f"pass a public domain first, `--domain FILE`, then {AUDIT_AGAIN}"
    parameters = dict(remedy.parameters)
    learner, epsilon = str(parameters.pop("model", "tree")), parameters.pop("epsilon", 1)
    # Who counts people wants a guarantee for people: how many records of each are kept is for the user to say.
    person = [f"--person {stated['person']}", "--records-per-person N"] if "person" in stated else []
    words = [
        f"glassine fit {learner}",
        stated.names.get("data", "RECORDS"),
        f"--target {stated.names.get('target', 'COLUMN')}",
        f"--domain {stated.names.get('domain', 'FILE')}",
        stated.predicted,
        *person,
        *_options({"epsilon": epsilon, **parameters}),
        *([stated.options[WRITTEN]] if stated.options[WRITTEN] and "data" in stated else []),
        f"-o {free(PRIVATE)}",
    ]
    return f"`{' '.join(words)}`"


def _of_explain(remedy: Remedy, stated: Given) -> str:
    """Return the command that makes a release again."""
    black_box = ["--black-box FILE", f"--target {stated['target']}"] if "target" in stated else ["--black-box FILE"]
    person = [f"--person {stated['person']}"] if "person" in stated else []
    domain = [] if "domain" in remedy.parameters else ["--domain FILE"]
    classes = [f"--classes {stated['classes']}"] if CLASSES in stated else []
    words = ["glassine explain make", stated.names.get("data", "RECORDS"), *black_box, *person, *domain, *classes]
    if stated.options[WRITTEN] and "data" in stated:
        words.append(stated.options[WRITTEN])
    return f"`{' '.join([*words, *_options(remedy.parameters), f'-o {free(EXPLAINED)}'])}`"


def _of_disclose(remedy: Remedy, stated: Given) -> str:
    read = [f"--{role} {stated.names.get(role, _place(role))}" for role in ("data", "target", "sensitive")]
    read += [f"--{role} {stated[role]}" for role in ("domain", "person", "policy") if role in stated]
    read += filter(None, stated.options.values())
    words = ["glassine audit", stated.names.get("model", "MODEL"), "--only disclosure", *_options(remedy.parameters)]
    return f"`{' '.join([*words, *read])}`"


def _of_rebuild(remedy: Remedy, stated: Given) -> str:
    read = [f"--{role} {stated.names.get(role, 'FILE')}" for role in ("domain", "data")]
    words = ["glassine rebuild", *(stated.models or ["MODEL..."]), *read, *stated.read("policy"), "--count-from-data"]
    return f"`{' '.join([*words, *([stated.options[WRITTEN]] if stated.options[WRITTEN] else [])])}`"


def _of_domain(remedy: Remedy, stated: Given) -> str:
    if "domain" in stated:
        return f"`{stated['domain']}`"
    return f"`{stated.draft}`, drafted with `{stated.drafting}` and passed with `--domain {stated.draft}`,"


def _of_check(remedy: Remedy, stated: Given) -> str:
    records = " ".join(filter(None, [stated.names.get("data", "RECORDS"), stated.options[WRITTEN]]))
    return f"`glassine domain check {stated.names.get('domain', 'DOMAIN')} --data {records}`"


STEPS = {
    "audit": _of_audit,
    "scrub": _of_scrub,
    "fit": _of_fit,
    "explain": _of_explain,
    "disclose": _of_disclose,
    "rebuild": _of_rebuild,
    "domain": _of_domain,
    "check": _of_check,
}
"""By action, what words its step as a command or as options."""


def step_of(remedy: Remedy, files: Mapping[str, str] | None = None) -> str:
    """Return the step of a remedy as commands or options in backticks; empty without one.

    ``files`` are names by role: model, domain, policy, data, holdout, target, person, sensitive, classes; and options
    as typed, ``written`` of records and ``reading`` of the model.

    Examples
    --------
    >>> from glassine.auditing.remedy import remedy
    >>> step_of(remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10))
    '`glassine scrub --smallest-leaf 10`'
    >>> holdout = remedy("Pass more records: {step}.", "audit", holdout=None)
    >>> step_of(holdout), step_of(holdout, {"data": "people.csv", "target": "ill"})
    ('`--data FILE`, `--target COLUMN`, `--holdout FILE`', '`--holdout FILE`')
    """
    made = STEPS.get(remedy.action)
    return "" if made is None else made(remedy, Given(files))


def accepting(policy: str | None, named: Sequence[str]) -> str:
    """Return how a policy is made that accepts a guarantee, beside the limits of another one.

    Examples
    --------
    >>> accepting(None, ())
    "For example: `echo 'accept_guarantee = true' > accept.toml`, then `--policy accept.toml`."
    """
    if policy is not None and policy not in named:
        return ""  # a file of the user's own, which is edited by hand
    lines = "accept_guarantee = true"
    if policy not in (None, "default"):
        lines = f'base = "{policy}"\\n{lines}\\n'
        return f"For example: `printf '{lines}' > accept.toml`, then `--policy accept.toml`."
    return f"For example: `echo '{lines}' > accept.toml`, then `--policy accept.toml`."
