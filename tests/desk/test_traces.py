"""The token of a session and the code that starts it leave no trace: in no log, address, header, process or file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.desk.conftest import end_desk, start_desk
from tests.desk.desks import RULES

pytestmark = pytest.mark.browser


def processes(name: str) -> bytes:
    """Return what the system says of every process: its arguments, or its environment."""
    texts = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            texts.append((place / name).read_bytes())
        except OSError:  # It has ended, or is another account's
            continue
    return b"\n".join(texts)


def saved(*places: Path) -> bytes:
    """Return the names and the contents of all files below folders."""
    texts = []
    for path in (path for place in places for path in place.rglob("*")):
        texts.append(str(path).encode())
        if path.is_file():
            texts.append(path.read_bytes())
    return b"\n".join(texts)


def test_neither_the_token_nor_the_code_is_found_where_somebody_could_look(tmp_path: Path, browser: Any) -> None:
    folder, downloads = tmp_path / "study 1207", tmp_path / "downloads"
    folder.mkdir()
    (folder / "rules.txt").write_text(RULES)
    running, address = start_desk(folder)
    code = address.partition("#code=")[2]
    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(60_000)
    requests: list[Any] = []
    context.on("request", lambda one: requests.append(one))
    page = context.new_page()
    names: list[str] = []
    try:
        page.goto(address)
        page.wait_for_selector("#verdict:not(:has-text('Being audited'))")
        token = page.evaluate("sessionStorage.getItem('token')")
        assert len(token) > 40
        page.click("text=Open the report")
        page.frame_locator("iframe.report").locator("#verdict").wait_for()
        page.click(".top >> text=Record")
        for press in ("Download the evidence", "Public record"):
            with page.expect_download() as download:
                page.click(f"button:text-is('{press}')")
            names += [download.value.suggested_filename, download.value.url]
            download.value.save_as(downloads / download.value.suggested_filename)
        said = page.content()
        steps = context.new_cdp_session(page).send("Page.getNavigationHistory")["entries"]
        # Where each entry leads; the browser keeps apart what was typed, and that code is used up.
        history = [one["url"] for one in steps]
        # Pages of errors, and a page that went on: the address names the page, and no more.
        shown = [page.evaluate("path => fetch(path).then(answer => answer.text())", f"/{wrong}") for wrong in WRONG]
        page.goto(address.partition("#")[0] + "t/none")
        shown.append(page.content())
        sent = [(one.url, dict(one.all_headers())) for one in requests]
        arguments, environment = processes("cmdline"), processes("environ")
        running.kill()
        assert running.stdout is not None
        log = running.stdout.read()  # Behind the line with the address
        files = saved(folder, downloads, *Path(tempfile.gettempdir()).glob("glassine-desk-*"))
    finally:
        context.close()
        end_desk(running)
    assert len(sent) > 10
    # It goes to the desk alone, in the one header that is meant for it, and the code in the body of one request.
    assert any(headers.get("authorization") == f"Bearer {token}" for _, headers in sent)
    rest = [(url.partition("#")[0], {**headers, "authorization": ""}) for url, headers in sent]
    assert all("referer" not in headers or "#" not in headers["referer"] for _, headers in rest)
    looked = [log, str(rest), *names, said, *shown, *history]
    for secret in (token, code):
        assert [text for text in looked if secret in text] == []
        assert secret.encode() not in arguments + environment + files


WRONG = ("nothing", "assets/none", "t/none", "api/none", "api/files/none/text", "session")
"""Addresses that are answered with an error."""
