"""Settings of the documentation; `make docs` builds it with every warning an error."""

import importlib
import sys
from pathlib import Path
from typing import Any

from glassine import __version__

sys.path.append(str(Path(__file__).parents[1]))

project = "Glassine"
author = "The Glassine authors"
copyright = "The Glassine authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"Glassine {release}"
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_custom_sections = ["Guarantee", "Assumptions", "Edge cases"]

# Names in lists of attributes are looked up, too, and several classes share some.
suppress_warnings = ["ref.python"]

# Glassine's own names must resolve. Other libraries' names, and the prose in a parameter's type, have no target here,
# because the build fetches no inventory from the network.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!glassine\.).*"),
    # The inside of an estimate, which attributes expose and no page describes.
    (r"py:class", r"glassine\.attacks\.disclosure\.(people|leaf_constraints|constraints)\..*"),
    # The blocks of a report's page, and the columns of an estimator: values that only their own room makes.
    (r"py:class", r"glassine\.(report\.(section|blocks)|formats\.sklearn\.encodings)\..*"),
    # The inside of a desk: its state, its folder and its log.
    (r"py:class", r"glassine\.desk\.(state|folder|events|app)\..*"),
    # The inside of the set of near-optimal trees, which no page describes.
    (
        r"py:class",
        r"glassine\.learners\.(additive\.targets|summaries\.(pair_regions|tree_sets|released?|splitting))\..*",
    ),
    (r"py:class", r"glassine\.(microaggregation\.(dissimilarity|taxonomy|record_encoding)|surrogates\.distances)\..*"),
]
# Names of unions and type variables in signatures: they are explained where they are used, and have no page.
nitpick_ignore = [
    ("py:class", "glassine.surrogates.answers.Names"),
    ("py:class", "glassine.attacks.outcome.R"),
    ("py:class", "glassine.attacks.outcome.T"),
    ("py:class", "glassine.auditing.criterion.N"),
    ("py:class", "glassine.microaggregation.mdav.Mixed"),
    ("py:class", "glassine.formats.judged.F"),
    ("py:class", "glassine.formats.loading.P"),
    ("py:class", "glassine.models.records.Records"),
    ("py:class", "glassine.attacks.membership.outputs.LabelledRecords"),
    ("py:obj", "glassine.auditing.facts.T"),
    ("py:class", "glassine.auditing.findings.values.T_co"),
    ("py:class", "glassine.domain.groups.Group"),
    ("py:class", "glassine.privacy.randomness.Randomness"),
    ("py:class", "glassine.records.cells.Coded"),
]


def setup(app: Any) -> None:
    """Fill in what pages take from the code."""
    generated = importlib.import_module("docs.generated")

    def fill(app: Any, name: str, source: list[str]) -> None:
        source[0] = generated.filled(source[0])

    app.connect("source-read", fill)
