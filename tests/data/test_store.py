"""The folder of results: continued, never mistaken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glassine.comparison import Figures, Result
from glassine.comparison.comparison_runs import RESULTS_OF
from glassine.data.results_folder import RESULTS, RunStore
from glassine.errors import UnreadableFileError

IDENTITY_OF = {"data": "abc", "options": {"seed": 0}}
FIRST = Result(model="tree", epsilon=0.1, split=0, status="measured", figures=Figures(accuracy=1 / 3, bits=0.1))
SECOND = Result(model="cart", epsilon=None, split=0, status="failed", reason="Überlauf\n")


def filled(folder: Path) -> Path:
    with RunStore(folder, RESULTS_OF, IDENTITY_OF) as store:
        store.add(FIRST)
        store.add(SECOND)
    return folder / RESULTS


def held(folder: Path, identity: dict[str, Any] = IDENTITY_OF) -> list[Result]:
    with RunStore(folder, RESULTS_OF, identity) as store:
        return list(store.results.values())


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    filled(tmp_path / "results")
    assert held(tmp_path / "results") == [FIRST, SECOND]


@pytest.mark.parametrize("cut", [1, 40, 120])
def test_half_a_line_at_the_end_is_dropped(tmp_path: Path, cut: int) -> None:
    path = filled(tmp_path / "results")
    path.write_bytes(path.read_bytes()[:-cut])
    with RunStore(tmp_path / "results", RESULTS_OF, IDENTITY_OF) as store:
        assert list(store.results.values()) == [FIRST]
        store.add(SECOND)
    assert held(tmp_path / "results") == [FIRST, SECOND]


def test_a_folder_that_was_just_made_may_be_continued(tmp_path: Path) -> None:
    assert held(tmp_path) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"0.3333333333333333", b"0.9333333333333333"),
        (b'"split": 0', b'"split": 1'),
        (b'"model": "tree"', b'"model": "cart"'),
        (b'{"result"', b'{"resul'),
        (b'"tree"', b"\xff\xfe"),
        (b'{"result": {', b'7\n{"result": {'),
        (b'{"result": {', b'\n{"result": {'),
        (b'"bits": 0.1', b'"bits": NaN'),
    ],
)
def test_what_was_changed_is_refused(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = filled(tmp_path / "results")
    text = path.read_bytes()
    assert before in text
    path.write_bytes(text.replace(before, after, 1))
    with pytest.raises(UnreadableFileError, match=r"line 1 of .* is not as it was written"):
        held(tmp_path / "results")


def test_lines_of_another_comparison_are_refused(tmp_path: Path) -> None:
    lines = filled(tmp_path / "one").read_bytes()
    other = {**IDENTITY_OF, "data": "xyz"}
    assert held(tmp_path / "two", other) == []
    (tmp_path / "two" / RESULTS).write_bytes(lines)
    with pytest.raises(UnreadableFileError, match="not as it was written"):
        held(tmp_path / "two", other)


def test_other_data_and_options_are_refused_by_name(tmp_path: Path) -> None:
    filled(tmp_path / "results")
    with pytest.raises(UnreadableFileError, match="another comparison: data differ"):
        held(tmp_path / "results", {**IDENTITY_OF, "data": "xyz"})
    with pytest.raises(UnreadableFileError, match="another comparison: options, versions differ"):
        held(tmp_path / "results", {"data": "abc", "options": {"seed": 1}, "versions": {}})


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UnreadableFileError, match=r"is not a folder of results: it holds 'letter.txt'"):
        held(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(UnreadableFileError, match="cannot use the folder"):
        held(tmp_path / "letter.txt")


@pytest.mark.parametrize("text", ["[]", "{", ""])
def test_a_damaged_identity_is_refused(tmp_path: Path, text: str) -> None:
    filled(tmp_path / "results")
    (tmp_path / "results" / RESULTS_OF.identity).write_text(text)
    with pytest.raises(UnreadableFileError):
        held(tmp_path / "results")


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with RunStore(tmp_path, RESULTS_OF, IDENTITY_OF), pytest.raises(UnreadableFileError, match="another run writes"):
        held(tmp_path)
    assert held(tmp_path) == []


def test_a_result_of_two_kinds_is_refused(tmp_path: Path) -> None:
    with RunStore(tmp_path, RESULTS_OF, IDENTITY_OF) as store:
        store.add(FIRST)
        store.add(Result(model="tree", epsilon=0.1, split=0, status="failed", reason="no."))
    with pytest.raises(UnreadableFileError, match="line 2"):
        held(tmp_path)


def test_the_file_is_plain_json_lines(tmp_path: Path) -> None:
    lines = filled(tmp_path).read_text().splitlines()
    assert [json.loads(line)["result"]["model"] for line in lines] == ["tree", "cart"]


def test_a_link_in_the_place_of_the_results_is_not_followed(tmp_path: Path) -> None:
    """A file without a line end would have been cut off whole."""
    (tmp_path / "key").write_bytes(b"a key without a line end")
    folder = tmp_path / "results"
    filled(folder).unlink()
    (folder / RESULTS).symlink_to(tmp_path / "key")
    with pytest.raises(UnreadableFileError, match=rf"cannot write .*{RESULTS}"):
        held(folder)
    assert (tmp_path / "key").read_bytes() == b"a key without a line end"
