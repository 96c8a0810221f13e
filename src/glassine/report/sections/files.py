"""The page on several files, a section each, and on files of kinds that are not judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from glassine import __version__
from glassine.attacks.outcome import Audience
from glassine.auditing.findings import Findings
from glassine.auditing.unjudged import CHECKLIST, UnjudgedFile
from glassine.report import wording
from glassine.report.blocks import Definitions, Heading, Points, paragraph
from glassine.report.section import Page, Section, section
from glassine.report.sections.policy import file_sections, policy_section, steps_of

FileResult: TypeAlias = Findings | UnjudgedFile | str
"""What was found of a file, what to do with one that is not judged, or why it could not be read."""

NOT_JUDGED = "Not judged"
BAD_INPUT = "Bad input"
CAVEAT = "A file without a verdict is not safe: nothing here says what it reveals."
WORST_FIRST = (BAD_INPUT, "Outside policy", NOT_JUDGED, "Inconclusive", "Within policy")
TONES = {"Within policy": "within policy", "Outside policy": "outside policy"}


def files_page(results: Sequence[tuple[str, FileResult]], *, audience: Audience = "checker") -> Page:
    """Return the report on files, each by its name: verdicts, or what to do where there can be none."""
    words = [_word(result) for _, result in results]
    worst = min(words, key=WORST_FIRST.index)
    sections = tuple(
        _section(f"file-{number}", wording.clean(name), result) for number, (name, result) in enumerate(results, 1)
    )
    alone = results[0][1] if len(results) == 1 else None
    if isinstance(alone, UnjudgedFile):
        sentence = f"It is {alone.kind.name}, of which Glassine makes no audit. {alone.kind.why}"
    else:
        counts = (f"{words.count(word):,} {word.lower()}" for word in WORST_FIRST if word in words)
        sentence = f"{wording.plural(len(words), 'file')}: {', '.join(counts)}."
    return Page(
        kind="privacy audit",
        title=wording.clean(results[0][0]) if len(results) == 1 else "Privacy of several files",
        described="",
        tone=TONES.get(worst, "inconclusive"),
        headline=worst,
        sentence=sentence,
        caveat=CAVEAT,
        judged=True,
        sections=sections,
        terms=(),
        notice=wording.NOTICES[audience],
        version=__version__,
    )


def _word(result: FileResult) -> str:
    if isinstance(result, Findings):
        return result.verdict.capitalize()
    return NOT_JUDGED if isinstance(result, UnjudgedFile) else BAD_INPUT


def _section(id: str, name: str, result: FileResult) -> Section:
    if isinstance(result, Findings):
        return _of_findings(id, name, result)
    if isinstance(result, UnjudgedFile):
        return _of_unjudged(id, name, result)
    said = wording.clean(result)
    return section(id, f"{name}: {BAD_INPUT.lower()}", said, link=name, text=(said,))


def _of_findings(id: str, name: str, findings: Findings) -> Section:
    """Return verdict, checks and what to do of one file."""
    policy = policy_section(findings.checks, findings.policy, findings.subject.kind, source=findings.policy_source)
    files, steps = file_sections(findings), steps_of(findings)
    return section(
        id,
        f"{name}: {findings.verdict}",
        paragraph(findings.decision, "lead"),
        (one.blocks for one in files),
        policy.blocks,
        steps,
        link=name,
        text=(
            findings.decision,
            *(line for one in files for line in one.text),
            *policy.text,
            *(steps.items if steps else ()),
        ),
    )


def _of_unjudged(id: str, name: str, file: UnjudgedFile) -> Section:
    """Return what a file is that is not judged, why, and what a person does about it."""
    kind = file.kind
    facts = (
        ("File", (f"{wording.clean(file.name)}, {file.n_bytes:,} bytes",)),
        ("SHA-256", (file.sha256,)),
        ("What it is", (f"{kind.name[:1].upper()}{kind.name[1:]}",)),
        ("Why there is no verdict", (kind.why,)),
        ("What its reader says", (wording.clean(file.refused),)),
    )
    lists = (
        ("What to ask the publisher for", kind.ask),
        ("What to check by hand", CHECKLIST),
        ("Which other tool measures it", kind.tools),
    )
    return section(
        id,
        f"{name}: {NOT_JUDGED.lower()}",
        Definitions(facts),
        ((Heading(head), Points(items=items)) for head, items in lists),
        link=name,
        text=(
            *(f"{head}: {text}" for head, (text,) in facts),
            *(line for head, items in lists for line in (f"{head}:", *(f"[ ] {item}" for item in items))),
        ),
    )
