"""The leaves of a tree or the rules of a list, with the figures of each and a level of exposure to colour it by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from glassine.attacks.outcome import Below, Hidden, Measured, ShownCount
from glassine.auditing.findings import Findings, PartsFinding, ShownPart, TreeNode
from glassine.auditing.judging import flag_labels
from glassine.auditing.policy import Policy
from glassine.report import wording
from glassine.report.blocks import Figure, Heading, Legend, Outline, PartRow, Parts, Piece, Step, fold, paragraph
from glassine.report.section import Section, section
from glassine.report.tree_chart import CLASS_COLORS, SEVERAL, children_of, draw_tree, flag_colors, leaves_below, zooms

LEVELS = 5
MOST_CLASSES = 3
MOST_RULES = 200
FIRST_LOOK = 10
IN_VIEW = 3
"""Leaves to look at first that are not folded away."""
MOST_LEAVES = 200
SHORT_LIST = 50
DEEPEST = 11
OPEN_LEAVES = 24
COUNTED = "Sizes were counted in the data: the model does not publish them exactly."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Levels of exposure: five equal steps, or four up to the policy's limit and one beyond it."""

    limit: float | None  # The policy's limit
    top: float  # Bits at the full width of a bar

    @classmethod
    def of(cls, findings: Findings) -> Scale:
        """Return the scale for the findings' parts."""
        largest = max((p.bits_learned for p in parts_of(findings).parts if p.bits_learned is not None), default=0.0)
        return cls.up_to(largest, findings.policy.largest_bits_per_record)

    @classmethod
    def up_to(cls, largest: float, limit: float | None) -> Scale:
        """Return the scale that shows some bits and the limit."""
        return cls(limit=limit, top=max(math.ceil(largest), math.ceil(limit or 0.0), 1))

    def level(self, bits: float | None) -> int | None:
        """Return the level, from 0 to 4, or None where bits are not known."""
        if bits is None:
            return None
        if self.limit is None:
            return min(int(bits / self.top * LEVELS), LEVELS - 1)
        return LEVELS - 1 if bits > self.limit else min(int(bits / self.limit * (LEVELS - 1)), LEVELS - 2)

    def share(self, bits: float | None) -> float | None:
        """Return bits as a share of the scale."""
        return None if bits is None else min(max(bits / self.top, 0.0), 1.0)

    @property
    def legend(self) -> tuple[tuple[int, str], ...]:
        """The levels in words."""
        if self.limit is None:
            edges = [self.top * i / LEVELS for i in range(LEVELS + 1)]
            return tuple((i, f"{edges[i]:.3g} to {edges[i + 1]:.3g} bits") for i in range(LEVELS))
        edges = [self.limit * i / (LEVELS - 1) for i in range(LEVELS)]
        steps = [(i, f"{edges[i]:.3g} to {edges[i + 1]:.3g} bits") for i in range(LEVELS - 1)]
        return (*steps, (LEVELS - 1, f"more than {self.limit:g} bits, the limit"))


def parts_of(findings: Findings) -> PartsFinding:
    """Return the leaves or rules, and the shape of a tree; nothing where they were not looked at."""
    outcome = findings.measured["parts"]
    return outcome.value if isinstance(outcome, Measured) else PartsFinding(parts=(), nodes=())


def sizes_are_counted(findings: Findings) -> bool:
    """Return whether sizes were counted in the data because the model does not publish them exactly."""
    return parts_of(findings).counted


def part_rows(findings: Findings, scale: Scale) -> tuple[PartRow, ...]:
    """Return the leaves or rules in words, in the model's order."""
    listed = findings.model.kind == "rule list"
    last, labels = len(parts_of(findings).parts), flag_labels(findings.policy)
    counted = sizes_are_counted(findings)
    out = []
    measured = any(part.bits_learned is not None for part in parts_of(findings).parts)
    for part in parts_of(findings).parts:
        lead = "" if not listed else "else" if part.number == last else "if" if part.number == 1 else "else if"
        out.append(
            PartRow(
                number=part.number,
                lead=lead,
                condition=wording.clean(part.condition),
                size=_size(part.size, noisy=findings.model.count_scale is not None)
                + (", counted in the data" if counted and _is_counted(part, findings.model.approximate) else ""),
                classes=_classes(part.counts, findings.model.classes) + _outvoted(part, findings),
                prediction=_prediction(part, findings),
                purity=_purity(part),
                bits="no possible record"
                if "empty" in part.flags
                else wording.bits(part.bits_learned, beyond=scale.limit)
                if measured
                else "",
                expected=_expected(part, findings),
                count="" if part.size is None else f"{part.size:,}" if isinstance(part.size, int) else str(part.size),
                share=scale.share(part.bits_learned),
                level=scale.level(part.bits_learned),
                flags=tuple(labels.get(flag, flag) for flag in part.flags),
                weight=_weight(part.size, findings.policy),
                mix=_mix(part.counts),
            )
        )
    return tuple(out)


def _prediction(part: ShownPart, findings: Findings) -> str:
    text = "" if part.prediction is None else wording.clean(part.prediction)
    if findings.model.kind == "regression tree":
        with suppress(ValueError):
            return f"{float(text):,.10g}"
    return text


def _size(size: ShownCount | None, *, noisy: bool) -> str:
    if size is None:
        return "size not published"
    if noisy and isinstance(size, int):
        return f"{wording.plural(size, 'record')} by a noisy count"
    if isinstance(size, int):
        return wording.people(size)
    return wording.people(size) if isinstance(size, Below) else f"size {size}"


def _expected(part: ShownPart, findings: Findings) -> str:
    """Return how many records would be in a part if records fell as the domain's public shares say."""
    n, bits = findings.model.n_records, part.bits_learned
    if n is None or bits is None or not math.isfinite(bits) or findings.model.count_scale is not None:
        return ""
    expected = n * 2.0**-bits
    return f"{'under 1' if expected < 1 else f'about {expected:,.0f}'} of {n:,} expected by the domain"


def _is_counted(part: ShownPart, approximate: bool) -> bool:
    """Return whether the size that is shown is not the model's own."""
    published = part.counts is not None or part.purity is not None
    return part.size not in (None, Hidden()) and (approximate or not published)


def _weight(size: ShownCount | None, policy: Policy) -> float | None:
    if size is None:
        return None
    return float(size) if isinstance(size, int) else max(policy.suppress_below / 2, 1.0)


def _mix(counts: tuple[ShownCount, ...] | None) -> tuple[float, ...]:
    """Return the share of each class; nothing where a count is not shown."""
    # Noisy counts may be negative.
    sizes = [max(count, 0) for count in counts or () if isinstance(count, int)]
    total = sum(sizes)
    return tuple(size / total for size in sizes) if total and len(sizes) == len(counts or ()) else ()


def _classes(counts: tuple[ShownCount, ...] | None, classes: tuple[str, ...] | None) -> str:
    """Return the most frequent classes with their counts."""
    if counts is None or classes is None:
        return ""
    named = [(count, name) for count, name in zip(counts, classes, strict=True) if isinstance(count, int) and count]
    named.sort(key=lambda pair: -pair[0])
    texts = [f"{count:,} {wording.clean(name)}" for count, name in named[:MOST_CLASSES]]
    rest = sum(count for count, _ in named[MOST_CLASSES:])
    return ", ".join([*texts, f"{rest:,} of other classes"] if rest else texts)


def _outvoted(part: ShownPart, findings: Findings) -> str:
    """Return why a leaf decides otherwise than its counts say; empty where it does not."""
    classes, counts = findings.model.classes, part.counts
    if findings.model.count_scale is None or classes is None or counts is None or part.prediction not in classes:
        return ""
    sizes = [count for count in counts if isinstance(count, int)]
    if len(sizes) < len(counts) or sizes[classes.index(part.prediction)] == max(sizes):
        return ""
    return " (noise: the decision was chosen apart from these counts, and is more reliable)"


def _purity(part: ShownPart) -> str:
    if part.purity is None:
        return ""
    exact = part.counts is not None or part.purity == 1
    return f"{'' if exact else 'at least '}{wording.percent(part.purity)} one outcome"


def ranked(parts: Sequence[ShownPart]) -> list[int]:
    """Return the numbers of the parts, those to look at first in front: most flags, then most bits."""
    order = sorted(parts, key=lambda p: (-len(p.flags), -(p.bits_learned or 0.0), p.number))
    return [part.number for part in order]


def outline(tree: Sequence[TreeNode], rows: Sequence[PartRow], order: Sequence[int]) -> tuple[tuple[Step, ...], int]:
    """Return the steps, and the number of leaves left out."""
    # A tree of more than 200 leaves is cut to the 50 that come first in order; below the twelfth level leaves stand
    # side by side with their whole condition.
    if not tree:
        return (), 0
    wanted = set(order if len(rows) <= MOST_LEAVES else order[:SHORT_LIST])
    everything, kept = leaves_below(tree), leaves_below(tree, wanted)
    flagged = leaves_below(tree, {row.number for row in rows if row.flags})
    children = children_of(tree)
    unfold = kept[0] <= OPEN_LEAVES
    steps: list[Step] = []
    stack: list[tuple[int, int, bool]] = [(0, 0, False)]
    while stack:
        index, depth, closing = stack.pop()
        node = tree[index]
        text = wording.clean(node.condition)
        if closing:
            steps.append(Step(kind="end"))
        elif kept[index] == 0:
            if everything[index]:
                left_out = wording.plural(everything[index], "leaf")
                steps.append(Step(kind="omitted", condition=text, summary=f"{left_out}, not shown here"))
        elif node.part is not None:
            row = rows[node.part - 1]
            deep = depth > DEEPEST
            steps.append(Step(kind="leaf", condition=row.condition if deep else text or row.condition, part=row))
        elif depth > DEEPEST:
            stack += [(child, depth, False) for child in reversed(children[index])]
        else:
            if index:
                inside = wording.plural(everything[index], "leaf")
                marked = f", {flagged[index]:,} flagged" if flagged[index] else ""
                is_open = unfold or depth <= 1
                steps.append(Step(kind="begin", condition=text, summary=inside + marked, open=is_open))
                stack.append((index, depth, True))
            stack += [(child, depth + 1, False) for child in reversed(children[index])]
    return tuple(steps), everything[0] - kept[0]


def model_section(findings: Findings) -> Section:
    """Return the tree or the rules: of many leaves the most revealing first, then the drawing, then every leaf."""
    scale = Scale.of(findings)
    rows, listed = part_rows(findings, scale), not parts_of(findings).nodes
    exposed = [row for row in rows if row.share is not None]
    levels = [(f"level-{level}", words) for level, words in scale.legend]
    levels += [("unknown", "not known")] if len(exposed) < len(rows) else []
    order = ranked(parts_of(findings).parts) if len(rows) > FIRST_LOOK and not listed else []
    first = tuple(rows[number - 1] for number in order[:FIRST_LOOK])
    return section(
        "model",
        "The rules, and what each rule reveals" if listed else "The tree, and what each leaf reveals",
        Legend(tuple(levels), "Colors of bars: bits learned about each record") if exposed else None,
        (
            Heading(f"The {FIRST_LOOK} leaves to look at first"),
            Parts(first[:IN_VIEW]),
            fold(f"{FIRST_LOOK - IN_VIEW} more of these leaves", Parts(first[IN_VIEW:])),
        )
        if first
        else None,
        _drawing(findings, rows),
        paragraph(COUNTED if sizes_are_counted(findings) else "", "note"),
        (_listed(rows) if listed else _nested(findings, rows)) if rows else "The model has no parts to show.",
        link="Rules" if listed else "Tree",
    )


def _drawing(findings: Findings, rows: Sequence[PartRow]) -> Piece:
    """Return the tree as a drawing, a large one folded away; None where there is none."""
    drawing, reading = draw_tree(parts_of(findings).nodes, rows)
    if not drawing:
        return None
    large = zooms(parts_of(findings).nodes)
    figure = Figure(
        drawings=(drawing,),
        caption=f"Read from left to right: each column is one more condition. {reading} \u25b2 marks a flagged leaf.",
        legend=_legend(findings, rows),
        scrolls="Drawing of the tree",
        zooms=large,
    )
    return fold(f"The whole tree of {len(rows):,} leaves, drawn", figure) if large else figure


def _legend(findings: Findings, rows: Sequence[PartRow]) -> Legend:
    """Return what the colors of a drawing mean: the flags of its leaves, then the classes."""
    colors = flag_colors(rows)
    single = [(color, words) for words, color in colors.items() if color != SEVERAL]
    several = [(SEVERAL, "several of these")] if len(colors) > 1 else []
    clear = ("wrong-none", "no check failed")
    unknown = [("unknown", "not known")] if any(row.weight is None and row.level is None for row in rows) else []
    classes = findings.model.classes if any(row.mix for row in rows) else ()
    named = [
        (f"mix-{number}", wording.shorten(wording.clean(name), 40))
        for number, name in enumerate((classes or ())[:CLASS_COLORS], start=1)
    ]
    others = [(f"mix-{CLASS_COLORS + 1}", "other classes")] if len(classes or ()) > CLASS_COLORS else []
    return Legend(
        (*single, *several, clear, *unknown, *named, *others), "Colors: limits that a leaf breaks, and classes"
    )


def _listed(rows: Sequence[PartRow]) -> Piece:
    more = len(rows) - MOST_RULES
    omitted = f"{wording.plural(more, 'more rule')}: see the JSON findings." if more > 0 else ""
    return (Parts(tuple(rows[:MOST_RULES])), paragraph(omitted, "note"))


def _nested(findings: Findings, rows: Sequence[PartRow]) -> Piece:
    """Return every leaf in its place; of many leaves folded away, of very many only the most exposed."""
    steps, n_omitted = outline(parts_of(findings).nodes, rows, ranked(parts_of(findings).parts))
    if len(rows) <= FIRST_LOOK:
        return Outline(steps)
    if not n_omitted:
        return fold(f"All {len(rows):,} leaves in their places", Outline(steps))
    omitted = (
        "Only the most exposed leaves and those with the most flags are listed; "
        f"{wording.plural(n_omitted, 'more leaf')}: see the JSON findings."
    )
    summary = f"{len(rows) - n_omitted:,} of {len(rows):,} leaves in their places"
    return fold(summary, paragraph(omitted, "note"), Outline(steps))
