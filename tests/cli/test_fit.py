"""``glassine fit``: what it writes, prints, charges and leaves alone."""

from __future__ import annotations

import errno
import html
import json
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from glassine import Certificate, DecisionTree, Domain, Ledger, Real, RuleList, write_model
from glassine.cli import charging, fitting, summary
from glassine.errors import LedgerError, UnreadableFileError
from glassine.formats import load_model
from glassine.formats.json import fingerprint
from glassine.learners import OptimalTreeClassifier, PrivateRuleListClassifier, PrivateTreeClassifier
from tests.cli.running import Run, attributes, listing, people, process
from tests.formats.reading import read_cells

FIT = ("fit", "tree", "people.csv", "--target", "ill", "--epsilon", "0.5", "--max-depth", "2")
TREE = (*FIT, "--domain", "domain.json", "-o", "m.json")
CHARGED = (*TREE, "--ledger", "budget.sqlite", "--dataset", "people")
LIST = (
    *("fit", "rule-list", "people.csv", "--target", "ill", "--epsilon", "0.5", "--max-rules", "2"),
    *("--domain", "domain.json", "-o", "l.json"),
)


def bare(folder: Path) -> None:
    """Leave the target out of the domain."""
    known = {name: attribute for name, attribute in attributes().items() if name != "ill"}
    Domain(known).to_json(folder / "domain.json")


def learnt(folder: Path, name: str = "m.json") -> DecisionTree | RuleList:
    return read_cells(folder / name)


def certified(folder: Path, name: str = "m.certificate.json") -> Certificate:
    return Certificate.from_json((folder / name).read_text())


@pytest.mark.slow
def test_a_private_tree(folder: Path) -> None:
    before = set(listing(folder))
    done = process("", *CHARGED, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert set(listing(folder)) - before == {"m.json", "m.certificate.json"}
    model, certificate = learnt(folder), certified(folder)
    assert isinstance(model, DecisionTree)
    assert certificate.holds
    assert certificate.epsilon == 0.5
    assert model.guarantee is not None
    assert (model.guarantee.epsilon, model.guarantee.caveats) == (0.5, ())
    assert model.attributes == ("age", "smoker")
    ledger = Ledger(folder / "budget.sqlite")
    (entry,) = ledger.entries("people")
    assert (float(entry.epsilon), entry.note) == (0.5, "private tree of depth 2")
    for said in (
        "trained with epsilon 0.5",
        "Guarantee: epsilon 0.5, delta 0, add-or-remove-one. Privacy unit: record.",
        "entry 1. people: epsilon 0.5 of 1 spent, 0.5 left.",
        "Columns left out, as they are not declared by the domain: id.",
        "Model: m.json",
        "Certificate: m.certificate.json",
        "Check: glassine domain check domain.json --data people.csv",
        # Once more for another model, the command writes the same file.
        "Next: echo 'accept_guarantee = true' > accept.toml",
        "glassine audit m.json --domain domain.json --policy accept.toml",
    ):
        assert said in done.stdout, done.stdout
    assert "|--- " in done.stdout
    # The one share that is told is that of counts that were released.
    assert done.stdout.count("%") == 1
    assert "By the noisy counts, " in done.stdout
    assert "Accuracy, AUROC and log loss are not shown" in done.stdout


def test_a_private_rule_list_as_json(folder: Path, run: Run) -> None:
    done = run(*LIST, "--json", "--ledger", "budget.sqlite", "--dataset", "people", cwd=folder)
    assert done.status == 0, done.err
    assert done.err == ""
    plain = json.loads(done.out)
    assert plain["model"] == json.loads((folder / "l.json").read_text())
    assert plain["certificate"] == json.loads((folder / "l.certificate.json").read_text())
    assert plain["files"] == {"model": "l.json", "certificate": "l.certificate.json", "report": None}
    assert plain["left_out"] == [{"name": "id", "reason": "not declared by the domain"}]
    assert plain["error_rate"] is None
    assert plain["charge"] == {
        "ledger": "budget.sqlite",
        "entry": 1,
        "charged": 0.5,
        "dataset": "people",
        "unit": "record",
        "epsilon": 1.0,
        "delta": 0.0,
        "spent_epsilon": 0.5,
        "spent_delta": 0.0,
        "remaining_epsilon": 0.5,
        "remaining_delta": 0.0,
    }
    model = learnt(folder, "l.json")
    assert isinstance(model, RuleList)
    assert len(model.rules) <= 3


def test_a_seed_repeats_the_bytes_and_voids_the_guarantee(folder: Path, run: Run) -> None:
    """And the command line learns what the class learns."""
    written = []
    for _ in range(2):
        done = run(*TREE, "--seed", "3", "--overwrite", cwd=folder)
        assert done.status == 0, done.err
        assert "does not hold: seeded: not private" in done.out
        written.append((folder / "m.json").read_bytes() + (folder / "m.certificate.json").read_bytes())
    assert written[0] == written[1]
    assert certified(folder).caveats == ("seeded: not private",)
    tree = PrivateTreeClassifier(2, epsilon=0.5, domain=Domain(attributes()), random_state=3).fit(
        people().drop("id"), "ill"
    )
    assert learnt(folder) == tree.model_
    run(*LIST, "--seed", "3", "--pool", "pairs", "--rule-weight", "0.5", cwd=folder)
    rules = PrivateRuleListClassifier(
        2, epsilon=0.5, domain=Domain(attributes()), pool="pairs", rule_weight=0.5, random_state=3
    )
    assert learnt(folder, "l.json") == rules.fit(people().drop("id"), "ill").model_
    other = run(*TREE[:-1], "n.json", "--seed", "4", cwd=folder)
    assert other.status == 0
    assert (folder / "n.json").read_bytes() != (folder / "m.json").read_bytes()


def test_every_option_reaches_the_learner(folder: Path, run: Run) -> None:
    done = run(
        *TREE,
        *("--seed", "1", "--literals", "quantiles", "--n-quantiles", "2", "--quantile-share", "0.3"),
        *("--leaf-counts-share", "0", "--split-weight", "0.25"),
        cwd=folder,
    )
    assert done.status == 0, done.err
    tree = PrivateTreeClassifier(
        2,
        epsilon=0.5,
        domain=Domain(attributes()),
        literals="quantiles",
        n_quantiles=2,
        quantile_share=0.3,
        leaf_counts_share=0,
        split_weight=0.25,
        random_state=1,
    ).fit(people().drop("id"), "ill")
    assert learnt(folder) == tree.model_
    assert certified(folder).events == tree.certificate_.events
    assert "noise of scale" not in done.out


def test_parquet_is_read_alike(folder: Path, run: Run) -> None:
    assert run(*TREE, "--seed", "3", cwd=folder).status == 0
    again = ("fit", "tree", "people.parquet", *TREE[3:-1], "p.json", "--seed", "3")
    assert run(*again, cwd=folder).status == 0
    assert learnt(folder, "p.json") == learnt(folder)


def test_over_budget_nothing_is_released(folder: Path, run: Run) -> None:
    assert run(*CHARGED, cwd=folder).status == 0
    assert run(*CHARGED[:-6], "-o", "n.json", *CHARGED[-4:], cwd=folder).status == 0
    before = listing(folder)
    done = run(*CHARGED[:-6], "-o", "o.json", *CHARGED[-4:], cwd=folder)
    assert done.status == 2
    assert "not enough budget for 'people'" in done.err
    assert done.out == ""
    assert listing(folder) == before
    assert Ledger(folder / "budget.sqlite").spent("people") == 1


@pytest.mark.parametrize(
    ("given", "values", "classes"),
    [
        ("no,yes", ("no", "yes"), ("no", "yes")),
        ("0,1", (0, 1), (0, 1)),
        ("1, 0", ("0", "1"), (1, 0)),
        ("01,02", ("01", "02"), ("01", "02")),
        ('"a, b",NA', ("a, b", "NA"), ("a, b", "NA")),
        ("true,false", ("true", "false"), ("true", "false")),
        ("-1,1,2", (-1, 1), (-1, 1, 2)),
    ],
)
def test_classes_are_typed_by_what_is_public(
    folder: Path, run: Run, given: str, values: tuple[Any, Any], classes: tuple[Any, ...]
) -> None:
    bare(folder)
    second = pl.col("ill") == "yes"
    people().with_columns(ill=pl.when(second).then(pl.lit(values[1])).otherwise(pl.lit(values[0]))).write_csv(
        folder / "people.csv"
    )
    done = run(*TREE, "--classes", given, cwd=folder)
    assert done.status == 0, done.err
    model = learnt(folder)
    assert model.classes == classes
    assert [type(name) for name in model.classes or ()] == [type(name) for name in classes]
    assert certified(folder).holds


@pytest.mark.parametrize(
    ("given", "column", "classes"),
    [("0,1", ["0", "1"], ("0", "1")), ("True,False", [True, False], (True, False)), ("0,1", [0.0, 1.0], (0, 1))],
)
def test_classes_of_a_typed_file_take_its_type(
    folder: Path, run: Run, given: str, column: list[Any], classes: tuple[Any, ...]
) -> None:
    bare(folder)
    frame = people().with_columns(ill=pl.Series(column * 150))
    frame.write_parquet(folder / "people.parquet")
    done = run("fit", "tree", "people.parquet", *TREE[3:], "--classes", given, cwd=folder)
    assert done.status == 0, done.err
    model = learnt(folder)
    assert model.classes == classes
    assert type((model.classes or (None,))[0]) is type(classes[0])


def test_one_odd_record_does_not_change_how_the_others_are_read(folder: Path, run: Run) -> None:
    """A number among texts, or a fraction among whole numbers, would otherwise change the type of the column."""
    bare(folder)
    text = (folder / "people.csv").read_text().replace("yes", "1").replace("no", "0")
    models = []
    for odd in ("", "900,40,0,1.0\n"):
        (folder / "people.csv").write_text(text + "901,40,0,1\n" + (odd or "900,40,0,1\n"))
        assert run(*TREE, "--classes", "0,1", "--seed", "0", "--overwrite", cwd=folder).status == 0
        models.append((folder / "m.json").read_bytes())
    assert models[0] == models[1]


def test_what_is_taken_from_the_data_is_a_caveat(folder: Path, run: Run) -> None:
    done = run(*FIT, "--infer-domain", "--infer-classes", "-o", "m.json", cwd=folder)
    assert done.status == 0, done.err
    assert done.err == ""
    caveats = certified(folder).caveats
    assert len(caveats) == 2
    assert not certified(folder).holds
    guarantee = learnt(folder).guarantee
    assert guarantee is not None
    assert guarantee.caveats == caveats
    assert "The guarantee does not hold: " in done.out
    assert all(caveat in done.out.replace("\n", " ") for caveat in caveats)


def test_the_optimal_learner_instead(folder: Path, run: Run) -> None:
    arguments = (
        "fit",
        "tree",
        "people.csv",
        "--target",
        "ill",
        "--domain",
        "domain.json",
        "--not-private",
        "-o",
        "m.json",
    )
    done = run(*arguments, "--max-depth", "1", "--report", "r.html", "--json", cwd=folder)
    assert done.status == 0, done.err
    tree = OptimalTreeClassifier(1, domain=Domain(attributes())).fit(people().drop("id"), "ill")
    assert learnt(folder) == tree.model_
    plain = json.loads(done.out)
    assert plain["error_rate"] == tree.objective_
    assert 0 < plain["error_rate"] < 0.5
    proba = tree.predict_proba(people())
    ill = people()["ill"].to_numpy() == tree.classes_[1]
    assert plain["training"]["auroc"] == pytest.approx(roc_auc_score(ill, proba[:, 1]))
    assert plain["training"]["log_loss"] == pytest.approx(log_loss(ill, proba))
    assert plain["training"]["baseline_log_loss"] == pytest.approx(log_loss(ill, [ill.mean()] * len(ill)))
    assert plain["charge"] is None
    assert plain["certificate"]["holds"] is False
    assert plain["verdict"] == "within policy"
    (folder / "policy.toml").write_text(f"smallest_leaf = {len(people()) + 1}\n")
    judged = run(
        *arguments[:-1],
        "j.json",
        "--max-depth",
        "1",
        "--policy",
        "policy.toml",
        "--report",
        "j.html",
        "--json",
        cwd=folder,
    )
    assert json.loads(judged.out)["verdict"] == "outside policy"
    text = run(*arguments[:-1], "n.json", "--penalty", "0.01", cwd=folder)
    assert "not private" in text.out
    assert "No guarantee" in text.out
    assert "Errors on the training records: " in text.out
    assert " AUROC " in text.out
    assert "a model that always says" in text.out.replace("\n", " ")
    ranking = run(*arguments[:-1], "k.json", "--accuracy-share", "0.3", cwd=folder)
    assert "of least loss" in ranking.out
    undeclared = run("fit", "tree", "people.csv", "--target", "ill", "--not-private", "-o", "u.json", cwd=folder)
    assert undeclared.status == 0, undeclared.err


def test_the_leaves_of_an_optimal_model_hold_as_many_records_as_asked_for(folder: Path, run: Run) -> None:
    fit = ("fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json")
    optimal = (*fit, "--not-private", "--max-depth", "2")
    sizes = []
    for number, (written, value) in enumerate((("90", 90), ("0.2", 0.2))):
        done = run(*optimal, "--min-samples-leaf", written, "-o", f"{number}.json", cwd=folder)
        assert done.status == 0, done.err
        tree = OptimalTreeClassifier(2, domain=Domain(attributes()), min_samples_leaf=value).fit(
            people().drop("id"), "ill"
        )
        assert load_model(folder / f"{number}.json") == tree.model_
        sizes.append(min(cell.evidence.size or 0 for cell in tree.model_.cells))
    assert sizes[0] >= 90
    assert sizes[1] >= 0.2 * len(people())
    for arguments, message in (
        ((*optimal, "--min-samples-leaf", "1000000"), "--min-samples-leaf=1,000,000 allows no leaf"),
        ((*optimal, "--min-samples-leaf", "few"), "must be a number of records or a share of them"),
        ((*fit, "--epsilon", "1", "--min-samples-leaf", "5"), "--min-samples-leaf does not apply to a private tree"),
        ((*fit, "--epsilon", "1", "--measure", "gini"), "--measure does not apply to a private tree"),
    ):
        refused = run(*arguments, "-o", "refused.json", cwd=folder)
        assert refused.status == 2
        assert message in " ".join(refused.err.split())
        assert not (folder / "refused.json").exists()


@pytest.mark.parametrize(("more", "needs"), [((), False), (("--accuracy-share", "1"), True)])
def test_a_fit_says_what_a_rare_outcome_needs(folder: Path, run: Run, more: tuple[str, ...], needs: bool) -> None:
    frame = people()
    rng = np.random.default_rng(0)
    rare = frame.with_columns(ill=pl.Series(np.where(rng.random(len(frame)) < 0.05, *frame["ill"].unique().sort())))
    rare.write_csv(folder / "rare.csv")
    arguments = (
        "fit",
        "tree",
        "rare.csv",
        "--target",
        "ill",
        "--domain",
        "domain.json",
        "--epsilon",
        "1000",
    )  # its noise moves no share over the limit
    done = run(*arguments, "-o", "m.json", *more, cwd=folder)
    assert done.status == 0, done.err
    said = done.out.replace("\n", " ")
    assert "judge and compare models by AUROC and log loss" in said
    assert ("A lower --accuracy-share ranks better." in said) is needs


def test_the_report_of_a_private_model_never_sees_the_data(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import glassine.auditing.api

    seen = []
    real = glassine.auditing.api.audit

    def watched(model: Any, **arguments: Any) -> Any:
        seen.append(arguments["data"])
        return real(model, **arguments)

    monkeypatch.setattr(glassine.auditing.api, "audit", watched)
    done = run(*TREE, "--report", "r.html", cwd=folder)
    assert done.status == 0, done.err
    assert seen == [None]
    assert "Report: r.html (within policy)" in done.out
    assert (folder / "r.html").read_text().lower().startswith("<!doctype html>")
    (folder / "strict.toml").write_text("max_epsilon = 0.1\naccept_guarantee = true\n")
    strict = run(*TREE, "--overwrite", "--report", "r.json", "--policy", "strict.toml", cwd=folder)
    assert strict.status == 0
    assert json.loads((folder / "r.json").read_text())["verdict"] == "outside policy"


def test_a_private_model_is_audited_from_its_file(folder: Path, run: Run) -> None:
    (folder / "policy.toml").write_text("accept_guarantee = true\n")
    for arguments, name in ((TREE, "m.json"), (LIST, "l.json")):
        assert run(*arguments, cwd=folder).status == 0
        audit = ("audit", name, "--domain", "domain.json", "--json")
        told = run(*audit, cwd=folder)
        assert told.status == 3, told.err
        assert json.loads(told.out)["verdict"] == "inconclusive"
        assert "`echo 'accept_guarantee = true' > accept.toml`, then `--policy accept.toml`" in told.out
        accepted = run(*audit, "--policy", "policy.toml", cwd=folder)
        assert accepted.status == 0, accepted.err
        assert json.loads(accepted.out)["verdict"] == "within policy"
    seeded = run(*TREE, "--seed", "0", "--overwrite", cwd=folder)
    assert seeded.status == 0
    doubted = run("audit", "m.json", "--domain", "domain.json", "--policy", "policy.toml", cwd=folder)
    assert doubted.status == 3


def test_a_long_model_is_cut_on_the_screen_only(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_LINES", 2)
    done = run(*TREE, cwd=folder)
    model = learnt(folder)
    assert isinstance(model, DecisionTree)
    # A line of classes stands before a tree of which no leaf has one of them.
    n_lines = ("\nclasses: " in done.out) + len(model.nodes) - 1 + len(model.cells)
    assert f"... and {n_lines - 2} lines more" in done.out


KILL = """
import os, signal
from glassine.sealed.trees import TreeClass
def struck(*args, **kwargs): os.kill(os.getpid(), signal.{})
TreeClass.sums = struck
"""


@pytest.mark.slow
def test_killed_after_the_charge(folder: Path) -> None:
    before = set(listing(folder))
    done = process(KILL.format("SIGKILL"), *CHARGED, cwd=folder)
    assert done.returncode == -signal.SIGKILL
    assert set(listing(folder)) == before
    assert Ledger(folder / "budget.sqlite").spent("people") == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status", "said"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
def test_a_signal_after_the_charge_leaves_a_certificate_of_what_was_spent(
    number: str, status: int, said: str, folder: Path
) -> None:
    before = set(listing(folder))
    done = process(KILL.format(number), *CHARGED, cwd=folder)
    assert done.returncode == status, done.stderr
    charged = "glassine: entry 1 of budget.sqlite stays charged: epsilon 0.5 is spent.\n"
    certified = "glassine: m.certificate.json certifies what is spent. Nothing was released.\n"
    written = f"glassine: already written: {folder / 'm.certificate.json'}.\n"
    assert done.stderr == f"glassine: {said}.\n{certified}{charged}{written}"
    assert set(listing(folder)) == before | {"m.certificate.json"}
    certificate = Certificate.from_json((folder / "m.certificate.json").read_text())
    assert (certificate.epsilon, certificate.events, certificate.model) == (0.5, (), None)
    book = Ledger(folder / "budget.sqlite")
    assert book.spent("people") == 0.5
    assert certificate.receipt == book.entries("people")[0].receipt


@pytest.mark.slow
def test_a_signal_while_the_ledger_is_charged_waits_until_the_charge_is_noted(folder: Path) -> None:
    code = """
import os, signal
from glassine.privacy.ledger import Ledger
charge = Ledger.charge
def struck(self, *args, **kwargs):
    entry = charge(self, *args, **kwargs)
    os.kill(os.getpid(), signal.SIGTERM)
    return entry
Ledger.charge = struck
"""
    done = process(code, *CHARGED, cwd=folder)
    assert done.returncode == 143
    assert "entry 1 of budget.sqlite stays charged" in done.stderr
    assert Certificate.from_json((folder / "m.certificate.json").read_text()).epsilon == 0.5


@pytest.mark.slow
def test_the_certificate_of_what_was_spent_replaces_none_of_an_older_model(folder: Path) -> None:
    assert process("", *CHARGED, cwd=folder).returncode == 0
    before = (folder / "m.certificate.json").read_bytes()
    done = process(KILL.format("SIGTERM"), *CHARGED, "--overwrite", cwd=folder)
    assert "m.certificate.entry-2.json certifies what is spent" in done.stderr
    assert (folder / "m.certificate.json").read_bytes() == before
    assert Certificate.from_json((folder / "m.certificate.entry-2.json").read_text()).epsilon == 0.5


@pytest.mark.slow
def test_a_signal_while_the_model_is_written_waits_until_its_certificate_is(folder: Path) -> None:
    code = """
import os, signal
import glassine.formats
write = glassine.formats.write_model
def struck(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGTERM)
    return write(*args, **kwargs)
glassine.formats.write_model = struck
"""
    done = process(code, *CHARGED, cwd=folder)
    assert done.returncode == 143, done.stderr
    assert "certifies what is spent" not in done.stderr
    certificate = certified(folder)
    assert certificate.model == fingerprint(load_model(folder / "m.json"))


def test_a_defect_after_the_charge_says_that_it_stays(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from glassine.sealed.trees import TreeClass

    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(TreeClass, "sums", broken)
    done = run(*CHARGED, cwd=folder)
    assert done.status == 2
    assert "the fit failed after it was charged; nothing is released." in done.err
    assert "entry 1 of budget.sqlite stays charged" in done.err
    assert not (folder / "m.json").exists()


@pytest.mark.parametrize("lost", ["model", "certificate"])
def test_what_can_no_longer_be_written_is_printed(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """The fit was paid for: its model and certificate must not be lost with the disk."""
    places = {"model": "disk/m.json", "certificate": "m.certificate.json", lost: "disk/gone.json"}
    (folder / "disk").mkdir()
    real = PrivateTreeClassifier.fit

    def unplugged(self: Any, *args: Any) -> Any:
        real(self, *args)
        if lost == "certificate":
            write_model(self.model_, folder / places["model"], overwrite=True)
        for path in (folder / "disk").iterdir():
            path.unlink()
        (folder / "disk").rmdir()
        return self

    places["model"] = "disk/gone.json" if lost == "model" else "m.json"
    monkeypatch.setattr(PrivateTreeClassifier, "fit", unplugged)
    done = run(
        *CHARGED[:-6],
        *("-o", places["model"], "--certificate", places["certificate"]),
        *CHARGED[-4:],
        cwd=folder,
    )
    assert done.status == 2
    assert "disk/gone.json" in done.err
    assert "stand on standard output instead: save them." in done.err
    assert "stays charged" in done.err
    saved = json.loads(done.out)
    assert Certificate.from_dict(saved["certificate"]).epsilon == 0.5
    (folder / "saved.json").write_text(json.dumps(saved["model"]))
    assert isinstance(learnt(folder, "saved.json"), DecisionTree)
    assert (folder / "m.json").exists() == (lost == "certificate")
    assert Ledger(folder / "budget.sqlite").spent("people") == 0.5


def pasted(text: str, start: str = "glassine fit") -> list[str]:
    """Return the words of the command that advice names, without the first."""
    return shlex.split(text[text.index(f"`{start}") + 1 :].partition("`")[0])[1:]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (TREE, "with a smaller privacy budget: `glassine fit tree people.csv"),
        ((*TREE, "--seed=1", "--policy", "accept.toml"), "without what makes the guarantee void: `glassine fit tree"),
    ],
)
def test_the_advice_of_a_report_is_a_command_that_trains_a_model_within_policy(
    folder: Path, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    (folder / "accept.toml").write_text("accept_guarantee = true\n")
    (folder / "strict.toml").write_text("accept_guarantee = true\nmax_epsilon = 0.3\n")
    policy = () if "--policy" in arguments else ("--policy", "strict.toml")
    done = run(*arguments, "--report", "r.html", *policy, cwd=folder)
    assert (done.status, "accept.toml\n" in done.out, "Next:" in done.out) == (0, False, False), done.err
    page = html.unescape(re.sub("<[^>]+>", "", (folder / "r.html").read_text()))
    for text in (page, done.out):
        assert "the publisher to retrain" not in text
    assert said in done.out
    assert "The budgets of both fits add up." in done.out
    again = run(*pasted(done.out), cwd=folder)
    assert again.status == 0, again.err
    assert "Report: r.html (within policy)" in again.out
    verified = again.out[again.out.index("Next: glassine ") :].split()[2:]
    assert run(*verified, cwd=folder).status == 0


def test_the_advice_of_a_report_without_privacy_names_the_files_of_the_fit(folder: Path, run: Run) -> None:
    (folder / "large.toml").write_text("smallest_leaf = 60\n")
    fit = ("fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--not-private", "-o", "m.json")
    done = run(*fit, "--max-depth", "3", "--report", "r.json", "--policy", "large.toml", cwd=folder)
    assert "Report: r.json (outside policy)" in done.out
    scrub = pasted(done.out, "glassine scrub")
    assert {"domain.json", "people.csv", "ill", "large.toml"} <= set(scrub)
    assert run(*scrub, cwd=folder).status == 0
    again = run(*pasted(done.out[done.out.index("Or retrain") :]), cwd=folder)
    assert again.status == 0, again.err
    checks = {check["rule"]: check["status"] for check in json.loads((folder / "r.json").read_text())["checks"]}
    assert checks["smallest_leaf"] == "pass"


def test_a_report_that_fails_leaves_the_model(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise UnreadableFileError("cannot write r.html: no room.", path="r.html")

    monkeypatch.setattr(fitting, "write_report", full)
    done = run(*TREE, "--report", "r.html", cwd=folder)
    assert done.status == 2
    assert "no room. The model is written; only the report is missing." in done.err
    assert certified(folder).holds


def test_a_ledger_that_can_no_longer_be_read_after_the_fit(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*args: Any) -> None:
        raise LedgerError("locked", path="budget.sqlite")

    monkeypatch.setattr(charging, "account_of", locked)
    done = run(*CHARGED, cwd=folder)
    assert done.status == 0, done.err
    assert "Charged to budget.sqlite, entry 1." in done.out


def test_a_full_disk_is_found_before_the_charge(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = listing(folder)
    monkeypatch.setattr("os.fsync", full)
    done = run(*CHARGED, cwd=folder)
    assert done.status == 2
    assert done.err == "glassine: cannot write m.json: No space left on device. Name another path.\n"
    assert listing(folder) == before


@pytest.mark.parametrize("declared", [False, True])
def test_a_column_of_weights_is_no_attribute(declared: bool, folder: Path, run: Run) -> None:
    times = np.arange(len(people())) % 7 / 4
    people().with_columns(w=pl.Series(times)).write_csv(folder / "weighed.csv")
    Domain({**attributes(), **({"w": Real(0, 2)} if declared else {})}).to_json(folder / "weighed.json")
    fit = ("weighed.csv", "--target", "ill", "--domain", "weighed.json", "--not-private", "--weights", "w")
    done = run("fit", "tree", *fit, "--min-samples-leaf", "5", "-o", "m.json", cwd=folder)
    assert done.status == 0, done.err
    tree = OptimalTreeClassifier(domain=Domain(attributes()), min_samples_leaf=5)
    tree.fit(people().drop("id"), "ill", sample_weight=times)
    assert learnt(folder) == tree.model_
    assert tree.model_.sizes == "derived"
    right = tree.score(people().drop("id", "ill"), people()["ill"])
    said = " ".join(done.out.split())
    assert "Counts are sums of w. What follows on quality counts each row once." in said
    assert f"Accuracy on the training records: {right:.4f}" in said
    audited = run("audit", "m.json", "--domain", "domain.json", "--policy", "strict", cwd=folder)
    assert "Smallest leaf: not known" in audited.out
