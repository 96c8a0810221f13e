"""Commands whose options travel in groups: how their words are read, and their help."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from glassine.cli.naming import OF_AUDITS, in_options, options_of
from glassine.cli.options import INFO, LimitOptions, RecordsFileOptions, fields_of, is_group
from glassine.cli.steps import option_of
from glassine.errors import InvalidParameterError, spoken_by

YOUNG = 5_000_000
"""Objects more than before from which a command with limits, which ends soon, looks for garbage in cycles."""

WIDEST = 38
"""Most characters of an option and its values that share a line with what they mean."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function of single options, as the parser reads them, for one whose parameters may be groups."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()

    def run(**values: Any) -> None:
        with (
            spoken_by(of_audits),
            in_options(options_of("memory_limit", "cpu_limit")),
            contextlib.ExitStack() as limited,
        ):
            gathered = {one.name: _gathered(one.name, hints[one.name], values) for one in parameters}
            for group in gathered.values():
                limits = group if isinstance(group, LimitOptions) else getattr(group, "limits", None)
                if isinstance(limits, LimitOptions):
                    limited.enter_context(limits.budget.applied())
                    # Models of thousands of nodes hold no cycles: looking for them takes a tenth of their audit.
                    gc.set_threshold(YOUNG)
            function(**gathered)

    flat = [one for each in parameters for one in _options(each.name, hints[each.name], each.default, None)]
    own = {option_of(one.name) for one in flat} | {word for one in flat for word in _declared(one)}
    # What another command prints of an audit says whose option it is.
    of_audits = {
        name: said if said in own or not said.startswith("--") else f"glassine audit ... {said}"
        for name, said in OF_AUDITS.items()
    }
    run.__doc__ = function.__doc__
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]  # inspect reads it, typeshed lacks it
    run.__annotations__ = {one.name: one.annotation for one in flat}
    return run


def _declared(parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return the names of an option, where they are not that of its parameter."""
    return tuple(get_args(parameter.annotation)[1].param_decls or ())


def _options(name: str, hint: object, default: object, heading: str | None) -> Iterator[inspect.Parameter]:
    """Yield the options of a parameter: itself, or those of its group and of the groups in it."""
    if is_group(hint):
        for field, kind in fields_of(hint):
            yield from _options(field.name, kind, field.default, hint.heading)
        return
    kind, info = get_args(hint)
    info = copy(info.metadata[INFO] if isinstance(info, dataclasses.Field) else info)
    info.rich_help_panel = heading
    default = inspect.Parameter.empty if default is dataclasses.MISSING else default
    if kind is bool and default is False and not info.param_decls:
        info.param_decls = (option_of(name),)
    annotation: Any = Annotated[kind, info]
    # By name alone, so that what is required may follow what is not.
    yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _gathered(name: str, hint: object, values: dict[str, Any]) -> Any:
    """Return the value of a parameter, a group made of its options."""
    if not is_group(hint):
        return values[name]
    return hint(**{field.name: _gathered(field.name, kind, values) for field, kind in fields_of(hint)})


class Unconverted:
    """Converts the value of an option where that takes more than its type: validators take the parser time to build."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value in the option's type."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if value is param.default:
            return value
        kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if info.parser is None and kind in (str, Path):
            return kind(value)
        if info.parser is None and kind in (list[str], list[Path]):
            return list(map(get_args(kind)[0], value))
        if info.parser is not None and isinstance(value, str):
            with contextlib.suppress(ValueError, typer.BadParameter):
                return info.parser(value)
        if kind in (int, float) and (info.min, info.max, info.parser) == (None,) * 3 and value.isascii():
            with contextlib.suppress(ValueError):  # the parser words it
                return kind(value)
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def without_validators(params: list[Any]) -> list[Any]:
    """Return options that build no validator which their values can do without."""
    for param in params:
        # Other versions of the parser have no such validators.
        if getattr(param, "_runtime_param", ...) is None:
            param._runtime_param = Unconverted()
    return params


def names_one_file(param: Any) -> bool:
    """Return whether the value of an option is one file or folder, or the form of what is written."""
    words = (param.metavar or "").replace("|", " ").split()
    named = not {"FILE", "FOLDER", "PATH"}.isdisjoint(words) or not {"--ci", "--to"}.isdisjoint(param.opts)
    return param.param_type_name == "option" and not param.multiple and named


class GroupedCommand(TyperCommand):
    """A command whose help has a heading for each group of options, defaults in brackets."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, that of the help among them."""
        return without_validators(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option of one file or form is an error if it is given twice, as one would be lost."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for name, times in Counter(max(param.opts, key=len) for param in order if names_one_file(param)).items():
            if times > 1:
                raise InvalidParameterError(
                    f"{name} is given {times} times, and takes one value.", remedy="Give it once a run."
                )
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options without a heading of their own, then the groups."""
        params = sorted(self.get_params(ctx), key=lambda param: param.param_type_name != "argument")
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        folded = False
        for param in params:
            heading = getattr(param, "rich_help_panel", None) or "Options"
            if heading == RecordsFileOptions.heading and "glassine domain" not in ctx.command_path:
                folded = True
                continue
            if (record := param.get_help_record(ctx)) is not None:
                name, text = record[0].split(" <")[0] if param.param_type_name == "argument" else record[0], record[1]
                default = text.replace("[default: (", "[").replace("[default: ", "[").replace(")]", "]")
                sections.setdefault(heading, []).append((name, default))
        if folded:
            # The same in every command that reads records: in full, they would fill a third of a screen.
            help_text = "Show this message and exit; --separator and more: glassine domain infer -h."
            sections["Options"] = [
                (names, help_text if "--help" in names else text) for names, text in sections["Options"]
            ]
        formatter.write_paragraph()
        for heading, records in sections.items():
            formatter.write_heading(heading)
            with formatter.indentation():
                formatter.write_dl(records, col_max=_column(records, formatter))


def _column(records: list[tuple[str, str]], formatter: Any) -> int:
    """Return the width of the options with which a group takes the fewest lines: wider ones stand on their own."""

    def lines(width: int) -> int:
        written = type(formatter)(width=formatter.width)
        written.current_indent = formatter.current_indent
        written.write_dl(records, col_max=width)
        return str(written.getvalue()).count("\n")

    # Of equal ones the widest, where most stand beside their meaning.
    return min(sorted({min(len(name), WIDEST) for name, _ in records}, reverse=True), key=lines)
