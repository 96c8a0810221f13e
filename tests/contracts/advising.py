"""Advice is followed: commands are run as they are printed, options added, models trained again, questions answered."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.running import Done
from tests.contracts.advised import AdvisedSubject

Command = Callable[..., Done]
RANK = {2: 0, 1: 1, 3: 2, 0: 3}
"""Exit statuses from bad input to within policy."""
ENDS = re.compile(r"[Nn]othing more can be done|[Dd]o not publish it")
"""What a sentence says that ends the way."""
QUOTED = re.compile(r"`([^`]+)`")
SETTING = re.compile(r"(\w+)=([\d.]+)")
SAME = "the step above also does this"
STEPS = 3
"""Steps within which a way must lead to a better status."""


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
    followed: list[str] = field(default_factory=list)

    def audit(self) -> tuple[int, dict[str, Any]]:
        """Audit the subject as it stands; return the status and the report."""
        words = [word for name, value in self.options.items() for word in ((name, value) if value else (name,))]
        done = self.run("audit", *self.models, *words, "--json", cwd=self.folder)
        if done.status == 2:
            raise AdviceError(f"glassine audit {shlex.join([*self.models, *words])}: {done.err.strip()}")
        return done.status, json.loads(done.out)

    def follow(self, sentence: str) -> None:
        """Do what a sentence of advice says; raise AdviceError if it cannot be done."""
        self.followed.append(sentence)
        quoted = QUOTED.findall(sentence)
        done = False
        for piece in quoted:
            if piece.startswith("glassine "):
                self.command(piece)
                done = True
            elif piece.startswith("echo "):
                subprocess.run(["bash", "-c", piece], cwd=self.folder, check=True)
                done = True
        if done and "Replace" not in sentence:
            self.fill_in()
        given = [piece for piece in quoted if piece.startswith("--")]
        if given:
            self.add(given, alternatives="publisher answers" in sentence)
            done = True
        if settings := {
            name: float(value) for piece in quoted for name, value in SETTING.findall(piece) if "glassine" not in piece and "--" not in piece
        }:
            if "etrain" in sentence:
                self.train(settings)
                done = True
        if not done:
            self.act(sentence, quoted)

    def act(self, sentence: str, quoted: list[str]) -> None:
        """Do what is said in words alone."""
        if ENDS.search(sentence):
            return
        if re.search(r"[Rr]etrain|[Mm]erge", sentence):
            self.train({})
        elif "Recode" in sentence:
            self.options["--data"] = "people.csv"
        elif "Replace the inferred" in sentence or "eplace its inferred" in sentence:
            self.fill_in()
        elif "Audit together only" in sentence or "ublish one of these models alone" in sentence:
            self.models = self.models[:1]
            self.options.pop("--together", None)
        elif "Shorten" in sentence:
            raise AdviceError("no subject has long names")
        else:
            raise AdviceError(f"nothing to do in {sentence!r}")

    def command(self, text: str) -> None:
        """Run a command as it is printed, its places filled in."""
        words = [self.filled(word, before) for before, word in zip(["", *shlex.split(text)], shlex.split(text), strict=False)]
        done = self.run(*words[1:], cwd=self.folder)
        if done.status == 2:
            raise AdviceError(f"{text}: {done.err.strip()}")
        if words[1] in ("scrub", "fit") and "-o" in words:
            self.models = [words[words.index("-o") + 1]]
        if words[1] == "scrub":
            self.options["--domain"] = words[words.index("--domain") + 1]
            for option in ("--trust-pickle",):
                self.options.pop(option, None)

    def filled(self, word: str, before: str) -> str:
        """Return a word of a command; a place for the user is filled in by what stands before it."""
        if not re.fullmatch(r"[A-Z]+(\.\.\.)?", word):
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
            "--sensitive": subject.target,
            "--policy": "tre",
            **subject.answers,
        }
        if place == "RECORDS" or (place == "FILE" and option in ("infer", "tree", "additive")):
            return "people.csv"
        if place == "MODEL":
            return self.models[0]
        if option in known and (subject.records or option not in ("--data", "--holdout")):
            return known[option]
        raise AdviceError(f"what to give for {option} {place} is not known")

    def add(self, given: list[str], *, alternatives: bool) -> None:
        """Add options to the audit; of the answers that a publisher can give, those that this one gives."""
        for piece in given:
            words = shlex.split(piece)
            name, place = words[0], words[1] if len(words) > 1 else ""
            if alternatives and name not in self.subject.answers:
                continue
            value = self.value(name, place) if re.fullmatch(r"[A-Z]+", place) else place
            if self.options.get(name) == value:
                raise AdviceError(f"{piece} was given before")
            self.options[name] = value

    def train(self, settings: dict[str, float]) -> None:
        """Train the model again: with settings, or smaller."""
        self.smaller += not settings
        self.subject.write(self.folder, {**settings, "smaller": self.smaller} if self.smaller else settings)
        self.models = list(self.subject.models)
        for word in self.subject.reading:
            self.options[word] = ""

    def fill_in(self) -> None:
        """Replace what a draft of a domain leaves open, or infers, by what is public."""
        import tomllib

        for path in (self.folder / "domain.toml", self.folder / "domain.json"):
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
                (self.folder / "filled.json").unlink(missing_ok=True)
                public.restrict(names).to_json(self.folder / "filled.json")
                if path.suffix == ".json":
                    (self.folder / "filled.json").replace(path)
                else:
                    from glassine.domain.forms import to_toml

                    path.write_text(to_toml(public.restrict(names), {}) + "\n")
                    (self.folder / "filled.json").unlink()
            else:
                raise AdviceError(f"the draft asks for {names}, of which not all are public")


def alternatives(text: str) -> list[str]:
    """Return what a remedy says to do, one sentence each: sentences that only explain are left out."""
    parts = re.split(r"(?<=[.?]) (?=[A-Z`])", text)
    said = [one for i, one in enumerate(parts) if i == 0 or one.startswith("Or ") or QUOTED.search(one)]
    return [one for one in said if SAME not in one]


@dataclass(frozen=True, slots=True)
class Way:
    """A way that advice leads: what was given, under which policy, what was done first, and what is wrong with it."""

    subject: str
    given: str
    policy: str
    first: str
    problem: str


def ways(
    subject: AdvisedSubject, given: str, options: Mapping[str, str], policy: str, stored: Path, run: Command
) -> Iterator[Way]:
    """Yield every way that the advice of an audit leads, each with what is wrong with it, or nothing."""

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
    if status == 0 or any(ENDS.search(one) for one in advice):
        return
    for i, text in enumerate(advice):
        for sentence in alternatives(text):
            reader = walk(1)
            try:
                yield way(sentence, _led(reader, sentence, advice[:i], status))
            except AdviceError as error:
                yield way(sentence, f"after {reader.followed}: {error}")


def _led(reader: Walk, first: str, earlier: Sequence[str], status: int) -> str:
    """Follow a sentence, then all that the next audits say, three steps in all; return what is wrong."""
    if needed := re.search(r"glassine scrub .*--domain (\S+)", first):
        if not (reader.folder / needed[1]).exists():
            for text in earlier:
                if needed[1] in text:
                    reader.follow(alternatives(text)[0])
    reader.follow(first)
    said: list[str] = []
    for step in range(1, STEPS + 1):
        now, plain = reader.audit()
        said = [one["text"] for one in plain["advice"]]
        if RANK[now] > RANK[status] or any(ENDS.search(one) for one in said):
            return ""
        sentences = [one for text in said for one in alternatives(text)[:1]]
        if again := [one for one in sentences if one in reader.followed]:
            return f"advised again after it was followed: {again[0]}"
        if step < STEPS:
            for sentence in sentences:
                reader.follow(sentence)
    return f"no better after {STEPS} steps: {said}"
