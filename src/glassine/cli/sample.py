"""``glassine sample``: rows drawn from a private summary."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Annotated

from glassine.cli.merge import certificate_path
from glassine.cli.options import REQUIRED, JsonOption, OptionGroup, OverwriteOption, argument, option, output_option
from glassine.cli.process import concluding
from glassine.cli.writing import check_ending, check_outputs, print_value, say
from glassine.files import read_once, write_bytes, write_text

ENDINGS = (".csv", ".parquet")


class SampleOptions(OptionGroup):
    """How many rows are drawn, and where they go."""

    number: int = option("N", "Rows to draw.", REQUIRED, names=("--n-rows",))
    seed: int | None = option("N", "Random seed; the guarantee does not rest on it.", names=("--sample-seed",))
    output: Path = output_option("Write the rows, CSV or Parquet; its certificate goes to the same folder.", REQUIRED)
    overwrite: OverwriteOption = False
    as_json: JsonOption = False


def sample_command(
    summary: Annotated[Path, argument("SUMMARY", "The summary, as glassine summarize writes it.")],
    wish: SampleOptions,
) -> None:
    """Draw rows from a private summary. Nothing is spent: the summary's certificate is that of the rows.

    Exit status: 0 when the rows were written, 2 if not.
    """
    from glassine.learners import PrivateSummary

    certified = certificate_path(wish.output.with_suffix(".json"))
    check_ending(wish.output, ENDINGS, "rows are written as CSV or Parquet")
    check_outputs([wish.output, certified], [summary], overwrite=wish.overwrite)
    read = PrivateSummary.read(summary)
    frame, data = read.sample(wish.number, random_state=wish.seed), BytesIO()
    if wish.output.suffix.lower() == ".csv":
        frame.write_csv(data)
    else:
        frame.write_parquet(data)
    write_bytes(data.getvalue(), wish.output)
    own = read.certificate_
    public = {**own.public, "rows of the summary": wish.number}
    certificate = replace(own, file=read_once(wish.output).sha256, public=public)
    write_text(certificate.to_json() + "\n", certified)
    if wish.as_json:
        print_value({"rows": wish.number, "file": str(wish.output), "certificate": str(certified)}, True)
        return
    with concluding():
        say(
            f"{wish.number:,} rows: {wish.output}\nCertificate: {certified} (epsilon {own.epsilon:g}, "
            f"delta {own.delta:g}, as of the summary)"
        )
