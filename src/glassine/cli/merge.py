"""``glassine merge``: one model of the models of several sites."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from glassine.cli.certificate import read_certificate
from glassine.cli.options import (
    REQUIRED,
    JsonOption,
    OptionGroup,
    OverwriteOption,
    argument,
    flag,
    option,
    output_option,
)
from glassine.cli.process import concluding
from glassine.cli.writing import check_ending, check_outputs, print_value, say
from glassine.errors import GlassineError, InvalidParameterError
from glassine.files import read_json, read_once, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glassine.learners import PrivateSummary
    from glassine.learners.additive.merging import Persons
    from glassine.models import AdditiveModel
    from glassine.privacy.certificate import Certificate


class MergeOptions(OptionGroup):
    """Whose models are merged, and where the result goes."""

    site_certificate: list[Path] | None = option(
        "FILE", "Certificate of a site, in the order of the models; repeat it.", shown_default="beside each model"
    )
    disjoint_persons: bool = flag("State that no person has records at two sites; the certificate lists it.")
    output: Path = output_option(
        "Write the merged model, JSON, its certificate beside it; or the merged summary.", REQUIRED
    )
    overwrite: OverwriteOption = False
    as_json: JsonOption = False


def certificate_path(path: Path) -> Path:
    """Return where the certificate of a model is: that of m.json in m.certificate.json."""
    stem = path.stem if path.suffix.lower() == ".json" else path.name
    return path.with_name(f"{stem}.certificate.json")


def _read(path: Path, certificate: Path | None) -> PrivateSummary | tuple[AdditiveModel, Certificate]:
    """Return the summary of a site, or its additive model and the certificate."""
    from glassine.formats import load_model
    from glassine.learners import PrivateSummary
    from glassine.learners.summaries.file import is_summary
    from glassine.models import AdditiveModel

    if is_summary(read_json(path)):
        if certificate is not None:
            raise InvalidParameterError(f"{path} is a summary, which holds its certificate.", remedy="Give models.")
        return PrivateSummary.read(path)
    read = load_model(path)
    if not isinstance(read, AdditiveModel):
        raise InvalidParameterError(
            f"{path} is no additive model and no summary.", remedy="Train one with 'glassine fit additive'."
        )
    return read, read_certificate(certificate_path(path) if certificate is None else certificate)[0]


def merge_command(
    sites: Annotated[list[Path], argument("MODEL", "The private additive models or summaries of the sites.")],
    wish: MergeOptions,
) -> None:
    """Merge private additive models or summaries of sites that may not share records.

    Tables of summaries that follow one plan ('glassine summarize --follows') are added, and the result is a summary.
    Else scores are averaged by the released counts, of summaries those of their additive models. The guarantee is the
    sum of those of the sites; with --disjoint-persons the largest.

    Exit status: 0 when the model was written, 2 if not.
    """
    from glassine.learners import PrivateSummary

    stated = wish.site_certificate or []
    if stated and len(stated) != len(sites):
        raise InvalidParameterError(
            f"--site-certificate is given {len(stated)} times for {len(sites)} models.",
            remedy="Give one for each, in order.",
        )
    certified = certificate_path(wish.output)
    check_outputs([wish.output, certified], [*sites, *stated], overwrite=wish.overwrite)
    check_ending(wish.output, (".json",), "models are written as JSON")
    read = [_read(path, stated[place] if stated else None) for place, path in enumerate(sites)]
    persons: Persons = "disjoint" if wish.disjoint_persons else "shared"
    try:
        of_plan = [one for one in read if isinstance(one, PrivateSummary)]
        if len(of_plan) == len(read) and len({one.plan_digest_ for one in of_plan}) == 1:
            whole = PrivateSummary.merge(of_plan, persons=persons)
            whole.write(wish.output)
            # A summary holds its certificate.
            made, certificate, certified = "Summary", whole.certificate_, wish.output
        else:
            made, certificate = _averaged(read, wish.output, persons)
            named = replace(certificate, file=read_once(wish.output).sha256)
            write_text(named.to_json() + "\n", certified)
    except GlassineError as error:
        raise error.within(" and ".join(map(str, sites[:3]))) from None
    plain = {
        "model": str(wish.output),
        "certificate": str(certified),
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "persons": certificate.public["persons"],
        "holds": certificate.holds,
    }
    if wish.as_json:
        print_value(plain, True)
        return
    assumed = "" if not wish.disjoint_persons else ", if no person has records at two sites"
    void = f" The guarantee does not hold: {'; '.join(certificate.caveats)}." if certificate.caveats else ""
    with concluding():
        say(
            f"{made} of {len(sites)} sites: {certificate.public['merged']}.\n"
            f"Guarantee: epsilon {certificate.epsilon:g}, delta {certificate.delta:g} for one {certificate.unit}"
            f"{assumed}.{void}\n"
            f"{'Summary' if certified == wish.output else 'Model'}: {wish.output}\nCertificate: {certified}"
        )


def _averaged(
    sites: Sequence[PrivateSummary | tuple[AdditiveModel, Certificate]], output: Path, persons: Persons
) -> tuple[str, Certificate]:
    """Write the additive model of those of the sites, and return what it is, and its certificate."""
    from glassine.formats import write_model
    from glassine.learners import merge

    pairs = []
    for one in sites:
        if isinstance(one, tuple):
            pairs.append(one)
        else:
            model = one.additive()
            pairs.append((model, one.certify(model)))
    models, certificates = zip(*pairs, strict=True)
    merged = merge(models, certificates, persons=persons)
    write_model(merged.model, output, overwrite=True)
    return str(merged.model).capitalize(), merged.certificate
