"""What a LightGBM file holds beside the tree that was read: gains, parameters, importances, other trees, extremes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from glassine.domain import Domain, Integer, Real
from glassine.formats.boosted.lightgbm import (
    described,
    forest_from_lightgbm,
    is_lightgbm_text,
    sections,
    tree_from_lightgbm,
    tree_of_file,
)
from glassine.formats.conditions import attribute_of
from glassine.formats.contents import FittedValues, OtherContent, Tracked, beside_lines, shown_name
from glassine.formats.registry import BY_START, of_text

PARAMETER = re.compile(r"\[([a-z0-9_]+): (.*)\]")
AROUND = re.compile(
    r"tree|end of trees|end of parameters|parameters:|feature_importances:|pandas_categorical:(null|\[\])?"
)
USUAL: Mapping[str, re.Pattern[str]] = {
    "Tree": re.compile(r"[0-9]{1,9}"),
    "version": re.compile(r"v[0-9]{1,3}"),
    "num_leaves": re.compile(r"[0-9]{1,9}"),
    "num_class": re.compile(r"[0-9]{1,6}"),
    "label_index": re.compile(r"[0-9]{1,6}"),
    "max_feature_idx": re.compile(r"[0-9]{1,9}"),
    "tree_sizes": re.compile(r"[0-9]{1,12}( [0-9]{1,12})*"),
    "num_tree_per_iteration": re.compile(r"[0-9]{1,6}"),
    "is_linear": re.compile(r"[01]"),
    "shrinkage": re.compile(r"[0-9.e-]{1,12}"),
    "leaf_const": re.compile(r""),
}
"""Lines that no condition or prediction needs, with the form that they have."""
RANGE = re.compile(r"\[([^:\[\]]+):([^:\[\]]+)\]")


def beside_lightgbm(text: str, domain: Domain | None, tree: int | None) -> Iterator[OtherContent | FittedValues]:
    """Yield what a LightGBM file holds that the tree does not need, and the ranges of its features."""
    head, trees, parameters, categories = sections(text)
    noted = Tracked(head), [Tracked(one) for one in trees], Tracked(parameters)
    file = described(noted[0], [*noted[1]], noted[2], categories, domain)
    tree_of_file(file, domain, tree)
    yield from _ranges(file.names, head.get("feature_infos", "").split(), domain)
    others: list[OtherContent] = []
    yield from beside_lines(text, _needed(*noted, bool(categories.strip()), others.append))
    yield from others


def _needed(
    head: Tracked, trees: Sequence[Tracked], parameters: Tracked, lists: bool, add: Callable[[OtherContent], None]
) -> Callable[[int, str], str | None]:
    """Return what of each line a tree needs; fields that it does not need are added with their names."""
    state = {"tree": -1, "ended": 0}
    used = {i for i, one in enumerate(trees) if "leaf_value" in one.asked}
    seen: set[str] = set()

    def needed(number: int, line: str) -> str | None:
        content = line.strip()
        parameter = PARAMETER.fullmatch(content)
        if state["ended"]:
            if AROUND.fullmatch(content) or (lists and content.startswith("pandas_categorical:")):
                return line
            if parameter is not None and parameter[1] in parameters.asked and parameter[1] not in seen:
                seen.add(parameter[1])
                return line
            if parameter is not None:
                add(_field("parameters of the training", content))
                return line
            return None
        if content == "end of trees":
            state["ended"] = 1
        key, equals, value = content.partition("=")
        if not equals:
            return line if AROUND.fullmatch(content) else None
        state["tree"] += key == "Tree"
        section = head if state["tree"] < 0 else trees[state["tree"]]
        if state["tree"] >= 0 and state["tree"] not in used:
            add(_field("trees that were not read", content))
        elif key not in section.asked and not (key in USUAL and USUAL[key].fullmatch(value)):
            add(_field(shown_name(key), content))
        return line

    return needed


def _field(where: str, content: str) -> OtherContent:
    return OtherContent(where, "field", len(content.encode()))


def _ranges(names: Sequence[str], infos: Sequence[str], domain: Domain | None) -> Iterator[FittedValues]:
    """Yield the smallest and the largest value of each feature, as far as no public domain declares them."""
    for name, info in zip(names, infos, strict=False):
        match = RANGE.fullmatch(info)
        if match is None:
            continue
        attribute = attribute_of(name, domain)
        public: set[float] = set()
        if isinstance(attribute, Integer | Real) and not attribute.inferred:
            public = {float(attribute.lo), float(attribute.hi)}
        try:
            ends = [float(end) for end in match.groups()]
        except ValueError:
            continue
        private = None if domain is None else sum(end not in public for end in ends)
        yield FittedValues(
            part="feature_infos", attribute=name, statistic="extremes", n_values=len(ends), n_private=private
        )


FORMAT = of_text(
    name="LightGBM",
    reads="text of LightGBM's `save_model`",
    reveals="conditions, scores as classes or values, numbers of records, often class counts",
    leaves_out="sample weights; class counts that its figures do not determine",
    sniff=is_lightgbm_text,
    rank=BY_START,
    read=tree_from_lightgbm,
    read_all=forest_from_lightgbm,
    beside=beside_lightgbm,
)
