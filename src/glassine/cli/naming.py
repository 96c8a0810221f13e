"""Messages of the library in the words of the command line: options instead of parameters."""

from __future__ import annotations

import contextlib
import difflib
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glassine.cli.steps import CLASSES, DRAFT, NUMBERS, OF_ANOTHER, Given, accepting, free, is_given, option_of, step_of
from glassine.errors import GlassineError, speaks_plainly

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings
    from glassine.auditing.remedy import Remedy

MOST_NAMES = 8
"""Names that are listed where none is near."""


@contextlib.contextmanager
def in_options(names: Mapping[str, str]) -> Iterator[None]:
    """Word errors from inside with options in place of the parameters that they mark."""
    try:
        yield
    except GlassineError as error:
        error.word(names)
        raise


def options_of(*names: str, **others: str) -> dict[str, str]:
    """Return the options that set parameters; others are called otherwise."""
    return {name: option_of(name) for name in names} | others


DRAFTING = "Draft one with `glassine domain infer RECORDS`, or from a model with `glassine domain new --model MODEL`."
"""Where a domain comes from."""

OPTIONS_OF_KINDS = {
    "additive model": ("`--one-record-per-person`", "`--unweighted`", "`--public-cuts`"),
    "ensemble": (
        "`--n N`",
        "`--learning-rate NUMBER`",
        "`--base-rate SHARE`",
        "`--unweighted`",
        "`--public-cuts`",
        "`--one-record-per-person`",
    ),
}
"""Options for what publishers say of the kinds of models that have their own."""

OPTIONS_OF_LEAVES = (
    "`--stated-leaf N`",
    "`--stated-step N`",
    "`--one-record-per-person`",
    "`--unweighted`",
    "`--public-cuts`",
)
"""The same of models with leaves, rules or bins."""

OF_CLASSES = ("`--unweighted`", "`--one-record-per-person`")
"""The same where a statement on the class alone is open."""

ANSWERS_PLAIN = "Enter what the publisher answers to the questions of this audit, and audit again."
"""The same for people without a shell."""

ALL_GIVEN = (
    "All that a check needs was given, and it is open all the same: the part on what was not measured says why. "
    "Nothing more can be done about it; a policy can leave it out."
)
"""What is left to say where a check stays open."""

JUDGED_BY_DATA = "Without the training records (`--data FILE`), the verdict on the copy can be inconclusive."
NOT_JUDGED = "Without the training records, the verdict on the copy can be inconclusive."


def as_command(remedy: Remedy, files: Mapping[str, str] | None = None) -> Remedy:
    """Return a remedy with its step as a command or options; `files` are names, and other options, by role.

    Examples
    --------
    >>> from glassine.auditing.remedy import remedy
    >>> as_command(remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10)).text
    'Merge small leaves: `glassine scrub --smallest-leaf 10`.'
    >>> as_command(remedy("Pass the training records: {step}.", "audit", data=None)).text
    'Pass the training records: `--data FILE`.'
    >>> merge = remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10)
    >>> as_command(merge, {"model": "tree.json", "domain": "domain.json"}).text
    'Merge small leaves: `glassine scrub tree.json --domain domain.json --smallest-leaf 10 -o scrubbed.json`.'
    >>> as_command(merge, {"model": "a.pkl", "data": "people.csv", "reading": "--trust-pickle"}).step
    '`glassine scrub a.pkl --domain domain.json --smallest-leaf 10 --data people.csv --trust-pickle -o scrubbed.json`'
    >>> as_command(remedy("Write the copy: {step}.", "audit", clean_copy=None), {"clean copy": "clean.onnx"}).text
    'Write the copy: `--clean-copy clean.onnx`.'
    """
    if remedy.action == "accept":
        from glassine.auditing.policy import NAMED

        said = accepting((files or {}).get("policy"), tuple(NAMED))
        return remedy.then(said) if said else remedy
    step = step_of(remedy, files)
    return remedy.commanded(step) if step else remedy


OF_AUDITS = {
    "adversary": "glassine audit --only disclosure",
    "criterion": "--criterion",
    "the data and counts='data'": "`glassine rebuild --data FILE --count-from-data`",
    "data": "--data",
    "persons": "--person",
    "holdout": "--holdout",
    "shadows": "--shadows",
    "sensitive": "--sensitive",
    "target": "--target",
    "same_records": "--same-records",
    "memory_limit": "--memory-limit",
    "cpu_limit": "--cpu-limit",
    "smallest_leaf": "--stated-leaf",
    "rounded_to": "--stated-step",
    "unweighted": "--unweighted",
    "public_cuts": "--public-cuts",
    "stated_class": "--class-depth or --class-rules",
    "n_records": "--n",
    "family": "--family",
    "errors": "--errors",
    "learning_rate": "--learning-rate",
    "base_rate": "--base-rate",
    "event": "--event",
    "n": "--class-people",
    "models": "--class-models",
}
"""Options by the parameters that findings name."""


VOIDING = ("--seed", "--infer-domain", "--infer-classes", "--accounting")
"""Options of a fit that void its guarantee."""


def in_own_command(remedy: Remedy, typed: Sequence[str], parameters: Collection[str]) -> Remedy:
    """Return a remedy with the command that trains the model again, for the checker only: it names the records.

    ``typed`` are the words of the fit, and ``parameters`` those of its learner.

    Examples
    --------
    >>> from glassine.auditing.remedy import Retraining, remedy
    >>> smaller = remedy("Retrain: epsilon at most 1.", retraining=Retraining("epsilon at most 1", {"epsilon": 1.0}))
    >>> again = in_own_command(smaller, ["fit", "tree", "a.csv", "--epsilon", "9"], {"epsilon"})
    >>> again.text
    'Retrain: `glassine fit tree a.csv --epsilon 1 --overwrite`. The budgets of both fits add up.'
    >>> again.plain
    'Retrain: epsilon at most 1. The budgets of both fits add up.'
    """
    from glassine.auditing.remedy import CheckerText

    again = remedy.retraining
    if again is None or not set(again.parameters) <= set(parameters):
        return remedy
    options = {option_of(name): f"{value:g}" for name, value in again.parameters.items()}
    private = ["--not-private"] if "--epsilon" in options else []
    words = _drop_options(typed, [*options, *private] or VOIDING)
    if not options and len(words) == len(typed):
        return remedy
    first = ""
    if not options and "--domain" not in {word.partition("=")[0] for word in words}:
        # A domain that a person has yet to make public: the fit would be refused before.
        draft = free(DRAFT[True])
        drafting = shlex.join(["glassine", "domain", "infer", *words[2:3], "-o", draft])
        first = f"draft a domain with `{drafting}`, replace its inferred values by public ones, and only then run "  # noqa: S608 - no SQL
        words += ["--domain", draft]
    words += [word for option in options.items() for word in option]
    step = f"{first}`{shlex.join(['glassine', *words, *['--overwrite'] * ('--overwrite' not in words)])}`"
    piece = again.piece or remedy.step
    text = remedy.text.replace(piece, step if options else f"{piece}: {step}")
    sums = "" if "--not-private" in typed else " The budgets of both fits add up."
    public = remedy.text.public if isinstance(remedy.text, CheckerText) else remedy.text
    return replace(remedy, text=CheckerText(text + sums, public), plain=CheckerText(remedy.plain + sums, remedy.plain))


FLAGS = ("--infer-domain", "--infer-classes", "--not-private")
"""Options that take no value."""


def _drop_options(typed: Sequence[str], options: Iterable[str]) -> list[str]:
    """Return the words of a command without some of its options and their values."""
    dropped, out = set(options), list[str]()
    words = iter(typed)
    for word in words:
        if word not in dropped and word.partition("=")[0] not in dropped:
            out.append(word)
        elif word in dropped and word not in FLAGS:
            next(words, None)
    return out


def in_commands(
    findings: Findings, files: Mapping[str, str] | None = None, records: Mapping[str, str] | None = None
) -> Findings:
    """Return findings whose advice names commands, options and the files of each role."""
    # Files of records, and how they are read, are named to the checker only.
    from glassine.auditing.criterion import joined
    from glassine.auditing.remedy import CheckerText, Remedy

    copies = [file.clean_copy for file in findings.files if file.clean_copy is not None]
    # Several models have no classes of their own, and a regression none at all.
    predicted = {} if getattr(findings.subject, "classes", ()) is not None else {NUMBERS: "a number"}
    classes = getattr(findings.subject, "classes", None) or ()
    files = {
        **(files or {}),
        **({"clean copy": f"clean{copies[0].extension}"} if copies else {}),
        # The copy of an ensemble is Glassine's own JSON.
        **({"clean copy": "clean.json"} if findings.subject.kind == "ensemble" else {}),
        **predicted,
        # A comma would end the name of a class.
        **({CLASSES: ",".join(classes)} if classes and not any("," in name for name in classes) else {}),
    }
    holder = None if findings.holder is None else in_commands(findings.holder, files, records)
    if holder is not None:
        # What a guarantee lets the public read is the same whatever records were given.
        records = None
    everything = {**(files or {}), **(records or {})}
    open_ = [one for one in findings.advice if not is_given(one, everything)]
    # A guarantee that the policy can accept answers what is open beside it.
    left = len(open_) < len(findings.advice) and all(one.action != "accept" for one in open_)
    remaining = (Remedy(text=ALL_GIVEN),) if left else ()
    advice = (*_commands(open_, files), *remaining)
    if records:
        named = (*_commands(open_, everything), *remaining)
        advice = tuple(
            replace(one, text=CheckerText(one.text, bare.text), command=CheckerText(one.command, bare.command))
            for one, bare in zip(named, advice, strict=True)
        )
    asked = findings.requests and findings.verdict == "inconclusive" and findings.guarantee is None
    # What a sentence above asks for is not asked for again.
    options = _options(findings, Given(files).stated) if asked else []
    if options := [option for option in options if not any(option in one.text for one in advice)]:
        to = f" to `glassine audit {Given(files)['model']}`" if files.get(OF_ANOTHER) and "model" in files else ""
        advice = (*advice, Remedy(text=f"Pass what the publisher answers{to}: {joined(options)}.", plain=ANSWERS_PLAIN))
    policies = tuple(
        entry if entry.remedy is None else replace(entry, remedy=_of_line(entry.remedy, advice, files, records))
        for entry in findings.policies
    )
    if speaks_plainly():
        advice = tuple(one.plainly() for one in advice)
        policies = tuple(replace(one, remedy=None if one.remedy is None else one.remedy.plainly()) for one in policies)
    return replace(findings, advice=advice, policies=policies, holder=holder)


def _options(findings: Findings, answered: Collection[str]) -> list[str]:
    """Return the options for what a publisher has not answered; of a regression, what is known is left out."""
    if findings.subject.kind != "regression":
        every = OPTIONS_OF_KINDS.get(findings.subject.kind, OPTIONS_OF_LEAVES)
        if {check.rule for check in findings.checks if check.status == "unknown"} == {"largest_mean_advantage"}:
            every = OF_CLASSES
        return [option for option in every if option.strip("`").split()[0] not in answered]
    columns = getattr(findings.measured.get("columns"), "value", None)
    said = {
        "`--n N`": getattr(findings.subject, "n_records", None) is not None,
        "`--family NAME`": columns is not None and bool(columns.link),
        "`--errors model`": columns is not None and not columns.unbounded,
        "`--one-record-per-person`": "--one-record-per-person" in answered,
    }
    return [option for option, stands in said.items() if not stands]


def _of_line(
    remedy: Remedy, advice: Sequence[Remedy], files: Mapping[str, str], records: Mapping[str, str] | None
) -> Remedy:
    """Return what the line of a policy says to do, with files of records for the checker only."""
    from glassine.auditing.remedy import CheckerText, Remedy

    if is_given(remedy, {**files, **(records or {})}):
        return Remedy(text=ALL_GIVEN)
    bare = _drafted(as_command(remedy, files), advice, files)
    if not records:
        return bare
    everything = {**files, **records}
    named = _drafted(as_command(remedy, everything), advice, everything)
    return replace(named, text=CheckerText(named.text, bare.text), command=CheckerText(named.command, bare.command))


def _drafted(line: Remedy, advice: Sequence[Remedy], files: Mapping[str, str]) -> Remedy:
    """Return it with the draft of the domain that its copy needs, unless that was given or is advised above."""
    stated = Given(files)
    drafts = "domain" in stated or any(stated.draft in one.text for one in advice)
    if line.action != "scrub" or "model" not in stated or drafts:
        return line
    first = f"Draft the domain, and make it public: `{stated.drafting}`."
    return replace(line, text=f"{first} {line.text}", plain=f"Describe what is public first. {line.plain}")


def _commands(advice: Sequence[Remedy], files: Mapping[str, str] | None) -> tuple[Remedy, ...]:
    commands = [as_command(one, files) for one in advice]
    first = next((i for i, one in enumerate(commands) if one.action == "scrub"), None)
    if first is not None and "data" not in (files or {}):
        commands[first] = commands[first].then(JUDGED_BY_DATA, NOT_JUDGED)
    return tuple(commands)


BEGUN = 4
"""Letters that two names must share from their start for one to be meant by the other."""


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return a question that names what was probably meant, a space before it; nothing if no name is near.

    Examples
    --------
    >>> nearest("agee", ["age", "income"])
    " Did you mean 'age'?"
    >>> nearest("--domian", ["--domain", "--data"])
    ' Did you mean --domain?'
    >>> nearest("--decision", ["--recipient", "--decided"])
    ' Did you mean --decided?'
    >>> nearest("weight", ["age", "income"]), nearest("--report", ["--separator"])
    ('', '')
    """
    # The dashes of options are no likeness. A name that begins as what was typed was meant before one that shares
    # letters further on, and need not share as many.
    typed, by_letters = name.lower().lstrip("-"), {one.lower().lstrip("-"): one for one in candidates}
    close = difflib.get_close_matches(typed, by_letters, n=3, cutoff=0.5)
    begun = [one for one in close if one[:BEGUN] == typed[:BEGUN]]
    near = begun or difflib.get_close_matches(typed, close, n=1, cutoff=0.6)
    if not near:
        return ""
    meant = by_letters[near[0]]
    return f" Did you mean {meant if meant.startswith('--') else repr(meant)}?"


def listed(name: str, candidates: Iterable[str]) -> str:
    """Return which names there are, a space before it: the one that was probably meant, else the first of them.

    Examples
    --------
    >>> listed("weight", ["age", "income"])
    " There are 'age', 'income'."
    """
    names = list(candidates)
    more = " and more" if len(names) > MOST_NAMES else ""
    return nearest(name, names) or f" There are {', '.join(map(repr, names[:MOST_NAMES]))}{more}."
