"""The parameters of a program (SA-9), and values for them, checked before anything runs (SA-4)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from pml.analysis.inputs import Inputs, first_use, inputs
from pml.analysis.lifting import Lifted, Passed, Place
from pml.analysis.origins import Tracer
from pml.analysis.schemas import faults
from pml.analysis.scope import Scopes
from pml.analysis.subschema import subschema
from pml.analysis.syntax import MEMBERS, Source, bare
from pml.analysis.traces import From
from pml.domain.capability import CapabilityParameter
from pml.domain.nearest import did_you_mean
from pml.domain.program import Diagnostic, Program, Severity
from pml.domain.record import JsonText
from pml.domain.structure import SPREAD
from pml.domain.tools import Catalog

_DEFAULTING = frozenset({"??", "||"})
_OF_ROOT = frozenset({"$schema", "default"})
"""Keywords that stand beside the alternatives of a schema, not in one."""
_NAMES = frozenset({"identifier", "shorthand_property_identifier", *MEMBERS})


def parameters_of(
    read: Inputs,
    lifted: tuple[Lifted, ...],
    values: list[Passed],
    tracer: Tracer,
    catalog: Catalog,
) -> tuple[CapabilityParameter, ...]:
    """The names that the code reads, then its lifted literals, each in source order.

    Each has the schema of where it is passed first; what the code takes where it is absent is the
    schema's default, and says nothing of what else it takes.  Where the code uses ``args`` as a
    whole, a last parameter with the name `SPREAD` stands for the names that nobody knows.
    """
    schemas: dict[str, dict[str, Any]] = {}
    for one in values:
        name = _input_passed(one, tracer)
        if name is not None and not schemas.get(name):
            schemas[name] = _schema(catalog, one.site.handle.tool, one.place)
    inputs = [
        CapabilityParameter(
            name=name,
            schema=_with_default(schemas.get(name, {}), read.defaults.get(name, UNSET)),
            required=name not in read.optional,
        )
        for name in read.names
    ]
    literals = [
        CapabilityParameter(
            name=one.name,
            schema=_schema(catalog, one.site.handle.tool, one.place),
            default=one.value,
            lifted=True,
        )
        for one in lifted
    ]
    others = [CapabilityParameter(name=SPREAD)] if read.whole else []
    return (*inputs, *literals, *others)


def _input_passed(one: Passed, tracer: Tracer) -> str | None:
    """The input that is passed as it is, if the value is one."""
    if one.hidden is not None:
        return None
    node = bare(one.expression)
    while node.kind == "binary_expression" and set(node.tokens) <= _DEFAULTING:
        node = bare(node.children[0])  # what is given is passed on all the same
    if node.kind not in _NAMES:
        return None
    origins = tracer.trace(node)
    if len(origins) != 1 or not origins[0].exact or origins[0].kind is not From.INPUT:
        return None
    return origins[0].name


def _with_default(schema: dict[str, Any], default: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    return schema if default is UNSET or default is None else {**schema, "default": default}


def _schema(catalog: Catalog, tool_id: str, place: Place) -> dict[str, Any]:
    tool = catalog.find(tool_id)
    return {} if tool is None else subschema(tool.input_schema, place)


def bind(
    program: Program, args: Mapping[str, Any]
) -> tuple[dict[str, JsonText], tuple[Diagnostic, ...]]:
    """A value for every parameter, as JSON text, and what is wrong with the arguments.

    A parameter that the code copes without (``args.x ?? 1``, a default, a check) may be
    missing.  Arguments that the code does not name are passed on only if it uses ``args`` as
    a whole; otherwise each is a warning.  Nothing is bound to a program with errors.
    """
    if program.errors:
        return {}, ()
    source = Source(program.source)
    scopes = Scopes(source)
    read = inputs(source, scopes)
    found: list[Diagnostic] = []
    bound: dict[str, JsonText] = {}
    wanted = [name for name in program.structure.parameters if name in args]
    extra = [name for name in args if name not in program.structure.parameters]
    for name in [*wanted, *(extra if read.whole else [])]:
        try:
            bound[name] = json.dumps(args[name], allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            found.append(_say(Severity.ERROR, "bad-parameter", f"{name!r} is no JSON: {error}"))
    found += [
        _missing(name, args, source, scopes)
        for name in program.structure.parameters
        if name not in args and name not in read.optional
    ]
    for name in extra if not read.whole else []:
        hint = did_you_mean(name, program.structure.parameters)
        message = f"the code does not use the argument {name!r}{hint}"
        found.append(_say(Severity.WARNING, "unknown-parameter", message, text=name))
    return bound, tuple(found)


def _missing(name: str, args: Mapping[str, Any], source: Source, scopes: Scopes) -> Diagnostic:
    declared = {known for table in scopes.tables.values() for known in table}
    hint = did_you_mean(name, args) or did_you_mean(name, sorted(declared))
    message = f"{name!r} has no value: it is neither declared in the code nor given in args{hint}"
    use = first_use(source, scopes, name)
    line, column = (1, 1) if use is None else source.position(use.start)
    return _say(Severity.ERROR, "missing-parameter", message, line=line, column=column, text=name)


def _say(
    severity: Severity, code: str, message: str, *, line: int = 1, column: int = 1, text: str = ""
) -> Diagnostic:
    return Diagnostic(
        severity=severity, code=code, message=message, line=line, column=column, text=text[:80]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Values for a capability's parameters, as JSON text, and what is wrong with them.

    It may run only if nothing is ``missing`` and there are no ``problems``.
    """

    arguments: dict[str, JsonText]
    """For the names that the code reads."""
    lifted: dict[str, JsonText]
    """In place of literals."""
    missing: tuple[str, ...]
    """Required parameters without a value."""
    problems: tuple[str, ...]
    """Sentences, each about one argument."""


def bind_capability(parameters: tuple[CapabilityParameter, ...], args: Mapping[str, Any]) -> Bound:
    """Values for the parameters of a known capability; its code is not looked at."""
    known = {parameter.name: parameter for parameter in parameters if parameter.name != SPREAD}
    takes_others = len(known) < len(parameters)
    arguments: dict[str, JsonText] = {}
    lifted: dict[str, JsonText] = {}
    problems: list[str] = []
    for name, value in args.items():
        parameter = known.get(name)
        if parameter is None and not takes_others:
            names = ", ".join(known) or "none"
            hint = did_you_mean(name, known) or f"; it has {names}"
            problems.append(f"there is no parameter {name!r}{hint}")
            continue
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(f"{name!r} is no JSON: {error}")
            continue
        problems += [] if parameter is None else _faults(parameter, value)
        into = lifted if parameter is not None and parameter.lifted else arguments
        into[name] = text
    missing = tuple(p.name for p in known.values() if p.required and p.name not in args)
    return Bound(arguments=arguments, lifted=lifted, missing=missing, problems=tuple(problems))


def _faults(parameter: CapabilityParameter, value: object) -> Iterator[str]:
    for where, message in faults(_accepted(parameter), value):
        yield f"argument {parameter.name}{where}: {message}"


def _accepted(parameter: CapabilityParameter) -> dict[str, Any]:
    """What may be given: also null for an input that the code copes without."""
    schema = parameter.schema
    if parameter.required or parameter.lifted or set(schema) <= {"default"}:
        return schema
    said = {key: value for key, value in schema.items() if key not in _OF_ROOT}
    root = {key: value for key, value in schema.items() if key in _OF_ROOT}
    return {**root, "anyOf": [said, {"type": "null"}]}


def input_schema(parameters: tuple[CapabilityParameter, ...]) -> dict[str, Any]:
    """The schema of the object of arguments that a capability is called with."""
    known = [parameter for parameter in parameters if parameter.name != SPREAD]
    made: dict[str, Any] = {
        "type": "object",
        "properties": {p.name: {**_accepted(p), **_default(p)} for p in known},
        "required": [p.name for p in known if p.required],
        "additionalProperties": len(known) < len(parameters),
    }
    return made


def _default(parameter: CapabilityParameter) -> dict[str, Any]:
    return {} if parameter.default is UNSET else {"default": parameter.default}
