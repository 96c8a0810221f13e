"""Advice is followed: commands are run as they are printed, options added, models trained again, questions answered."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glassine import Domain, Real
from glassine.domain.forms import to_toml
from tests.cli.running import Done
from tests.contracts.advised import AdvisedSubject

Command = Callable[..., Done]
RANK = {2: 0, 1: 1, 3: 2, 0: 3}
"""Exit statuses from bad input to within policy."""
STATUS = {"within policy": 0, "outside policy": 1, "inconclusive": 3}
"""Exit statuses by verdict."""
ENDS = re.compile(r"[Nn]othing more can be done|[Dd]o not publish it")
"""What a sentence says that ends the way."""
QUOTED = re.compile(r"`([^`]+)`")
SETTING = re.compile(r"(\w+)=([\d.]+)")
ACTS = re.compile(
    r"[Rr]etrain|Recode|Audit together only|ublish one of these models alone|Shorten|Ask the publisher|"
    r"Add held-out records|[Dd]o not publish|Look through"
)
"""What a person does in words alone."""
MAKES = re.compile(r"glassine (scrub|fit|explain make)|etrain")
"""What a sentence says that puts another model in the place of this one."""
INFERRED = re.compile(r"[Rr]eplace (the|its) inferred")
"""What a sentence says that asks for public values in place of those of records."""
INPUT = re.compile(r": `--|^Replace the inferred")
"""What a sentence says that asks for more input."""
SAME = "the step above also does this"
VARYING = re.compile(r"[\w./-]+\.(json|toml|skops|pkl|onnx|pmml|txt|csv|ubj|dot)\b|--policy \S+|--trust-pickle|[\d.]+")
"""What differs between sentences that say the same."""
NUMBERED = re.compile(r"(-again|-\d+)+(?=\.\w)|(?<=scrub )\S+")
"""What differs between the names of a copy and of its copy."""
STEPS = 3
"""Steps within which a way must lead to a better status."""


class Asked(Exception):
    """Advice asks somebody else: the publisher, or who has the records. The reader's way ends here."""


class AdviceError(AssertionError):
    """Advice that cannot be followed, or that leads nowhere."""


@dataclass(slots=True)
class Walk:
    """A reader who follows advice in a folder: the audit as it stands, and how often the model was to be smaller."""

    subject: AdvisedSubject
    folder: Path
    run: Command
    models: list[str]
    options: dict[str, str]  # Options of the audit, by name; empty without a value
    smaller: int = 0
    verdict: int = 2  # Of a command that has one
    followed: list[str] = field(default_factory=list)
    fresh: set[str] = field(default_factory=set)  # Options that the advice of the last audit gave

    def audit(self) -> tuple[int, dict[str, Any]]:
        """Audit the subject as it stands; return the status and the report."""
        self.fresh.clear()
        words = [word for name, value in self.options.items() for word in ((name, value) if value else (name,))]
        done = self.run("audit", *self.models, *words, "--json", cwd=self.folder)
        if copy := self.options.pop("--clean-copy", ""):
            self.models = [copy]
        if done.status == 2:
            raise AdviceError(f"glassine audit {shlex.join([*self.models, *words])}: {done.err.strip()}")
        plain = json.loads(done.out)
        if "advice" not in plain:
            # Of a file that is not judged, the report says whom to ask what, and with which other tools.
            (one,) = plain["models"]
            assert one["unjudged"]["ask"]
            assert one["unjudged"]["tools"]
            return done.status, {"advice": [{"text": "Nothing more can be done: it is not judged."}]}
        return done.status, plain

    def follow(self, sentence: str) -> None:
        """Do what a sentence of advice says; raise AdviceError if it cannot be done."""
        self.followed.append(sentence)
        quoted = QUOTED.findall(sentence)
        done = False
        for piece in quoted:
            if piece.startswith("glassine "):
                self.command(piece)
                done = True
            elif piece.startswith(("echo ", "printf ")):
                subprocess.run(["bash", "-c", piece], cwd=self.folder, check=True)
                done = True
        if done:
            self.fill_in()
        given = [piece for piece in quoted if piece.startswith("--")]
        if given:
            self.add(given, alternatives="publisher answers" in sentence)
            done = True
        settings = {
            name: float(value)
            for piece in quoted
            for name, value in SETTING.findall(piece)
            if "glassine" not in piece and "--" not in piece
        }
        if settings and "etrain" in sentence and not (self.subject.records and self.subject.trained):
            raise Asked
        if settings and "etrain" in sentence:
            self.train(settings)
            done = True
        if not done:
            self.act(sentence, quoted)

    def act(self, sentence: str, quoted: list[str]) -> None:
        """Do what is said in words alone."""
        if ENDS.search(sentence) or "Add held-out records" in sentence:
            return
        if quoted and "accept_guarantee = true" not in quoted and not INFERRED.search(sentence):
            raise AdviceError(f"{quoted} is no step")
        if "ook through" in sentence:
            raise Asked  # a person, who does what no program can
        if "publisher" in sentence and not (self.subject.records and "etrain" in sentence):
            raise Asked
        if "pass the training records" in sentence:
            self.add(["--data FILE"], alternatives=False)
        elif re.search(r"[Rr]etrain|[Mm]erge", sentence):
            if not self.subject.trained:
                raise Asked  # who has the program that trained it
            self.train({})
        elif "accept_guarantee = true" in quoted:
            self.accept()
        elif "Recode" in sentence:
            shutil.copy(self.folder / "people.csv", self.folder / self.options["--data"])
        elif INFERRED.search(sentence):
            self.fill_in("drafted.json")
        elif "declare its public range" in sentence:
            self.range(self.subject.target)
        elif "Audit together only" in sentence or "ublish one of these models alone" in sentence:
            self.models = self.models[:1]
            self.options.pop("--together", None)
        elif "Shorten" in sentence:
            raise AdviceError("no subject has long names")
        else:
            raise AdviceError(f"nothing to do in {sentence!r}")

    def command(self, text: str) -> None:
        """Run a command as it is printed, its places filled in."""
        words = [
            self.filled(word, before) for before, word in zip(["", *shlex.split(text)], shlex.split(text), strict=False)
        ]
        done = self.run(*words[1:], cwd=self.folder)
        if done.status == 2:
            raise AdviceError(f"{text}: {done.err.strip()}")
        if words[1] == "fit":
            self.accept()  # "It has a guarantee, which covers these checks if you accept it."
        if words[1] == "rebuild":
            self.verdict = done.status
        elif words[1] in ("scrub", "fit", "explain") and "-o" in words:
            made = words[words.index("-o") + 1]
            # Of several models, one after another is made again.
            self.models = [made, *self.models[:-1]] if "--together" in self.options else [made]
        if words[1] == "scrub":
            self.options["--domain"] = words[words.index("--domain") + 1]
            for option in self.subject.reading:
                self.options.pop(option, None)

    def accept(self) -> None:
        """Let a policy of the user's own accept guarantees."""
        path = self.folder / self.options["--policy"]
        if path.exists() and "accept_guarantee" not in path.read_text():
            path.write_text(f"{path.read_text()}accept_guarantee = true\n")

    def filled(self, word: str, before: str) -> str:
        """Return a word of a command; a place for the user is filled in by what stands before it."""
        if not re.fullmatch(r"[A-Z]+(,[A-Z]+)*(\.\.\.)?", word):
            return word
        return self.value(before, word)

    def value(self, option: str, place: str) -> str:
        """Return what a user knows to fill in after an option."""
        subject = self.subject
        known = {
            "--data": "people.csv",
            "--holdout": "others.csv",
            "--domain": "public.json",
            "--target": subject.target,
            "--person": "who",
            "--sensitive": "smoker" if subject.kind == "release" else subject.target,
            "--policy": "tre",
            "--black-box": "box:decide",
            "--epsilon": "1",
            "--criterion": "gini",
            "--class-depth": "30",
            "--drawn-from": "100000",
            "--class-people": "600",
            "--min-samples-leaf": "30",
            "--max-depth": "1",
            "--smallest-leaf": "50",
            "--classes": "no,yes",
            "--target-range": "0,100000",
            "--records-per-person": "2",
            **subject.answers,
        }
        if place == "RECORDS" and subject.records:
            return "people.csv"
        if place == "MODEL":
            return self.models[0]
        if not subject.records and (place == "RECORDS" or option in ("--data", "--holdout", "--target", "--person")):
            raise Asked
        if option in known:
            return known[option]
        if not (subject.records and subject.trained):
            raise Asked  # the publisher, who may know
        raise AdviceError(f"what to give for {option} {place} is not known")

    def add(self, given: list[str], *, alternatives: bool) -> None:
        """Add options to the audit; of the answers that a publisher can give, those that this one gives."""
        answered = not alternatives
        for piece in given:
            words = shlex.split(piece)
            name, place = words[0], words[1] if len(words) > 1 else ""
            if alternatives and name in self.options and name not in self.fresh:
                raise AdviceError(f"{piece} was answered before")
            if alternatives and name not in self.subject.answers:
                continue
            answered = True
            value = self.value(name, place) if re.fullmatch(r"[A-Z]+", place) else place
            if self.options.get(name) == value and name not in self.fresh:
                if not self.subject.trained and "xactly the records" in self.followed[-1]:
                    raise Asked  # who trained it: records drawn from a model need not be all of its records
                raise AdviceError(f"{piece} was given before")
            self.options[name] = value
            self.fresh.add(name)
        if not answered:
            raise Asked

    def train(self, settings: dict[str, float]) -> None:
        """Train the model again: with settings, or smaller."""
        self.smaller += not settings
        self.subject.write(self.folder, {**settings, "smaller": self.smaller} if self.smaller else settings)
        self.models = list(self.subject.models)
        # Of a model that was trained again, copies can be made again.
        self.followed = [one for one in self.followed if "etrain" in one and "glassine" not in one]
        drafted = self.folder / self.options.get("--domain", "")
        if drafted.name.startswith(("domain", "drafted")) and self.subject.domain is not None:
            # It may test other attributes, which its domain declares as well.
            self.declare(drafted, self.subject.domain)
        for word in self.subject.reading:
            self.options[word] = ""

    def range(self, target: str) -> None:
        """Declare the public range of a number that is predicted, and name it."""
        name = self.options.get("--domain", "public.json")
        self.options |= {"--domain": name, "--target": target}
        path = self.folder / name
        known = self.subject.domain if not path.exists() or path.suffix != ".json" else Domain.read(path)
        if known is None:
            raise Asked
        self.declare(path, Domain({**{one: known[one] for one in known}, target: Real(0, 40_000)}))

    def declare(self, path: Path, domain: Domain) -> None:
        """Write a domain in the place of a draft."""
        path.unlink(missing_ok=True)
        if path.suffix == ".json":
            domain.to_json(path)
        else:
            path.write_text(to_toml(domain, {}) + "\n")

    def fill_in(self, *given: str) -> None:
        """Replace what a draft of a domain leaves open, or infers, by what is public; ``given`` was there before."""
        for path in (self.folder / name for name in ("domain.toml", "domain.json", *given)):
            if not path.exists():
                continue
            text = path.read_text()
            plain = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
            names = [one if isinstance(one, str) else one["name"] for one in plain["attributes"]]
            public = self.subject.domain
            if public is None:
                filled = text.replace('lo = "?"', "lo = -1000000").replace('hi = "?"', "hi = 1000000")
                path.write_text(re.sub(r"(?m)^.*\"\?\".*\n", "", filled))
            elif all(name in public for name in names):
                self.declare(path, public.restrict(names))
            else:
                raise AdviceError(f"the draft asks for {names}, of which not all are public")


def alternatives(text: str) -> list[str]:
    """Return what a remedy says to do, one sentence each: sentences that only explain are left out."""
    parts = re.split(r"(?<=[.?]) (?!For example|It has a)(?=[A-Z`])", text)
    said = [one for one in parts if one.startswith("Or ") or QUOTED.search(one) or ACTS.search(one)]
    if not said and SAME not in text and not ENDS.search(text):
        raise AdviceError(f"nothing to do in {text!r}")
    return [one for one in said if SAME not in one]


def steps_in(sentence: str) -> frozenset[str]:
    """Return which steps a sentence proposes: its commands, options and settings by name, and what is done in words."""
    pieces = QUOTED.findall(sentence)
    commands = {" ".join(piece.split()[:2]) for piece in pieces}
    options = {word for piece in pieces for word in piece.split() if word.startswith("--")}
    return frozenset({*commands, *options, *ACTS.findall(sentence)})


@dataclass(frozen=True, slots=True)
class Way:
    """A way that advice leads: what was given, under which policy, what was done first, and what is wrong with it."""

    subject: str
    given: str
    policy: str
    first: str
    problem: str


def ways(
    subject: AdvisedSubject,
    given: str,
    options: Mapping[str, str],
    policy: str,
    stored: Path,
    run: Command,
    walked: set[object],
    same: Callable[[str], object] = lambda sentence: VARYING.sub("", sentence),
) -> Iterator[Way]:
    """Yield every way that the advice of an audit leads, each with what is wrong with it, or nothing.

    ``walked`` are the sentences that were followed before, which are not followed again, ``same`` what makes two the
    same: what they say without files, policies and figures.
    """

    def walk(number: int) -> Walk:
        folder = stored.parent / f"way-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(stored, folder)
        words = dict.fromkeys(subject.reading, "") | dict(options) | {"--policy": policy}
        return Walk(subject, folder, run, list(subject.models), words)

    def way(first: str, problem: str) -> Way:
        return Way(subject.name, given, policy, first, problem)

    try:
        status, plain = walk(0).audit()
    except AdviceError as error:
        yield way("", str(error))
        return
    advice = [one["text"] for one in plain["advice"]]
    if status != 0 and not advice:
        yield way("", "nothing is said of what to do")
    # What the line of a named policy says is followed by an audit under that policy; the advice stands above the line.
    lines = [
        (one["name"], STATUS[one["verdict"]], [*advice, one["remedy"]["text"]])
        for one in plain.get("policies", ())
        if one["remedy"] is not None and policy == "default" != one["name"]
    ]
    for name, before, every in [(policy, status, advice if status else []), *lines]:
        for i, text in enumerate(every):
            if name != policy and i < len(advice):
                continue
            try:
                said = alternatives(text)
            except AdviceError as error:
                yield way(text, str(error))
                continue
            for sentence in said:
                if ENDS.search(sentence):
                    continue
                if (plainly := same(sentence)) in walked:
                    continue
                walked.add(plainly)
                reader = walk(1)
                reader.options["--policy"] = name
                try:
                    yield way(sentence, _led(reader, sentence, every, i, before))
                except AdviceError as error:
                    yield way(sentence, f"{name}, after {reader.followed}: {error}")


def _led(reader: Walk, first: str, every: Sequence[str], place: int, status: int) -> str:
    """Follow a sentence, then all that the next audits say, three steps in all; return what is wrong."""
    earlier = every[:place]
    needed = re.search(r"glassine (?:scrub|fit) .*--domain (\S+)", first)
    if needed and not (reader.folder / needed[1]).exists():
        for text in (*earlier, every[place].partition(first)[0]):
            if needed[1] in text and not (reader.folder / needed[1]).exists():
                reader.follow(alternatives(text)[0])
    for text in earlier:
        if text.startswith("Recode"):
            reader.follow(alternatives(text)[0])
    said: list[str] = []
    try:
        reader.follow(first)
        if INPUT.search(first):
            # Who passes one input passes all that the same audit asks for.
            for text in every:
                for sentence in alternatives(text)[:1]:
                    if sentence != first and INPUT.search(sentence):
                        reader.follow(sentence)
    except Asked:
        return ""
    for step in range(1, STEPS + 1):
        now, plain = reader.audit()
        said = [one["text"] for one in plain["advice"]]
        if max(RANK[now], RANK[reader.verdict]) > RANK[status] or any(ENDS.search(one) for one in said):
            return ""
        sentences = [
            alternatives(text)[0]
            for text in said
            if f": {SAME}" not in text.partition(". ")[0] + "." and alternatives(text)
        ]
        # A model that somebody else is to train again stays as it is.
        # Training again is gradual, and judged by the steps that it takes.
        # A copy of a copy has another name, and is the same advice.
        before = {NUMBERED.sub("", one) for one in reader.followed}
        again = [
            one for one in sentences if NUMBERED.sub("", one) in before and ("etrain" not in one or "glassine" in one)
        ]
        if again:
            return f"advised again after it was followed: {again[0]}"
        if step < STEPS:
            try:
                replaced = False
                for sentence in sentences:
                    # One audit may say in several ways how to get another model: the first is taken.
                    if not (MAKES.search(sentence) and replaced):
                        reader.follow(sentence)
                        replaced = replaced or MAKES.search(sentence) is not None
            except Asked:
                return ""
    return f"no better after {STEPS} steps: {said}"
