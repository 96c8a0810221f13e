"""Certificates on the command line: of a model and its file, paid for, signed, and tied to records by their holder."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from glassine import Domain, Ledger, parse_rules
from glassine.formats import load_model, write_model
from glassine.formats.json import fingerprint
from glassine.learners import OptimalTreeClassifier, PrivateTreeClassifier
from glassine.models import AdditiveModel
from glassine.privacy.certificate import LOSS_BOUND, Certificate
from glassine.privacy.events import Selection
from tests.cli.running import Done, Run, attributes, people

FIT = ["fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "0.5"]


@pytest.fixture
def fitted(folder: Path, run: Run) -> Path:
    """Fit a private tree, charged to a ledger."""
    done = run(*FIT, "-o", "tree.json", "--ledger", "budget.sqlite", "--dataset", "people", cwd=folder)
    assert done.status == 0, done.err
    return folder


def verify(run: Run, folder: Path, *more: str, model: str = "tree.json") -> Done:
    return run("certificate", "verify", model, "tree.certificate.json", *more, cwd=folder)


def statuses(done: Done) -> dict[str, str]:
    return {match["name"]: match["status"] for match in json.loads(done.out)["matches"]}


def test_a_certificate_names_the_model_and_the_file_that_was_written(fitted: Path, run: Run) -> None:
    stated = Certificate.from_json((fitted / "tree.certificate.json").read_text())
    assert stated.file == hashlib.sha256((fitted / "tree.json").read_bytes()).hexdigest()
    assert stated.model == fingerprint(load_model(fitted / "tree.json"))
    assert stated.model != stated.file
    assert stated.randomness == "operating system"
    assert stated.receipt is not None
    assert stated.receipt.spent_epsilon == 0.5
    done = verify(run, fitted, "--ledger", "budget.sqlite", "--json")
    assert statuses(done) == dict.fromkeys(["claim", "model", "file", "guarantee", "ledger"], "pass")
    assert done.status == 0


def test_the_receipt_adds_up_what_the_data_set_spent(fitted: Path, run: Run) -> None:
    Ledger(fitted / "budget.sqlite").budget("others", 5)
    Ledger(fitted / "budget.sqlite").charge("others", 3)
    options = ["--ledger", "budget.sqlite", "--dataset", "people", "--epsilon", "0.3", "-o", "second.json"]
    assert run(*FIT[:-2], *options, cwd=fitted).status == 0
    receipt = Certificate.from_json((fitted / "second.certificate.json").read_text()).receipt
    assert receipt is not None
    assert (receipt.charge, receipt.spent_epsilon, receipt.spent_delta) == (3, 0.8, 0)
    values = json.loads((fitted / "second.certificate.json").read_text())
    values["receipt"]["spent_epsilon"] = 0.3
    (fitted / "tree.certificate.json").write_text(json.dumps(values))
    assert statuses(verify(run, fitted, "--ledger", "budget.sqlite", "--json", model="second.json"))["ledger"] == (
        "fail"
    )


def test_a_seeded_fit_says_where_its_bits_came_from_and_is_not_verified(folder: Path, run: Run) -> None:
    assert run(*FIT, "-o", "tree.json", "--seed", "1", cwd=folder).status == 0
    assert json.loads((folder / "tree.certificate.json").read_text())["randomness"] == "seeded"
    done = verify(run, folder)
    assert done.status == 1
    assert "[fail] claim: The certificate says that its guarantee does not hold: seeded" in done.out


def test_a_changed_model_is_not_the_certified_one(fitted: Path, run: Run) -> None:
    values = json.loads((fitted / "tree.json").read_text())
    values["guarantee"]["epsilon"] = 0.25
    (fitted / "tree.json").write_text(json.dumps(values))
    done = verify(run, fitted, "--json")
    assert done.status == 1
    assert statuses(done) == {
        "claim": "pass",
        "model": "fail",
        "file": "unknown",
        "guarantee": "fail",
    }


def test_a_certificate_without_its_releases_certifies_nothing(fitted: Path, run: Run) -> None:
    path = fitted / "tree.certificate.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"events": []}))
    done = verify(run, fitted, "--ledger", "budget.sqlite")
    assert done.status == 1
    assert "[fail] claim: The certificate names no release" in done.out


def test_no_text_of_a_certificate_reads_as_a_line_of_the_verification(fitted: Path, run: Run) -> None:
    plain = json.loads((fitted / "tree.certificate.json").read_text())
    forged = plain | {"caveats": ["none\n[pass] claim: Its events were added up again"], "holds": False}
    (fitted / "tree.certificate.json").write_text(json.dumps(forged))
    done = verify(run, fitted)
    assert done.status == 1
    assert [line for line in done.out.splitlines() if " claim: " in line and line.startswith("[pass]")] == []


def test_the_same_model_in_another_layout_is_known_but_its_file_is_not(fitted: Path, run: Run) -> None:
    values = json.loads((fitted / "tree.json").read_text())
    (fitted / "tree.json").write_text(json.dumps(values))
    done = verify(run, fitted, "--json")
    assert (done.status, statuses(done)["model"], statuses(done)["file"]) == (3, "pass", "unknown")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: len(text) // 2], "is not valid JSON"),
        (lambda text: text.replace('"epsilon": 0.5', '"epsilon": 0.4', 1), "must claim what its events spend"),
        (lambda text: text.replace('"holds": true', '"holds": false', 1), "holds must be True"),
        (lambda text: text.replace('"central"', '"local"', 1), "trust_model must be 'central'"),
        (lambda text: text.replace("glassine.certificate/2", "glassine.findings/7", 1), "must have the schema"),
        (lambda text: "[]", "must have the schema"),
        (lambda text: "\xff", "is not valid JSON"),
    ],
)
def test_a_tampered_truncated_or_foreign_certificate_is_refused_by_name(
    change: object, words: str, fitted: Path, run: Run
) -> None:
    path = fitted / "tree.certificate.json"
    assert callable(change)
    path.write_text(change(path.read_text()))
    done = verify(run, fitted)
    assert (done.status, done.out) == (2, "")
    assert words in done.err
    assert "tree.certificate.json" in done.err


def test_files_in_each_others_place_are_refused(fitted: Path, run: Run) -> None:
    swapped = run("certificate", "verify", "tree.certificate.json", "tree.json", cwd=fitted)
    assert swapped.status == 2
    assert "Give the model first: glassine certificate verify tree.json tree.certificate.json." in swapped.err
    twice = run("certificate", "verify", "tree.certificate.json", "tree.certificate.json", cwd=fitted)
    assert twice.status == 2
    assert "of schema 'glassine.certificate/2'" in twice.err


def test_a_ledger_that_does_not_exist_is_looked_for_and_not_made(fitted: Path, run: Run) -> None:
    done = verify(run, fitted, "--ledger", "nowhere.sqlite")
    assert done.status == 2
    assert done.err.endswith("Check the path: name the ledger that the fit charged.\n")
    assert not (fitted / "nowhere.sqlite").exists()


def test_another_ledger_did_not_pay(fitted: Path, run: Run) -> None:
    Ledger(fitted / "other.sqlite").budget("people", 1)
    done = verify(run, fitted, "--ledger", "other.sqlite")
    assert done.status == 1
    assert "[fail] ledger: It was paid for by charge 1 of another ledger." in done.out


def test_a_signed_certificate_is_verified_and_every_change_of_it_is_seen(fitted: Path, run: Run) -> None:
    assert run("certificate", "keys", "private.pem", "public.pem", cwd=fitted).status == 0
    sign = ["certificate", "sign", "tree.certificate.json", "--key", "private.pem", "-o", "signed.json", "--json"]
    key = json.loads(run(*sign, cwd=fitted).out)["public_key"]
    check = ["certificate", "verify", "tree.json", "signed.json", "--public-key", "public.pem"]
    done = run(*check, "--json", cwd=fitted)
    assert (done.status, json.loads(done.out)["public_key"]) == (0, key)

    envelope = json.loads((fitted / "signed.json").read_text())
    assert envelope["schema"] == "glassine.signed-certificate/1"
    changed = envelope["certificate"].replace('"error_bound": ', '"error_bound": 1', 1)
    assert changed != envelope["certificate"]
    (fitted / "signed.json").write_text(json.dumps({**envelope, "certificate": changed}))
    tampered = run(*check, cwd=fitted)
    assert tampered.status == 2
    assert "the signature of signed.json does not hold" in tampered.err

    unsigned = verify(run, fitted, "--public-key", "public.pem")
    assert unsigned.status == 2
    assert "is not signed" in unsigned.err
    run("certificate", "keys", "other.pem", "other-public.pem", cwd=fitted)
    assert run(*sign, "--overwrite", cwd=fitted).status == 0
    foreign = run(*check[:-1], "other-public.pem", cwd=fitted)
    assert foreign.status == 2
    assert "signed by another key" in foreign.err


def test_a_signature_of_a_release_is_none_of_a_certificate(fitted: Path, run: Run) -> None:
    from glassine.server.signed_releases import SIGNED

    run("certificate", "keys", "private.pem", "public.pem", cwd=fitted)
    SIGNED.sign(fitted / "tree.certificate.json", fitted / "private.pem", fitted / "signed.json")
    done = run("certificate", "verify", "tree.json", "signed.json", cwd=fitted)
    assert done.status == 2
    assert "must have the schema 'glassine.certificate/2'" in done.err


TIE = ["certificate", "tie", "tree.json", "people.csv", "--tie-key", "key.txt", "-o", "tie.json"]
TIED = ["--tie", "tie.json", "--data", "people.csv", "--tie-key", "key.txt"]


def test_only_the_key_ties_a_model_to_its_records(fitted: Path, run: Run) -> None:
    done = run(*TIE, cwd=fitted)
    assert done.status == 0, done.err
    assert "for the holder of the data only" in done.err
    assert stat.S_IMODE((fitted / "key.txt").stat().st_mode) == 0o600
    values = json.loads((fitted / "tie.json").read_text())
    assert values["holder_only"] is True
    records = (fitted / "people.csv").read_bytes()
    assert values["records"] != hashlib.sha256(records).hexdigest()
    key = bytes.fromhex((fitted / "key.txt").read_text())
    message = f"glassine.tie/1\n{values['model']}\n".encode() + records
    assert values["records"] == hmac.new(key, message, "sha256").hexdigest()
    assert statuses(verify(run, fitted, *TIED, "--json"))["records"] == "pass"
    # The same records and model under another key: nothing of the tie can be tried out without the key.
    run(*TIE[:4], "--tie-key", "second.txt", "-o", "second.json", cwd=fitted)
    assert json.loads((fitted / "second.json").read_text())["records"] != values["records"]


def test_other_records_model_or_key_do_not_fit_a_tie(fitted: Path, run: Run) -> None:
    run(*TIE, cwd=fitted)
    for name, text in (
        ("people.csv", (fitted / "people.csv").read_text().replace("yes", "no", 1)),
        ("key.txt", "0" * 64 + "\n"),
        ("tie.json", (fitted / "tie.json").read_text().replace('"records": "', '"records": "', 1)),
    ):
        kept = (fitted / name).read_text()
        if name == "tie.json":
            values = json.loads(kept)
            text = json.dumps({**values, "model": "0" * 64})
        (fitted / name).write_text(text)
        done = verify(run, fitted, *TIED)
        assert (done.status, "[fail] records" in done.out) == (1, True), name
        (fitted / name).write_text(kept)
    assert verify(run, fitted, *TIED).status == 0


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("tie.json", "{}", "is no tie"),
        ("tie.json", '{"schema": "glassine.tie/1"', "is not valid JSON"),
        ("key.txt", "short", "holds no key"),
    ],
)
def test_a_file_that_is_no_tie_or_key_is_refused(name: str, text: str, words: str, fitted: Path, run: Run) -> None:
    run(*TIE, cwd=fitted)
    (fitted / name).write_text(text)
    done = verify(run, fitted, *TIED)
    assert done.status == 2
    assert words in done.err


def test_a_tie_needs_its_records_and_its_key(fitted: Path, run: Run) -> None:
    run(*TIE, cwd=fitted)
    done = verify(run, fitted, "--tie", "tie.json")
    assert done.status == 2
    assert "go together" in done.err
    assert run(*TIE[:4], "-o", "tie.json", cwd=fitted).status == 2


@pytest.mark.parametrize("share", [1, 0.3])
def test_the_error_bound_follows_from_public_numbers(share: float) -> None:
    domain = Domain(attributes()).restrict(["age", "smoker"])
    X, y = people(200).select("age", "smoker"), people(200)["ill"].to_numpy()
    learner = PrivateTreeClassifier(
        domain=domain, classes=("no", "yes"), epsilon=1.0, accuracy_share=share, random_state=0
    ).fit(X, y)
    stated = learner.certificate_
    (choice,) = [event for event in stated.events if isinstance(event, Selection)]
    least = (learner.log_class_size() + math.log(20)) / choice.inverse_temperature
    if share == 1:
        assert stated.error_bound == int(least)
        assert LOSS_BOUND not in stated.public
    else:
        # The grid of a fit has no more values than the widest one, and more than there are classes.
        assert stated.error_bound is None
        assert least / 2 < stated.public[LOSS_BOUND] <= least + 1


def test_fits_keep_their_error_bound_against_the_best_tree() -> None:
    domain = Domain(attributes()).restrict(["age", "smoker"])
    X, y = people(200).select("age", "smoker"), people(200)["ill"].to_numpy()
    best = OptimalTreeClassifier(domain=domain, classes=("no", "yes"), max_depth=1).fit(X, y)
    fewest = int((best.predict(X) != y).sum())
    kept = []
    for seed in range(40):
        learner = PrivateTreeClassifier(
            domain=domain, classes=("no", "yes"), max_depth=1, epsilon=0.2, accuracy_share=1, random_state=seed
        ).fit(X, y)
        bound = learner.certificate_.error_bound
        assert bound is not None
        assert bound < len(y)
        kept.append(int((learner.predict(X) != y).sum()) <= fewest + bound)
    # Each fit keeps it with probability 0.95: of 40, fewer than 33 do so once in 1,000 times.
    assert sum(kept) >= 33


def test_a_statement_of_the_average_case_is_no_guarantee(tmp_path: Path, run: Run) -> None:
    domain = Domain.binary(["a", "b"])
    learner = OptimalTreeClassifier(1, domain=domain, classes=(0, 1))
    learner.fit([[0, 0], [0, 1], [1, 0], [1, 1]] * 9, [0, 0, 1, 1] * 9)
    bounds = learner.capacity(10**9, 2 * 10**9)
    assert bounds.strictest.mean_advantage < 1e-3
    stated = replace(learner.certificate_, average_case=bounds, model=fingerprint(learner.model_))
    write_model(learner.model_, tmp_path / "tree.json", overwrite=True)
    (tmp_path / "tree.certificate.json").write_text(stated.to_json())
    done = verify(run, tmp_path, "--json")
    assert done.status == 1
    assert statuses(done)["claim"] == "fail"
    assert statuses(done)["guarantee"] != "pass"
    assert run("audit", "tree.json", cwd=tmp_path).status != 0


def test_what_the_manual_recommends_keeps_the_proof(folder: Path, run: Run) -> None:
    fit = ["fit", "additive", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "1"]
    assert run(*fit, "-o", "tree.json", cwd=folder).status == 0
    released = load_model(folder / "tree.json")
    assert isinstance(released, AdditiveModel)
    edit = ["--zero", released.terms[0].name, "--reason", "it is not to be used", "-o", "edited.json"]
    assert run("edit", "tree.json", *edit, cwd=folder).status == 0
    (folder / "accept.toml").write_text("accept_guarantee = true\n")
    audit = ["audit", "edited.json", "--domain", "domain.json", "--policy", "accept.toml", "-o", "report.json"]
    assert run(*audit, cwd=folder).status == 0
    done = verify(run, folder, "--json", model="edited.json")
    assert (done.status, set(statuses(done).values())) == (0, {"pass"}), done.out
    assert "edited 1 time after release" in verify(run, folder, model="edited.json").out
    evidence = ["evidence", "report.json", "tree.certificate.json", "--for", "edpb"]
    assert "edited 1 time after release" in " ".join(run(*evidence, cwd=folder).out.split())
    assert run("export", "edited.json", "--to", "pmml", "-o", "edited.pmml", cwd=folder).status == 0
    scrub = ["scrub", "tree.json", "--domain", "domain.json", "--policy", "accept.toml", "-o", "copy.json"]
    assert run(*scrub, "--steps", "log.json", cwd=folder).status == 0
    assert run("export", "copy.json", "--to", "pmml", "-o", "copy.pmml", cwd=folder).status == 0
    given = ["--released", "tree.json", "--steps", "log.json", "--domain", "domain.json"]
    for copy in ("copy.json", "copy.pmml"):
        assert verify(run, folder, model=copy).status == 1, "nothing explains it"
        done = verify(run, folder, *given, "--json", model=copy)
        assert (done.status, set(statuses(done).values())) == (0, {"pass"}), done.out
    assert run(*audit[:1], "copy.json", *audit[2:], "--overwrite", cwd=folder).status == 0
    refused = run(*evidence, cwd=folder)
    assert (refused.status, "are of different models or files" in refused.err) == (2, True)
    assert "scrubbed: " in run(*evidence, "--audited", "copy.json", *given, cwd=folder).out
    # An edited model is scrubbed, then exported: each step is done again from the edited file.
    assert run(*scrub[:1], "edited.json", *scrub[2:-1], "next.json", "--steps", "next.log.json", cwd=folder).status == 0
    given_next = ["--released", "edited.json", "--steps", "next.log.json", "--domain", "domain.json"]
    for ending, to in {".pmml": "pmml", ".sql": "sql", ".py": "python"}.items():
        assert run("export", "next.json", "--to", to, "-o", f"next{ending}", cwd=folder).status == 0
        assert verify(run, folder, model=f"next{ending}").status != 0
        done = verify(run, folder, *given_next, "--json", model=f"next{ending}")
        assert (done.status, set(statuses(done).values())) == (0, {"pass"}), done.out
        path = folder / f"next{ending}"
        path.write_text(path.read_text().replace("1", "2", 1))
        changed = verify(run, folder, *given_next, "--json", model=f"next{ending}")
        assert (changed.status, statuses(changed)["model"]) == (1, "fail"), "nothing explains the change"
    # What is written for people, and a query with each of its options.
    for options in (
        ["--to", "csv"],
        ["--to", "csv", "--public"],
        ["--to", "sql", "--table", "some people"],
        ["--to", "sql", "--table", "people", "--prediction", "ill or not", "--probabilities", "--dialect", "spark"],
    ):
        assert run("export", "next.json", *options, "-o", "shown", "--overwrite", cwd=folder).status == 0
        done = verify(run, folder, *given_next, "--json", model="shown")
        assert (done.status, set(statuses(done).values())) == (0, {"pass"}), (options, done.out)
        (folder / "shown").write_text((folder / "shown").read_text() + " ")
        assert statuses(verify(run, folder, *given_next, "--json", model="shown"))["model"] == "fail"
    # A change that no log explains fails.
    values = json.loads((folder / "copy.json").read_text())
    values["intercept"][0] += 0.5
    (folder / "changed.json").write_text(json.dumps(values))
    assert statuses(verify(run, folder, *given, "--json", model="changed.json"))["model"] == "fail"
    assert statuses(verify(run, folder, "--released", "copy.json", "--json", model="copy.json"))["model"] == "fail"


def test_a_copy_that_is_counted_in_the_records_has_no_log(folder: Path, run: Run) -> None:
    text = "classes: [no] [yes]\nif [smoker] then [yes] ([60 ; 90] examples)\nelse [no] ([140 ; 10] examples)"
    write_model(parse_rules(text), folder / "plain.json", overwrite=True)
    scrub = ["scrub", "plain.json", "--domain", "domain.json", "--data", "people.csv", "--counts", "remove"]
    done = run(*scrub, "-o", "copy.json", "--steps", "log.json", cwd=folder)
    assert (done.status, (folder / "log.json").exists()) == (2, False)
    assert "Leave one of them out." in done.err


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b"", 2, "people.csv is empty. Give a CSV file with a header"),
        (b"PAR1 cut short", 2, "is not a Parquet file that can be read"),
        (b"age,ill\r1,no\r2,yes\r", 2, "ends its lines with CR alone. Write LF or CRLF"),
        (b"age,ill\n", 0, "people.csv: it holds no record. The tie is of these bytes"),
        (
            b"age,ill\n1,no\n2\n3,yes\n",
            0,
            "people.csv: lines have more or fewer fields: row 3. The tie is of these bytes",
        ),
        (b"age,ill\n1,no,9\n2,yes,9\n", 0, "2 of its 2 lines have 3 fields, and the header has 2"),
    ],
)
def test_a_tie_says_what_is_wrong_with_a_file(content: bytes, status: int, words: str, fitted: Path, run: Run) -> None:
    """What no fit reads is refused in its words; damage that a fit reads is told to the holder, and tied."""
    (fitted / "people.csv").write_bytes(content)
    done = run(*TIE, cwd=fitted)
    assert done.status == status
    assert words in " ".join(done.err.split())
    assert (fitted / "tie.json").exists() == (status == 0)
    assert (fitted / "key.txt").exists() == (status == 0)
