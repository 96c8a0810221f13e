"""The screens of the desk as fragments of HTML; every text is escaped, names are shown without control characters."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from glassine.desk.acro import ACRO_FILES
from glassine.desk.auditing import ASKED_RECORDS, CLOSED, REQUESTS, Audits
from glassine.desk.chosen import chosen_records
from glassine.desk.desk import STALE, Desk
from glassine.desk.documents import EVIDENCE
from glassine.desk.folder import RECORDS
from glassine.desk.form_values import text_of
from glassine.desk.heads import chain_of
from glassine.desk.pages import clean, clean_name, environment, ordinal
from glassine.desk.phrases import PHRASES
from glassine.desk.releasing import record_of
from glassine.desk.state import WORDS, FileState, Verified, Version
from glassine.desk.stated import STATED
from glassine.desk.texts import Saying, with_texts
from glassine.desk.workbench import Workbench
from glassine.errors import RefusedActionError

WHOLE = {0: True, 3: False}
"""Whether everything in a certificate could be verified, by the exit status if nothing contradicts it."""
BESIDE = ("domain", "findings", "database", "acro")
"""Kinds of files that go with a model, as certificates do."""
DRAWN = ("tree", "rule list", "additive", "regression")
"""Words of which the kind of a model that is drawn has one."""

LONGEST_TEXT = 200_000
"""Bytes of a file that are shown as text."""
MOST_ROWS, MOST_COLUMNS = 200, 60
MOST_NAMES = 100
"""Names of what a folder has and the desk does not list."""
ASKS = "Ask the analyst which "
"""How a step begins that is a question to the analyst."""
MARKS = {"within policy": ("ok", "✓"), "outside policy": ("no", "✕")}
MARKED = (*MARKS, "inconclusive")
"""Verdicts of an audit that could be made."""

NAMES = PHRASES["screens"]
LISTED, APPROVAL, UNREADY = PHRASES["listed"], PHRASES["approval"], PHRASES["unready"]


class Screens:
    """What a person sees of a desk.

    Parameters
    ----------
    desk : Desk
        The desk.
    audits : Audits
        Its audits.
    workbench : Workbench
        What analysts do at it.
    """

    def __init__(self, desk: Desk, audits: Audits, workbench: Workbench) -> None:
        self._say = Saying(desk.settings.texts)
        self._pages = with_texts(environment(), self._say)
        self._desk = desk
        self._audits = audits
        self._workbench = workbench

    def shell(self) -> str:
        """Return the page that everything else is put into: it holds no data of the folder."""
        texts = {name: self._say(text) for name, text in PHRASES["browser"].items()}
        return self._pages.get_template("shell.html").render(texts=texts)

    def screen(self, name: str, chosen: str = "") -> str | None:
        """Return a screen by its name, of a chosen file; None if there is no such screen."""
        if name not in NAMES:
            return None
        values: dict[str, Any] = {"here": name, "names": NAMES, "desk": self._desk, "chosen": chosen}
        values["count"] = len(self._waiting())
        values["person"] = self._desk.person
        values["resettled"] = self._desk.resettled
        make = {
            "queue": self._queue,
            "decided": self._decided,
            "signoff": self._signoff,
            "record": self._record,
            "workbench": self._workbench.values,
        }[name]
        return self._pages.get_template(f"{name}.html").render(values | make(chosen))

    def record_page(self, record: Mapping[str, Any]) -> str:
        """Return a record as a whole page, which loads nothing."""
        return environment().get_template("record_page.html").render(record=record)

    async def text(self, identity: str) -> str:
        """Return the content of a file as text, as a table with marked cells, or as what it is."""
        file = self._desk.file(identity)
        kind = (self._audits.result(file.now) or {}).get("kind", "model")
        values: dict[str, Any] = {"file": file, "kind": kind, "rows": [], "text": "", "cut": False, "marks": {}}
        # Votes are on the recorded bytes, so that no others are shown.
        data = await asyncio.to_thread(self._desk.folder.checked, file.name, LONGEST_TEXT, file.now.sha256)
        values["cut"] = file.now.size > len(data)
        if kind == "pickle" or b"\0" in data[:1000]:
            values["kind"] = "binary"
        elif kind == "table" and file.name.lower().endswith((".csv", ".tsv")):
            split = "\t" if file.name.lower().endswith(".tsv") else ","
            lines = csv.reader(io.StringIO(data.decode("utf-8-sig", "replace")), delimiter=split)
            with suppress(csv.Error):  # Such as a field of more than 131,072 characters
                for row, _ in zip(lines, range(MOST_ROWS + 1), strict=False):
                    values["rows"].append(row[:MOST_COLUMNS])
            if not values["rows"]:
                values["text"] = clean(data.decode("utf-8", "replace"))
            cells = (file.now.acro or {}).get("cells", {})
            for rule, places in cells.items():
                for row, column in places:
                    values["marks"].setdefault((row + 1, column + 1), []).append(rule)
        else:
            values["text"] = clean(data.decode("utf-8", "replace"))
        return self._pages.get_template("text.html").render(values)

    async def together(self, identity: str) -> str:
        """Return what the last two versions of a file reveal together."""
        file = self._desk.file(identity)
        result = await self._audits.together(file)
        return self._pages.get_template("together.html").render(found=result, file=file)

    async def certificate(self, identity: str) -> str:
        """Return whether the certificate beside a model is of its bytes."""
        file = self._desk.file(identity)
        other = self._audits.certificate_file(file)
        if other is None:
            raise RefusedActionError("there is no certificate beside this model.")
        done = await self._audits.certificate(file, other)
        return self._pages.get_template("certificate.html").render(done=done, name=other.name)

    async def accept(self, identity: str, asked: Mapping[str, Any]) -> None:
        """Record that a checker accepts a guarantee, unless the certificate beside the model contradicts its bytes.

        Raises
        ------
        RefusedActionError
            As :meth:`Desk.accept`, or if the certificate is not of these bytes or cannot be read.
        """
        file = self._desk.file(identity)
        other = self._audits.certificate_file(file) if asked.get("accepted") == "yes" else None
        if other is None:
            self._desk.accept(identity, asked)
            return
        if asked.get("sha256") != file.now.sha256:
            raise RefusedActionError(STALE, stale=True)
        done = await self._audits.certificate(file, other)
        if done is None:
            raise RefusedActionError("the desk has not looked at this file yet.", remedy="Wait for its verdict.")
        if done.status < 0:
            raise RefusedActionError(
                f"{clean_name(other.name)}, the certificate beside this model, could not be verified: {done.message}",
                remedy="Try again, or ask the analyst for another certificate.",
                field="trust",
            )
        if done.status not in WHOLE:
            raise RefusedActionError(
                f"{clean_name(other.name)}, the certificate beside this model, does not hold for these bytes.",
                remedy="Look at what its verification says, and ask the analyst for the model that it is of.",
                field="trust",
            )
        verified = Verified(name=other.name, sha256=other.now.sha256, whole=WHOLE[done.status])
        self._desk.accept(identity, asked, verified)

    async def trial(self, identity: str, asked: Mapping[str, Any] | None = None) -> str:
        """Return what the copies would be that the remedies of a file make, measured on records if some were chosen.

        Raises
        ------
        RefusedActionError
            If no records were chosen, or no column that is predicted.
        """
        file, desk = self._desk.file(identity), self._desk
        records, target = list[str](), ""
        if asked is not None:
            target, held_out = text_of(asked, "predicted"), text_of(asked, "held_out")
            records = [chosen_records(desk, text_of(asked, "measured"))]
            records += [chosen_records(desk, held_out)] if held_out else []
            if not target:
                raise RefusedActionError("measuring needs the column that is predicted.", field="predicted")
            desk.record("seen", {"model": file.name, "records": ", ".join(records)})
        values = {
            "found": await self._audits.trial(file, records, target),
            "shown": self.of(file),
            "person": self._desk.person,
        }
        return self._pages.get_template("trial.html").render(values)

    # Values of the screens

    def _waiting(self, *, going_along: bool = False) -> list[FileState]:
        """Return the files that wait for a decision, or those that go with a model."""
        present = self._desk.present()
        open_ones = ("waiting", "conflict", "changes", "rejected", "approved", "signed")
        return [
            file
            for file in self._desk.state.files.values()
            if file.id in present
            and file.now.status(self._desk.settings.needed) in open_ones
            and file.name not in ACRO_FILES
            and self._goes_with_others(file) is going_along
        ]

    def _goes_with_others(self, file: FileState) -> bool:
        """Return whether a file goes with a model and has no vote: it can be released, but waits for no decision."""
        kind = (self._audits.result(file.now) or {}).get("kind", "")
        return (kind in BESIDE or kind.endswith("certificate")) and not file.now.votes

    def _queue(self, chosen: str) -> dict[str, Any]:
        files, others = (
            sorted(self._waiting(going_along=going_along), key=self._place) for going_along in (False, True)
        )
        if self._desk.person.role == "analyst":
            files = [f for f in self._desk.state.files.values() if f.now.author == self._desk.person.account]
            others = []
        named = next((file for file in self._desk.state.files.values() if file.id == chosen), None)
        selected = named or (files[0] if files else None)
        items = [self._item(file) for file in files]
        if named is not None and named not in (*files, *others):
            items.append(self._item(named))
        return {
            "files": items,
            "others": [self._item(file) for file in others],
            "shown": None if selected is None else self.of(selected),
            "to_sign": len(self._desk.ready()),
            "left_out": sorted(self._desk.left_out.items()),
            "most_names": MOST_NAMES,
        }

    def _place(self, file: FileState) -> tuple[bool, bool, str]:
        """Return what orders the queue: what waits for this person first, then models, then names."""
        kind = (self._audits.result(file.now) or {}).get("kind", "model")
        return not self._waits(file.now), kind not in ("model", "pickle", "unreadable"), file.name.lower()

    def _waits(self, version: Version) -> bool:
        """Return whether a version waits for a vote that this person has not given."""
        return version.status(self._desk.settings.needed) in ("waiting", "conflict") and not self._voted(version)

    def _mine(self, version: Version) -> bool:
        """Return whether a version waits for a vote that this person can give."""
        with suppress(RefusedActionError):
            self._desk.check_not_author(version)
            return self._waits(version)
        return False

    def _voted(self, version: Version) -> bool:
        return any(vote.person == self._desk.person for vote in version.votes_of(version.turn))

    def _item(self, file: FileState) -> dict[str, Any]:
        """Return what a list shows of a file."""
        version, needed = file.now, self._desk.settings.needed
        result, status = self._audits.result(version), version.status(self._desk.settings.needed)
        verdict = "" if result is None else result["verdict"]
        kind, symbol = MARKS.get(verdict, ("ask", "?" if result else "…"))
        page = (result or {}).get("page") or {}
        if page:
            against = sum(check["status"] == "fail" for check in page["checks"])
            said = page["headline"]
            if verdict == "outside policy":
                said = self._say(LISTED["failed"], said, against, len(page["checks"]))
        elif result is None:
            said = self._say(LISTED["waits"])
        else:
            said = str(result["message"] or self._say(LISTED["unaudited"]))
        n = len(version.votes_of(version.turn))
        if status != "waiting":
            where = self._say(WORDS[status])
        elif self._voted(version):
            where = self._say(LISTED["mine"], n, needed - n)
        elif n:
            where = self._say(LISTED["others"], n, needed - n)
        else:
            where = self._say(LISTED["new"]) if file.before is None else ""
        place = "" if file.before is None else self._say(LISTED["again"], ordinal(len(file.versions)))
        author = self._say(LISTED["author"], clean(version.author)) if version.author else ""
        acro = version.acro and self._say(LISTED["acro"], version.acro["status"] or self._say(LISTED["unmarked"]))
        return {
            "id": file.id,
            "name": clean_name(file.name),
            "mine": self._mine(version),
            "mark": kind,
            "symbol": symbol,
            "said": clean(said),
            "where": ", ".join(filter(None, (place, where, author, clean(acro or "")))),
            "status": WORDS[status],
            "at": version.at,
        }

    def of(self, file: FileState) -> dict[str, Any]:
        """Return everything that the screen of one file shows."""
        desk, version = self._desk, file.now
        result = self._audits.result(version)
        status = version.status(desk.settings.needed)
        try:
            desk.check_voter(version)
            barred = ""
        except RefusedActionError as error:
            barred = str(error)
        accepts = False
        with suppress(RefusedActionError):
            desk.check_not_author(version)
            accepts = status in ("waiting", "conflict") and desk.person.role == "checker"
        votes = version.votes_of(version.turn)
        page = (result or {}).get("page") or {}
        # An audit that failed asks nothing; a step of it can say what to ask.
        steps = [f"Which {step.removeprefix(ASKS)}" for step in page.get("steps") or () if step.startswith(ASKS)]
        requests = list(page.get("requests") or ()) or steps
        of = (result or {}).get("kind", "")
        if of in REQUESTS:
            requests = [REQUESTS[of]]
        records = [one.name for one in desk.present().values() if one.name.lower().endswith(RECORDS)]
        if page.get("measures") and not records:
            requests.append(ASKED_RECORDS)
        asked = {item for question in version.questions for item in question.items}
        kind = str(page.get("kind", ""))
        return {
            **self._item(file),
            "file": file,
            "version": version,
            "result": result,
            "page": page or None,
            "verdict": "" if result is None else result["verdict"],
            "approval": self._approval(file, of),
            "status_id": status,
            "barred": barred,
            "own": version.author == desk.person.account,
            "votes": [vote for vote in votes if version.shows(vote, desk.person, desk.settings.needed)],
            "n_votes": len(votes),
            "hidden": sum(not version.shows(vote, desk.person, desk.settings.needed) for vote in votes),
            "earlier": [vote for vote in version.votes if vote.turn < version.turn],
            "needed": desk.settings.needed,
            "missing": [item for item in requests if item not in asked],
            "requests": requests,
            "asked": {name: one for name, one in STATED.items() if one.asks(kind)},
            "before": file.before,
            "compared": self._compared(file),
            "domains": [
                one.name
                for one in desk.state.files.values()
                if one.id in desk.present() and (self._audits.result(one.now) or {}).get("kind") == "domain"
            ],
            "certificate": self._audits.certificate_file(file),
            "records": records,
            "present": file.id in desk.present(),
            "accepts": accepts,
            "holds": desk.votes_hold(version),
            "waits": result is None,
            "drawn": self._audits.stored_bytes(version) and any(word in kind for word in DRAWN),
            "failed": next((said for key, said in self._audits.failed.items() if key[1] == version.sha256), ""),
        }

    def _approval(self, file: FileState, kind: str) -> tuple[bool, str]:
        """Return whether a file can be approved, and on what its approval rests or why there is none."""
        version, audit = file.now, self._desk.audit(file.now)
        if file.name in self._desk.blocked():
            return False, APPROVAL["blocked"]
        if audit is None or not kind:
            return True, APPROVAL["waits"]
        if kind in CLOSED:
            return False, CLOSED[kind]
        if kind in BESIDE or kind.endswith("certificate"):
            return True, APPROVAL["beside"]
        if audit.verdict == "within policy":
            if version.accepted is not None:
                return True, APPROVAL["accepted"]
            return True, APPROVAL["foreign" if audit.foreign else "within"]
        return True, APPROVAL[audit.verdict.removesuffix(" policy") if audit.verdict in MARKED else "unaudited"]

    def _unready(self, file: FileState) -> str:
        """Return why a file is not ready to be signed off."""
        desk, version = self._desk, file.now
        status, needed = version.status(desk.settings.needed), desk.settings.needed
        if file.name in desk.blocked():
            return self._say(UNREADY["blocked"])
        if status == "waiting":
            return self._say(UNREADY["waiting"], len(version.votes_of(version.turn)), needed)
        if status != "approved":
            return self._say(WORDS[status])
        return self._say(UNREADY["question" if version.open_questions() else "resettled"])

    def _compared(self, file: FileState) -> list[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
        """Return the checks of the version before and of this one, side by side."""
        if file.before is None:
            return []
        pages = [(self._audits.result(one) or {}).get("page") or {} for one in (file.before, file.now)]
        then, now = ({check["rule"]: check for check in page.get("checks", ())} for page in pages)
        labels = {rule: check["label"] for checks in (then, now) for rule, check in checks.items()}
        return [(label, then.get(rule), now.get(rule)) for rule, label in labels.items()]

    def _decided(self, _: str) -> dict[str, Any]:
        needed = self._desk.settings.needed
        ended = ("released", "returned", "withdrawn")
        files = [file for file in self._desk.state.files.values() if file.now.status(needed) in ended]
        return {"files": [self._item(file) for file in files]}

    def _signoff(self, _: str) -> dict[str, Any]:
        desk = self._desk
        return {
            "ready": [self.of(file) for file in desk.ready()],
            "unwritten": [one for number, one in desk.state.signings.items() if number not in desk.state.written],
            "released": [
                {"folder": folder, "signing": desk.state.signings[number]}
                for number, folder in reversed(desk.state.written.items())
            ],
            "blocked": [
                self._item(file) | {"unready": self._unready(file)}
                for file in self._waiting()
                if file.id not in {one.id for one in desk.ready()}
            ],
        }

    def _record(self, _: str) -> dict[str, Any]:
        # Notes are for checkers: an analyst's desk shows the decisions alone.
        record = record_of(self._desk.state, self._desk, self._desk.audience)
        audited = [
            file for file in self._desk.state.files.values() if (self._audits.result(file.now) or {}).get("findings")
        ]
        return {
            "record": record,
            "chain": chain_of(self._desk),
            "events": list(reversed(record["events"]))[:500],
            "audited": audited,
            "evidence": EVIDENCE,
        }
