"""``glassine audit`` of a release of surrogate trees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from glassine.surrogates import SurrogateExplainer
from tests.cli.running import Run
from tests.surrogates.scenes import PEOPLE, lender, numbers, people, ring


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    frame, others = pd.DataFrame(people(300)), pd.DataFrame(people(100, seed=9))
    for form, leaf in (("paper", 1), ("restricted", 10)):
        explainer = SurrogateExplainer(
            lender, 60, domain=PEOPLE, classes=("no", "maybe", "yes"), distance="gower", form=form,
            min_samples_leaf=leaf,
        )  # fmt: skip
        explainer.fit(frame, lender(frame)).release_.to_json(tmp_path / f"{form}.json")
    frame.assign(answer=lender(frame)).to_csv(tmp_path / "people.csv", index=False)
    others.assign(answer=lender(others)).to_csv(tmp_path / "others.csv", index=False)
    return tmp_path


def test_a_release_is_audited_from_its_file(run: Run, releases: Path) -> None:
    done = run("audit", "restricted.json", cwd=releases)
    assert done.status == 3
    assert "INCONCLUSIVE" in done.out
    assert "Pass the training records" in done.out
    done = run("audit", "paper.json", "--json", cwd=releases)
    assert done.status == 1
    assert json.loads(done.out)["measured"]["leaves"]["origin"] == "published"


def test_with_the_records_it_is_judged(run: Run, releases: Path) -> None:
    done = run(
        "audit", "restricted.json", "--data", "people.csv", "--target", "answer", "-o", "report.html", cwd=releases
    )
    assert done.status == 0, done.out
    assert "WITHIN POLICY" in done.out
    assert "Report: report.html" in done.out
    page = (releases / "report.html").read_text()
    assert "Within policy" in page
    assert "people.csv" in page
    done = run("audit", "paper.json", "--data", "people.csv", "--sensitive", "job", "-o", "found.json", cwd=releases)
    assert done.status == 1
    found = json.loads((releases / "found.json").read_text())
    assert found["schema"] == "glassine.findings/12"
    assert [file["role"] for file in found["inputs"]] == ["release", "data"]
    assert found["sensitive"] == "job"


@pytest.mark.slow
def test_a_holdout_tells_of_membership(run: Run, releases: Path) -> None:
    done = run(
        "audit", "paper.json", "--data", "people.csv", "--target", "answer", "--holdout", "others.csv", "--json",
        cwd=releases,
    )  # fmt: skip
    found = json.loads(done.out)
    assert found["measured"]["membership"]["status"] == "measured"
    assert found["measured"]["gaps"]["value"][0]["labels"] == "true labels"
    assert found["measured"]["gaps"]["value"][0]["advantage"] > 0


def test_other_records_do_not_pass_for_those_behind_it(run: Run, releases: Path) -> None:
    done = run("audit", "restricted.json", "--data", "others.csv", cwd=releases)
    assert done.status == 3
    assert "do not give this release's" in done.out


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (lambda text: text + " \t" * 5_000, "not as Glassine writes them"),
        (lambda text: text.replace('"k": 60', '"k":' + " " * 5_000 + "60"), "not as Glassine writes them"),
        (lambda text: text.replace('"mdav"', f'"{"x" * 5_000}"'), "method must be a text of at most 40 characters"),
    ],
)
def test_a_file_that_holds_more_than_the_release_is_refused(
    plant: Callable[[str], str], words: str, run: Run, releases: Path
) -> None:
    text = (releases / "restricted.json").read_text()
    (releases / "again.json").write_text(json.dumps(json.loads(text), indent=4))
    assert run("audit", "again.json", cwd=releases).status == 2, "another program wrote it"
    (releases / "planted.json").write_text(plant(text))
    refused = run("audit", "planted.json", cwd=releases)
    assert refused.status == 2
    assert words in " ".join(refused.err.split())


def test_a_signed_release_is_read_and_a_forged_one_refused(run: Run, releases: Path) -> None:
    pytest.importorskip("cryptography")
    run("explain", "keys", "secret.pem", "public.pem", cwd=releases)
    run("explain", "sign", "restricted.json", "--key", "secret.pem", "-o", "signed.json", cwd=releases)
    assert run("audit", "signed.json", "--data", "people.csv", cwd=releases).status == 0
    text = (releases / "signed.json").read_text()
    (releases / "forged.json").write_text(text.replace("maybe", "moybe"))
    done = run("audit", "forged.json", cwd=releases)
    assert done.status == 2
    assert "INCONCLUSIVE" not in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--domain", "people.csv"], "holds its own domain"),
        (["--data", "people.csv", "--target", "age2"], "--target names 'age2'"),
        (["--data", "absent.csv"], "cannot read absent.csv"),
        (["--sensitive", "height"], "attribute of the release"),
        (["-o", "restricted.json"], "cannot write restricted.json"),
    ],
)
def test_bad_input_ends_with_two(run: Run, releases: Path, arguments: list[str], words: str) -> None:
    done = run("audit", "restricted.json", *arguments, cwd=releases)
    assert done.status == 2
    assert words in done.err


def test_columns_of_an_array_have_no_names(run: Run, tmp_path: Path) -> None:
    data = numbers(200)
    SurrogateExplainer(ring, 40, min_samples_leaf=10).fit(data).release_.to_json(tmp_path / "release.json")
    named = pd.DataFrame(data, columns=["u", "v", "w"]).assign(answer=np.where(np.arange(200) % 2, "far", "near"))
    named.to_csv(tmp_path / "data.csv", index=False)
    done = run("audit", "release.json", "--data", "data.csv", "--target", "answer", "--json", cwd=tmp_path)
    assert json.loads(done.out)["measured"]["groups"]["smallest"] >= 40
