"""Runs of the command line: what they print, their exit status and every file that they write.

A case is named ``room/what``; its lines are commands without ``glassine``, run one after the other in a copy of the
inputs of :mod:`benchmarks.artefacts.scene`.
"""

from __future__ import annotations

from collections.abc import Sized

__all__ = ["COMMANDS"]

AUDITED = {
    "tree, model alone": "cart.json",
    "tree, domain": "cart.json --domain domain.json",
    "tree, data without domain": "cart.json --data people.csv --target ill",
    "tree, domain and data": "cart.json --domain domain.json --data people.csv --target ill",
    "tree, Parquet": "cart.json --domain domain.json --data people.parquet --target ill",
    "tree, domain with the target": "cart.json --domain whole.json --data people.csv --target ill",
    "tree, holdout": "cart.json --domain domain.json --data people.csv --target ill --holdout holdout.csv",
    "tree, sensitive": "optimal.json --domain domain.json --data people.csv --target ill --sensitive job",
    "tree, sensitive target": "multiway.json --domain domain.json --data people.csv --target ill --sensitive ill "
    "--quasi age --quasi job",
    "tree, everything": "multiway.json --domain domain.json --data people.csv --target ill --holdout holdout.csv "
    "--sensitive smoker --criterion gini --splits multiway",
    "tree, small counts": "cart.json --domain domain.json --data people.csv --target ill --show-small-counts",
    "tree, no grid": "cart.json --domain no_grid.json",
    "tree, inferred domain": "cart.json --domain inferred.json",
    "tree, records outside the domain": "cart.json --domain domain.json --data outside.csv --target ill",
    "tree, records with gaps": "gaps_tree.json --domain gaps.json --data gaps.csv --target ill",
    "tree, gaps that it does not know": "multiway.json --domain gaps.json --data gaps.csv --target ill",
    "tree, other labels": "cart.json --domain domain.json --data other_labels.csv --target ill",
    "tree, few steps": "deep.pkl --trust-pickle --domain domain.json --max-steps 10",
    "tree, strict policy": "small.json --domain domain.json --data people.csv --target ill --holdout holdout.csv "
    "--sensitive ill --policy strict.toml",
    "tree, lenient policy": "small.json --domain domain.json --data people.csv --target ill --policy lenient.toml",
    "tree, labels only": "labels.json --domain domain.json --data people.csv --target ill",
    "tree, regression": "value.json --domain domain.json --data costs.csv --target cost",
    "tree, optimal": "optimal.json --domain domain.json --criterion none",
    "tree, multiway": "multiway.json --domain domain.json",
    "tree, pickle": "cart.pkl --trust-pickle --domain domain.json --data people.csv --target ill",
    "tree, pipeline": "pipeline.pkl --trust-pickle --domain domain.json",
    "forest member": "forest.pkl --trust-pickle --tree 2 --domain domain.json --data people.csv --target ill",
    "ensemble": "forest.pkl --trust-pickle",
    "linear model": "logistic.pkl --trust-pickle --domain domain.json --data people.csv --target ill",
    "rules, model alone": "rules.json",
    "rules, domain and data": "rules.json --domain domain.json --data people.csv --target ill --sensitive job",
    "rules, holdout": "greedy.json --domain domain.json --data people.csv --target ill --holdout holdout.csv",
    "rules, text": "rules.txt --domain three.json --data three.csv",
    "additive, model alone": "plain_additive.json",
    "additive, domain": "plain_additive.json --domain domain.json",
    "additive, data": "plain_additive.json --domain domain.json --data people.csv --target ill --holdout holdout.csv",
    "additive, pairs": "plain_pairs.json --domain domain.json --data people.csv --target ill --sensitive smoker",
    "additive, regression": "plain_regression.json --domain domain.json --data costs.csv --target cost",
    "private tree": "private_tree.json --domain domain.json",
    "private tree, seeded": "seeded_tree.json --domain domain.json --policy accept.toml",
    "private tree, accepted, data": "private_tree.json --domain domain.json --data people.csv --target ill "
    "--holdout holdout.csv --policy accept.toml",
    "private tree, loose": "loose_tree.json --domain domain.json --policy accept.toml",
    "private tree, attacked": "private_tree.json --domain domain.json --data people.csv --target ill --holdout "
    "holdout.csv --sensitive ill",
    "private rules": "private_rules.json --domain domain.json --data people.csv --target ill",
    "private rules, accepted": "private_rules.json --domain domain.json --policy accept.toml "
    "--data people.csv --target ill",
    "private greedy rules": "private_greedy.json --domain domain.json --data people.csv --target ill "
    "--holdout holdout.csv",
    "private additive": "private_additive.json --domain domain.json --data people.csv --target ill",
    "private additive, accepted": "private_additive.json --domain domain.json --data people.csv --target ill "
    "--holdout holdout.csv --policy accept.toml",
    "private additive, seeded": "seeded_additive.json",
    "private regression": "private_regression.json --domain domain.json --data costs.csv --target cost",
    "release": "release_safe.json",
    "release, data": "release_safe.json --data answers.csv --target answer",
    "release, sensitive": "release_safe.json --data answers.csv --target answer --sensitive job",
    "release, holdout": "release_safe.json --data answers.csv --target answer --holdout other_answers.csv",
    "release, other records": "release_safe.json --data other_answers.csv",
    "release, strict policy": "release_safe.json --data answers.csv --policy strict.toml",
    "release of the paper": "release_paper.json",
    "release of the paper, everything": "release_paper.json --data answers.csv --target answer --sensitive job "
    "--holdout other_answers.csv",
    "private release": "release_private.json",
    "private release, seeded, data": "release_private.json --data answers.csv --target answer --policy accept.toml "
    "--audience public",
    "private release, accepted, data": "release_honest.json --data answers.csv --target answer --policy accept.toml "
    "--audience checker",
}

ATTACKED = {
    "tree": "cart.json --data people.csv --holdout holdout.csv --target ill --domain domain.json",
    "tree, limit": "cart.json --data people.csv --holdout holdout.csv --target ill --max-advantage 0.01",
    "tree, limit open": "small.json --data people.csv --holdout holdout.csv --target ill --max-advantage 0.2",
    "tree, shadows": "cart.pkl --trust-pickle --data people.csv --holdout holdout.csv --target ill --shadows 8",
    "deep tree, small counts": "deep.pkl --trust-pickle --data people.csv --holdout holdout.csv --target ill "
    "--domain domain.json --show-small-counts --seed 3 --confidence 0.95",
    "forest member": "forest.pkl --trust-pickle --tree 0 --data people.csv --holdout holdout.csv --target ill",
    "rules": "greedy.json --data people.csv --holdout holdout.csv --target ill --domain domain.json",
    "private tree": "private_tree.json --data people.csv --holdout holdout.csv --target ill --domain domain.json",
    "the same records twice": "cart.json --data people.csv --holdout people.csv --target ill",
}

DISCLOSED = {
    "tree": "multiway.json --data people.csv --sensitive ill",
    "tree, domain": "multiway.json --data people.csv --sensitive ill --domain domain.json --criterion gini",
    "tree, labels": "multiway.json --data people.csv --sensitive ill --leaves labels --no-internal-nodes",
    "tree, error rates": "multiway.json --data people.csv --sensitive ill --leaves error-rates --no-truth",
    "tree, same attribute": "multiway.json --data people.csv --sensitive ill --criterion entropy --same-attribute "
    "--min-samples-leaf 10 --show-small-counts",
    "tree, remedies": "multiway.json --data people.csv --sensitive ill --domain domain.json --remedies "
    "--holdout holdout.csv",
    "tree, no truth": "multiway.json --data unlabelled.csv --sensitive ill --target ill",
    "cart": "small.json --data people.csv --sensitive ill --splits binary --seed 2",
    "sample": "multiway.json --data everybody.csv --sensitive ill --training sample --sampling-fraction 0.66",
    "sample of itself": "multiway.json --data people.csv --sensitive ill --training sample --sampling-fraction 0.5",
    "private tree, noise": "private_tree.json --data people.csv --sensitive ill --domain domain.json "
    "--noise geometric:2 --criterion none",
    "rules": "rules.json --data people.csv --sensitive ill --domain domain.json --criterion none",
}

REBUILT = {
    "rules": "rules.txt --domain one.json -o rows.csv",
    "rules, impossible": "rules.txt --domain three.json --time-limit 5",
    "tree, no rows": "cart.json --domain domain.json --no-rows",
    "tree, data": "small.json --domain domain.json --data people.csv --no-rows",
    "private tree, intervals": "private_tree.json --domain domain.json",
    "tree, noise": "small.json --domain domain.json --noise laplace:1.5 --confidence 0.9",
    "tree, rounded": "coarse.json --domain domain.json --noise rounded:10",
    "tree, not rounded": "small.json --domain domain.json --noise rounded:10",
    "forest": "bits.pkl --trust-pickle --domain bits.json --data bits.csv -o rows.csv --seed 0",
    "forest, counts only": "bits.pkl --trust-pickle --domain bits.json --counts-only --no-rows",
    "several": "first.json near.json --domain hundred.json",
    "several, rows and data": "first.json near.json far.json --domain hundred.json --data hundred.csv -o rows.csv",
    "several, across": "first.json across.json --domain hundred.json --smallest-group 2 --policy two_bits.toml",
    "several, left out": "first.json bare.json rounded.json --domain hundred.json",
    "several, counted": "first.json bare.json rounded.json --domain hundred.json --data hundred.csv --count-from-data",
    "several, private": "half.json more.json --domain hundred.json --policy accept.toml",
    "several, private, no limit": "half.json more.json --domain hundred.json --policy no_claims.toml",
    "several, contradiction": "rules.txt clash.txt --domain three.json",
    "several, other labels": "rules.txt other.txt second.txt --domain three.json --other-labels",
    "several, rules": "rules.txt second.txt --domain three.json --data three.csv --rows",
}

SCRUBBED = {
    "tree": "cart.json --domain domain.json -o copy.json",
    "tree, everything": "cart.json --domain domain.json -o copy.json --counts remove --smallest-leaf 30 "
    "--data people.csv --target ill --policy lenient.toml --report report.html",
    "tree, base": "deep.pkl --trust-pickle --domain domain.json -o copy.json --base 25 --smallest-leaf 12",
    "tree, kept counts": "cart.json --domain no_grid.json -o copy.json --counts keep",
    "rules": "greedy.json --domain domain.json -o copy.json --data people.csv --target ill",
    "rules, smallest leaf": "greedy.json --domain domain.json -o copy.json --smallest-leaf 40",
    "additive": "plain_additive.json --domain domain.json -o copy.json --smallest-leaf 60 --report report.txt",
    "additive, pairs": "plain_pairs.json --domain domain.json -o copy.json --data people.csv --target ill",
    "private tree": "private_tree.json --domain domain.json -o copy.json --policy accept.toml --data people.csv "
    "--target ill",
}

PEOPLE = "people.csv --target ill --domain domain.json --classes no,yes --seed 0 -o model.json"
PEOPLE_FIT = f"fit tree {PEOPLE}"

FITTED = {
    "tree": f"{PEOPLE_FIT} --epsilon 1 --max-depth 2 --report report.html",
    "tree, inferred": "fit tree people.csv --target ill --epsilon 1 --infer-domain --infer-classes --max-depth 1 "
    "--seed 0 "
    "-o model.json --literals thresholds",
    "rules": f"fit rule-list {PEOPLE} --epsilon 1 --max-rules 2 --literals thresholds --report report.txt",
    "greedy rules": f"fit greedy-rule-list {PEOPLE} --epsilon 1 --max-rules 2 --policy accept.toml "
    "--report report.json",
    "additive": f"fit additive {PEOPLE} --epsilon 1 --monotone age:increasing --bins bins.json --report report.html",
    "regression": "fit additive costs.csv --target cost --domain domain.json --epsilon 1 --target-range 0,15 "
    "--seed 0 -o model.json",
    "scorecard": f"fit scorecard {PEOPLE} --epsilon 1 --report report.html",
    "summary": f"summarize {PEOPLE} --epsilon 1",
    "persons": "fit tree persons.csv --target ill --domain domain.json --classes no,yes --seed 0 -o model.json "
    "--epsilon 1 "
    "--max-depth 1 --literals thresholds --person person --records-per-person 3",
    "not private, tree": "fit tree people.csv --target ill -o model.json --not-private --max-depth 2 --n-quantiles 3",
    "not private, rules": "fit rule-list people.csv --target ill --domain domain.json -o model.json --not-private "
    "--max-rules 2 --literals thresholds --penalty 0.01",
    "no budget": f"{PEOPLE_FIT}",
    "a file in the way": "fit tree people.csv --target ill --domain domain.json --classes no,yes --epsilon 1 "
    "--max-depth 1 --literals thresholds --seed 0 -o cart.json",
}

BOX = "--black-box box:decide --domain domain.json --classes no,yes"
QUERY = '\'{"age": 60, "hours": 20, "job": "clerk", "smoker": 1}\''

EXPLAINED = {
    "release": f"explain make answers.csv {BOX} -k 40 --target answer --seed 3 -o release.json --report report.html",
    "release of the paper": f"explain make answers.csv {BOX} -k 40 --target answer --form paper --seed 3 -o "
    "release.json "
    "--report report.json",
    "v-mdav": f"explain make answers.csv {BOX} -k 30 --target answer --gamma 0.2 --max-depth 2 --seed 3 -o "
    "release.json",
    "private release": f"explain make answers.csv {BOX} --target answer --epsilon 1 --partition public --seed 3 "
    "-o release.json --report report.txt",
    "queries": f"explain make {BOX} --queries 200 -k 40 --seed 3 -o release.json",
    "a query": f"explain answer release_safe.json --query {QUERY} --decision yes",
    "a query of the paper": f"explain answer release_paper.json --query {QUERY} --decision no",
    "a query of a private release": f"explain answer release_private.json --query {QUERY} --decision yes",
    "a score": "explain make answers.csv --black-box box:score --domain domain.json --classes no,yes -k 40 "
    "--target answer -o release.json",
}

COMPARED = {
    "several learners": "compare people.csv --target ill --domain whole.json --epsilon 1,4 --max-depth 2 --max-rules "
    "2 --splits 2 --models tree,greedy-rule-list,additive,multiway-tree,cart,logistic,constant",
    "inferred": "compare people.csv --target ill --infer-domain --infer-classes --epsilon 1 --splits 2 --models "
    "additive,deep-cart,constant --measure log-loss",
    "no classes": "compare people.csv --target ill --domain domain.json --models cart",
    "few": "compare people.csv --target ill --domain domain.json --classes no,yes --epsilon 2 --splits 2 "
    "--models additive,cart --measure auroc --seed 5",
}

EDITED = {
    "every edit": "edit plain_pairs.json --zero job --set age:0=-0.5 --flatten hours:0..1 --smooth age --monotone "
    "age:increasing --strength 0.25 --passes 2 --reason lore -o edited.json --page page.html",
    "private": "edit private_additive.json --monotone age:increasing --zero smoker -o edited.json",
    "nothing": "edit plain_additive.json --log",
    "a tree": "edit cart.json --zero age -o edited.json",
    "no such term": "edit plain_additive.json --zero height -o edited.json",
}

PLAIN: dict[str, tuple[str, ...]] = {
    "demo/everything": ("demo -o made",),
    "demo/json": ("demo -o made --json",),
    "edit/undo and log": (
        "edit private_additive.json --zero smoker --zero job --reason lore -o edited.json",
        "edit edited.json --log",
        "edit edited.json --log --json",
        "edit edited.json --undo 1 -o less.json --log",
        "edit edited.json --revert -o none.json",
        "audit edited.json --domain domain.json --json",
    ),
    "domain/infer": ("domain infer people.csv", "domain infer persons.csv --exclude person -o drafted.json"),
    "domain/check": (
        "domain check domain.json",
        "domain check domain.json --json",
        "domain check domain.json --data people.csv",
        "domain check domain.json --data outside.csv --json",
        "domain check domain.json --data outside.csv",
        "domain check inferred.json --data gaps.csv",
        "domain check bad_domain.json",
    ),
    "ledger/charges": (
        "ledger budget book.sqlite people 2 --delta 1e-6",
        f"{PEOPLE_FIT} --epsilon 1 --max-depth 1 --literals thresholds --ledger book.sqlite --dataset people",
        "ledger charge book.sqlite people 0.5 --note 'a table'",
        "ledger charge book.sqlite people 5 --note 'too much'",
        "ledger show book.sqlite",
        "ledger show book.sqlite --dataset people --json",
        "ledger verify book.sqlite --certificates model.certificate.json",
        "ledger verify book.sqlite --certificates seeded_tree.certificate.json --json",
        "ledger show absent.sqlite",
        "ledger verify people.csv",
    ),
    "release/signatures": (
        "explain keys secret.pem public.pem",
        "explain sign release_safe.json --key secret.pem -o signed.json",
        "explain verify signed.json --public-key public.pem",
        "explain verify signed.json --public-key public.pem --json",
        "explain verify release_paper.json",
        "explain verify release_safe.json --public-key public.pem",
        "explain verify cart.json",
    ),
    "audit/report formats": (
        "audit cart.json --domain domain.json -o report.json",
        "audit cart.json --domain domain.json -o report.txt",
        "audit cart.json --domain domain.json -o report.html",
        "audit cart.json --domain domain.json -o report.doc",
        "audit cart.json --domain domain.json",
    ),
}

HELP = (
    *("", "audit", "scrub", "edit", "fit", "fit tree", "fit rule-list", "fit greedy-rule-list", "fit additive"),
    *("fit scorecard", "summarize"),
    *("compare", "rebuild", "export", "domain", "domain infer", "domain check", "ledger", "ledger show"),
    *("ledger budget", "ledger charge", "ledger verify", "explain", "explain make", "explain answer"),
    *("explain keys", "explain sign", "explain verify", "explain serve", "demo"),
)

REFUSED = {
    "no command": "",
    "no such command": "audti cart.json",
    "no such option": "audit cart.json --domian domain.json",
    "no model": "audit",
    "no such file": "audit absent.json",
    "a folder": "audit .",
    "an empty file": "audit empty.json",
    "a broken file": "audit broken.json",
    "a key twice": "audit twice.json",
    "no model in it": "audit list.json",
    "a broken domain": "audit cart.json --domain bad_domain.json",
    "a domain without the attributes": "audit cart.json --domain narrow.json",
    "a broken policy": "audit cart.json --policy broken.toml",
    "an unknown criterion": "audit cart.json --policy bad.toml",
    "ragged records": "audit cart.json --domain domain.json --data ragged.csv --target ill",
    "no records": "audit cart.json --data empty.csv --target ill",
    "a header alone": "audit cart.json --domain domain.json --data header.csv --target ill",
    "no such target": "audit cart.json --data people.csv --target absent",
    "data without target": "audit cart.json --domain domain.json --data people.csv",
    "holdout without data": "audit cart.json --holdout holdout.csv",
    "no such sensitive column": "audit cart.json --domain domain.json --sensitive absent",
    "a pickle": "audit cart.pkl",
    "no such tree": "audit forest.pkl --trust-pickle --tree 9",
    "a number that is none": "audit cart.json --only membership --data people.csv --holdout holdout.csv --target ill "
    "--shadows many",
    "a confidence of two": "audit cart.json --only membership --data people.csv --holdout holdout.csv --target ill "
    "--confidence 2",
    "an attack on an additive model": "audit plain_additive.json --only membership --data people.csv --holdout "
    "holdout.csv --target ill",
    "people without the attributes": "audit multiway.json --only disclosure --data three.csv --sensitive ill",
    "a noise of no kind": "audit multiway.json --only disclosure --data people.csv --sensitive ill --noise pink:1",
    "people that contradict": "audit multiway.json --only disclosure --data holdout.csv --sensitive ill",
    "rows without a domain": "rebuild cart.json",
    "scrub without a domain": "scrub cart.json -o copy.json",
    "fit of a negative budget": f"{PEOPLE_FIT} --epsilon -1",
    "fit without a domain": "fit tree people.csv --target ill --epsilon 1 -o model.json",
    "fit of an option of another model": f"{PEOPLE_FIT} --epsilon 1 --max-rules 2",
    "fit outside the domain": "fit tree outside.csv --target ill --domain domain.json --classes no,yes --epsilon 1 "
    "--seed 0 "
    "--max-depth 1 -o model.json",
    "compare of no learner": "compare people.csv --target ill --domain domain.json --models forest",
    "export to nowhere": "export cart.json --to sql -o absent/model.sql",
    "export of values to pmml": "export plain_additive.json --to pmml -o model.pmml",
    "explain without a black box": "explain make answers.csv -o release.json",
    "explain with no such function": "explain make answers.csv --black-box box:absent --domain domain.json -o "
    "release.json",
    "a release that is none": f"explain answer cart.json --query {QUERY}",
    "a query of another record": "explain answer release_safe.json --query '{\"age\": 60}' --decision yes",
    "serve of no release": "explain serve cart.json",
}

EXPORTED = ("cart", "value", "multiway", "greedy", "private_tree", "plain_pairs", "plain_regression")
FORMS = ("sql --table people --prediction answer", "python", "text --domain domain.json")
BINARY = (("onnx", "onnx"), ("pmml", "pmml"), ("sklearn", "skops"))


def reported(command: str, arguments: str) -> tuple[str, ...]:
    """Return the lines that give JSON and a page, and the text and its summary."""
    return f"{command} {arguments} --json -o report.html", f"{command} {arguments} -o report.txt"


def exported() -> dict[str, tuple[str, ...]]:
    """Return a case for each model with every format that it may be written in."""
    cases = {}
    for name in EXPORTED:
        lines = [f"export {name}.json --to {form}" for form in FORMS]
        lines += [f"export {name}.json --to {form} -o model.{end} --json --domain domain.json" for form, end in BINARY]
        cases[f"export/{name}"] = tuple(lines)
    return cases


COMMANDS: dict[str, tuple[str, ...]] = {
    **{f"audit/{name}": reported("audit", line) for name, line in AUDITED.items()},
    **{f"attack/{name}": reported("audit --only membership", line) for name, line in ATTACKED.items()},
    **{f"disclose/{name}": reported("audit --only disclosure", line) for name, line in DISCLOSED.items()},
    **{f"reconstruct/{name}": (f"rebuild {line} --json", f"rebuild {line}") for name, line in REBUILT.items()},
    **{f"scrub/{name}": (f"scrub {line} --json", f"scrub {line}") for name, line in SCRUBBED.items()},
    **{f"fit/{name}": (f"{line} --json", f"{line} --overwrite") for name, line in FITTED.items()},
    **{f"explain/{name}": (f"{line} --json", line) for name, line in EXPLAINED.items()},
    **{f"compare/{name}": (f"{line} --json -o report.html", line) for name, line in COMPARED.items()},
    **{f"edit/{name}": (line, f"{line} --json") for name, line in EDITED.items()},
    **PLAIN,
    **exported(),
    **{f"refused/{name}": (line,) for name, line in REFUSED.items()},
    **{f"help/{name or 'glassine'}": (f"{name} --help".strip(),) for name in HELP},
}
"""Every case of the command line: its name, and its lines."""

GROUPS: tuple[Sized, ...] = (
    *(AUDITED, ATTACKED, DISCLOSED, REBUILT, SCRUBBED, FITTED),
    *(EXPLAINED, COMPARED, EDITED, PLAIN, EXPORTED, REFUSED, HELP),
)
assert len(COMMANDS) == sum(map(len, GROUPS)), "two cases have one name"  # noqa: S101
