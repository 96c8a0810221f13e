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
    from glassine.models import AdditiveModel
    from glassine.privacy.certificate import Certificate


class MergeOptions(OptionGroup):
    """Whose models are merged, and where the result goes."""

    site_certificate: list[Path] | None = option(
        "FILE", "Certificate of a site, in the order of the models; repeat it.", shown="beside each model"
    )
    disjoint_persons: bool = flag("State that no person has records at two sites; the certificate lists it.")
    output: Path = output_option("Write the merged model, JSON; its certificate goes beside it.", REQUIRED)
    overwrite: OverwriteOption = False
    as_json: JsonOption = False


def beside(path: Path) -> Path:
    """Return where the certificate of a model is: that of m.json in m.certificate.json."""
    stem = path.stem if path.suffix.lower() == ".json" else path.name
    return path.with_name(f"{stem}.certificate.json")


def _read(path: Path, certificate: Path | None) -> tuple[AdditiveModel, Certificate]:
    """Return the additive model of a site and its certificate; of a summary, the model that follows from it."""
    from glassine.formats import load_model
    from glassine.learners import PrivateSummary
    from glassine.learners.summaries.file import is_summary
    from glassine.models import AdditiveModel

    if is_summary(read_json(path)):
        if certificate is not None:
            raise InvalidParameterError(f"{path} is a summary, which holds its certificate.", remedy="Give models.")
        summary = PrivateSummary.read(path)
        model = summary.additive()
        return model, summary.certify(model)
    read = load_model(path)
    if not isinstance(read, AdditiveModel):
        raise InvalidParameterError(
            f"{path} is no additive model and no summary.", remedy="Train one with 'glassine fit additive'."
        )
    return read, read_certificate(beside(path) if certificate is None else certificate)[0]


def merge_command(
    sites: Annotated[list[Path], argument("MODEL", "The private additive models or summaries of the sites.")],
    wish: MergeOptions,
) -> None:
    """Merge private additive models or summaries of sites that may not share records.

    Scores are averaged by the released counts. The guarantee is the sum of those of the sites; with --disjoint-persons
    the largest.

    Exit status: 0 when the model was written, 2 if not.
    """
    from glassine.formats import write_model
    from glassine.learners.additive.merging import merge

    stated = wish.site_certificate or []
    if stated and len(stated) != len(sites):
        raise InvalidParameterError(
            f"--site-certificate is given {len(stated)} times for {len(sites)} models.",
            remedy="Give one for each, in order.",
        )
    certified = beside(wish.output)
    check_outputs([wish.output, certified], [*sites, *stated], overwrite=wish.overwrite)
    check_ending(wish.output, (".json",), "models are written as JSON")
    read = [_read(path, stated[place] if stated else None) for place, path in enumerate(sites)]
    models, certificates = zip(*read, strict=True)
    try:
        merged = merge(models, certificates, persons="disjoint" if wish.disjoint_persons else "shared")
    except GlassineError as error:
        raise error.within(" and ".join(map(str, sites[:3]))) from None
    write_model(merged.model, wish.output, overwrite=True)
    certificate = replace(merged.certificate, file=read_once(wish.output).sha256)
    write_text(certificate.to_json() + "\n", certified)
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
            f"{str(merged.model).capitalize()} of {len(sites)} sites.\n"
            f"Guarantee: epsilon {certificate.epsilon:g}, delta {certificate.delta:g} for one {certificate.unit}"
            f"{assumed}.{void}\n"
            f"Model: {wish.output}\nCertificate: {certified}"
        )
