"""The workbench: what an analyst does at the desk. Neither the form nor the dial looks at records."""

from __future__ import annotations

import asyncio
import json
import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassine.desk.auditing import Audits
from glassine.desk.chosen import chosen_file, chosen_records
from glassine.desk.copies import Copies
from glassine.desk.desk import Desk
from glassine.desk.folder import RECORDS
from glassine.desk.form_values import text_of
from glassine.desk.simulation import Simulation
from glassine.desk.state import FileState
from glassine.desk.trainings import FITS, Trainings, classes_of, range_of
from glassine.desk.workers import Job
from glassine.errors import RefusedActionError

FIXED = {"ensemble": "an", "summary": "a"}
"""Words of which the kind of a model has one that is not scrubbed, with their articles."""
TYPES = ("integer", "real", "category", "binary")
FEWEST, MOST = 50, 50_000
"""Records of a simulation."""
SOON = 3.0
"""Seconds that a press waits for the copies; after them they appear as they are made."""


def guess(epsilon: float) -> float:
    """Return the most often that a guess of membership is right, at even odds and delta 0: a share.

    Examples
    --------
    >>> round(guess(1.0), 3)
    0.731
    """
    return 1 / (1 + math.exp(-epsilon))


class Workbench:
    """What an analyst does with the files of a desk.

    Parameters
    ----------
    desk : Desk
        The desk.
    audits : Audits
        Its audits, whose folder of held models is used.
    """

    def __init__(self, desk: Desk, audits: Audits) -> None:
        self._desk = desk
        self._audits = audits
        self.version = 0  # Grows with every change that a page shows
        self._forms: dict[str, list[dict[str, Any]]] = {}
        self._columns: dict[tuple[str, str], dict[str, Any]] = {}
        self._stops: dict[str, Copies] = {}
        self.trainings = Trainings(desk, audits)
        self._left = ""  # What the ledger had left when it was read last
        self._estimated: dict[str, Any] = {}  # What a summary that was paid for says of its models
        self._simulated: dict[str, Any] = {}  # What noise costs on invented records

    def values(self, chosen: str) -> dict[str, Any]:
        """Return what the screen shows, of a chosen model."""
        present = self._desk.present()
        files = [file for file in self._desk.state.files.values() if file.id in present]
        kinds = {file.id: (self._audits.result(file.now) or {}).get("kind", "") for file in files}
        models = [file for file in files if kinds[file.id] == "model" and self._audits.stored_bytes(file.now)]
        selected = next((file for file in models if file.id == chosen), models[0] if models else None)
        kind = "" if selected is None else self._kind(selected)
        return {
            "models": models,
            "shown": selected,
            "fixed": next((f"{one} {kind}" for word, one in FIXED.items() if word in kind), ""),
            "additive": "additive" in kind,
            "domains": [file for file in files if kinds[file.id] == "domain"],
            "records": [one for one in self._desk.folder.files() if one.name.lower().endswith(RECORDS)],
            "ledgers": [file for file in files if file.name.lower().endswith((".db", ".sqlite"))],
            "form": self._forms.get("" if selected is None else selected.now.sha256),
            "seen": self._desk.state.seen,
            "known": {c: v for (name, c), v in self._columns.items() if selected is not None and name == selected.name},
            "making": (making := self._stops.get("" if selected is None else selected.now.sha256)),
            "stops": making.made if making is not None and making.made else None,
            "summaries": [file for file in models if self._kind(file) == "private summary"],
            "estimated": self._estimated,
            "simulated": self._simulated,
            "left": self._left,
            "unended": self.trainings.unended(),
            "ended": self.trainings.ended(),
            "fits": FITS,
            "types": TYPES,
            "key": os.urandom(8).hex(),
        }

    def _kind(self, file: FileState) -> str:
        """Return the kind of a model, as its report calls it; empty without one."""
        return str(((self._audits.result(file.now) or {}).get("page") or {}).get("kind", ""))

    async def act(self, action: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Do what the screen asks for.

        Raises
        ------
        RefusedActionError
            If there is no such action, or a value is missing or wrong.
        """
        actions = {
            "form": self._form,
            "seen": self._seen,
            "domain": self._domain,
            "stops": self._make_stops,
            "cancel": self._cancel,
            "forget": self._forget,
            "keep": self._keep,
            "ledger": self._ledger,
            "estimate": self._estimate,
            "simulate": self._simulate,
            "spend": self.trainings.spend,
            "settle": self.trainings.settle,
            "edit": self._edit,
        }
        if action not in actions:
            raise RefusedActionError("there is no such action.")
        trains = action in ("spend", "settle")
        if trains:
            self._left = ""
        try:
            done = await actions[action](asked)
        except RefusedActionError:
            self.version += trains  # The page says how it ended
            raise
        self.version += 1
        return done

    def stop(self) -> None:
        """End what is being made."""
        for making in self._stops.values():
            making.cancel()

    def _model(self, asked: Mapping[str, Any]) -> tuple[FileState, Path]:
        file = self._desk.file(text_of(asked, "file"))
        path = self._audits.stored_bytes(file.now)
        if path is None:
            raise RefusedActionError("the desk holds no model of this file.")
        return file, path

    async def _form(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Draft the form of what is public, from what the model tests: no record is read."""
        file, path = self._model(asked)
        name = f"model{os.path.splitext(file.name)[1]}"
        words = ("domain", "new", "--model", name, "-o", "form.toml")
        done = await self._audits.workers.run(
            Job(words=words, reads={name: path}, digests={name: file.now.sha256}, writes=("form.toml",))
        )
        if done.status != 0:
            raise RefusedActionError(done.message)
        drafted = tomllib.loads(done.files["form.toml"].decode())["attributes"]
        self._forms[file.now.sha256] = [{"name": column, **one} for column, one in drafted.items()]
        return {}

    async def _seen(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Mark a column as seen in the data, for good, and then show what the records hold of it."""
        file, _ = self._model(asked)
        column, records = text_of(asked, "column"), chosen_records(self._desk, text_of(asked, "records"))
        if column not in self._desk.state.seen:
            # First, so that a process that ends here has not shown what is not recorded.
            self._desk.record("seen", {"domain": file.name, "column": column, "records": records})
        words = ("domain", "infer", f"./{records}", "-o", "inferred.json")
        with self._desk.folder.opened(records) as handle:
            opens, said = {records: handle}, f"Reading {records}"
            done = await self._audits.workers.run(
                Job(words=words, reads={}, opens=opens, writes=("inferred.json",), said=said)
            )
            read = Job(words=(records, column), reads={}, opens=opens, module="glassine.desk.histogram", said=said)
            drawn = await self._audits.workers.run(read) if done.status == 0 else done
        if done.status != 0:
            raise RefusedActionError(done.message)
        inferred = json.loads(done.files["inferred.json"])["attributes"]
        one = next((one for one in inferred if one["name"] == column), None)
        if one is None:
            raise RefusedActionError("the records have no column of this name.")
        if "lo" in one and drawn.status == 0:
            one["bars"] = json.loads(drawn.out)
        self._columns[file.name, column] = one
        return {}

    async def _domain(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Write a new domain from the form; columns that were seen in the data are marked as inferred."""
        file, _ = self._model(asked)
        seen = self._desk.state.seen
        attributes, public = [], {}
        for place, drafted in enumerate(self._forms.get(file.now.sha256) or ()):
            name = drafted["name"]
            one = {"name": name, **self._attribute(asked, place, name)}
            if name in seen:
                one["inferred"] = True
            public[name] = text_of(asked, f"where-{place}")
            attributes.append(one)
        if not attributes:
            raise RefusedActionError("there is no form yet.", remedy="Draft it first.")
        data = (json.dumps({"schema": "glassine.domain/1", "attributes": attributes}, indent=2) + "\n").encode()
        words = ("domain", "check", "domain.json")
        done = await self._audits.workers.run(Job(words=words, reads={}, gives={"domain.json": data}))
        if done.status != 0:
            raise RefusedActionError(done.message)
        name = await self._desk.folder.write_new(f"{os.path.splitext(file.name)[0]}-domain", ".json", data)
        self._desk.record("stated", {"domain": name, "columns": public})
        return {"written": name}

    @staticmethod
    def _attribute(asked: Mapping[str, Any], place: int, name: str) -> dict[str, Any]:
        kind = text_of(asked, f"type-{place}")
        if kind not in TYPES:
            raise RefusedActionError(f"{name} needs a type.", field=f"type-{place}")
        if kind == "binary":
            return {"type": kind}
        if kind == "category":
            values = [one.strip() for one in text_of(asked, f"values-{place}").split(",") if one.strip()]
            if len(values) < 2:
                raise RefusedActionError(f"{name} needs at least two values.", field=f"values-{place}")
            return {"type": kind, "values": values}
        out: dict[str, Any] = {"type": kind}
        for key, needed in (("lo", True), ("hi", True), ("resolution", False)):
            text = text_of(asked, f"{key}-{place}")
            if not text and not needed:
                continue
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if not math.isfinite(number) or (kind == "integer" and key != "resolution" and number != int(number)):
                raise RefusedActionError(f"{name} needs a number here.", field=f"{key}-{place}")
            out[key] = int(number) if kind == "integer" and number == int(number) else number
        return out

    async def _make_stops(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Make and audit the copies of the slider; records are read only if they were chosen."""
        file, path = self._model(asked)
        domain = chosen_file(self._desk, text_of(asked, "domain"))
        model, public = f"model{os.path.splitext(file.name)[1]}", f"domain{os.path.splitext(domain.name)[1]}"
        reads = {model: path, public: self._desk.folder.path / domain.name}
        digests = {model: file.now.sha256, public: domain.now.sha256}
        limits, gives = self._audits.limits(file.now.inputs)
        words, chosen = [model, public, limits], list[str]()
        if text_of(asked, "measured"):
            if not text_of(asked, "predicted"):
                raise RefusedActionError("measuring needs the column that is predicted.", field="predicted")
            chosen = [
                chosen_records(self._desk, name)
                for place in ("measured", "held_out")
                if (name := text_of(asked, place))
            ]
            words += [text_of(asked, "predicted"), *(f"./{name}" for name in chosen)]
            # No bound is seen by it, but which copy is chosen then depends on the records.
            self._desk.record("seen", {"domain": domain.name, "model": file.name, "records": ", ".join(chosen)})
        old = self._stops.pop(file.now.sha256, None)
        if old is not None:
            old.cancel()
        making = self._stops[file.now.sha256] = Copies(self._grown)
        job = Job(
            words=words,
            reads=reads,
            digests=digests,
            gives=gives,
            module="glassine.desk.stops",
            watch=making.take,
            said=f"Copies of {file.name}",
        )
        making.task = asyncio.create_task(making.make(self._audits.workers, job, self._desk.folder, chosen))
        # Without records, all are there in a moment.
        await asyncio.wait({making.task}, timeout=SOON)
        if making.failure:
            del self._stops[file.now.sha256]
            raise RefusedActionError(making.failure)
        return {}

    async def _cancel(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """End the making of copies; those that were made stay."""
        file, _ = self._model(asked)
        making = self._stops.get(file.now.sha256)
        if making is not None:
            making.cancel()
        return {}

    async def _forget(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Forget the copies, so that others can be made."""
        await self._cancel(asked)
        self._stops.pop(self._model(asked)[0].now.sha256, None)
        return {}

    def _grown(self) -> None:
        self.version += 1

    async def _keep(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Write the chosen copy as a new file of the folder."""
        file, _ = self._model(asked)
        making, number = self._stops.get(file.now.sha256), text_of(asked, "number")
        made = {str(one["number"]): one for one in (making.made if making is not None else ())}
        if number not in made:
            raise RefusedActionError("choose a copy first.", field="stop")
        data = made[number]["model"].encode()
        return {"written": await self._desk.folder.write_new(f"{os.path.splitext(file.name)[0]}-copy", ".json", data)}

    async def _ledger(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a ledger has left, by dataset: no record is read."""
        ledger = chosen_file(self._desk, text_of(asked, "ledger"))
        path, opens = self._desk.folder.in_place(ledger.name)
        done = await self._audits.workers.run(Job(words=("ledger", "show", path, "--json"), reads={}, opens=opens))
        if done.status != 0:
            raise RefusedActionError(done.message)
        datasets = json.loads(done.out)["datasets"]
        parts = [f"{one['remaining_epsilon']:g} of {one['epsilon']:g} ({one['dataset']})" for one in datasets]
        self._left = ", ".join(parts) or "nothing"
        return {"left": {one["dataset"]: [one["remaining_epsilon"], one["epsilon"]] for one in datasets}}

    async def _estimate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Estimate how well models predict, by a summary that was paid for: no record is read, nothing is charged."""
        file = chosen_file(self._desk, text_of(asked, "summary"))
        path = self._audits.stored_bytes(file.now)
        if path is None or self._kind(file) != "private summary":
            raise RefusedActionError("a private summary must be chosen.", field="summary")
        job = Job(
            words=("compare", "--summary", "summary.json", "--json"),
            reads={"summary.json": path},
            digests={"summary.json": file.now.sha256},
            said=f"Estimates by {file.name}",
        )
        done = await self._audits.workers.run(job)
        if done.status != 0:
            raise RefusedActionError(done.message)
        self._estimated = {"name": file.name, **json.loads(done.out)}
        return {}

    async def _simulate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Train private models on records that are invented of a domain: no record is read, nothing is charged."""
        target, kind, stated = (text_of(asked, name) for name in ("target", "kind", "n_records"))
        if not target or kind not in FITS:
            raise RefusedActionError("a simulation needs a column to predict.", field="target")
        n_records = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 9 else 0
        if not FEWEST <= n_records <= MOST:
            raise RefusedActionError(
                f"a simulation needs a number of records, {FEWEST} to {MOST:,}.",
                remedy="State about how many there are, if that is public.",
                field="n_records",
            )
        domain = chosen_file(self._desk, text_of(asked, "domain"))
        simulation = Simulation(
            domain=self._desk.folder.path / domain.name,
            sha256=domain.now.sha256,
            kind=kind,
            target=target,
            classes=classes_of(asked),
            target_range=range_of(asked),
            n_records=n_records,
        )
        figures = await simulation.run(self._audits.workers)
        self._simulated = {"domain": domain.name, "kind": FITS[kind], "target": target, **figures}
        return {}

    async def _edit(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Write an edited model, whose log of edits is in the file, as a new file of the folder."""
        file, _ = self._model(asked)
        model = asked.get("model")
        try:
            data = model.encode() if isinstance(model, str) else b""
        except UnicodeEncodeError:  # Half of a pair, which no file can hold
            data = b""
        if not data:
            raise RefusedActionError("the editor sent no model.")
        return {"written": await self._desk.folder.write_new(f"{os.path.splitext(file.name)[0]}-edited", ".json", data)}

    async def editor(self, identity: str) -> bytes:
        """Return the editor page of an additive model.

        Raises
        ------
        RefusedActionError
            If the file is no additive model in Glassine's JSON.
        """
        file, path = self._model({"file": identity})
        words = ("edit", "model.json", "--page", "editor.html")
        done = await self._audits.workers.run(
            Job(
                words=words,
                reads={"model.json": path},
                digests={"model.json": file.now.sha256},
                writes=("editor.html",),
            )
        )
        if "editor.html" not in done.files:
            raise RefusedActionError(done.message)
        return done.files["editor.html"]
