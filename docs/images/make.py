"""Makes the pictures of README and docs again, with records that are made up: needs a Chromium, playwright and uvicorn.

python docs/images/make.py [report] [explanation] [service] [desk]
"""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from glassine import Category, Domain, Integer
from glassine.cli.demo import run_demo
from glassine.server import Limits, ReleaseFile, create_app, listen
from glassine.surrogates import SurrogateExplainer

FOLDER = Path(__file__).resolve().parent
DOMAIN = Domain(
    {
        "age": Integer(18, 90),
        "income": Integer(0, 10_000),
        "job": Category(("employed", "self-employed", "none")),
        "debts": Integer(0, 20_000),
    }
)
ASKED = {"age": 45, "income": 2900, "job": "employed", "debts": 6000}


def lend(people: pl.DataFrame) -> list[str]:
    """Decide on loans: by income, less a share of the debts, and by the job."""
    left = people["income"] - 0.1 * people["debts"] + 400 * (people["job"] == "employed").cast(pl.Int64)
    return ["granted" if amount > 2700 else "refused" for amount in left]


def applicants(n: int = 3000) -> pl.DataFrame:
    """Make applicants up."""
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "income": rng.gamma(4, 800, n).clip(0, 10_000).astype(int),
            "job": rng.choice(["employed", "self-employed", "none"], n, p=[0.7, 0.2, 0.1]),
            "debts": (rng.exponential(4000, n) * (rng.random(n) < 0.6)).clip(0, 20_000).astype(int),
        }
    )


@contextmanager
def served() -> Iterator[str]:
    """Serve explanations of the lender's decisions; yields the address."""
    import uvicorn

    explainer = SurrogateExplainer(lend, 100, domain=DOMAIN, distance="gower", random_state=0).fit(applicants())
    release = explainer.release()
    file = ReleaseFile(release=release, content=json.dumps(release.to_dict()).encode(), public_key=None)
    unlimited = Limits(rate=math.inf, total_rate=math.inf)
    app = create_app(file, black_box=lend, takes="polars", limits=unlimited, title="Your loan, explained")
    socket = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        socket.close()


def answered(browser: Browser, url: str, width: int) -> Page:
    """Open the service, ask about one applicant, and wait for the answer."""
    page = browser.new_page(viewport={"width": width, "height": 1174})
    page.goto(url)
    for name, value in ASKED.items():
        field = page.get_by_label(name, exact=True)
        if isinstance(value, str):
            field.select_option(label=value)
        else:
            field.fill(str(value))
    page.locator("#ask").click()
    page.locator("#answer").wait_for(state="visible")
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    return page


def save(page: Page, name: str, *, whole: bool = False) -> None:
    """Write what is in view, or the whole page, in as few colours as it needs."""
    taken = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
    taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)


def report(browser: Browser) -> None:
    """Take the head of the report on the tree of the demonstration."""
    with tempfile.TemporaryDirectory() as folder:
        run_demo(Path(folder))
        page = browser.new_page(viewport={"width": 1200, "height": 1400})
        page.goto((Path(folder) / "tree-report.html").as_uri())
        save(page, "report")


def explanation(browser: Browser) -> None:
    """Take the question and the answer."""
    with served() as url:
        save(answered(browser, url, 900), "explanation")


def desk(browser: Browser) -> None:
    """Take the desk with the files of the demonstration, the tree in view."""
    import asyncio

    from glassine.desk import Desk, Person, create_desk
    from glassine.desk.serving import run_desk

    with tempfile.TemporaryDirectory() as place:
        run_demo(Path(place) / "demo")
        folder = Path(place) / "study 1207"
        folder.mkdir()
        for name in ("tree.json", "rules.txt", "scrubbed-tree.json", "domain.json"):
            shutil.copy(Path(place) / "demo" / name, folder)
        app = create_desk(Desk(folder, Person(account="okafor", name="R. Okafor", role="checker")))
        socket, loop = listen("127.0.0.1", 0), asyncio.new_event_loop()
        task = loop.create_task(run_desk(app, socket))
        thread = threading.Thread(target=loop.run_until_complete, args=(asyncio.wait({task}),))
        thread.start()
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.goto(f"http://127.0.0.1:{socket.getsockname()[1]}/#code={app.session.code}")
        page.locator(".queue a", has_text="tree.json").filter(has_text="Outside").click()
        page.locator("#verdict", has_text="Outside policy").wait_for()
        page.locator("input[value=changes]").check()
        page.locator("[data-into=f-reason]").first.click()
        page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        save(page, "desk")
        loop.call_soon_threadsafe(task.cancel)
        thread.join()


def service(browser: Browser) -> None:
    """Take the whole page with an answer."""
    with served() as url:
        save(answered(browser, url, 800), "service", whole=True)


PICTURES: dict[str, Callable[[Any], None]] = {made.__name__: made for made in (report, explanation, service, desk)}


def main(names: list[str]) -> None:
    """Make some pictures, or all of them."""
    unknown = set(names) - set(PICTURES)
    chromium = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
    )
    if unknown or not chromium:
        sys.exit(
            f"There is no picture {', '.join(sorted(unknown))}." if unknown else "There is no chromium on the path."
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in names or PICTURES:
            PICTURES[name](browser)
            sys.stdout.write(f"{FOLDER / name}.png\n")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
