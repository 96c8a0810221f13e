"""Every code block of the documentation runs; `code_blocks` states the convention."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repo.code_blocks import ROOT, is_run, read_blocks, run_blocks

DOCS = [page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts]
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(page.relative_to(ROOT).as_posix() for page in DOCS)]

HEAVY = {
    "choose-a-model",
    "explain-a-black-box",
    "explain-a-number",
    "first-audit",
    "fix-a-model",
    "reconstruct-a-forest",
    "serve-explanations",
    "summarize-once",
    "test-membership",
    "verify-a-claim",
}
"""Pages that take more than half a second."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow) if Path(page).stem in HEAVY else page for page in PAGES]
)
def test_code_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = read_blocks((ROOT / page).read_text(), page)
    if not any(is_run(block) for block in blocks):
        return
    run_blocks(blocks, tmp_path)


def run(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    run_blocks(read_blocks(text, "page.md"), folder)


def test_blocks_share_one_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = "```python\nx = 2\n```\n\n```pycon\n>>> x + 1\n3\n```\n"
    second = "```python\nfrom pathlib import Path\n\nPath('out').write_text(str(x))\n```\n"
    run(first + second, tmp_path, monkeypatch)
    assert (tmp_path / "out").read_text() == "2"


def test_file_note_writes_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("<!-- file: a/policy.toml -->\n```toml\nk = 1\n```\n", tmp_path, monkeypatch)
    assert (tmp_path / "a" / "policy.toml").read_text() == "k = 1\n"


@pytest.mark.parametrize(
    "page",
    [
        "```python\nassert False\n```\n",
        "```pycon\n>>> 1 + 1\n3\n```\n",
        "```console\n$ make no-such-target\n```\n",
        "```console\n$ rm -r somewhere\n```\n",
        "```console\nglassine audit\n```\n",
        "```console\n$ glassine no-such-command\n```\n",
        "```bash\nglassine --help\n```\n",
        "```{code-block} python\nx = 1\n```\n",
        "<!-- not run -->\n```python\nx = 1\n```\n",
        "<!-- not run: far too long -->\n\nSome text between.\n\n```python\nassert False\n```\n",
        "<!-- file: ../outside -->\n```text\nx\n```\n",
    ],
)
def test_a_wrong_block_is_found(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        run(page, tmp_path, monkeypatch)


def test_not_run_with_a_reason_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = read_blocks("<!-- not run: needs a server -->\n\n```python\nassert False\n```\n", "page.md")
    assert [is_run(block) for block in blocks] == [False]
    monkeypatch.chdir(tmp_path)
    run_blocks(blocks, tmp_path)


def test_exit_status_note_is_demanded_of_the_last_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("<!-- exit status: 2 -->\n```console\n$ glassine no-such-command\n```\n", tmp_path, monkeypatch)
