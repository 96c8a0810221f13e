"""Fixtures and settings for every test."""

from __future__ import annotations

import os
import shutil
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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed NumPy's global generator before each test: learners of scikit-learn without a seed draw from it."""
    np.random.seed(0)  # noqa: NPY002, the global generator is meant


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
