"""Private trainings at a desk: one press is one charge, and what a charge bought is kept until it is in the folder."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from glassine.desk.auditing import Audits
from glassine.desk.chosen import chosen_file, chosen_records
from glassine.desk.desk import Desk
from glassine.desk.desk_record import TRAINED
from glassine.desk.folder import NOT_FOLLOWED, OWN, one_component, open_regular
from glassine.desk.form_values import text_of
from glassine.desk.phrases import PHRASES
from glassine.desk.rooms import try_lock
from glassine.desk.workers import Done, Job, StoppedJobError
from glassine.errors import DeskError, GlassineError, RefusedActionError

FITS = PHRASES["fits"]
"""Kinds of models that the desk trains, as pages call them."""
MODEL, CERTIFICATE = "model.json", "certificate.json"
MOST = 256_000_000
"""Bytes of a model that a worker may have written."""
STAYS = "A charge is never voided, and pays for one release: training again draws new noise, and is a new charge."
"""What a charge without a model comes to, as the ledger's note proves it (``privacy/ledger.md``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTraining:
    """What a press asks for."""

    key: str
    kind: str
    target: str
    dataset: str  # Of the ledger
    epsilon: str  # As it was typed; a number that was checked
    records: str
    domain: str
    sha256: str  # Of the domain
    ledger: str
    classes: tuple[str, ...]
    target_range: tuple[float, float] | None

    def body(self) -> dict[str, Any]:
        """Return what the record says of it."""
        return {
            "key": self.key,
            "epsilon": float(self.epsilon),
            "dataset": self.dataset,
            "ledger": self.ledger,
            "kind": self.kind,
        }


class Trainings:
    """The private trainings of one desk.

    Guarantee: a press charges the ledger at most once, by a charge whose note names the press. A model that a worker
    finished is in the desk's own folder before the worker ends, and stays there until the folder has it. A training
    that was killed is not run again: its charge, if there is one, stays spent.

    Parameters
    ----------
    desk : Desk
        The desk.
    audits : Audits
        Its audits, whose workers train.
    """

    def __init__(self, desk: Desk, audits: Audits) -> None:
        self._desk = desk
        self._audits = audits
        self._running: set[str] = set()
        self._tried: set[str] = set()  # Of those whose desks ended first
        # What a worker could not write, and printed instead.
        self._unwritten: dict[str, dict[str, bytes]] = {}

    def unended(self) -> list[dict[str, Any]]:
        """Return the trainings that began and are not recorded as ended, with what is there of each, in a word."""
        return [one | {"found": self._progress(one["key"])} for one in self._desk.state.unended(self._running)]

    def ended(self) -> dict[str, Any] | None:
        """Return the last training, if it made no model, or another desk than its own wrote the model."""
        last = next(reversed(self._desk.state.charges.values()), None)
        shows = last is not None and (last["phase"] == "failed" or "resumed" in last)
        return last if shows else None

    async def spend(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Train a private model, once for a key: the ledger is charged before the records are used.

        Raises
        ------
        RefusedActionError
            If a value is missing or wrong, the key was used, or no model was written; then it says what was charged.
        """
        training = self._asked(asked)
        # A ledger that cannot be read, or has no such dataset, is said before anything begins.
        await self._charges(training.ledger, training.dataset)
        body = training.body() | {"mark": self._mark(training.key)}
        place = self._begin(training.key, body)
        try:
            failure = await self._train(training, place)
            return await self._end(body, failure)
        finally:
            self._running.discard(training.key)
            os.close(place)

    async def settle(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Bring a training to its end whose desk ended before: write what it made, or record what it was charged.

        Nothing is trained and nothing is charged.

        Raises
        ------
        RefusedActionError
            If it has ended or still runs, or no model was written; then it says what was charged.
        """
        key = text_of(asked, "key")
        body = next((one for one in self._desk.state.unended(self._running) if one["key"] == key), None)
        if body is None:
            raise RefusedActionError("this training has ended, or it runs here.", remedy="Look at the page again.")
        progress = self._progress(key)
        if progress == "running":
            raise RefusedActionError("this training runs at another desk.", remedy="Wait until it has ended.")
        if progress == "another":
            raise RefusedActionError(
                f"the account {body['account']!r} trained it and holds what it made.",
                remedy="Open the desk with that account.",
            )
        if key not in (one["key"] for one in self._desk.refresh().unended(self._running)):
            raise RefusedActionError("another desk has ended this training.", remedy="Look at the page again.")
        event = {name: value for name, value in body.items() if name not in ("at", "account", "phase")}
        return await self._end({**event, "resumed": True}, "the desk ended first.")

    async def resume(self) -> None:
        """Bring every training of this account to its end whose desk ended before, once."""
        for one in self.unended():
            if one["key"] in self._tried or one["found"] not in ("model", ""):
                continue
            self._tried.add(one["key"])
            # What it was charged is not recorded before it can be read; a press of the page records that it cannot.
            with suppress(GlassineError, OSError):
                await self._paid(one)
                await self.settle({"key": one["key"]})

    def download(self, key: str) -> bytes:
        """Return model and certificate of a training that could not be written into the folder, as one JSON object."""
        texts = self._files_of(key)
        if MODEL not in texts:
            raise RefusedActionError("there is no model of this training.")
        return json.dumps({name.partition(".")[0]: json.loads(data) for name, data in texts.items()}, indent=2).encode()

    # Inside

    def _asked(self, asked: Mapping[str, Any]) -> PrivateTraining:
        values = {name: text_of(asked, name) for name in ("key", "kind", "target", "account", "epsilon")}
        for name, needed in (("target", "a column to predict"), ("account", "a dataset of the ledger")):
            if not values[name]:
                raise RefusedActionError(f"training needs {needed}.", field=name)
        try:
            epsilon = float(values["epsilon"])
        except ValueError:
            epsilon = math.nan
        if not 0 < epsilon <= 100 or values["kind"] not in FITS:
            raise RefusedActionError("epsilon must be a number above 0, up to 100.", field="epsilon")
        key = values["key"]
        if not is_key(key):
            raise RefusedActionError("a press needs a key of letters and digits.", remedy="Press on a new page.")
        domain, ledger = (chosen_file(self._desk, text_of(asked, name)) for name in ("domain", "ledger"))
        return PrivateTraining(
            key=key,
            kind=values["kind"],
            target=values["target"],
            dataset=values["account"],
            epsilon=values["epsilon"],
            records=chosen_records(self._desk, text_of(asked, "records")),
            domain=domain.name,
            sha256=domain.now.sha256,
            ledger=ledger.name,
            classes=tuple(classes_of(asked)),
            target_range=range_of(asked),
        )

    def _begin(self, key: str, body: Mapping[str, Any]) -> int:
        """Record that a training begins, and return the descriptor of its folder, which is locked while it runs."""
        desk = self._desk
        try:
            if key in desk.refresh().charges:
                raise FileExistsError
            with desk.folder.inside(OWN, TRAINED) as rooms:
                os.mkdir(key, 0o700, dir_fd=rooms)
            place = self._opened(key)
        except FileExistsError:
            raise RefusedActionError(
                "this press began a training already; it charges once.",
                remedy="Look at the ledger, then press on a new page.",
            ) from None
        except OSError as error:
            raise RefusedActionError(
                f"a model could not be written: {error.strerror}. Nothing was charged.",
                remedy="Make room, or restore the rights.",
            ) from None
        try_lock(place)
        self._running.add(key)
        try:
            desk.record("charged", {**body, "phase": "begun"})
        except BaseException:
            self._running.discard(key)
            os.close(place)
            self._forget(key)
            raise
        return place

    async def _train(self, training: PrivateTraining, place: int) -> str:
        """Run the worker, and return why it made no model; empty if it made one."""
        desk = self._desk
        public = f"domain{os.path.splitext(training.domain)[1]}"
        path, opens = desk.folder.in_place(training.ledger)
        # Descriptors of folders lead into them on Linux alone; elsewhere the worker only holds the lock by it.
        into = TRAINED if sys.platform == "linux" else str(desk.own / TRAINED / training.key)
        limits = training.target_range
        words = (
            *("fit", training.kind, f"./{training.records}", "--target", training.target),
            *((f"--classes={','.join(training.classes)}",) if training.classes else ()),
            *((f"--target-range={limits[0]!r},{limits[1]!r}",) if limits else ()),
            *("--domain", public, "--epsilon", training.epsilon),
            *("--ledger", path, "--dataset", training.dataset, "--note", self._mark(training.key)),
            *("-o", f"{into}/{MODEL}", "--certificate", f"{into}/{CERTIFICATE}"),
        )
        try:
            with desk.folder.opened(training.records) as handle:
                done = await self._audits.workers.run(
                    Job(
                        words=words,
                        reads={public: desk.folder.path / training.domain},
                        digests={public: training.sha256},
                        opens={training.records: handle, **opens, TRAINED: place},
                        forked=False,
                        said=f"Training on {training.records}",
                    )
                )
        except (StoppedJobError, DeskError, OSError) as error:
            return str(error)
        if done.status != 0:
            self._take_printed(training.key, done)
        return "" if done.status == 0 else done.message

    def _take_printed(self, key: str, done: Done) -> None:
        """Keep the model and the certificate that a worker printed because it could not write them."""
        with suppress(ValueError, KeyError, TypeError):
            said = json.loads(done.out)
            self._unwritten[key] = {
                name: (json.dumps(said[name.partition(".")[0]], indent=2) + "\n").encode()
                for name in (MODEL, CERTIFICATE)
            }

    async def _end(self, body: Mapping[str, Any], failure: str) -> dict[str, Any]:
        """Write what a training made into the folder, or record that it made nothing, with what was charged."""
        made = self._files_of(body["key"])
        if MODEL not in made:
            charged = await self._charge_text(body)
            said = f"No model was written: {failure.removesuffix(charged).rstrip()} {charged}"
            self._close({**body, "phase": "failed", "text": said[:1000]})
            raise RefusedActionError(said)
        try:
            name = await self._write_once(f"private-{body.get('kind', 'model')}", made[MODEL])
            names = [name]
            if CERTIFICATE in made:
                names.append(await self._write_once(f"{os.path.splitext(name)[0]}.certificate", made[CERTIFICATE]))
        except (GlassineError, OSError) as error:
            why = error.message if isinstance(error, GlassineError) else f"{error.strerror or error}."
            raise RefusedActionError(
                f"the model was trained, and could not be written into the folder: {why} It is kept.",
                remedy="Make room or restore the rights, then press “Write it into the folder”, or download it.",
            ) from None
        written = " and ".join(names)
        with suppress(ValueError, KeyError, TypeError):
            body = {**body, "charge": int(json.loads(made[CERTIFICATE])["receipt"]["charge"])}
        self._close({**body, "phase": "done", "text": name})
        return {"written": written}

    def _close(self, body: Mapping[str, Any]) -> None:
        """Record how a training ended, once, and remove the desk's own copies."""
        with self._desk.writing() as log:
            if self._desk.state.charges[body["key"]]["phase"] == "begun":
                self._desk.append(log, "charged", body)
        self._forget(body["key"])

    async def _write_once(self, stem: str, data: bytes) -> str:
        """Return the name of a file of the folder with these bytes, a new one if a desk that ended wrote none."""
        for one in self._desk.folder.files():
            if one.name.startswith(stem) and one.size == len(data):
                with suppress(DeskError, OSError):
                    if self._desk.folder.read(one.name, len(data)) == data:
                        return one.name
        return await self._desk.folder.write_new(stem, ".json", data)

    async def _charge_text(self, body: Mapping[str, Any]) -> str:
        """Return in words what the ledger says of a training: whether it was charged."""
        try:
            paid = await self._paid(body)
        except (GlassineError, OSError) as error:
            return f"The budget may have been charged, and the ledger cannot be read now: {error}"
        if not paid:
            return "Nothing was charged."
        said = ", ".join(f"charge {one['number']} of {one['at'][:10]} {one['at'][11:16]} UTC" for one in paid)
        spent = (
            f"The ledger was charged epsilon {paid[0]['epsilon']:g} of {body['dataset']!r} ({said}): it stays spent."
        )
        return f"{spent} {STAYS}"

    def _mark(self, key: str) -> str:
        """Return what the note of a charge ends with that a press of this desk made: no other charge has it."""
        return f"desk {self._desk.identity[:16]}, press {key}"

    async def _paid(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the charges that a training made, at most one; errors as of :meth:`_charges`."""
        if "mark" not in body:
            raise RefusedActionError("an earlier version began this training, and its charge does not name it.")
        charges = await self._charges(body["ledger"], body["dataset"])
        return [one for one in charges if one["note"].endswith(f"; {body['mark']}")]

    async def _charges(self, ledger: str, dataset: str) -> list[dict[str, Any]]:
        """Return the charges of a dataset; no record is read.

        Raises
        ------
        RefusedActionError
            If the ledger cannot be read, or has no such dataset.
        """
        # Of a record that others can write: it leads to no file elsewhere.
        if not one_component(str(ledger)):
            raise RefusedActionError("a ledger must be a file of the folder.", field="ledger")
        path, opens = self._desk.folder.in_place(ledger)
        words = ("ledger", "show", path, "--dataset", dataset, "--json")
        done = await self._audits.workers.run(Job(words=words, reads={}, opens=opens))
        if done.status != 0:
            raise RefusedActionError(done.message, field="account")
        charges: list[dict[str, Any]] = json.loads(done.out)["datasets"][0]["charges"]
        return charges

    def _progress(self, key: str) -> str:
        """Return what there is of a training: ``model``, ``running``, of ``another`` account, or nothing."""
        if MODEL in self._unwritten.get(key, ()):
            return "model"
        try:
            place = self._opened(key)
        except FileNotFoundError:
            return ""
        except OSError:
            return "another"
        try:
            # A worker holds the lock too: it can outlive its desk for a moment.
            if not try_lock(place):
                return "running"
            return "model" if MODEL in os.listdir(place) else ""
        finally:
            os.close(place)

    def _opened(self, key: str) -> int:
        if not is_key(key):
            raise FileNotFoundError(errno.ENOENT, "no desk writes such a key")
        with self._desk.folder.inside(OWN, TRAINED) as rooms:
            place = os.open(key, os.O_RDONLY | os.O_DIRECTORY | NOT_FOLLOWED, dir_fd=rooms)
        if os.fstat(place).st_uid != os.getuid():
            os.close(place)
            raise PermissionError("it is another account's")
        return place

    def _files_of(self, key: str) -> dict[str, bytes]:
        """Return what a training made, by name."""
        made = dict(self._unwritten.get(key, {}))
        with suppress(OSError):
            place = self._opened(key)
            try:
                for name in (MODEL, CERTIFICATE):
                    with suppress(OSError), os.fdopen(open_regular(name, place), "rb") as stream:
                        made[name] = stream.read(MOST)
            finally:
                os.close(place)
        return made

    def _forget(self, key: str) -> None:
        """Remove the desk's own copies: the folder has them, or there is none."""
        self._unwritten.pop(key, None)
        # A record that others can write may name any key: nothing but a folder of its own place is removed.
        with suppress(OSError), self._desk.folder.inside(OWN, TRAINED) as rooms:
            if is_key(key):
                shutil.rmtree(key, ignore_errors=True, dir_fd=rooms)


def is_key(key: object) -> bool:
    """Return whether a press can have a key, which is the name of a folder."""
    return isinstance(key, str) and key.isascii() and key.isalnum() and len(key) <= 64


def classes_of(asked: Mapping[str, Any]) -> list[str]:
    """Return the classes that were stated, none where the domain declares them."""
    classes = [one for part in text_of(asked, "classes").split(",") if (one := part.strip())]
    if classes and len(set(classes)) < max(len(classes), 2):
        raise RefusedActionError("classes are at least two, each once.", field="classes")
    return classes


def range_of(asked: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the range that was stated of a number, None where the domain declares it or there are classes."""
    text = text_of(asked, "range")
    if not text:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise RefusedActionError("a range is two numbers, the lower first, such as 0, 100.", field="range")
    if text_of(asked, "kind") == "rule-list":
        raise RefusedActionError("a rule list predicts classes.", remedy="Choose another kind.", field="kind")
    if text_of(asked, "classes"):
        raise RefusedActionError("a column has either classes or a range.", remedy="Leave one out.", field="range")
    return low, high
