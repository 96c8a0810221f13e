"""The service in this process: answers, refusals, and what never leaves it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from glassine import Binary, Domain, Integer
from glassine.errors import BlackBoxError, InvalidDataError, InvalidParameterError
from glassine.server import Limits, ReleaseFile, create_app, read_release
from glassine.server.app import render_page
from glassine.surrogates import NumericAnswer, SurrogateExplainer, SurrogateRelease
from tests.server.releases import DOMAIN, QUERY, decide, records, small_release

NO_LIMIT = Limits(rate=math.inf, total_rate=math.inf)


def client(
    *,
    black_box: Any = decide,
    form: str = "restricted",
    limits: Limits = NO_LIMIT,
    release: SurrogateRelease | None = None,
) -> Any:
    from starlette.testclient import TestClient

    release = small_release(form) if release is None else release
    file = ReleaseFile(release=release, content=json.dumps(release.to_dict()).encode(), public_key=None)
    takes = "pandas" if black_box is not None else None
    app = create_app(file, black_box=black_box, takes=takes, limits=limits)
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def service() -> Any:
    return client()


def post(service: Any, path: str, value: Any) -> Any:
    return service.post(path, content=json.dumps(value), headers={"content-type": "application/json"})


@pytest.mark.slow
def test_answers_are_those_of_the_release(service: Any) -> None:
    for i in range(20):
        row = records().iloc[i]
        query = {**row.to_dict(), "hours": None if math.isnan(row["hours"]) else row["hours"]}
        query = {name: value.item() if hasattr(value, "item") else value for name, value in query.items()}
        decision = str(decide(records().iloc[i : i + 1])[0])
        assert post(service, "/decision", {"query": query}).json() == {"decision": decision}
        for guided in (True, False):
            told = post(service, "/explanation", {"query": query, "guided": guided, "n_closest": 2}).json()
            wanted = small_release().explain(query, decision, guided=guided, n_closest=2).to_dict()
            # What the black box says of changes is not in the release.
            for name in ("contrasts", "candidates"):
                del wanted[name]
            assert {name: told[name] for name in wanted} == wanted


def test_contrasts_keep_to_the_constraints_of_the_request(service: Any) -> None:
    def changes(answer: Any) -> list[Any]:
        return [*answer["contrasts"], *answer["candidates"]]

    free = changes(post(service, "/explanation", {"query": QUERY}).json())
    assert free
    assert free[0]["cost"] is None
    changed = free[0]["changes"][0]
    fixed = post(service, "/explanation", {"query": QUERY, "constraints": {"fixed": [changed["attribute"]]}}).json()
    assert all(change["attribute"] != changed["attribute"] for c in changes(fixed) for change in c["changes"])
    none = post(service, "/explanation", {"query": QUERY, "constraints": {"fixed": list(DOMAIN)}})
    assert changes(none.json()) == []
    costly = {"query": QUERY, "constraints": {"costs": {changed["attribute"]: 1e299, "age": 1e299, "hours": 1e299}}}
    answer = post(service, "/explanation", costly)
    assert answer.status_code == 200
    costs = [contrast["cost"] for contrast in changes(answer.json())]
    assert costs == sorted(costs)
    validate = jsonschema.Draft202012Validator
    schemas = service.get("/openapi.json").json()["components"]["schemas"]
    schema = {"$ref": "#/components/schemas/ExplanationRequest", "components": {"schemas": schemas}}
    assert validate(schema).is_valid(costly)
    assert not validate(schema).is_valid({"query": QUERY, "constraints": {"only_up": ["work"]}})


@pytest.mark.parametrize(
    ("constraints", "detail"),
    [
        ([], "'constraints' must be an object"),
        ({"fixd": []}, "unknown key 'fixd'"),
        ({"fixed": "age"}, "must be a list"),
        ({"fixed": ["nobody"]}, "'nobody', which is not an attribute"),
        ({"only_up": ["work"]}, "no order"),
        ({"costs": {"age": 0}}, "positive finite"),
        ({"costs": {"age": "2"}}, "a finite number"),
    ],
)
def test_constraints_that_do_not_fit_are_refused(service: Any, constraints: Any, detail: str) -> None:
    answer = post(service, "/explanation", {"query": QUERY, "constraints": constraints})
    assert answer.status_code == 422
    assert detail in answer.json()["detail"]


@pytest.mark.slow
def test_contrasts_are_checked_with_the_black_box(service: Any) -> None:
    import pandas as pd

    checked = 0
    for age in range(20, 90, 2):
        query = {**QUERY, "age": age}
        told = post(service, "/explanation", {"query": query}).json()
        assert all(contrast["confirmed"] is True for contrast in told["contrasts"])
        for contrast in [*told["contrasts"], *told["candidates"]]:
            changed = {**query, **{change["attribute"]: change["to"] for change in contrast["changes"]}}
            answer = decide(pd.DataFrame([changed]).astype({"hours": float}))[0]
            assert contrast["confirmed"] is bool(answer == contrast["decision"])
            checked += 1
    assert checked > 10


def test_without_a_black_box_the_client_names_the_decision() -> None:
    service = client(black_box=None)
    assert post(service, "/decision", {"query": QUERY}).status_code == 404
    assert post(service, "/explanation", {"query": QUERY}).status_code == 422
    assert post(service, "/explanation", {"query": QUERY, "decision": "perhaps"}).status_code == 422
    told = post(service, "/explanation", {"query": QUERY, "decision": "yes"}).json()
    assert told["decision"] == "yes"
    assert told["contrasts"] == []
    assert all(contrast["confirmed"] is None for contrast in told["candidates"])


def test_numbers_in_texts_are_read_as_web_forms_send_them(service: Any) -> None:
    for path in ("/decision", "/explanation"):
        texts = post(service, path, {"query": {**QUERY, "age": str(QUERY["age"]), "hours": str(QUERY["hours"])}})
        assert texts.status_code == 200
        assert texts.json() == post(service, path, {"query": QUERY}).json()


def test_the_release_is_given_out_byte_for_byte(tmp_path: Path, service: Any) -> None:
    (tmp_path / "r.json").write_bytes(service.get("/release").content)
    assert read_release(tmp_path / "r.json").release == small_release()
    assert service.get("/health").json() == {"status": "ok"}
    assert service.head("/health").status_code == 200


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"age": 16}, r"'age' must lie in \[17, 90\], got 16"),
        ({"age": 40.5}, "whole number"),
        ({"age": None}, "cannot be missing"),
        ({"age": True}, "finite number"),
        ({"age": "forty"}, "finite number"),
        ({"age": "16"}, r"'age' must lie in \[17, 90\]"),
        ({"age": 10**400}, "finite number"),
        ({"hours": 80.001}, r"\[0.0, 80.0\]"),
        ({"work": "abroad"}, "must be one of"),
        ({"work": None}, "cannot be missing"),
        ({"work": ["private"]}, "must be one of"),
        ({"member": 2}, "must be one of"),
        ({"member": {}}, "must be one of"),
        ({"name": 3}, "not an attribute"),
    ],
)
def test_queries_outside_the_domain(service: Any, change: dict[str, Any], told: str) -> None:
    reply = post(service, "/explanation", {"query": {**QUERY, **change}})
    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(reply.json()["detail"])


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        3,
        None,
        "x",
        {"query": None},
        {"query": [40, 35.5, "private", 1]},
        {"query": QUERY, "x": 1},
        {"query": QUERY, "guided": 1},
        {"query": QUERY, "n_closest": 0},
        {"query": QUERY, "n_closest": True},
        {"query": QUERY, "n_closest": None},
        {"query": QUERY, "n_closest": 1001},
        {"query": QUERY, "n_closest": 1.5},
        {"query": QUERY, "n_closest": 1e300},
        {"query": QUERY, "decision": "yes"},
        {"query": {name: QUERY[name] for name in list(QUERY)[1:]}},
    ],
)
def test_requests_that_are_not_as_described(service: Any, body: Any) -> None:
    assert post(service, "/explanation", body).status_code == 422


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b'{"query": NaN}', b'{"a": 1, "a": 2}', b"[" * 5000, b"9" * 10_000, b'"\\ud800"']
)
def test_bodies_that_are_no_json(service: Any, content: bytes) -> None:
    reply = service.post("/decision", content=content, headers={"content-type": "application/json"})
    assert reply.status_code in (400, 422)
    assert reply.json()["status"] == reply.status_code


def test_other_refusals(service: Any) -> None:
    assert service.post("/decision", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    assert service.post("/decision", content=b"{}").status_code == 415
    assert service.get("/decision").status_code == 405
    assert service.get("/docs").status_code == 404
    large = json.dumps({"query": QUERY, "x": "y" * 70_000}).encode()
    assert service.post("/decision", content=large, headers={"content-type": "application/json"}).status_code == 413


def test_rates(service: Any) -> None:
    limited = client(limits=Limits(rate=0.01, burst=2))
    replies = [limited.get("/health").status_code for _ in range(3)]
    assert replies == [200, 200, 429]


def test_a_black_box_that_fails_tells_nothing() -> None:
    def broken(frame: Any) -> Any:
        raise ValueError(f"secret {frame.iloc[0, 0]}")

    reply = post(client(black_box=broken), "/decision", {"query": QUERY})
    assert reply.status_code == 503
    assert "secret" not in reply.text
    reply = post(client(black_box=lambda frame: np.zeros((len(frame), 2))), "/explanation", {"query": QUERY})
    assert reply.status_code == 503


@pytest.mark.parametrize("kind", [InvalidDataError, InvalidParameterError, BlackBoxError])
def test_a_black_box_that_raises_our_own_errors_tells_nothing_either(kind: type[Exception]) -> None:
    def broken(frame: Any) -> Any:
        raise kind(f"secret {frame.iloc[0, 0]}")

    for path in ("/decision", "/explanation"):
        reply = post(client(black_box=broken), path, {"query": QUERY})
        assert reply.status_code == 503
        assert "secret" not in reply.text


def test_a_missing_number_is_a_gap_of_numbers_for_the_black_box() -> None:
    def box(frame: Any) -> Any:
        assert str(frame["hours"].dtype) == "float64"
        return np.where(frame["hours"] > 40, "yes", "no")

    assert post(client(black_box=box), "/decision", {"query": {**QUERY, "hours": None}}).json() == {"decision": "no"}


def test_a_large_release_is_sent_in_parts() -> None:
    from starlette.testclient import TestClient

    content = bytes(range(256)) * 1000
    file = ReleaseFile(release=small_release(), content=content, public_key=None)
    reply = TestClient(create_app(file, limits=NO_LIMIT), base_url="http://localhost").get("/release")
    assert reply.content == content
    assert reply.headers["content-length"] == str(len(content))
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_the_page_says_whom_representatives_stand_for() -> None:
    from glassine.surrogates import SurrogateExplainer

    cells = SurrogateExplainer(decide, domain=DOMAIN, partition="public", n_cells=2, distance="gower").fit(records())
    page, _ = render_page(cells.release(), decides=True, title="x")
    assert "You get the decision, a point near yours," in page
    assert "among the 2 closest" in page
    assert "the people most like it" not in page


def test_the_example_of_the_page_types_the_mean_of_a_binary_attribute() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 91, 200), "smoker": (rng.random(200) < 0.2).astype(int)})
    domain = Domain({"age": Integer(18, 90), "smoker": Binary()})
    # The paper's form publishes exact means.
    explainer = SurrogateExplainer(
        lambda X: np.where(X["age"] > 50, "y", "n"), k=50, domain=domain, classes=("n", "y"), form="paper",
        labels="black-box",
    )  # fmt: skip
    release = explainer.fit(frame).release()
    assert release.representative(0)["smoker"] not in (0, 1)
    assert client(black_box=None, release=release).get("/").status_code == 200


def test_the_example_of_the_page_is_of_a_tree_with_a_split() -> None:
    release = small_release()
    split = next(group for group, tree in enumerate(release.trees) if len(tree.nodes) > 1)
    assert split > 0
    page, _ = render_page(release, decides=True, title="x")
    of_split, of_first = (release.representative(group) for group in (split, 0))
    assert f'"example":["{of_split["age"]}","{of_split["hours"]:g}",' in page
    assert f'"example":["{of_first["age"]}",' not in page


def test_a_decision_that_the_release_does_not_know() -> None:
    told = post(client(black_box=lambda frame: ["never"] * len(frame)), "/explanation", {"query": QUERY}).json()
    assert (told["decision"], told["agrees"], told["rank"]) == ("never", False, None)


def test_answers_are_as_described(service: Any) -> None:
    described = service.get("/openapi.json").json()
    schemas = described["components"]["schemas"]

    def check(name: str, value: Any) -> None:
        jsonschema.validate(value, {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}})

    check("ExplanationRequest", {"query": QUERY, "n_closest": 4})
    check("Explanation", post(service, "/explanation", {"query": QUERY}).json())
    check("Decision", post(service, "/decision", {"query": QUERY}).json())
    check("Problem", post(service, "/decision", {}).json())
    assert set(described["paths"]) == {"/", "/release", "/health", "/openapi.json", "/decision", "/explanation"}
    with pytest.raises(jsonschema.ValidationError):
        check("Query", {**QUERY, "age": 16})


def numbers(value: Any) -> set[float]:
    if isinstance(value, dict):
        return set().union(*(numbers(entry) for entry in value.values()), set())
    if isinstance(value, list):
        return set().union(*(numbers(entry) for entry in value), set())
    return {float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else set()


@pytest.mark.parametrize("form", ["restricted", "paper"])
def test_no_training_value_beyond_the_release(form: str) -> None:
    service = client(form=form)
    published = numbers(small_release(form).to_dict())
    trained = {float(value) for value in records()["hours"].dropna()}
    told: set[float] = set()
    for age in range(17, 91, 4):
        query = {**QUERY, "age": age}
        answer = post(service, "/explanation", {"query": query}).json()
        del answer["distance"]
        for contrast in [*answer["contrasts"], *answer["candidates"]]:
            del contrast["distance"]
            for change in contrast["changes"]:
                # A value just beyond a published threshold.
                del change["to"]
        told |= numbers(answer) - numbers(query) - set(map(float, range(len(small_release(form).trees) + 200)))
    assert told <= published
    assert not (told & trained) - published


def test_numbers_are_explained_as_they_are_described() -> None:
    def price(frame: Any) -> Any:
        return frame["age"] * 3.7 + frame["hours"].fillna(0.0)

    answer = NumericAnswer(lo=0, hi=500, step=1, tolerance=40)
    explainer = SurrogateExplainer(price, 20, domain=DOMAIN, answer=answer, distance="gower")
    release = explainer.fit(records()).release()
    service = client(black_box=price, release=release)
    schemas = service.get("/openapi.json").json()["components"]["schemas"]
    goal = {"query": QUERY, "constraints": {"at_least": 250, "fixed": ["member"]}}
    answered: Any = None
    for value in ({"query": QUERY}, goal):
        answered = post(service, "/explanation", value).json()
        for name, plain in (("ExplanationRequest", value), ("Explanation", answered)):
            jsonschema.validate(plain, {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}})
        assert (answered["decision"], answered["tolerance"]) == (pytest.approx(183.5), 40)
    assert answered["contrasts"]
    assert all(contrast["decision"] >= 250 for contrast in answered["contrasts"])
    assert post(service, "/decision", {"query": QUERY}).json() == {"decision": pytest.approx(183.5)}
    alone = client(black_box=None, release=release)
    assert post(alone, "/explanation", {"query": QUERY, "decision": 180.25}).json()["agrees"]
    for odd in ("yes", True, None):
        assert post(alone, "/explanation", {"query": QUERY, "decision": odd}).status_code == 422
    page = alone.get("/").text
    assert 'id="at_least"' in page
    assert "Answer to explain" in page
    assert 'id="at_least"' not in client().get("/").text
    refused = post(client(), "/explanation", goal)
    assert refused.status_code == 422
    assert "at_least" in refused.json()["detail"]
