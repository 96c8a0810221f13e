"""Private trainings at the desk: whatever is killed or full, a press charges once, and what it bought is not lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassine.desk import Desk
from glassine.desk.auditing import Audits
from glassine.desk.desk_record import TRAINED
from glassine.desk.folder import Folder
from glassine.desk.trainings import Trainings
from glassine.desk.workers import Done, Job, Workers
from glassine.errors import RefusedActionError
from glassine.privacy import Ledger
from tests.desk.conftest import end_desk, start_desk
from tests.desk.desks import LIND, RULES, Served, within

ASKED = {
    **{"key": "abc123", "kind": "tree", "target": "ill", "account": "study", "epsilon": "1"},
    **{"records": "records.csv", "domain": "domain.json", "ledger": "budget.sqlite"},
}
FULL = "the disk is full."


def write_study(folder: Path, n_columns: int = 1) -> None:
    """Write records, their domain and a ledger; the models of many columns take some seconds to sum."""
    names = [f"c{number}" for number in range(n_columns)]
    rows = [
        ",".join([*(str(k * (i + 3) % 97) for i in range(n_columns)), "no" if k % 3 else "yes"]) for k in range(500)
    ]
    (folder / "records.csv").write_text("\n".join([",".join([*names, "ill"]), *rows]) + "\n")
    attributes: list[dict[str, Any]] = [{"name": name, "type": "integer", "lo": 0, "hi": 120} for name in names]
    attributes.append({"name": "ill", "type": "category", "values": ["no", "yes"]})
    (folder / "domain.json").write_text(json.dumps({"schema": "glassine.domain/1", "attributes": attributes}))
    Ledger(folder / "budget.sqlite").budget("study", 3)


def spent(folder: Path) -> float:
    return float(Ledger(folder / "budget.sqlite").spent("study"))


def phases(desk: Desk) -> list[str]:
    return [event.body["phase"] for event in desk.refresh().events if event.kind == "charged"]


def made(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("private-*"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "study"
    place.mkdir()
    (place / "rules.txt").write_text(RULES)
    write_study(place)
    return place


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    desk = Served(folder, LIND)
    desk.audited("domain.json")
    yield desk
    desk.stop()


def full(monkeypatch: pytest.MonkeyPatch, *, after: int = 0) -> None:
    """Refuse every new file of a folder, but for the first ones."""
    write, count = Folder.write_new, 0

    async def write_new(folder: Folder, stem: str, ending: str, data: bytes) -> str:
        nonlocal count
        count += 1
        if count > after:
            raise RefusedActionError(FULL)
        return await write(folder, stem, ending, data)

    monkeypatch.setattr(Folder, "write_new", write_new)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1])
def test_a_model_that_finds_no_room_is_kept_for_the_next_desk(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    with monkeypatch.context() as patch:
        full(patch, after=after)
        status, body, _ = served.ask("POST", "/api/work/spend", ASKED)
        assert (status, FULL in body, "It is kept" in body) == (422, True, True)
    assert spent(folder) == 1
    page = served.ask("GET", "/api/workbench")[1]
    assert "Write it into the folder" in page
    # It can be taken home though the folder has no room for it.
    ticket = json.loads(served.ask("POST", "/api/tickets", {"what": "training", "key": "abc123"})[1])["ticket"]
    both = json.loads(served.ask("GET", f"/t/{ticket}", authorization="")[1])
    assert set(both) == {"model", "certificate"}
    served.stop()
    with monkeypatch.context() as patch:
        # The next desk tries it at once, and finds no room either.
        full(patch)
        again = Served(folder, LIND)
        within(lambda: "abc123" in again.app.workbench.trainings._tried)
    try:
        assert "Write it into the folder" in again.ask("GET", "/api/workbench")[1]
        status, body, _ = again.ask("POST", "/api/work/settle", {"key": "abc123"})
        assert status == 200, body
        assert made(folder) == ["private-tree.certificate.json", "private-tree.json"]
        assert json.loads((folder / "private-tree.json").read_bytes()) == both["model"]
        assert json.loads((folder / "private-tree.certificate.json").read_bytes()) == both["certificate"]
        assert again.ask("POST", "/api/work/settle", {"key": "abc123"})[0] == 422
        assert "Write it into the folder" not in again.ask("GET", "/api/workbench")[1]
        assert phases(again.app.desk) == ["begun", "done"]
    finally:
        again.stop()
    assert spent(folder) == 1
    assert list((folder / ".glassine" / TRAINED).iterdir()) == []


@pytest.mark.slow
def test_a_model_that_its_worker_could_not_write_is_taken_from_what_it_printed(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Workers.run
    printed = {"model": {"schema": "glassine.model/2"}, "certificate": {"schema": "glassine.certificate/1"}}

    async def run_job(workers: Workers, job: Job) -> Done:
        if job.words[0] != "fit":
            return await run(workers, job)
        Ledger(folder / "budget.sqlite").charge("study", 1)
        return Done(status=2, out=json.dumps(printed), message=FULL)

    monkeypatch.setattr(Workers, "run", run_job)
    status, body, _ = served.ask("POST", "/api/work/spend", ASKED)
    assert status == 200, body
    assert json.loads((folder / "private-tree.json").read_bytes()) == printed["model"]
    assert phases(served.app.desk) == ["begun", "done"]


def begun(folder: Path, key: str, *, charged: bool, model: bool = False) -> Desk:
    """Leave what a desk leaves that is killed in a training: before the charge, after it, or after the model."""
    desk = Desk(folder, LIND)
    trainings = Trainings(desk, Audits(desk))
    mark = trainings._mark(key)
    body = {"key": key, "epsilon": 1.0, "dataset": "study", "ledger": "budget.sqlite", "kind": "tree", "mark": mark}
    os.close(trainings._begin(key, body))
    if charged:
        Ledger(folder / "budget.sqlite").charge("study", 1, note=f"private tree; {mark}")
    if model:
        (desk.own / TRAINED / key / "model.json").write_text('{"schema": "glassine.model/2"}')
    return desk


@pytest.mark.slow
@pytest.mark.parametrize(
    ("charged", "model", "said"),
    [
        (False, False, "Nothing was charged."),
        (True, False, "(charge 2 of "),
        (True, True, "The model is written: <bdi>private-tree.json</bdi>. Nothing was charged again."),
    ],
)
def test_the_next_desk_says_what_became_of_a_training_and_charges_nothing(
    folder: Path, charged: bool, model: bool, said: str
) -> None:
    # The same amount by a press of another desk, on the same ledger: the note of a charge names its press.
    other = folder.parent / "other"
    other.mkdir()
    desk = Desk(other, LIND)
    mark = Trainings(desk, Audits(desk))._mark("press1")
    Ledger(folder / "budget.sqlite").charge("study", 1, note=f"private tree; {mark}")
    begun(folder, "press1", charged=charged, model=model)
    served = Served(folder, LIND)
    try:
        within(lambda: phases(served.app.desk) != ["begun"])
        page = served.ask("GET", "/api/workbench")[1]
        assert said in page, page
        assert ("pays for one release" in page) == (charged and not model)
        assert phases(served.app.desk) == ["begun", "done" if model else "failed"]
        assert served.ask("POST", "/api/work/settle", {"key": "press1"})[0] == 422
        assert served.ask("POST", "/api/work/spend", {**ASKED, "key": "press1"})[0] == 422
    finally:
        served.stop()
    assert spent(folder) == 1 + charged


@pytest.mark.slow
def test_two_desks_that_find_the_same_training_record_its_end_once(folder: Path) -> None:
    begun(folder, "press1", charged=True, model=True)

    async def both() -> list[object]:
        desks = [Desk(folder, LIND) for _ in range(2)]
        trainings = [Trainings(desk, Audits(desk)) for desk in desks]
        ends: list[object] = await asyncio.gather(
            *(one.settle({"key": "press1"}) for one in trainings), return_exceptions=True
        )
        return ends

    asyncio.run(both())
    assert phases(Desk(folder, LIND)) == ["begun", "done"]
    assert made(folder) == ["private-tree.json"]


@pytest.mark.slow
def test_an_unreadable_ledger_ends_no_training_before_a_press(folder: Path) -> None:
    begun(folder, "press1", charged=True)
    ledger = (folder / "budget.sqlite").read_bytes()
    (folder / "budget.sqlite").write_bytes(b"no ledger")
    served = Served(folder, LIND)
    try:
        within(lambda: "press1" in served.app.workbench.trainings._tried)
        assert phases(served.app.desk) == ["begun"]
        (folder / "budget.sqlite").write_bytes(ledger)
        status, body, _ = served.ask("POST", "/api/work/settle", {"key": "press1"})
        assert (status, "(charge 1 of " in body) == (422, True)
        assert phases(served.app.desk) == ["begun", "failed"]
    finally:
        served.stop()


@pytest.mark.slow
def test_nothing_is_charged_where_no_model_could_be_written(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def refuse(path: Any, *arguments: Any, **options: Any) -> None:
        if path == ASKED["key"]:
            raise PermissionError(13, "Permission denied")
        mkdir(path, *arguments, **options)

    monkeypatch.setattr(os, "mkdir", refuse)
    status, body, _ = served.ask("POST", "/api/work/spend", ASKED)
    assert (status, "Nothing was charged" in body) == (422, True)
    assert (spent(folder), phases(served.app.desk)) == (0, [])


@pytest.mark.slow
def test_a_refused_charge_is_said_once(served: Served, folder: Path) -> None:
    status, body, _ = served.ask("POST", "/api/work/spend", {**ASKED, "epsilon": "4"})
    assert (status, body.count("Nothing was charged.")) == (422, 1)
    assert (spent(folder), phases(served.app.desk)) == (0, ["begun", "failed"])


@pytest.mark.parametrize("key", ["../../../victim", "victim", "", "a/b", 5])
def test_a_record_that_names_another_place_has_nothing_read_or_removed_there(
    folder: Path, tmp_path: Path, key: Any
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "model.json").write_text("{}")
    begun = {"epsilon": 1.0, "dataset": "study", "ledger": "budget.sqlite", "kind": "tree", "phase": "begun"}
    desk = Desk(folder, LIND)
    desk.record("charged", {**begun, "key": key})
    if key == "victim":
        (desk.own / TRAINED).rmdir()
        (desk.own / TRAINED).symlink_to(tmp_path)
    trainings = Trainings(desk, Audits(desk))
    assert trainings.unended()[0]["found"] != "model"
    with pytest.raises(RefusedActionError):
        asyncio.run(trainings.settle({"key": key}))
    assert [path.name for path in victim.iterdir()] == ["model.json"]
    assert made(folder) == []


def test_a_record_that_names_a_ledger_elsewhere_has_none_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = begun(folder, "press1", charged=False)
    body = {**desk.refresh().charges["press1"], "key": "press2", "ledger": "../budget.sqlite"}
    desk.record("charged", body)
    ran: list[Job] = []

    async def run(workers: Workers, job: Job) -> Done:
        ran.append(job)
        return Done(status=2, out="", message="not run")

    monkeypatch.setattr(Workers, "run", run)
    trainings = Trainings(desk, Audits(desk))
    asyncio.run(trainings.resume())
    assert trainings._tried == {"press1", "press2"}
    assert [job.words[2] for job in ran] == ["folder/budget.sqlite"]
    assert phases(desk) == ["begun", "begun"]


def test_every_account_of_a_desk_can_train_and_none_moves_what_another_one_paid_for(folder: Path) -> None:
    folder.chmod(0o2775)
    Desk(folder, LIND)
    mode = (folder / ".glassine" / TRAINED).stat().st_mode
    assert mode & 0o1070 == 0o1070


@pytest.mark.browser
def test_a_desk_or_a_worker_that_is_killed_in_a_training_has_charged_once_and_says_so(
    tmp_path: Path, browser: Any
) -> None:
    folder = tmp_path / "study 1207"
    folder.mkdir()
    write_study(folder, n_columns=12)
    running, address = start_desk(folder, "--analyst")
    context = browser.new_context()
    context.set_default_timeout(120_000)
    page = context.new_page()

    def train() -> None:
        page.click(".top >> text=Workbench")
        page.wait_for_selector("#t-domain option:has-text('domain.json')", state="attached")
        page.fill("#w-target", "ill")
        page.fill("#w-dataset", "study")
        page.click("#spend")

    def workers() -> list[int]:
        """Return the processes that train."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if b"\0fit\0tree\0./records.csv\0" in (place / "cmdline").read_bytes():
                    found.append(int(place.name))
        return found

    try:
        page.goto(address)
        train()
        within(lambda: spent(folder) == 1, 120)
        end_desk(running)
        page.wait_for_selector("text=The desk was closed")
        assert made(folder) == []
        within(lambda: not workers(), 20)
        running, address = start_desk(folder, "--analyst")
        page.goto("about:blank")
        page.goto(address)
        page.click(".top >> text=Workbench")
        page.wait_for_selector(".need:has-text('The ledger was charged epsilon 1 of')")
        page.wait_for_selector(".need:has-text('training again draws new noise, and is a new charge')")
        assert spent(folder) == 1
        train()
        within(lambda: spent(folder) == 2, 120)
        for number in workers():
            os.kill(number, signal.SIGKILL)
        page.wait_for_selector("form[data-draft=spend] .need:has-text('it stays spent')")
        page.reload()
        page.wait_for_selector(".need:has-text('charge 2 of')")
        assert (spent(folder), made(folder)) == (2, [])
        assert phases(Desk(folder, LIND)) == ["begun", "failed", "begun", "failed"]
    finally:
        context.close()
        end_desk(running)
