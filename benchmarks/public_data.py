"""The public datasets of the benchmarks with their public domains, read from the folder GLASSINE_DATA.

The domains state what is known without looking at the records: the code books that come with the data, and round
thresholds. Nothing here is derived from the records.
"""

from __future__ import annotations

import csv
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from glassine import Category, Domain, Integer, Real
from glassine.domain import AtMostOne, Between, ExactlyOne, Literal, OneOf
from glassine.domain.attributes import Attribute

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.oracles import compas as compas_domain  # noqa: E402 - after the path is set

DATA = Path(os.environ.get("GLASSINE_DATA", ROOT.parent / "shared" / "data"))

ADULT_CATEGORIES = {
    "marital-status": [
        "Married-civ-spouse",
        "Divorced",
        "Never-married",
        "Separated",
        "Widowed",
        "Married-spouse-absent",
        "Married-AF-spouse",
    ],
    "relationship": ["Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"],
    "sex": ["Female", "Male"],
}
ADULT_NUMBERS = {
    "age": Integer(17, 90, thresholds=tuple(range(20, 70, 5))),
    "education-num": Integer(1, 16, thresholds=tuple(range(7, 15))),
    "capital-gain": Integer(0, 99_999, thresholds=tuple(range(1_000, 10_500, 500))),
    "capital-loss": Integer(0, 5_000, thresholds=tuple(range(1_000, 2_600, 100))),
    "hours-per-week": Integer(1, 99, thresholds=tuple(range(20, 65, 5))),
}
ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)

GERMAN_NUMBERS = {
    "duration": Integer(1, 72, thresholds=(6, 12, 18, 24, 36, 48)),
    "amount": Integer(0, 20_000, thresholds=(1_000, 2_000, 4_000, 8_000)),
    "age": Integer(18, 99, thresholds=(25, 35, 45, 60)),
}
GERMAN_CATEGORIES = {
    "checking": ("A11", "A12", "A13", "A14"),
    "history": ("A30", "A31", "A32", "A33", "A34"),
    "purpose": ("A40", "A41", "A42", "A43", "A44", "A45", "A46", "A47", "A48", "A49", "A410"),
    "savings": ("A61", "A62", "A63", "A64", "A65"),
    "employment": ("A71", "A72", "A73", "A74", "A75"),
    "debtors": ("A101", "A102", "A103"),
    "property": ("A121", "A122", "A123", "A124"),
    "plans": ("A141", "A142", "A143"),
    "housing": ("A151", "A152", "A153"),
}
GERMAN_COLUMNS = (
    "checking",
    "duration",
    "history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "rate",
    "status",
    "debtors",
    "residence",
    "property",
    "age",
    "plans",
    "housing",
    "credits",
    "job",
    "dependants",
    "phone",
    "foreign",
    "class",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A dataset with its public domain and classes."""

    name: str
    frame: pl.DataFrame
    labels: np.ndarray
    domain: Domain
    classes: tuple[str | int, ...]

    def split(self, seed: int, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a seeded training and test set."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        cut = int(share * len(order))
        return order[:cut], order[cut:]


def _adult_rows() -> list[dict[str, str]]:
    with (DATA / "adult" / "adult.data").open(newline="") as stream:
        rows = [[value.strip() for value in row] for row in csv.reader(stream)]
    return [dict(zip(ADULT_COLUMNS, row, strict=True)) for row in rows if len(row) == len(ADULT_COLUMNS)]


def adult() -> Benchmark:
    """Return the 32,561 records of ``adult.data``, eight of their attributes.

    The domain declares 76 literals: age in steps of 5, years of education from 7 to 14, capital gain in steps of 500
    up to 10,000, capital loss in steps of 100 from 1,000 to 2,500, hours in steps of 5, one per marital status and
    relationship, and sex.
    """
    rows = _adult_rows()
    columns = {name: [row[name] for row in rows] for name in ADULT_COLUMNS}
    categories = {name: Category(tuple(values)) for name, values in ADULT_CATEGORIES.items()}
    frame = pl.DataFrame(
        {name: np.array(columns[name], dtype=np.int64) for name in ADULT_NUMBERS}
        | {name: list(columns[name]) for name in categories}
    )
    return Benchmark(
        name="adult",
        frame=frame,
        labels=np.array(columns["income"]),
        domain=Domain({**ADULT_NUMBERS, **categories}),
        classes=("<=50K", ">50K"),
    )


OCCUPATIONS = (
    "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces"
)


def adult_coarse() -> tuple[Benchmark, list[Literal]]:
    """Return the records of ``adult.data``, seven of their attributes, and 24 literals for deep trees.

    Five ages, four levels of education, four capital gains, four capital losses, three weekly hours, being married, and
    three groups of occupations, from managers and professionals to manual work.
    """
    full, rows = adult(), _adult_rows()
    occupation = [None if row["occupation"] == "?" else row["occupation"] for row in rows]
    numbers = {
        "age": (25, 30, 35, 45, 60),
        "education-num": (8, 9, 12, 13),
        "capital-gain": (3_000, 4_000, 5_000, 7_000),
        "capital-loss": (1_500, 1_800, 1_900, 2_000),
        "hours-per-week": (35, 40, 45),
    }
    domain = Domain(
        {name: replace(ADULT_NUMBERS[name], thresholds=cuts) for name, cuts in numbers.items()}
        | {
            "marital-status": Category(tuple(ADULT_CATEGORIES["marital-status"])),
            "occupation": Category(tuple(OCCUPATIONS.split()), missing=True),
        }
    )
    professional = ("Exec-managerial", "Prof-specialty")
    skilled = (*professional, "Sales", "Tech-support", "Protective-serv")
    manual = ("Other-service", "Handlers-cleaners", "Farming-fishing", "Priv-house-serv", "Machine-op-inspct")
    literals: list[Literal] = [Between(name, hi=cut) for name, cuts in numbers.items() for cut in cuts]
    literals.append(OneOf("marital-status", ("Married-civ-spouse", "Married-AF-spouse")))
    literals += [OneOf("occupation", group) for group in (professional, skilled, manual)]
    frame = full.frame.with_columns(occupation=pl.Series(occupation)).select(domain.names)
    return replace(full, name="adult, coarse", frame=frame, domain=domain), literals


def adult_forty() -> tuple[Benchmark, list[Literal]]:
    """Return the records of ``adult.data``, eight of their attributes, and 40 literals for trees of depth 5 and 6.

    Eight ages, seven levels of education, six capital gains, six capital losses, six weekly hours, being married and
    never married, four relationships, and sex.
    """
    cuts = {
        "age": (20, 25, 30, 35, 40, 45, 50, 60),
        "education-num": (7, 8, 9, 10, 12, 13, 14),
        "capital-gain": (1_000, 3_000, 4_000, 5_000, 7_000, 10_000),
        "capital-loss": (1_500, 1_600, 1_800, 1_900, 2_000, 2_200),
        "hours-per-week": (20, 30, 35, 40, 45, 50),
    }
    literals: list[Literal] = [Between(name, hi=cut) for name, values in cuts.items() for cut in values]
    literals.append(OneOf("marital-status", ("Married-civ-spouse", "Married-AF-spouse")))
    literals.append(OneOf("marital-status", ("Never-married",)))
    literals += [OneOf("relationship", (one,)) for one in ("Wife", "Own-child", "Husband", "Not-in-family")]
    literals.append(OneOf("sex", ("Male",)))
    return adult(), literals


def adult_binarised() -> Benchmark:
    """Return the 48,842 records of 24 dummies; five pairs of them are two names of one fact."""
    frame = pl.read_csv(DATA / "adult" / "adult_binarised.csv")
    names = frame.columns[:-1]
    pairs = [
        ("gender_Female", "gender_Male"),
        ("age_high", "age_low"),
        ("hours_per_week_high", "hours_per_week_low"),
        ("capital_gain_>0", "capital_gain_0"),
        ("capital_loss_>0", "capital_loss_0"),
    ]
    groups: list[ExactlyOne | AtMostOne] = [ExactlyOne(pair) for pair in pairs]
    for prefix in ("occupation_", "workclass_", "education_"):
        groups.append(AtMostOne(tuple(name for name in names if name.startswith(prefix))))
    return Benchmark(
        name="adult_binarised",
        frame=frame.select(names),
        labels=frame["income"].to_numpy(),
        domain=Domain.binary(names, groups=groups),
        classes=(0, 1),
    )


def compas() -> Benchmark:
    """Return the 7,214 records of 27 dummies, with their ties."""
    names, records, labels = compas_domain.read(DATA)
    return Benchmark(
        name="compas",
        frame=pl.DataFrame(records, schema=names),
        labels=labels,
        domain=compas_domain.domain(names),
        classes=(0, 1),
    )


def german() -> Benchmark:
    """Return the 1,000 records of the German credit data, twelve of their attributes."""
    rows = [line.split() for line in (DATA / "german" / "german.data").read_text().splitlines() if line.strip()]
    columns = dict(zip(GERMAN_COLUMNS, zip(*rows, strict=True), strict=True))
    frame = pl.DataFrame(
        {name: np.array(columns[name], dtype=np.int64) for name in GERMAN_NUMBERS}
        | {name: list(columns[name]) for name in GERMAN_CATEGORIES}
    )
    domain = Domain({**GERMAN_NUMBERS, **{name: Category(values) for name, values in GERMAN_CATEGORIES.items()}})
    return Benchmark(
        name="german", frame=frame, labels=np.array(columns["class"], dtype=np.int64), domain=domain, classes=(1, 2)
    )


TELCO_NUMBERS: dict[str, Attribute] = {
    "tenure": Integer(0, 72, thresholds=(3, 6, 12, 24, 36, 48, 60)),
    "MonthlyCharges": Real(0.0, 150.0, thresholds=(30.0, 50.0, 70.0, 80.0, 90.0, 100.0)),
}
TELCO_CATEGORIES = {
    "Contract": ("Month-to-month", "One year", "Two year"),
    "InternetService": ("DSL", "Fiber optic", "No"),
    "OnlineSecurity": ("Yes", "No", "No internet service"),
    "TechSupport": ("Yes", "No", "No internet service"),
    "PaymentMethod": (
        "Electronic check",
        "Mailed check",
        "Bank transfer (automatic)",
        "Credit card (automatic)",
    ),
    "PaperlessBilling": ("Yes", "No"),
    "SeniorCitizen": ("0", "1"),
    "Partner": ("Yes", "No"),
    "Dependents": ("Yes", "No"),
}


def telco() -> Benchmark:
    """Return the 7,043 records of ``telco.csv``, eleven of their attributes; who left is the outcome."""
    with (DATA / "telco" / "telco.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    frame = pl.DataFrame(
        {name: np.array([float(row[name]) for row in rows]) for name in TELCO_NUMBERS}
        | {name: [row[name].strip() for row in rows] for name in TELCO_CATEGORIES}
    )
    categories = {name: Category(values) for name, values in TELCO_CATEGORIES.items()}
    domain = Domain({**TELCO_NUMBERS, **categories})
    labels = np.array([row["Churn"].strip() for row in rows])
    return Benchmark(name="telco", frame=frame, labels=labels, domain=domain, classes=("No", "Yes"))


def california() -> Benchmark:
    """Return the 20,640 block groups of ``cal_housing.data`` with the median value of their houses.

    The domain declares 40 literals: twelve longitudes and eleven latitudes of half a degree, seven incomes, seven
    numbers of people per household, and three ages of houses. The classes are the ends of the public range of the
    value: the top code of the code book.
    """
    columns = np.loadtxt(DATA / "california" / "cal_housing.data", delimiter=",")
    frame = pl.DataFrame(
        {
            "longitude": columns[:, 0],
            "latitude": columns[:, 1],
            "income": columns[:, 7],
            "people per household": columns[:, 5] / columns[:, 6],
            "age": columns[:, 2].astype(np.int64),
        }
    )
    domain = Domain(
        {
            "longitude": Real(-124.5, -114.0, thresholds=tuple(np.arange(-122.5, -116.5, 0.5).tolist())),
            "latitude": Real(32.5, 42.0, thresholds=tuple(np.arange(33.5, 39.0, 0.5).tolist())),
            "income": Real(0.0, 16.0, thresholds=(2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)),
            "people per household": Real(0.0, 2_000.0, thresholds=(2.0, 2.25, 2.5, 2.75, 3.0, 3.5, 4.0)),
            "age": Integer(1, 52, thresholds=(20, 35, 50)),
        }
    )
    return Benchmark(name="california", frame=frame, labels=columns[:, 8], domain=domain, classes=(0, 500_001))


__all__ = [
    "Benchmark",
    "adult",
    "adult_binarised",
    "adult_coarse",
    "adult_forty",
    "california",
    "compas",
    "german",
    "telco",
]
