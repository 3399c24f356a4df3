"""The module that a sandbox imports: a program as the body of one async function.  Pure.

The head stands on the first line of the program, so lines stay what they are in the
submitted source.  Its last characters (``=> {;``) are what the worker looks for to
correct columns on that line; the semicolon keeps a leading ``"use strict"`` from being a
directive, which a function with destructured parameters must not have.
"""

import re
from collections.abc import Sequence

_IDENTIFIER = re.compile(r"[^\W\d][\w$]*|[$][\w$]*")


def module_text(instrumented: str, parameters: Sequence[str]) -> str:
    """TypeScript whose default export runs the program.

    ``parameters`` become variables, bound from the run's arguments.

    Raises:
        ValueError: a parameter is no identifier.
    """
    for name in parameters:
        if not _IDENTIFIER.fullmatch(name):
            msg = f"{name!r} cannot be a parameter: it is no identifier"
            raise ValueError(msg)
    names = ",".join(parameters)
    head = f"export default async (mcp, capabilities, args, __pml, {{{names}}}) => {{;"
    return f"{head}{instrumented}\n}}"
