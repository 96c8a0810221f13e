"""Desks in a browser, for the tests of this folder."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassine.desk import Desk
from tests.desk.desks import BERG, OKAFOR, RULES, Served, look


@pytest.fixture
def open_desk(browser: Any) -> Iterator[Any]:
    """Open a desk in a browser; what the page complains of, or asks for elsewhere, is an error."""
    running: list[Served] = []
    contexts: list[Any] = []
    complaints: list[str] = []

    def start(folder: Path, person: Any = OKAFOR, *, width: int = 1280, scheme: str = "light") -> tuple[Any, Served]:
        served = Served(folder, person)
        running.append(served)
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(90_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda one: None if one.url.startswith((served.url, "blob:")) else complaints.append(one.url)
        )
        page.on(
            "console",
            lambda message: None if "Failed to load resource" in message.text else complaints.append(message.text),
        )
        page.goto(served.address)
        page.wait_for_selector("nav.top")
        return page, served

    yield start
    for context in contexts:
        context.close()
    for served in running:
        served.stop()
    assert complaints == []


def start_desk(folder: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """Start a desk as a person does, and return its process and the address that it says."""
    command = [sys.executable, "-m", "glassine", "desk", str(folder), "--name", "R. Okafor", "--no-open-browser"]
    running = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert running.stdout is not None
    lines = iter(running.stdout.readline, "")
    return running, next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))


def end_desk(running: subprocess.Popen[str]) -> None:
    """Kill a desk, which has no moment to put anything in order."""
    running.kill()
    running.wait()
    if running.stdout is not None:
        running.stdout.close()


def choose(page: Any, name: str) -> None:
    page.click(f".queue a:has-text('{name}')")
    page.wait_for_selector(f"#d:has-text('{name}')")


def decide(page: Any, decision: str, reason: str = "") -> None:
    page.check(f"input[name=decision][value={decision}]")
    page.fill("#f-reason", reason)
    page.evaluate("document.getElementById('said').textContent = ''")
    page.click("button:has-text('Record my decision')")
    page.wait_for_selector("#said:has-text('Decision recorded')", state="attached")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "study"
    place.mkdir()
    (place / "rules.txt").write_text(RULES)
    return place


@pytest.fixture
def desks(folder: Path) -> tuple[Desk, Desk]:
    first = Desk(folder, OKAFOR)
    look(first)
    second = Desk(folder, BERG)
    second.scan()
    return first, second


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    desk = Served(folder)
    yield desk
    desk.stop()
