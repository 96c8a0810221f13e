"""The corpus of model files: a row for each, none of which was read wrong; some are made and read again."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import corpus

ROWS = list(csv.DictReader(corpus.OUT.read_text().splitlines()))


def test_no_file_of_the_corpus_was_read_wrong() -> None:
    assert len(ROWS) >= 60
    assert {row["outcome"] for row in ROWS} <= {"right", "refused"}
    kinds = {"skops", "pkl", "joblib", "export_text", "dot", "json", "ubj", "treelite", "LightGBM", "onnx"}
    assert kinds <= {row["format"] for row in ROWS}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_files_that_can_be_made_here_are_read_as_their_rows_say() -> None:
    stored = {(row["file"], row["format"]): row["outcome"] for row in ROWS}
    made = list(corpus.rows_of({name: corpus.FAMILIES[name] for name in ("scikit-learn", "others")}))
    assert len(made) > 30
    assert all(stored[row["file"], row["format"]] == row["outcome"] for row in made)


def test_a_wrong_model_is_called_wrong(tmp_path: Path) -> None:
    sample, path = next(corpus.of_scikit_learn()), tmp_path / "model.skops"
    path.write_bytes(sample.data)
    assert corpus.judged(sample, path)[0] == "right"
    turned = replace(sample, predict=lambda rows: np.zeros(len(rows), dtype=int))
    assert corpus.judged(turned, path)[0] == "wrong"
    fewer = replace(sample, target=1 - sample.target)
    assert corpus.judged(fewer, path)[1].startswith("leaf 0 holds")
    path.write_bytes(sample.data[:-40])
    assert corpus.judged(sample, path)[0] == "refused"


@pytest.mark.slow
def test_a_text_of_thousands_of_categories_is_read_in_a_small_multiple_of_its_numbers(tmp_path: Path) -> None:
    size, spent, parsing = corpus.cost_of_many_categories(tmp_path)
    assert size > 3.5
    # It is about 13, and 2 CPU s were 27 where this was measured.
    assert spent < 24 * parsing
