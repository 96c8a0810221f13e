"""The desk over HTTP: who gets in, what is refused, and what the process holds."""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glassine.desk import Desk
from glassine.desk.app import Session, Tickets
from glassine.desk.documents import REPORT_POLICY
from glassine.desk.folder import Folder
from glassine.desk.workers import ENVIRONMENT, Job, Workers
from glassine.privacy import Ledger
from glassine.server.access import Connections
from tests.desk.desks import BERG, LIND, OKAFOR, RULES, Served, approve, bound, look, within

pytestmark = pytest.mark.slow


class Hostile:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/glassine-desk-was-here",)


def test_nothing_is_said_without_the_token_or_to_another_page(served: Served) -> None:
    status, shell, headers = served.ask("GET", "/", authorization="")
    assert (status, "rules.txt" in shell) == (200, False)
    assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert served.ask("GET", "/assets/desk.js", authorization="")[0] == 200
    assert served.ask("GET", "/assets/app.py", authorization="")[0] == 404
    for path in ("/api/queue", "/api/desk", "/api/record?audience=public"):
        assert served.ask("GET", path, authorization="")[0] == 401
        assert served.ask("GET", path, authorization="Bearer " + "x" * 43)[0] == 401
        assert served.ask("GET", path)[0] == 200
        assert served.ask("GET", path, host="rebound.example")[0] == 421
        assert served.ask("GET", path, origin="http://127.0.0.1:1")[0] == 403
        assert served.ask("GET", path, origin=served.url.rstrip("/"))[0] == 200
    assert served.ask("POST", "/api/signoff", {}, origin="null")[0] == 403
    assert "set-cookie" not in {name.lower() for name in headers}


def test_every_answer_says_what_it_may_load_and_is_not_kept(served: Served) -> None:
    served.audited("rules.txt")
    (identity,) = served.app.desk.state.files
    asked = [{"what": what, "file": identity, "form": "tre"} for what in ("report", "drawing", "reply", "evidence")]
    answers = [served.ask("POST", "/api/tickets", one) for one in (*asked, {"what": "record"}, {"what": "none"})]
    answers += [served.ask("GET", f"/t/{json.loads(body)['ticket']}") for status, body, _ in answers if status == 200]
    for method, path, more in (
        ("GET", "/", {}),
        ("GET", "/assets/desk.js", {}),
        ("GET", "/nothing", {}),
        ("GET", "/t/../", {}),
        ("DELETE", "/", {}),
        ("POST", "/session", {}),
        ("GET", "/api/queue", {}),
        ("GET", "/api/files/none/text", {}),
        ("GET", "/api/queue", {"authorization": "none"}),
        ("GET", "/api/queue", {"host": "rebound.example"}),
        ("GET", "/api/queue", {"origin": "null"}),
        ("PUT", "/api/files/large.txt", {"content_length": str(5 * 10**9)}),
    ):
        answers.append(served.ask(method, path, b"" if method in ("PUT", "POST") else None, **more))
    assert {status for status, _, _ in answers} >= {200, 401, 403, 404, 405, 413, 421, 422}
    for status, _, headers in answers:
        said = {name.lower(): value for name, value in headers.items()}
        assert said["content-security-policy"].startswith("default-src 'none'"), status
        assert (said["x-content-type-options"], said["cache-control"]) == ("nosniff", "no-store")
        assert said["referrer-policy"] == "no-referrer"


def test_a_folder_that_vanishes_is_said_and_nothing_is_lost_when_it_is_back(served: Served, folder: Path) -> None:
    served.audited("rules.txt")
    identity, asked = bound(served.app.desk, "rules.txt", decision="reject", reason="not now")
    away = folder.with_name("away")
    folder.rename(away)
    within(lambda: "cannot use its folder" in json.loads(served.ask("GET", "/api/desk")[1])["fault"])
    status, body, _ = served.ask("POST", f"/api/files/{identity}/vote", asked)
    assert (status, "can be recorded" in body) == (503, True)
    assert "Errno" not in body
    away.rename(folder)
    within(lambda: not json.loads(served.ask("GET", "/api/desk")[1])["fault"])
    assert served.ask("POST", f"/api/files/{identity}/vote", asked)[0] == 200


def test_an_upload_that_breaks_off_leaves_nothing_and_holds_nobody_up(served: Served, folder: Path) -> None:
    head = (
        f"PUT /api/files/slow.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {served.app.session.token}\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", served.port))
    connection.sendall(f"{head}Content-Length: 1000\r\n\r\nabc".encode())
    within(lambda: list((folder / ".glassine").glob("upload-*")))
    assert served.ask("GET", "/api/desk")[0] == 200
    connection.close()
    within(lambda: not list((folder / ".glassine").glob("upload-*")))
    assert not (folder / "slow.txt").exists()


def test_silent_neighbors_lose_their_places_to_those_who_ask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As the service does: with all places taken, the connection is closed that has waited longest without asking.
    monkeypatch.setattr("glassine.server.access.Connections", partial(Connections, places=6))
    served = Served(folder)
    silent = []
    try:
        assert within(lambda: served.ask("GET", "/api/queue")[0] == 200)
        for number in range(20):
            silent.append(socket.create_connection(("127.0.0.1", served.port), 5, (f"127.0.0.{2 + number % 5}", 0)))
        assert [served.ask("GET", "/api/queue")[0] for _ in range(10)] == [200] * 10
        silent[0].settimeout(20)
        assert silent[0].recv(1) == b""
    finally:
        for connection in silent:
            connection.close()
        served.stop()


def test_the_code_works_once_and_a_second_use_ends_the_desk(served: Served) -> None:
    code = {"code": served.app.session.code}
    assert served.ask("POST", "/session", {"code": "x"}, authorization="")[0] == 401
    status, body, _ = served.ask("POST", "/session", code, authorization="")
    assert (status, json.loads(body)["token"]) == (200, served.app.session.token)
    assert served.ask("POST", "/session", code, authorization="")[0] == 401
    served.thread.join(20)
    assert served.contested is True


def test_codes_and_tickets_age() -> None:
    now = [0.0]
    session = Session(lambda: now[0])
    now[0] = 61
    assert session.start(session.code) is None
    tickets = Tickets(lambda: now[0])
    ticket = tickets.issue(b"x", {})
    assert tickets.redeem(ticket) == (b"x", {})
    assert tickets.redeem(ticket) is None
    late = tickets.issue(b"x", {})
    now[0] += 31
    assert tickets.redeem(late) is None


def test_a_verdict_a_report_and_a_vote_over_http(served: Served) -> None:
    served.audited("rules.txt")
    queue = served.ask("GET", "/api/queue")[1]
    assert "rules.txt" in queue
    assert "Audited here by the desk" in queue
    identity, asked = bound(served.app.desk, "rules.txt")
    ticket = json.loads(served.ask("POST", "/api/tickets", {"what": "report", "file": identity})[1])["ticket"]
    status, report, headers = served.ask("GET", f"/t/{ticket}", authorization="")
    assert (status, headers["content-security-policy"]) == (200, REPORT_POLICY)
    assert "rules.txt" in report
    assert served.ask("GET", f"/t/{ticket}", authorization="")[0] == 404
    status, body, _ = served.ask("POST", f"/api/files/{identity}/vote", {**asked, "decision": "reject"})
    assert (status, json.loads(body)["field"]) == (422, "reason")
    vote = {**asked, "decision": "reject", "reason": "not now"}
    assert served.ask("POST", f"/api/files/{identity}/vote", vote)[0] == 200
    assert served.ask("POST", f"/api/files/{identity}/vote", {**vote, "changed": 0})[0] == 409
    assert served.ask("POST", "/api/files/0000/vote", vote)[0] == 422
    assert served.ask("POST", "/api/nothing", {})[0] == 404
    for signing in ("one", None, -1, "1" * 30):
        status, body, _ = served.ask("POST", "/api/release", {"signing": signing})
        assert (status, json.loads(body)["field"]) == (422, "signing")


def test_files_that_land_are_streamed_new_and_limited(served: Served, folder: Path, monkeypatch: Any) -> None:
    assert served.ask("PUT", "/api/files/new.txt", RULES.encode())[0] == 200
    assert (folder / "new.txt").read_text() == RULES
    assert served.ask("PUT", "/api/files/new.txt", b"other")[0] == 422
    assert (folder / "new.txt").read_text() == RULES
    for name in (
        "..%2Fup.txt",
        ".hidden",
        "release-9",
        "-o",
        "a%00b.txt",
        "a%0ab.txt",
        "%E2%80%AEgnp.txt",
        "a%5cb.txt",
    ):
        assert served.ask("PUT", f"/api/files/{name}", b"x")[0] in (404, 405, 422), name
    monkeypatch.setattr("glassine.desk.app.LARGEST_MODEL", 100)
    assert served.ask("PUT", "/api/files/large.txt", b"x" * 101)[0] == 422
    length = {"content_length": str(5 * 10**9)}
    assert served.ask("PUT", "/api/files/huge.csv", b"", **length)[0] == 413
    assert served.ask("POST", "/api/signoff", b"x" * (2 << 20))[0] == 413
    assert sorted(path.name for path in folder.iterdir()) == [".glassine", "new.txt", "rules.txt"]
    assert not [path for path in (folder / ".glassine").iterdir() if path.name.startswith("upload")]
    served.audited("new.txt")


def test_a_hostile_folder_is_shown_and_runs_nothing(folder: Path, tmp_path: Path) -> None:
    witness = Path("/tmp/glassine-desk-was-here")  # noqa: S108, made by nobody
    witness.unlink(missing_ok=True)
    (folder / "forest.pkl").write_bytes(pickle.dumps(Hostile()))
    (folder / "forest.json").write_bytes(pickle.dumps(Hostile(), protocol=0))
    (folder / "page.html").write_text("<script>alert(1)</script><h1>Within policy</h1>")
    (folder / "a<img src=x onerror=alert(1)>.txt").write_text(RULES)
    (folder / "right\u202etxt.exe").write_text("x")
    (folder / "two\nlines.txt").write_text(RULES)
    (folder / "deep.json").write_text("[" * 200_000)
    (folder / "secret.json").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.txt")
    (folder / "results.json").write_text(
        json.dumps({"version": "9", "results": {"t": {"files": [{"name": "/etc/passwd"}, {"name": "../x"}]}}})
    )
    served = Served(folder)
    try:
        served.audited("forest.pkl", "forest.json", "page.html", "deep.json", "rules.txt")
        assert "two\ufffdlines.txt" in served.ask("GET", "/api/queue")[1]
        assert not witness.exists()
        names = {file.name for file in served.app.desk.state.files.values()}
        assert not names & {"secret.json", "pipe.txt", "passwd", "/etc/passwd"}
        for file in list(served.app.desk.state.files.values()):
            shown = served.ask("GET", f"/api/queue/{file.id}")[1]
            text = served.ask("GET", f"/api/files/{file.id}/text")[1]
            for page in (shown, text):
                assert "<script" not in page
                assert "<img src" not in page
                assert "\u202e" not in page
                assert "root:x" not in page
        pickled = next(file for file in served.app.desk.state.files.values() if file.name == "forest.pkl")
        assert "a pickle can run code" in served.ask("GET", f"/api/queue/{pickled.id}")[1]
    finally:
        served.stop()


def test_a_worker_has_limits_and_an_empty_environment(tmp_path: Path) -> None:
    code = (
        "import os, resource, runpy; from resource import getrlimit; runpy.run_module = lambda *a, **k: "
        "print(getrlimit(resource.RLIMIT_AS)[0], getrlimit(resource.RLIMIT_CPU)[0], sorted(os.environ)); "
        "from glassine.desk.confined import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "3000000000", "7", str(os.getpid()), "glassine"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=True,
    )
    assert done.stdout.startswith("3000000000 7 ")
    assert "PYTHONPATH" not in done.stdout
    assert "HOME" not in done.stdout


IMPORTS = """
import asyncio, sys
from pathlib import Path
from glassine.desk import Desk, Person, create_desk
from glassine.desk.serving import run_desk
from glassine.server.running import listen
folder = Path(sys.argv[1])

async def main():
    app = create_desk(Desk(folder, Person(account="a", name="A", role="checker")), workers=1)
    listening = listen("127.0.0.1", 0)
    task = asyncio.create_task(run_desk(app, listening))
    while app.audits.n_waiting < 10:
        await asyncio.sleep(0.05)
    import http.client
    def ask():
        connection = http.client.HTTPConnection(*listening.getsockname())
        connection.request("GET", "/api/queue", headers={"authorization": f"Bearer {app.session.token}"})
        return connection.getresponse().status
    status = await asyncio.to_thread(ask)
    loaded = sorted(sys.modules)
    # Of this program: ru_maxrss has that of the process that started it as well.
    said = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(said["VmHWM"].split()[0]) / 1024
    task.cancel()
    print(status, peak, *loaded)

try:
    asyncio.run(main())
except asyncio.CancelledError:
    pass
"""


def test_the_serving_process_imports_no_reader_and_no_estimator(tmp_path: Path) -> None:
    # Many more than ten, so that ten still wait when a busy machine looks.
    for number in range(40):
        (tmp_path / f"rules-{number}.txt").write_text(RULES.replace("520", str(520 + number)))
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    status, peak, *loaded = done.stdout.split()
    assert status == "200", done.stderr
    heavy = {"sklearn", "pandas", "polars", "scipy", "numpy", "narwhals", "numba", "opendp", "onnx", "skops"}
    assert not heavy & {name.partition(".")[0] for name in loaded}
    rooms = {name.split(".")[1] for name in loaded if name.startswith("glassine.")}
    assert not rooms & {"formats", "models", "auditing", "attacks", "learners", "records", "data", "domain"}
    # Megabytes, with ten audits waiting.
    assert float(peak) < 150


def test_a_second_desk_sees_what_the_first_decided(served: Served, folder: Path) -> None:
    served.audited("rules.txt")
    other = Served(folder, LIND)
    try:
        other.audited("rules.txt")
        identity, asked = bound(served.app.desk, "rules.txt", decision="changes", reason="please round")
        served.app.desk.vote(identity, asked)
        within(lambda: other.app.desk.state.files[identity].now.votes)
        assert served.app.desk.person == OKAFOR
    finally:
        other.stop()


def test_a_press_trains_and_charges_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{20 + n % 50},{'yes' if n % 3 else 'no'}" for n in range(300)]
    (folder / "records.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    attributes = [
        {"name": "age", "type": "integer", "lo": 0, "hi": 120},
        {"name": "ill", "type": "category", "values": ["no", "yes"]},
    ]
    (folder / "domain.json").write_text(json.dumps({"schema": "glassine.domain/1", "attributes": attributes}))
    Ledger(folder / "budget.sqlite").budget("study", 3)
    touched: list[str] = []
    opened, run = Folder.opened, Workers.run

    def open_file(folder: Folder, name: str, under: str = "") -> Any:
        touched.append(name)
        return opened(folder, name, under)

    async def run_job(workers: Workers, job: Job) -> Any:
        touched.extend(job.words)
        return await run(workers, job)

    monkeypatch.setattr(Folder, "opened", open_file)
    monkeypatch.setattr(Workers, "run", run_job)
    served = Served(folder, LIND)
    try:
        served.audited("domain.json")
        asked = {
            **{"key": "abc123", "kind": "tree", "target": "ill", "account": "study", "epsilon": "1"},
            **{"records": "records.csv", "domain": "domain.json", "ledger": "budget.sqlite"},
        }
        assert json.loads(served.ask("POST", "/api/work/ledger", asked)[1])["left"] == {"study": [3.0, 3.0]}
        for wrong in ({"epsilon": "-1"}, {"classes": "yes"}, {"range": "3"}, {"range": "0, 3", "kind": "rule-list"}):
            assert served.ask("POST", "/api/work/spend", {**asked, **wrong})[0] == 422
        assert not any(event.kind == "charged" for event in served.app.desk.state.events)
        assert Ledger(folder / "budget.sqlite").spent("study") == 0
        assert served.ask("GET", "/api/workbench")[0] == 200
        # Until then, neither this process nor a worker was asked to open the records.
        assert any("budget.sqlite" in one for one in touched)
        assert not any("records.csv" in one for one in touched)
        status, body, _ = served.ask("POST", "/api/work/spend", asked)
        assert status == 200, body
        assert (folder / "private-tree.json").exists()
        assert (folder / "private-tree.certificate.json").exists()
        status, body, _ = served.ask("POST", "/api/work/spend", asked)
        assert status == 422
        assert "charges once" in body
        assert Ledger(folder / "budget.sqlite").spent("study") == 1
        # The desk verifies the certificate beside the model, and takes evidence from its own audit.
        served.audited("private-tree.json", "private-tree.certificate.json")
        files = {file.name: file.id for file in served.app.desk.state.files.values()}
        made = files["private-tree.json"]
        assert "Verify" in served.ask("GET", f"/api/queue/{made}")[1]
        assert "The certificate is verified" in served.ask("GET", f"/api/files/{made}/certificate")[1]
        other = files["rules.txt"]
        assert served.ask("GET", f"/api/files/{other}/certificate")[0] == 422
        status, body, _ = served.ask("POST", "/api/tickets", {"what": "evidence", "file": made, "form": "tre"})
        assert status == 200, body
        page = served.ask("GET", f"/t/{json.loads(body)['ticket']}", authorization="")[1]
        assert "private-tree.json" in page
        # The certificate stands at its end, its lists under their headings; the headline is not the title again.
        assert re.search(r"<b>Releases</b></p>\s*<ul[^>]*>\s*<li>", page)
        assert "<bdi>- " not in page
        assert re.search(r"Figures answer \d+ of \d+ items; \d+ need a statement of a person", page)
        assert page.count("Output checking in trusted research environments") == 2  # In the tab, and once on the page
        phases = [event.body["phase"] for event in served.app.desk.refresh().events if event.kind == "charged"]
        assert phases == ["begun", "done"]
        # A number is trained on by its range, where the domain does not declare it.
        alone = json.dumps({"schema": "glassine.domain/1", "attributes": attributes[1:]})
        (folder / "alone.json").write_text(alone)
        served.audited("alone.json")
        number = {"key": "def456", "target": "age", "range": "0, 120", "domain": "alone.json"}
        status, body, _ = served.ask("POST", "/api/work/spend", {**asked, **number})
        assert status == 200, body
        assert Ledger(folder / "budget.sqlite").spent("study") == 2
    finally:
        served.stop()


def test_copies_are_measured_on_records_that_were_chosen_and_appear_as_they_are_made(folder: Path) -> None:
    lines = [f"{20 + n % 50},{'yes' if n % 3 else 'no'}" for n in range(300)]
    (folder / "records.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    (folder / "ages.txt").write_text(
        "classes: [no] [yes]\nif [age <= 41.5] then [yes] ([80 ; 70] examples)\nelse [no] ([60 ; 90] examples)\n"
    )
    attribute = {"name": "age", "type": "integer", "lo": 0, "hi": 120}
    (folder / "domain.json").write_text(json.dumps({"schema": "glassine.domain/1", "attributes": [attribute]}))
    served = Served(folder, LIND)
    try:
        served.audited("ages.txt", "domain.json")
        file = next(one for one in served.app.desk.state.files.values() if one.name == "ages.txt")
        asked = {"file": file.id, "domain": "domain.json"}
        measured = {**asked, "measured": "records.csv"}
        assert json.loads(served.ask("POST", "/api/work/stops", measured)[1])["field"] == "predicted"
        # A failure is the answer, or shown later where the machine is busy.
        if served.ask("POST", "/api/work/stops", {**measured, "predicted": "none"})[0] != 422:
            within(lambda: served.app.workbench._stops[file.now.sha256].failure)
        assert served.ask("POST", "/api/work/stops", {**measured, "predicted": "ill"})[0] == 200
        stops = served.app.workbench._stops[file.now.sha256]
        within(lambda: not stops.running)
        assert stops.failure == ""
        assert stops.made[0]["as_trained"]
        assert {one["measure"] for one in stops.made} == {"Accuracy"}
        assert all(one["figure"].endswith("%") for one in stops.made)
        failed = [(one["failed"], one["unknown"]) for one in stops.made[1:]]
        assert failed == sorted(failed, reverse=True)
        assert "Accuracy on the records" in served.ask("GET", f"/api/workbench/{file.id}")[1]
        number = stops.made[-1]["number"]
        written = served.ask("POST", "/api/work/keep", {**asked, "number": str(number)})[1]
        assert (folder / json.loads(written)["written"]).read_text() == stops.made[-1]["model"]
        assert served.ask("POST", "/api/work/keep", {**asked, "number": "99"})[0] == 422
        assert served.ask("POST", "/api/work/forget", asked)[0] == 200
        # What the analyst sees of the records is asked for by itself, and marked.
        assert served.ask("POST", "/api/work/form", asked)[0] == 200
        seen = {"file": file.id, "column": "age", "records": "records.csv"}
        assert served.ask("POST", "/api/work/seen", seen)[0] == 200
        assert sum(served.app.workbench._columns["ages.txt", "age"]["bars"]) == 300
        # The same bytes under another name have the same mark; that the copies were measured is recorded.
        (folder / "again.txt").write_bytes((folder / "ages.txt").read_bytes())
        served.audited("again.txt")
        again = next(one for one in served.app.desk.state.files.values() if one.name == "again.txt")
        form = {"file": again.id, "type-0": "integer", "lo-0": "20", "hi-0": "69", "where-0": "law"}
        written = json.loads(served.ask("POST", "/api/work/domain", form)[1])["written"]
        assert json.loads((folder / written).read_text())["attributes"][0]["inferred"] is True
        events = [event.body for event in served.app.desk.state.events if event.kind == "seen"]
        assert [body.get("column", body["records"]) for body in events][-2:] == ["records.csv", "age"]
    finally:
        served.stop()


def test_two_versions_are_judged_together_without_a_domain(folder: Path) -> None:
    (folder / "rules.txt").write_text(RULES.replace("smoker", "age <= 41.5"))
    served = Served(folder)
    try:
        served.audited("rules.txt")
        moved = RULES.replace("smoker", "age <= 42.5").replace("23", "24").replace("520", "519")
        (folder / "rules.txt").write_text(moved)
        file = within(lambda: next((f for f in list(served.app.desk.state.files.values()) if f.before), None))
        served.audited("rules.txt")
        shown = served.ask("GET", f"/api/files/{file.id}/together")[1]
        # Each version passes alone; together they show the one person between the two thresholds.
        assert "Together: Outside policy" in shown
        assert "1 of 3 intersections of the models holds fewer than 10 records" in shown
        assert "the widest bounds that the models allow" in shown
        assert "age &lt;= 42.5: 24, 41" in shown
        assert "519, 90" in shown
    finally:
        served.stop()


def test_an_analyst_reads_no_note_of_a_checker(folder: Path) -> None:
    analyst = Served(folder, LIND)
    try:
        analyst.audited("rules.txt")
        for person in (OKAFOR, BERG):
            desk = Desk(folder, person)
            look(desk)
            approve(desk, "rules.txt", reason="agreed in public", note="thought in private")
        within(lambda: sum(event.kind == "voted" for event in analyst.app.desk.state.events) == 2)
        (file,) = analyst.app.desk.state.files.values()
        ticket = json.loads(analyst.ask("POST", "/api/tickets", {"what": "record", "audience": "checkers"})[1])[
            "ticket"
        ]
        for path in (f"/api/queue/{file.id}", "/api/record", "/api/record?audience=checkers", f"/t/{ticket}"):
            status, body, _ = analyst.ask("GET", path)
            assert (status, "thought in private" in body) == (200, False), path
            assert "agreed in public" in body
    finally:
        analyst.stop()


def test_a_table_that_cannot_be_split_is_shown_as_text(served: Served, folder: Path) -> None:
    (folder / "wide.csv").write_text("x" * 150_000)
    served.audited("wide.csv")
    file = next(one for one in served.app.desk.state.files.values() if one.name == "wide.csv")
    status, body, _ = served.ask("GET", f"/api/files/{file.id}/text")
    assert (status, "x" * 1000 in body) == (200, True)


def test_a_watch_says_what_failed_and_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(desk: Desk) -> int:
        raise RuntimeError("dictionary changed size")

    served = Served(folder)
    try:
        served.audited("rules.txt")
        with monkeypatch.context() as patch:
            patch.setattr(Desk, "scan", fail)
            within(lambda: "dictionary changed size" in json.loads(served.ask("GET", "/api/desk")[1])["fault"])
        within(lambda: json.loads(served.ask("GET", "/api/desk")[1])["fault"] == "")
    finally:
        served.stop()


def test_what_is_shown_are_the_bytes_that_votes_are_on(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "table.csv").write_text("group,n\nall,50\n")
    served.audited("table.csv")
    desk = served.app.desk
    file = next(one for one in desk.state.files.values() if one.name == "table.csv")
    before = (folder / "table.csv").stat()
    monkeypatch.setattr(served.app, "_look", lambda: None)  # The desk has not seen the change yet
    with (folder / "table.csv").open("r+") as stream:
        stream.write("name, n\nBob,1")
    os.utime(folder / "table.csv", ns=(before.st_atime_ns, before.st_mtime_ns))
    status, body, _ = served.ask("GET", f"/api/files/{file.id}/text")
    assert (status, "Bob" in body, "it changed since" in body) == (409, False, True)
    # Neither the time nor the size differ: the change is seen all the same.
    assert desk.scan() == 1


def test_a_submitted_file_is_never_read_back_as_what_an_audit_wrote(served: Served, folder: Path) -> None:
    (folder / "page.json").write_text(json.dumps({"headline": "Within policy", "checks": []}))
    (folder / "nested.json").write_text(json.dumps({"a": {"schema": "glassine.domain/1"}}))
    served.audited("page.json", "nested.json", "rules.txt")
    results = {one.name: served.app.audits.result(one.now) for one in served.app.desk.state.files.values()}
    for name in ("page.json", "nested.json"):
        found = results[name]
        assert found is not None
        assert (found["kind"], found["verdict"], found["page"]) == ("unreadable", "not audited", None)
    assert "rules.txt" in (results["rules.txt"] or {"report": ""})["report"]


ACTIONS = (
    *(f"files/ID/{name}" for name in ("vote", "ask", "answer", "turn", "accept", "trial")),
    *("signoff", "release", "audit", "tickets"),
    *(f"work/{name}" for name in ("form", "seen", "domain", "stops", "keep", "ledger", "estimate", "simulate", "edit")),
    *("work/spend", "work/settle", "work/cancel", "work/forget", "work/none"),
)
FIELDS = (
    *("file", "files", "items", "text", "decision", "reason", "note", "author", "accepted", "trust", "action", "key"),
    *(
        "domain",
        "row",
        "rows_per_person",
        "base_rate",
        "recipient",
        "purpose",
        "review_by",
        "looked",
        "signing",
        "what",
    ),
    *("audience", "form", "measured", "held_out", "predicted", "kind", "target", "account", "epsilon", "records"),
    *("ledger", "classes", "range", "model", "number", "column", "columns", "stop", "n", "sha256", "changed"),
)


@pytest.mark.parametrize(
    "value", [5, -1e300, True, [], [[]], [None, {}], {}, {"a": 1}, "\x00", "\ud800", "../..", "-x"]
)
def test_no_request_of_another_form_ends_without_words(served: Served, value: object) -> None:
    served.audited("rules.txt")
    identity, shown = bound(served.app.desk, "rules.txt")
    for action in ACTIONS:
        for asked in (dict.fromkeys(FIELDS, value), {**dict.fromkeys(FIELDS, value), **shown, "file": identity}):
            status, body, _ = served.ask("POST", f"/api/{action.replace('ID', identity)}", asked)
            assert status < 500, (action, body)
