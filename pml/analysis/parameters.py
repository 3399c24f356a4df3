"""Values for a program's parameters, checked before anything runs (SA-4)."""

import json
from collections.abc import Mapping
from typing import Any

from pml.analysis.inputs import first_use, inputs
from pml.analysis.scope import Scopes
from pml.analysis.syntax import Source
from pml.domain.nearest import did_you_mean
from pml.domain.program import Diagnostic, Program, Severity
from pml.domain.record import JsonText


def bind(
    program: Program, args: Mapping[str, Any]
) -> tuple[dict[str, JsonText], tuple[Diagnostic, ...]]:
    """A value for every parameter, as JSON text, and what is wrong with the arguments.

    A parameter that the code copes without (``args.x ?? 1``, a default, a check) may be
    missing.  Arguments that the code does not name are passed on only if it uses ``args`` as
    a whole; otherwise each is a warning.
    """
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
