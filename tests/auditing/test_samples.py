"""Records, classes and persons are stated to an audit in any form, and what does not fit is refused."""

from __future__ import annotations

import inspect
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from glassine import AuditSettings, Domain, Integer, audit
from glassine.auditing import DisclosureSettings, MembershipSettings
from glassine.auditing.api import open_published
from glassine.auditing.samples import read_samples
from glassine.data import Sample
from glassine.errors import InvalidDataError, InvalidParameterError, NotAlignedWarning
from glassine.surrogates import SurrogateExplainer

DOMAIN = Domain({"age": Integer(0, 99), "visits": Integer(0, 9)})


def people(n: int, seed: int = 0) -> pd.DataFrame:
    """Return people whose class is that of their age, mostly; their index is no count."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 80, n), "visits": rng.integers(0, 10, n)})
    frame["ill"] = ((frame["age"] > 50) ^ (rng.random(n) < 0.2)).astype(int)
    return frame.set_index(rng.permutation(np.arange(1000, 1000 + n)))


DATA, OTHERS = people(200), people(150, seed=1)
X, Y, Z, YZ = DATA[["age", "visits"]], DATA["ill"], OTHERS[["age", "visits"]], OTHERS["ill"]
TREE = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
OPENED = open_published(TREE, DOMAIN, AuditSettings())
EXPECTED = audit(TREE, DATA, "ill", domain=DOMAIN, holdout=OTHERS).to_dict()


def test_an_audit_has_eight_parameters_and_every_other_choice_is_a_setting() -> None:
    names = list(inspect.signature(audit).parameters)
    assert names == ["model", "data", "target", "domain", "holdout", "persons", "policy", "settings"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "target", "holdout"),
    [
        (X, Y, OTHERS.pipe(lambda frame: Sample(frame.drop(columns="ill"), frame["ill"]))),
        (X, Y.to_numpy(), Sample(Z, YZ.to_numpy())),
        (X, Y.tolist(), Sample(Z, YZ.tolist())),
        (X.to_numpy(), Y.to_numpy(), Sample(Z.to_numpy(), YZ.to_numpy())),
        (pl.DataFrame(X.to_dict("list")), pl.Series("ill", Y.tolist()), Sample(Z, YZ)),
        (pa.table(X.to_dict("list")), Y.to_numpy(), Sample(pa.table(Z.to_dict("list")), YZ.to_numpy())),
        (DATA, DATA["ill"], Sample(OTHERS, "ill")),
        (DATA, "ill", Sample(OTHERS.rename(columns={"ill": "sick"}), "sick")),
        (DATA, "ill", Sample(Z, YZ)),
        (DATA, "ill", Sample(OTHERS)),
    ],
)
def test_classes_beside_the_records_give_the_findings_of_a_column(data: Any, target: Any, holdout: Any) -> None:
    assert audit(TREE, data, target, domain=DOMAIN, holdout=holdout).to_dict() == EXPECTED


@pytest.mark.slow
def test_a_pipeline_is_audited_with_records_and_classes_as_it_was_fitted() -> None:
    pipeline = make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), TREE).fit(X, Y)
    found = audit(pipeline, X, Y, domain=DOMAIN, holdout=Sample(Z, YZ))
    assert found.value("membership") == audit(TREE, X, Y, domain=DOMAIN, holdout=Sample(Z, YZ)).value("membership")


@pytest.mark.slow
def test_a_forest_without_names_is_attacked_with_arrays() -> None:
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X.to_numpy(), Y)
    asked = AuditSettings(measurements={"membership"})
    found = audit(forest, X.to_numpy(), Y, holdout=Sample(Z.to_numpy(), YZ), settings=asked)
    assert found.to_dict() == audit(forest, DATA, "ill", holdout=OTHERS, settings=asked).to_dict()


def test_the_rows_of_classes_are_those_of_the_records_whatever_the_index_is() -> None:
    with pytest.warns(NotAlignedWarning):
        members, _ = read_samples(OPENED, DOMAIN, Sample(X, Y.reset_index(drop=True)), Sample())
    assert nw.to_native(members.data.frame)["ill"].tolist() == Y.tolist()
    assert members.target == "ill"


def test_an_unnamed_target_takes_the_name_of_no_column() -> None:
    frame = X.assign(target=0, target_=0)
    members, others = read_samples(OPENED, DOMAIN, Sample(frame, Y.to_numpy()), Sample(Z, YZ.to_numpy()))
    assert members.target == others.target == "target__"
    assert members.data.arrays["target"].tolist() == [0] * len(frame)


@pytest.mark.slow
def test_identifiers_of_both_sets_may_be_a_column_or_stated_one_by_one() -> None:
    own, other = np.arange(200) // 2, 1000 + np.arange(150) // 3
    asked: dict[str, Any] = {"domain": DOMAIN, "settings": AuditSettings(measurements={"membership"})}
    named = audit(TREE, DATA.assign(who=own), "ill", holdout=OTHERS.assign(who=other), persons="who", **asked)
    stated = audit(TREE, X, Y, holdout=Sample(Z, YZ, persons=other), persons=own, **asked)
    mixed = audit(TREE, DATA.assign(who=own), "ill", holdout=Sample(OTHERS, persons=other), persons="who", **asked)
    assert named.to_dict() == stated.to_dict() == mixed.to_dict()
    assert named.counted == "people"


@pytest.mark.slow
def test_classes_of_a_release_may_be_a_column() -> None:
    explainer = SurrogateExplainer(lambda x: (np.asarray(x)[:, 0] > 50).astype(int), 20, domain=DOMAIN, random_state=0)
    explainer.fit(X)
    named = audit(explainer, DATA, "ill", holdout=OTHERS)
    assert named.to_dict() == audit(explainer, target=Y, holdout=Sample(Z, YZ)).to_dict()
    release = explainer.release()
    assert audit(release, DATA, "ill").to_dict() == audit(release, X, Y).to_dict()
    with pytest.raises(InvalidParameterError, match="names a column of records, and none are given"):
        audit(release, target="ill")
    with pytest.raises(InvalidParameterError, match="the data are an array"):
        audit(release, X.to_numpy(), "ill")
    with pytest.raises(InvalidDataError, match="the holdout lack the target column 'ill'"):
        audit(release, DATA, "ill", holdout=Z)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"data": DOMAIN}, InvalidParameterError, "data must be records, got a Domain. Pass it as domain=."),
        ({"data": X, "target": Y[:3]}, InvalidDataError, "the data have 200 records but 3 classes"),
        ({"data": X, "target": Y, "holdout": Z}, InvalidParameterError, "the classes of the data alone"),
        ({"data": X, "holdout": Sample(Z, YZ)}, InvalidParameterError, "stated of the holdout alone"),
        ({"target": Y}, InvalidParameterError, "the classes of the data, and none are given"),
        ({"data": DATA, "target": "ill", "holdout": Sample(None, YZ)}, InvalidParameterError, "of the holdout, and no"),
        ({"data": DATA, "target": "ill", "holdout": Sample(Z, "x")}, InvalidDataError, "lack the target column 'x'"),
        ({"data": pl.LazyFrame(X.to_dict("list")), "target": Y}, InvalidParameterError, "of a lazy frame must be one"),
        ({"data": X.to_numpy()[:, :1]}, InvalidDataError, r"shape \(n, 2\), one column per attribute"),
        ({"data": Sample(X, Y)}, InvalidDataError, "data must be a data frame, got Sample"),
        ({"data": X, "target": object()}, InvalidDataError, "target must be a list, an array"),
        ({"settings": {"measurements": {"rows"}}}, InvalidParameterError, "settings must be AuditSettings, got dict"),
        (
            {"data": X, "holdout": Sample(Z, persons=range(150))},
            InvalidParameterError,
            "records the data are must also be",
        ),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        audit(TREE, domain=DOMAIN, **given)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"measurements": "membership"}, "measurements must be several names, got 'membership'"),
        ({"quasi": "age"}, "quasi must be several names"),
        ({"criterion": "gain"}, "criterion must be one of gini, entropy"),
        ({"splits": "both"}, "splits must be one of auto, multiway, binary"),
        ({"sensitive": 3}, "sensitive must be a string, got int"),
        ({"membership": {"n_shadows": 4}}, "membership must be MembershipSettings, got dict"),
        ({"disclosure": MembershipSettings()}, "disclosure must be DisclosureSettings, got MembershipSettings"),
        ({"show_small_counts": "yes"}, "show_small_counts must be True or False, got str"),
        ({"progress": "bar"}, "progress must be callable or None, got str"),
        ({"max_steps": -1}, "max_steps must be a whole number of at least 0, got -1"),
        ({"max_steps": True}, "max_steps must be a whole number of at least 0, got True"),
        ({"max_steps": 1e6}, "max_steps must be a whole number of at least 0, got 1000000.0"),
    ],
)
def test_a_setting_out_of_its_range_is_refused_where_it_is_made(setting: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        AuditSettings(**setting)


@pytest.mark.slow
def test_remedies_are_drawn_from_a_generator_as_from_a_seed() -> None:
    frame = pl.DataFrame({"age": DATA["age"].tolist(), "ill": DATA["ill"].tolist()})
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame.select("age").to_pandas(), frame["ill"])
    for source in (3, np.random.default_rng(3), None):
        asked = AuditSettings(
            sensitive="ill",
            measurements={"disclosure"},
            disclosure=DisclosureSettings(remedies=True, internal_nodes=False),
            random_state=source,
        )
        found = audit(tree, frame, "ill", domain=Domain({"age": Integer(0, 99)}), settings=asked).value("disclosure")
        assert found.details.remedies
