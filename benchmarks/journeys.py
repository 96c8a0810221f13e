"""Three people walk the README on public data: ``python benchmarks/journeys.py FOLDER [--only NAME] [--log FILE]``.

An analyst whose records are of people with several rows each, a checker of nine files, and an engineer with a pipeline.
Each begins with the commands of the README and of the how-to pages that it links. Every command and option that the
tool then proposes is run in a shell, its places filled in by what this person has, and what that proposes in its turn,
three steps deep. A domain that a person must make public is made so where the tool says so, and not before. The log
holds every command with its exit status and output. The exit status is 1 if a proposed command was refused (status 2),
or if a copy that was made as advised is not within policy.

GLASSINE_DATA names the folder of the datasets: Adult, German credit and Telco. It needs pandas, pyarrow and skops
beside Glassine, as in the environment of requirements/dev.txt.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
import polars as pl  # noqa: E402
import skops.io  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from benchmarks.public_data import adult, german, telco  # noqa: E402
from glassine import Category, Domain, Integer  # noqa: E402
from glassine.domain.attributes import Attribute  # noqa: E402
from glassine.domain.forms import to_toml  # noqa: E402

N = 1200
"""Records of the analyst; of others half as many."""
STEPS = 2
"""How deep what is proposed is followed."""
REFUSED = 2
COMMAND = re.compile(r"`((?:glassine|echo|printf) [^`]+)`|^For what to do, [^:\n]*: (glassine .+)$", flags=re.MULTILINE)
OPTIONS = re.compile(r"[`(](--[a-z][^`)]*)[`)]|^glassine: (?:To |Left out)[^\n]*: (--[a-z][^\n]*)$", flags=re.MULTILINE)
PLACE = re.compile(r"(--[a-z-]+=)?[A-Z]+([,:=][A-Z]+)*(\.\.\.)?")
DECISION = re.compile(r"[Rr]eplace (?:the|its) inferred|filled in")
"""Where a person makes a draft public."""
ALTERNATIVES = re.compile(r"publisher answers|in place of")
TO = re.compile(r"answers to `(glassine [^`]+)`")
"""Where a sentence says to which command its options belong."""
VARIES = re.compile(r"(-again)?(-\d+)?(?=\.(json|toml)\b)")
"""What differs between the names of copies, or drafts, of the same."""
TAKE = ("--holdout", "--sensitive", "--data", "--target", "--person")
"""Options that a report names without a place."""
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63000100000500010d0a2db400"
    "00000049454e44ae426082"
)

Shell = Callable[[str, Path], tuple[int, str]]
"""Runs a command in a folder; returns its exit status and all that it printed."""


def shell(command: str, folder: Path) -> tuple[int, str]:
    """Run a command in a shell of its own, with the program of this environment."""
    program = shlex.quote(str(Path(sys.executable).with_name("glassine")))
    done = subprocess.run(  # noqa: S603 - our own commands, as they are printed
        ["/bin/bash", "-c", re.sub(r"^glassine\b", program, command)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command that was run, whether the tool proposed it, and its exit status."""

    command: str
    status: int
    proposed: bool


@dataclass(slots=True)
class Person:
    """One who runs commands in a folder and follows what they propose."""

    name: str
    folder: Path
    public: Mapping[str, Attribute]  # What this person may declare
    answers: Mapping[str, str]  # What this person fills in, by option
    log: Callable[[str], object]
    run_in: Shell = shell
    steps: list[Step] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # Proposals that need what only somebody else has
    faults: list[str] = field(default_factory=list)
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def run(self, command: str, *, proposed: bool = False, folder: Path | None = None) -> tuple[int, str]:
        """Run a command; return its exit status and all that it printed."""
        status, said = self.run_in(command, folder or self.folder)
        self.log(f"\n$ {command}\n{said.rstrip()}\n[exit status {status}]\n")
        self.steps.append(Step(command=command, status=status, proposed=proposed))
        if "Traceback" in said or (proposed and status not in (0, 1, 3)):
            self.faults.append(f"{self.name}: {command}: {said.strip().splitlines()[-1]}")
        return status, said

    def walk(self, command: str, depth: int = STEPS, *, proposed: bool = False) -> int:
        """Run a command, then all that its output proposes; return its exit status."""
        status, said = self.run(command, proposed=proposed)
        if depth:
            plain = re.sub(r"\n {2,}", " ", said)
            for base, piece in _pieces(command, plain):
                self._follow(base, piece, depth - 1)
            for decision in DECISION.finditer(plain):
                # What has been drafted by now is made public, as it says.
                for name in re.findall(r"domain[\w-]*\.(?:json|toml)", plain[decision.start() :][:200]):
                    self.make_public(self.folder / name)
        return status

    def _follow(self, command: str, piece: str, depth: int) -> None:
        """Do what a piece of an output proposes, once for each model: a command, or the same one with options added."""
        subject = VARIES.sub("", shlex.split(command)[2]) if "audit" in command else ""
        key = (subject, VARIES.sub("", piece))
        if key in self._seen:
            return
        self._seen.add(key)
        whole = piece if not piece.startswith("--") else _with(command, piece)
        filled = self._filled(whole)
        if filled is None:
            self.log(f"\n# needs what somebody else has: {whole}\n")
            self.others.append(whole)
            return
        words = shlex.split(filled)
        made = self.folder / words[words.index("-o") + 1] if "-o" in words else None
        if made is not None and made.exists() and "--overwrite" not in words:
            # Another way to the same end, which was proposed before this file was there.
            self.log(f"\n# in place of {made.name}\n")
            made.unlink()
        self.walk(filled, depth, proposed=True)
        if made is not None and made.name.startswith("domain"):
            self.make_public(made)
        if words[1] == "scrub" and made is not None and made.exists():
            self._judge_copy(words, made)

    def _judge_copy(self, words: list[str], made: Path) -> None:
        """Audit a copy that was made as advised: it passes wherever there are records to judge it by."""
        kept = ("--domain", "--data", "--target", "--person", "--policy")
        options = [part for name in kept if name in words for part in (name, words[words.index(name) + 1])]
        status = self.walk(shlex.join(["glassine", "audit", made.name, *options]), 1)
        if status != 0 and ("--data" in options or status != 3):
            self.faults.append(f"{self.name}: the copy of {shlex.join(words)} ends with {status}")

    def _filled(self, command: str) -> str | None:
        """Return a command with its places filled in, None where this person has nothing to fill in."""
        words = shlex.split(command)
        for i, word in enumerate(words):
            if not PLACE.fullmatch(word):
                continue
            option, sign, _ = word.rpartition("=") if word.startswith("--") else (words[i - 1], "", "")
            value = self.answers.get(option if option.startswith("--") else word)
            if value is None:
                return None
            words[i] = f"{option}={value}" if sign else value
        return command if words == shlex.split(command) else shlex.join(words)

    def make_public(self, path: Path) -> None:
        """Replace what a draft infers or leaves open by what is public."""
        if not path.exists():
            return
        text = path.read_text()
        plain = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        names = [one if isinstance(one, str) else one["name"] for one in plain["attributes"]]
        domain = Domain({name: self.public[name] for name in names})
        path.unlink()
        if path.suffix == ".toml":
            path.write_text(to_toml(domain, {}) + "\n")
        else:
            domain.to_json(path)
        self.log(f"\n# {path.name}: made public\n")


def _pieces(command: str, plain: str) -> Iterator[tuple[str, str]]:
    """Yield what an output proposes, sentence by sentence, with the command that options are added to.

    Commands of a sentence come first, as its options can name the files that they write.
    """
    for sentence in re.split(r"(?<=[.?]) (?=[A-Z])|\n", plain):
        commands, options = (
            [next(filter(None, match.groups())).strip() for match in pattern.finditer(sentence)]
            for pattern in (COMMAND, OPTIONS)
        )
        to = TO.search(sentence)
        yield from ((command, one) for one in commands if "..." not in one and to is None)
        # What a publisher can answer is one of several; other options of a sentence go together.
        together = options if ALTERNATIVES.search(sentence) else filter(None, [" ".join(options)])
        yield from ((to[1] if to else command, one) for one in together)


def _with(command: str, piece: str) -> str:
    """Return a command with options added, in the place of those that it has."""
    words, added = shlex.split(command), list[str]()
    for option in re.split(r" (?=--)", piece):
        name = option.split()[0]
        if name in words and name in TAKE and option == name:
            continue  # "beside --data", which is there
        if name in words and name != option:
            at = words.index(name)
            del words[at : at + 2]
        added += [name, name.strip("-").upper()] if option in TAKE else shlex.split(option)
    if words[1:3] == ["domain", "infer"] and "-o" in words:
        words[words.index("-o") + 1] = "domain-again.json"
        added.append("--overwrite")
    if "-o" in words and words[1] == "audit":
        added.append("--overwrite")
    return shlex.join([*words, *added])


def public_of(domain: Domain, **others: Attribute) -> dict[str, Attribute]:
    """Return public attributes by name."""
    return {**{name: domain[name] for name in domain}, **others}


def analyst(person: Person) -> None:
    """Walk as an analyst, who has records of people with several rows each, and a tree of them."""
    data = adult()
    rng = np.random.default_rng(0)
    people = data.frame.with_columns(
        income=pl.Series(data.labels.astype(str)),
        client_nbr=pl.Series(rng.permutation(len(data.labels)) // 2 + 100_000),
    )
    records, others = people.head(N), people.tail(len(people) - N)
    names = [name for name in records.columns if name not in ("income", "client_nbr")]
    words = [name for name in names if isinstance(data.domain[name], Category)]
    others = others.filter(~pl.col("client_nbr").is_in(records["client_nbr"].implode())).head(N // 2)
    records.write_csv(person.folder / "clients.csv")
    others.write_csv(person.folder / "others.csv")
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), words), remainder="passthrough")
    tree = make_pipeline(encoder, DecisionTreeClassifier(max_depth=6, random_state=0))
    skops.io.dump(tree.fit(records.select(names).to_pandas(), records["income"].to_numpy()), person.folder / "t.skops")
    person.walk("glassine domain infer clients.csv -o domain.json")
    asked = "--data clients.csv --target income"
    # In haste, the draft as it is; then without one; then as the README says.
    person.walk(f"glassine audit t.skops --domain domain.json {asked} --person client_nbr")
    person.walk(f"glassine audit t.skops {asked}")
    person.make_public(person.folder / "domain.json")
    person.walk("glassine domain check domain.json --data clients.csv")
    asked = f"--domain domain.json {asked} --person client_nbr"
    person.walk(f"glassine audit t.skops {asked} --holdout others.csv -o report.html")
    person.walk(f"glassine scrub t.skops {asked} --smallest-leaf 10 --counts remove -o copy.json")
    person.walk(f"glassine audit copy.json {asked}")
    fit = "--target income --person client_nbr --records-per-person 2 --epsilon 1"
    person.walk(f"glassine fit tree clients.csv {fit} --domain domain.json -o own.json --report own.html")
    person.walk(f"glassine fit tree clients.csv {fit} --infer-domain --infer-classes -o loose.json --report loose.html")
    person.walk(f"glassine audit t.skops --only disclosure {asked} --sensitive income")
    person.walk(f"glassine audit t.skops --only membership {asked} --holdout others.csv")
    person.walk("glassine rebuild t.skops --domain domain.json")


def checker(person: Person) -> None:
    """Walk as a checker, who has nine files of others, and no records."""
    data, folder = german(), person.folder
    numbers = data.frame.select("duration", "amount", "age").to_pandas()
    ill = data.labels
    leaf: dict[str, Any] = {"min_samples_leaf": 8, "random_state": 0}
    skops.io.dump(DecisionTreeClassifier(max_depth=6, **leaf).fit(numbers, ill), folder / "tree.skops")
    forest = RandomForestClassifier(10, max_depth=4, **leaf).fit(numbers, ill)
    skops.io.dump(forest, folder / "forest.skops")
    old = data.frame["age"].to_numpy() > 60
    counts = [int((old & (ill == one)).sum()) for one in (1, 2)] + [int((~old & (ill == one)).sum()) for one in (1, 2)]
    (folder / "rules.txt").write_text(
        "if [age > 60.5] then [1] ([{} ; {}] examples)\nelse [1] ([{} ; {}] examples)\n".format(*counts)
    )
    _regression(data.frame, folder / "lm.txt")
    telco_, made = telco(), folder / "maker"
    made.mkdir()
    telco_.frame.with_columns(left=pl.Series(telco_.labels)).write_csv(made / "telco.csv")
    Domain({**public_of(telco_.domain), "left": Category(("No", "Yes"))}).to_json(made / "telco.json")
    fit = "telco.csv --target left --domain telco.json --epsilon 1 -o ../additive.json"
    person.run(f"glassine fit additive {fit}", folder=made)
    (folder / "model.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier(max_depth=2, **leaf).fit(numbers, ill)))
    (folder / "figure.png").write_bytes(PIXEL)
    (folder / "table.csv").write_text("group,n\nsmokers,3\nothers,97\n")
    entry = {"uid": "output_0", "status": "fail", "type": "table", "files": [{"name": "table.csv"}]}
    (folder / "results.json").write_text(json.dumps({"version": "0.4.11", "results": {"a": entry}}))
    (folder / "damaged.json").write_text('{"schema": "glassine.model/2", ')
    nine = ("tree.skops", "forest.skops", "rules.txt", "lm.txt", "additive.json")
    rest = ("model.pkl", "figure.png", "table.csv", "damaged.json")
    person.walk(f"glassine audit {' '.join((*nine, *rest))}")
    for file in nine:
        person.walk(f"glassine audit {file}")
    for file in rest:
        person.walk(f"glassine audit {file}")
    person.walk("glassine certificate verify additive.json additive.certificate.json")
    person.walk("glassine audit additive.json -o report.json")
    person.walk("glassine evidence report.json additive.certificate.json --for tre -o evidence.html")


def _regression(frame: pl.DataFrame, path: Path) -> None:
    """Write a table as R's ``summary`` prints it, of amounts by duration and age."""
    y = frame["amount"].to_numpy().astype(float)
    X = np.column_stack([np.ones(len(y)), frame["duration"].to_numpy(), frame["age"].to_numpy()])
    inverse = np.linalg.inv(X.T @ X)
    beta = inverse @ X.T @ y
    rest = y - X @ beta
    free = len(y) - X.shape[1]
    sigma = float(np.sqrt(rest @ rest / free))
    lines = ["", "Call:", "lm(formula = amount ~ duration + age, data = d)", "", "Coefficients:"]
    lines.append("            Estimate Std. Error t value Pr(>|t|)    ")
    for name, b, s in zip(("(Intercept)", "duration", "age"), beta, sigma * np.sqrt(np.diag(inverse)), strict=True):
        lines.append(f"{name:<11}{b:10.3f}{s:11.3f}{b / s:8.3f}   <2e-16 ***")
    lines += ["---", f"\nResidual standard error: {sigma:.0f} on {free} degrees of freedom"]
    share = 1 - rest @ rest / ((y - y.mean()) ** 2).sum()
    lines.append(
        f"Multiple R-squared:  {share:.4f},\tAdjusted R-squared:  {1 - (1 - share) * (len(y) - 1) / free:.4f} "
    )
    path.write_text("\n".join(lines) + "\n")


def engineer(person: Person) -> None:
    """Walk as an engineer, whose pipeline trains, audits and exports."""
    data, folder = telco(), person.folder
    whole = data.frame.with_columns(left=pl.Series(data.labels))
    order = np.random.default_rng(0).permutation(len(whole))
    train, test = whole[order[:N].tolist()], whole[order[N : N + N // 2].tolist()]
    train.write_csv(folder / "train.csv")
    test.write_csv(folder / "test.csv")
    numbers = [name for name in data.frame.columns if not isinstance(data.domain[name], Category)]
    words = [name for name in data.frame.columns if name not in numbers]
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), words), remainder="passthrough")
    tree = make_pipeline(encoder, DecisionTreeClassifier(max_depth=7, random_state=0))
    skops.io.dump(tree.fit(train.select(data.frame.columns).to_pandas(), train["left"].to_numpy()), folder / "m.skops")
    (folder / "policy.toml").write_text("smallest_leaf = 20\nlargest_advantage = 0.1\n")
    person.walk("glassine audit m.skops --policy policy.toml --ci junit --to sarif model.sarif --overwrite")
    person.walk("glassine domain infer train.csv -o domain.json")
    person.make_public(folder / "domain.json")
    asked = "--domain domain.json --data train.csv --target left"
    person.walk(f"glassine audit m.skops {asked} --holdout test.csv --ci github -o report.json")
    person.walk(f"glassine scrub m.skops {asked} --smallest-leaf 20 -o published.json --overwrite")
    if person.walk(f"glassine audit published.json {asked} --policy policy.toml --require-clean-copy") != 0:
        person.faults.append(f"{person.name}: the published copy does not pass")
    for form, ending in (("sql", "sql"), ("python", "py"), ("onnx", "onnx"), ("pmml", "pmml")):
        person.walk(f"glassine export published.json --to {form} -o published.{ending}")
    person.walk("glassine compare train.csv --target left --domain domain.json --epsilon 1 --models tree --splits 2")
    person.walk("glassine evidence report.json --for edpb -o evidence.md")


RECORDS = {"--data": "clients.csv", "RECORDS": "clients.csv", "--target": "income", "--sensitive": "income"}
OF_ALL = {
    "--epsilon": "1",
    "--class-depth": "30",
    "--drawn-from": "100000",
    "--min-samples-leaf": "50",
    "--smallest-leaf": "50",
    "--records-per-person": "2",
}
STATED = {
    "--n": "1000",
    "--stated-leaf": "8",
    "--stated-step": "1",
    "--base-rate": "0.3",
    "--family": "gaussian",
    "--class-depth": "30",
    "--drawn-from": "100000",
}
"""What the publisher answers the checker."""


def people(
    folder: Path, log: Callable[[str], object], run_in: Shell = shell
) -> dict[str, tuple[Person, Callable[[Person], None]]]:
    """Return who walks, each with a room of their own, and where."""
    of_income = public_of(adult().domain, income=Category(("<=50K", ">50K")), client_nbr=Integer(100_000, 999_999))
    of_left = public_of(telco().domain, left=Category(("No", "Yes")))
    of_credit = public_of(german().domain) | of_left
    with_records = {**OF_ALL, **RECORDS, "--person": "client_nbr", "--holdout": "others.csv", "--domain": "domain.json"}
    of_pipeline = {**OF_ALL, "--data": "train.csv", "RECORDS": "train.csv", "--target": "left", "--sensitive": "left"}
    of_pipeline |= {"--holdout": "test.csv", "--domain": "domain.json"}
    rooms: dict[str, tuple[Mapping[str, Attribute], Mapping[str, str], Callable[[Person], None]]] = {
        "analyst": (of_income, with_records, analyst),
        "checker": (of_credit, STATED, checker),
        "engineer": (of_left, of_pipeline, engineer),
    }
    return {
        name: (Person(name, folder / name, public, answers, log, run_in), walk)
        for name, (public, answers, walk) in rooms.items()
    }


def main() -> int:
    """Walk; print what was run, what was refused, and what was left to others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="to work in; what is there of an earlier run is removed")
    parser.add_argument("--only", choices=("analyst", "checker", "engineer"))
    parser.add_argument("--log", type=Path, help="of every command; journeys.log in the folder otherwise")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    faults = list[str]()
    with (given.log or given.folder / "journeys.log").open("w") as stream:

        def log(text: str) -> None:
            stream.write(text)
            stream.flush()

        for name, (person, walk) in people(given.folder, log).items():
            if given.only in (None, name):
                shutil.rmtree(person.folder, ignore_errors=True)
                person.folder.mkdir()
                log(f"\n\n===== {name}\n")
                walk(person)
                n = sum(step.proposed for step in person.steps)
                refused = sum(step.proposed and step.status == REFUSED for step in person.steps)
                line = f"{name}: {len(person.steps)} commands, {n} of them proposed, {refused} of these refused, "
                line += f"{len(person.others)} that only others can follow"
                log(f"\n{line}\n")
                print(line)  # noqa: T201 - this is a script
                faults += person.faults
    print("\n".join(faults))  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
