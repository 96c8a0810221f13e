"""Fixtures and settings for every test."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from glassine.privacy.release import fresh_count

ROOT = Path(__file__).resolve().parents[1]

hypothesis.settings.register_profile("glassine", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("glassine")


KEPT: list[Any] = []
"""The captured streams. No test closes them: all later ones would fail, and nothing would name the one that did."""
CLOSINGS: list[str] = []


def _keep_open() -> None:
    CLOSINGS.append("".join(traceback.format_stack(limit=12)))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """List who closed the standard streams among the warnings at the end."""
    while CLOSINGS:
        said = warnings.WarningMessage(UserWarning(f"closed a standard stream:\n{CLOSINGS.pop()}"), UserWarning, "", 0)
        where = {"when": "runtest", "nodeid": item.nodeid, "location": None}
        item.config.hook.pytest_warning_recorded.call_historic(kwargs={"warning_message": said, **where})


def pytest_unconfigure() -> None:
    """Give the streams back to the capture, which closes them."""
    while KEPT:
        del KEPT.pop().close


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed NumPy's global generator, from which learners without a seed draw, and keep the captured streams open."""
    np.random.seed(0)  # noqa: NPY002, the global generator is meant
    if not KEPT and type(sys.stdout).__module__ == "_pytest.capture":
        KEPT.extend(part for stream in (sys.stdout, sys.stderr) for part in (stream, stream.buffer))
        for part in KEPT:
            part.close = _keep_open


@pytest.fixture(autouse=True)
def count_of_fits() -> Iterator[None]:
    """Count the private fits of each test by themselves, as those of a process of their own."""
    with fresh_count():
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the datasets; GLASSINE_DATA names it."""
    named = os.environ.get("GLASSINE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"GLASSINE_DATA must be a folder, got {named}.")
    pytest.skip("the datasets are not here; GLASSINE_DATA may name their folder")


@pytest.fixture(scope="session")
def chromium() -> Path:
    """Path of a Chromium; its absence fails where GLASSINE_REQUIRE_BROWSER is set and skips elsewhere."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return Path(found)
    if os.environ.get("GLASSINE_REQUIRE_BROWSER"):
        pytest.fail("GLASSINE_REQUIRE_BROWSER is set, but no chromium is on PATH.")
    pytest.skip("no chromium is on PATH")


@pytest.fixture(scope="session")
def axe() -> str:
    """Code of axe-core, where GLASSINE_AXE names its file (npm pack axe-core has axe.min.js); see ``chromium``."""
    named = os.environ.get("GLASSINE_AXE")
    if not named:
        if os.environ.get("GLASSINE_REQUIRE_BROWSER"):
            pytest.fail("GLASSINE_REQUIRE_BROWSER is set, but GLASSINE_AXE names no axe.min.js.")
        pytest.skip("GLASSINE_AXE names no axe.min.js")
    return Path(named).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser(chromium: Path) -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def reference_dir() -> Path:
    """Folder of figures published with the papers; GLASSINE_REFERENCE names it."""
    named = os.environ.get("GLASSINE_REFERENCE")
    folder = Path(named) if named else ROOT.parent / "shared" / "reference"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"GLASSINE_REFERENCE must be a folder, got {named}.")
    pytest.skip("the published figures are not here; GLASSINE_REFERENCE may name their folder")
