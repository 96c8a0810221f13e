"""``glassine export``: a model in a form that other software runs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassine.cli.options import DomainOption, JsonOption, ModelArgument, TreeOption, TrustOption
from glassine.cli.reading import load_kind, read_domain
from glassine.cli.writing import check_outputs, print_value
from glassine.errors import GlassineError, UnreadableFileError, UnsupportedModelError
from glassine.files import write_bytes, write_text

if TYPE_CHECKING:
    from glassine.domain import Domain
    from glassine.models import AdditiveModel, DecisionTree, RuleList

__all__ = ["export_command"]

PICKLES = (".pkl", ".pickle")


def export_command(
    model: ModelArgument,
    to: Annotated[
        Literal["sql", "python", "text", "sklearn", "onnx", "pmml"], typer.Option("--to", help="The form to write.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the exported model.", show_default="standard output"
        ),
    ] = None,
    domain: DomainOption = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="SQL: write a query on this table.")
    ] = None,
    prediction: Annotated[
        str | None,
        typer.Option("--prediction", metavar="NAME", help="SQL: name of the predicted column of the query."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="SQL: add a column with the share of each class to the query.")
    ] = False,
    as_json: JsonOption = False,
    tree: TreeOption = None,
    trust_pickle: TrustOption = False,
) -> None:
    """Write a model as SQL, Python, text, ONNX, PMML or a scikit-learn pipeline. None of these carries a guarantee.

    ONNX and the skops file of a pipeline need pip install 'glassine[formats]'.

    Exit status: 0 when it was written, 2 if not.
    """
    if to != "sql" and (table is not None or prediction is not None or probabilities):
        raise GlassineError(f"--table, --prediction and --probabilities are for SQL, not for {to}. Leave them out.")
    if to == "sql" and table is None and (prediction is not None or probabilities):
        raise GlassineError("--prediction and --probabilities name columns of a query. Give its --table.")
    if to == "sklearn" and (output is None or output.suffix not in (".skops", *PICKLES)):
        raise GlassineError("a scikit-learn pipeline is written to a file. Give -o with a name in .skops or .pkl.")
    if to == "onnx" and output is None:
        raise GlassineError("ONNX is written to a file. Give -o with its name.")
    check_outputs([output], [model, domain])
    known = read_domain(domain)
    read = load_kind(model, known, trust_pickle, tree)
    if to == "sklearn" and output is not None:
        write_bytes(_pipeline(read, known, output), output)
        print_value({"to": to, "file": str(output)} if as_json else f"Pipeline: {output}", as_json)
        return
    if to == "onnx" and output is not None:
        write_bytes(_onnx(read, known), output)
        print_value({"to": to, "file": str(output)} if as_json else f"Written: {output}", as_json)
        return
    text = _text(read, known, to, {"table": table, "prediction": prediction, "probabilities": probabilities})
    if output is not None:
        write_text(text.rstrip("\n") + "\n", output)
    if as_json:
        print_value({"to": to, "file": None if output is None else str(output), "text": text}, True)
    else:
        print_value(text if output is None else f"Written: {output}", False)


def _text(model: DecisionTree | RuleList | AdditiveModel, domain: Domain | None, to: str, given: dict[str, Any]) -> str:
    from glassine.formats import to_pmml, to_python, to_sql, to_text
    from glassine.models import AdditiveModel

    if to == "pmml":
        if isinstance(model, AdditiveModel):
            raise UnsupportedModelError("an additive model is no PMML tree. Write it as SQL, Python or text.")
        return to_pmml(model, domain)
    if to == "sql":
        return to_sql(model, **{key: value for key, value in given.items() if value is not None})
    return to_python(model) if to == "python" else to_text(model, domain)


def _onnx(model: DecisionTree | RuleList | AdditiveModel, domain: Domain | None) -> bytes:
    from glassine.formats import to_onnx
    from glassine.models import AdditiveModel

    if isinstance(model, AdditiveModel):
        raise UnsupportedModelError("an additive model is no ONNX tree. Write it as SQL, Python or text.")
    return to_onnx(model, domain)


def _pipeline(model: DecisionTree | RuleList | AdditiveModel, domain: Domain | None, output: Path) -> bytes:
    """Return the fitted pipeline as the bytes of a skops or pickle file."""
    from glassine.formats import to_sklearn
    from glassine.models import AdditiveModel

    if isinstance(model, AdditiveModel):
        raise UnsupportedModelError("an additive model is no scikit-learn pipeline. Write it as SQL, Python or text.")
    pipeline = to_sklearn(model, domain)
    if output.suffix in PICKLES:
        return pickle.dumps(pipeline)
    try:
        from skops import io
    except ImportError:
        raise UnreadableFileError(
            f"cannot write {output}: skops is not installed. Run pip install 'glassine[formats]'.", path=output
        ) from None
    return bytes(io.dumps(pipeline))
