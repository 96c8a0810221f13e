"""The desk's own audits: which files wait for one, each run by a worker, its result stored by hash."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from glassine.desk.acro import ACRO_FILES
from glassine.desk.desk import Desk
from glassine.desk.folder import HEAD, LARGEST_MODEL, FolderFile, kind_of, read_own
from glassine.desk.form_values import digest_of, text_of
from glassine.desk.phrases import PHRASES
from glassine.desk.state import ACCEPTED, FileState, Version
from glassine.desk.stated import STATED, statements_of
from glassine.desk.workers import Done, Job, StoppedJobError, Workers
from glassine.errors import DeskError, RefusedActionError, quoted

VERDICTS = {0: "within policy", 1: "outside policy", 3: "inconclusive"}
NOT_AUDITED = "not audited"
SUBMITTED = "submitted"
TRIED_WITH = "stated.json"
"""Folder of a job that holds files by the names that analysts gave them; reports say these."""

LOOK = "Look at it yourself: the desk audits models only."
POLICY = ".policy.toml"
"""File of a job with the policy, by a name that no file of the folder has."""
ACCEPTING = b"accept_guarantee = true\n"
OWN_WORD = re.compile(rb"""^[ \t]*["']?accept_guarantee["']?[ \t]*=.*$""", re.MULTILINE)
"""What a policy says of it itself."""
SAID = {
    "pickle": "Not opened: a pickle can run code. Ask for skops, ONNX or JSON.",
    "image": f"An image. {LOOK}",
    "table": f"A table. {LOOK}",
    "page": "A page that the analyst stated. It is shown as text only, and proves nothing.",
    "database": "A database, such as a ledger of budgets. It is not opened, and is no file to release.",
    "large": f"Larger than {LARGEST_MODEL // 1_000_000} MB: the desk does not audit it.",
    "acro": "ACRO's record of the files. It is read, and is no file to release.",
    "domain": "A domain: what the analyst states is public. It goes with a model.",
    "certificate": "A certificate that the analyst stated. It goes with a model.",
    "findings": "Findings that the analyst stated. The desk audits the model itself.",
}
ASKED = re.compile(r"\b([Aa]sk|[Hh]ave|what|if|unless) the publisher\b")
"""How an audit names whom to ask: at a desk that is the analyst, who submitted the file."""
MOST_COPIES = 8
"""Copies of one trial that can be looked at."""
DAMAGED = "The file cannot be read as a model: it is damaged, incomplete, or of a kind that Glassine does not read."
"""What checkers read of every such file: what its reader said stands behind a fold."""
LARGEST_FINDINGS = 4_000_000
"""Bytes of findings that are read for the verdict that they state."""
REQUESTS = {
    "pickle": "The model in a format that is no code: skops, ONNX or Glassine's JSON, in place of the pickle.",
    "unreadable": "A whole copy of the file: the one in the folder cannot be read.",
}
"""What is asked of the analyst, by the kind of a file without a report."""
ASKED_RECORDS = "The training records, as a file of this folder, and the name of the column that is predicted."
CLOSED = PHRASES["closed"]
"""Why files of a kind cannot be approved: the desk cannot say what they hold, or no release has them."""


class Audits:
    """Audits that wait or run, and the results of those that ended.

    Parameters
    ----------
    desk : Desk
        The desk.
    workers : int
        Workers at a time.
    """

    def __init__(self, desk: Desk, workers: int = 2) -> None:
        self._desk = desk
        self.workers = Workers()
        self._places = asyncio.Semaphore(workers)
        self._running: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._results: dict[str, dict[str, Any]] = {}
        self.failed: dict[tuple[str, str, str], str] = {}
        # Copies that the last trial of a version made, with the endings of their names.
        self._copies: dict[str, dict[int, tuple[bytes, str]]] = {}
        self._looked: Mapping[str, FolderFile] = {}

    @property
    def n_waiting(self) -> int:
        """How many wait or run."""
        return len(self._running)

    def start(self) -> None:
        """Start an audit of each present version that has none under the present policy and answers."""
        present = self._desk.present()
        if present != self._looked:
            # What was in the way, such as a domain that had changed, may be as it was.
            self._looked = present
            self.failed.clear()
        for file in list(self._desk.state.files.values()):
            version = file.now
            key = self._key(file, version)
            if file.id not in present or key in self._running or key in self.failed or version.ended == "released":
                continue
            audit = self._desk.audit(version)
            if audit is not None and (audit.result in self._results or self._path(audit.result).is_file()):
                continue
            task = asyncio.get_running_loop().create_task(self._audit(file, version, key))
            self._running[key] = task

    def again(self, asked: Mapping[str, Any]) -> None:
        """Have a file audited whose audit failed or was stopped."""
        file = self._desk.file(text_of(asked, "file"))
        self.failed.pop(self._key(file, file.now), None)

    async def stop(self) -> None:
        """End all workers."""
        for task in list(self._running.values()):
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        await self.workers.stop()

    def result(self, version: Version) -> dict[str, Any] | None:
        """Return the stored result of a version's present audit; None if it waits, or the stored bytes changed."""
        audit = self._desk.audit(version)
        if audit is None:
            return None
        if audit.result not in self._results:
            with suppress(OSError, ValueError):
                data = read_own(self._path(audit.result))
                if hashlib.sha256(data).hexdigest() == audit.result:
                    if len(self._results) > 40:
                        self._results.clear()
                    self._results[audit.result] = json.loads(data)
        return self._results.get(audit.result)

    def stored_bytes(self, version: Version) -> Path | None:
        """Return where the bytes of an audited model are held, for comparison with later versions."""
        path = self._desk.own / "held" / version.sha256
        return path if path.is_file() else None

    def _key(self, file: FileState, version: Version) -> tuple[str, str, str]:
        return file.id, version.sha256, digest_of([self._desk.settings.policy_digest, version.inputs])

    def _path(self, digest: str) -> Path:
        return self._desk.own / "audits" / f"{digest}.json"

    async def _audit(self, file: FileState, version: Version, key: tuple[str, str, str]) -> None:
        try:
            async with self._places:
                answers = version.inputs
                result = await self._measure(file, version, answers)
                data = json.dumps(result, sort_keys=True).encode()
                digest = hashlib.sha256(data).hexdigest()
                # Result first: an event whose result is lost would show nothing; a result without an event is no harm.
                await asyncio.to_thread(store, self._path(digest), data)
                now = self._desk.refresh().version({"file": file.id, "sha256": version.sha256})
                made = self._desk.audit(now or version)
                if made is not None and made.result == digest:
                    return  # Another desk was faster
                self._desk.audited(
                    file.id,
                    version.sha256,
                    {
                        "policy": self._desk.settings.policy,
                        "policy_sha256": self._desk.settings.policy_digest,
                        "answers": digest_of(answers),
                        "verdict": result["verdict"],
                        "result": digest,
                        "closed": result["kind"] in CLOSED,
                        "foreign": any(not one["canonical"] for one in (result.get("findings") or {}).get("files", ())),
                    },
                )
        except RefusedActionError:
            pass  # Other bytes have the name now: the next look at the folder sees them
        except (StoppedJobError, DeskError, OSError) as error:
            self.failed[key] = str(error)
        finally:
            self._running.pop(key, None)

    async def _measure(self, file: FileState, version: Version, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the desk says of a file: the verdict on a model, or that it is none."""
        desk = self._desk
        # What it is, is said of the bytes that were recorded, and of no others that have its name.
        data = await asyncio.to_thread(desk.folder.checked, file.name, LARGEST_FINDINGS, version.sha256)
        kind = kind_of(file.name, data[:HEAD], version.size)
        kind = "acro" if file.name in ACRO_FILES else kind
        result: dict[str, Any] = {"kind": kind, "verdict": NOT_AUDITED, "message": "", "page": None, "report": ""}
        if kind != "model":
            result["message"] = SAID.get(kind, f"A file of Glassine ({kind}). It goes with a model.")
            if kind == "findings":
                result["message"] += _verdict_of(data)
            return result
        kept = desk.own / "held" / version.sha256
        if not kept.is_file():
            temporary = kept.with_name(f"new-{os.urandom(8).hex()}")
            try:
                digest = await asyncio.to_thread(desk.folder.copy, file.name, temporary)
                if digest != version.sha256:
                    raise DeskError(f"{file.name} changed while it was being read.", path=desk.folder.path / file.name)
                temporary.rename(kept)
            finally:
                temporary.unlink(missing_ok=True)
        job = self.job("audit", {file.name: (kept, version.sha256)}, answers)
        job.said = f"Audit of {file.name}"
        done = await self.workers.run(job)
        verdict = VERDICTS.get(done.status)
        if done.status == 2:
            # No model that can be read: nothing is compared with it later, and nothing is made from it.
            other = "supported model format" in done.message
            result["kind"] = "other" if other else "unreadable"
            kept.unlink(missing_ok=True)
        result["message"] = done.message if verdict is None else ""
        if result["kind"] == "unreadable":
            result["message"], result["reader"] = DAMAGED, done.message
        result["verdict"] = verdict or NOT_AUDITED
        if verdict is None:
            return result
        result["page"] = asking_analysts(_json(done.files.get("page.json")))
        if result["page"] is None:
            result["message"] = done.out[:4000]
        result["findings"] = _json(done.out.encode())
        result["report"] = done.files.get("report.html", b"").decode(errors="replace")
        return result

    def certificate_file(self, file: FileState) -> FileState | None:
        """Return the certificate in the folder that has the model's name, as private fits write it.

        A file of such a name that the desk has not looked at yet is taken for one: its verification says what it is.
        """
        stem = file.name.rpartition(".")[0]
        present = self._desk.present()
        for one in self._desk.state.files.values():
            kind = (self.result(one.now) or {}).get("kind", "certificate")
            if one.id in present and kind.endswith("certificate") and one.name.startswith(f"{stem}.certificate"):
                return one
        return None

    async def certificate(self, file: FileState, other: FileState) -> Done | None:
        """Return what the verification of a certificate says of a model's bytes; None if they are not held."""
        kept = self.stored_bytes(file.now)
        if kept is None:
            return None
        reads = {file.name: kept, other.name: self._desk.folder.path / other.name}
        digests = {file.name: file.now.sha256, other.name: other.now.sha256}
        words = ("certificate", "verify", "--", f"./{file.name}", f"./{other.name}")
        async with self._places:
            return await self.workers.run(Job(words=words, reads=reads, digests=digests, inside=SUBMITTED))

    async def evidence(self, file: FileState, form: str, other: FileState | None) -> Done:
        """Return the answers to what an authority asks, from the desk's own audit and a certificate if there is one."""
        findings = (self.result(file.now) or {}).get("findings")
        gives, reads, digests = {"report.json": json.dumps(findings).encode()}, {}, {}
        if other is not None:
            reads["certificate.json"] = self._desk.folder.path / other.name
            digests["certificate.json"] = other.now.sha256
        words = ("evidence", *gives, *reads, "--for", form, "-o", "evidence.html")
        job = Job(words=words, reads=reads, digests=digests, gives=gives, writes=("evidence.html",))
        return await self.workers.run(job)

    def _with_domain(self, file: FileState, kept: Path) -> tuple[tuple[str, str], dict[str, Path], dict[str, str]]:
        """Return the names in a job of a model and its stated domain, ``-`` if none, with their places and hashes."""
        name, domain = f"model{os.path.splitext(file.name)[1]}", "-"
        reads, digests = {name: kept}, {name: file.now.sha256}
        stated = file.now.answers.get("domain")
        if stated is not None:
            domain = f"domain{os.path.splitext(stated['name'])[1]}"
            reads[domain] = self._desk.folder.path / stated["name"]
            digests[domain] = stated["sha256"]
        return (name, domain), reads, digests

    async def drawing(self, file: FileState, copy: int | None = None) -> Done | None:
        """Return ``drawing.svg`` of a model, or of a copy that its last trial made; None if the bytes are not held."""
        kept = self.stored_bytes(file.now)
        data, ending = self._copies.get(file.now.sha256, {}).get(-1 if copy is None else copy, (b"", ""))
        if kept is None or (copy is not None and not data):
            return None
        words, reads, digests = self._with_domain(file, kept)
        gives = {}
        if copy is not None:
            del reads[words[0]]
            words = f"model{ending}", words[1]
            gives = {words[0]: data}
        job = Job(
            words=words,
            reads=reads,
            digests={name: digest for name, digest in digests.items() if name in reads},
            gives=gives,
            writes=("drawing.svg",),
            module="glassine.plots.file_drawing",
            said=f"Drawing {file.name}",
        )
        async with self._places:
            return await self.workers.run(job)

    async def trial(
        self, file: FileState, records: Sequence[str] = (), target: str = ""
    ) -> list[dict[str, Any]] | None:
        """Return what each copy would be that a remedy makes; None if the bytes are not held.

        Records, and held-out ones if there are any, are files of the folder with which the model is audited, and on
        which copies are measured: then the first entry is the model's own.

        Raises
        ------
        RefusedActionError
            If the records cannot be used.
        """
        kept = self.stored_bytes(file.now)
        if kept is None:
            return None
        (name, domain), reads, digests = self._with_domain(file, kept)
        limits, gives = self.limits(file.now.inputs)
        gives = {**gives, TRIED_WITH: json.dumps(statements_of(file.now.answers)).encode()}
        async with self._places:
            job = Job(
                words=(
                    name,
                    domain,
                    limits,
                    TRIED_WITH,
                    *((target,) if records else ()),
                    *(f"./{one}" for one in records),
                ),
                reads=reads,
                digests=digests,
                gives=gives,
                writes=("trial.json", *(f"copy-{number}" for number in range(MOST_COPIES))),
                module="glassine.desk.trial",
                said=f"Trying steps on {file.name}",
            )
            with ExitStack() as opened:
                job.opens = {one: opened.enter_context(self._desk.folder.opened(one)) for one in records}
                done = await self.workers.run(job)
        if records and done.status != 0:
            raise RefusedActionError(done.message)
        results: list[dict[str, Any]] | None = asking_analysts(_json(done.files.get("trial.json")))
        made = {number: done.files.get(f"copy-{number}", b"") for number in range(len(results or ()))}
        # Of one version at a time: a desk is open for days.
        self._copies = {file.now.sha256: {n: (made[n], (results or [])[n].get("ending", "")) for n in made}}
        return results

    def limits(self, inputs: Mapping[str, Any]) -> tuple[str, dict[str, bytes]]:
        """Return the policy of a job, its name or that of a file, and the file that the job is given then."""
        settings = self._desk.settings
        data = settings.policy_bytes
        if inputs.get(ACCEPTED):
            # Its place in a file is the first: behind the name of a table it would be of the table.
            data = ACCEPTING + OWN_WORD.sub(b"", data or f'base = "{settings.policy}"\n'.encode())
        return (POLICY, {POLICY: data}) if data else (settings.policy, {})

    def job(
        self,
        command: str,
        models: Mapping[str, tuple[Path, str]],
        answers: Mapping[str, Any],
        options: tuple[str, ...] = (),
    ) -> Job:
        """Return an audit of models, under the desk's policy and what was stated."""
        # models: path and hash of each, by its name.
        reads = {name: path for name, (path, _) in models.items()}
        digests = {name: digest for name, (_, digest) in models.items()}
        words = [command, "-o", "../report.html", "--to", "plain", "../page.json", "--json", *options]
        limits, gives = self.limits(answers)
        words += ["--policy", limits]
        for name, value in answers.items():
            if name not in STATED:
                continue
            option, kind = STATED[name].option, STATED[name].kind
            if kind == "file":
                if value["name"] in reads:
                    raise DeskError(
                        f"{quoted(value['name'])} was stated as a file that goes with itself.",
                        remedy="Answer anew.",
                        path=reads[value["name"]],
                    )
                reads[value["name"]] = self._desk.folder.path / value["name"]
                digests[value["name"]] = value["sha256"]
                words += [option, f"./{value['name']}"]
            else:
                words += [option] if kind == "flag" else [option, str(value)]
        words += ["--", *(f"./{name}" for name in models)]
        return Job(
            words=words,
            reads=reads,
            digests=digests,
            gives=gives,
            writes=("report.html", "page.json"),
            inside=SUBMITTED,
        )

    async def together(self, file: FileState) -> dict[str, Any] | None:
        """Return the audit of the present version and the one before as one release; None if one is not held."""
        before = file.before
        now, then = self.stored_bytes(file.now), None if before is None else self.stored_bytes(before)
        if before is None or now is None or then is None:
            return None
        stem, ending = os.path.splitext(file.name)
        names = {f"{stem}-before{ending}": (then, before.sha256), f"{stem}-now{ending}": (now, file.now.sha256)}
        # Several models are judged in a domain; what else was stated is of one of them.
        stated = {name: value for name, value in file.now.inputs.items() if name in ("domain", ACCEPTED)}
        pair = dict(zip((f"before{ending}", f"now{ending}"), names.values(), strict=True))
        both = Job(
            words=[f"./{name}" for name in pair],
            reads={name: path for name, (path, _) in pair.items()},
            digests={name: digest for name, (_, digest) in pair.items()},
            writes=("changes.json", "domain.json"),
            module="glassine.desk.both",
            said=f"Comparing two versions of {file.name}",
        )
        async with self._places:
            compared = await self.workers.run(both)
            widest = compared.files.get("domain.json", b"")
            job = self.job("audit", names, stated, ("--together",))
            job.said = f"Audit of two versions of {file.name}"
            if "domain" not in stated and widest:
                # Before the two dashes: names of models follow them.
                job.words = [job.words[0], "--domain", ".widest.json", *job.words[1:]]
                job.gives = {**job.gives, ".widest.json": widest}
            done = await self.workers.run(job)
        message = done.message
        if "domain" not in stated and not widest and done.status == 2:
            message = compared.message or "they could not be read."
        return {
            "message": message,
            "page": asking_analysts(_json(done.files.get("page.json"))) if done.status in VERDICTS else None,
            "changes": _json(compared.files.get("changes.json")),
            "widest": "domain" not in stated,
        }


def asking_analysts(value: Any) -> Any:
    """Return plain values whose texts name the analyst where an audit names the publisher as the one to ask.

    Examples
    --------
    >>> asking_analysts({"steps": ["Ask the publisher for a copy."]})
    {'steps': ['Ask the analyst for a copy.']}
    """
    if isinstance(value, str):
        return ASKED.sub(r"\1 the analyst", value)
    if isinstance(value, dict):
        return {name: asking_analysts(one) for name, one in value.items()}
    return [asking_analysts(one) for one in value] if isinstance(value, list) else value


def _verdict_of(data: bytes) -> str:
    """Return a sentence on the verdict that findings state; empty if they state none."""
    try:
        said = json.loads(data)["verdict"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return ""
    return f" They state the verdict {said}." if said in VERDICTS.values() else ""


def _json(data: bytes | None) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return None


def store(path: Path, data: bytes) -> None:
    """Write a file that others may be writing at the same time with the same bytes."""
    temporary = path.with_name(f"new-{os.urandom(8).hex()}")
    with temporary.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
