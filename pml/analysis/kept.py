"""What is kept of a program: a capability without secrets, or the reason why nothing is (ST-5)."""

import re
import unicodedata

import msgspec

from pml.analysis.calls import Calls
from pml.analysis.functions import Functions
from pml.analysis.inputs import inputs
from pml.analysis.lifting import lift, passed
from pml.analysis.masking import (
    applied,
    comment_edits,
    in_order,
    literal_edits,
    spliced,
    without,
)
from pml.analysis.scope import Scopes
from pml.analysis.secrets_in_code import Secrets, find_secrets
from pml.analysis.syntax import Source
from pml.analysis.uncalled import Uncalled
from pml.domain.capability import (
    RESERVED_NAMES,
    CapabilityParameter,
    CapabilitySource,
    NewCapability,
)
from pml.domain.program import Program
from pml.domain.structure import CapabilityCall, Task

_NAME_CHARS = 48
_MOST_SECRETS = 50
"""Each is looked for in the whole structure; nobody needs so many parameters."""
_UNNAMED = "capability"
_ARTICLES = frozenset({"a", "an", "the"})


def new_capability(
    program: Program,
    *,
    intent: str,
    depth: int = 0,
    source: CapabilitySource = CapabilitySource.CODE,
) -> NewCapability | str:
    """The program as it shall be kept, or why it shall not be.

    A lifted literal that is a secret is masked, and its parameter becomes required; comments
    are sanitised.  ``depth`` counts the levels of capabilities below the program.
    """
    reason = _unfit(program)
    if reason:
        return reason
    try:
        parsed = Source(program.source)
        scopes = Scopes(parsed)
        functions = Functions(parsed, scopes)
        calls = Calls(parsed, scopes, functions)
        if Uncalled(parsed, scopes, calls).every_call:
            return "it calls nothing: its calls stand in functions that are never called"
        secrets = _secrets(parsed, scopes, functions, calls)
    except RecursionError:
        return "it is too intricate to be looked through for secrets: split it"
    if secrets.line is not None:
        return (
            f"line {secrets.line} holds what looks like a secret, and nothing secret is kept: "
            "pass it in args instead"
        )
    if len(secrets.lifted) > _MOST_SECRETS:
        return f"it holds {len(secrets.lifted)} secrets, at most {_MOST_SECRETS}: pass them in args"
    safe_intent = secrets.hidden.masked(intent)
    whole = NewCapability(
        canonical_hash=program.canonical_hash,
        name=name_of(safe_intent),
        intent=safe_intent,
        source=source,
        code=program.source,
        instrumented=program.instrumented,
        structure=program.structure,
        parameters=program.parameters,
        depth=depth,
    )
    return _without_secrets(whole, parsed, secrets)


def _unfit(program: Program) -> str:
    """Why the program is no procedure that could be used again; empty if it is one."""
    if program.errors or not program.canonical_hash:
        return "it has errors"
    if not any(isinstance(node, Task | CapabilityCall) for node in program.structure.nodes):
        return "it calls nothing"
    if not program.structure.complete:
        return "what it calls cannot be known before it runs: name every tool in the code"
    return ""


def _secrets(source: Source, scopes: Scopes, functions: Functions, calls: Calls) -> Secrets:
    read = inputs(source, scopes)
    lifts = lift(source, scopes, functions, calls, values=passed(source, calls), read=read)
    return find_secrets(source, scopes, lifts.literals)


def _without_secrets(whole: NewCapability, source: Source, secrets: Secrets) -> NewCapability:
    masked = literal_edits(source, [one.node for one in secrets.lifted])
    edits = in_order([*masked, *comment_edits(source, secrets.hidden)])
    if not edits:
        return whole
    names = frozenset(one.name for one in secrets.lifted)
    instrumented = Source(whole.instrumented)
    masked = literal_edits(instrumented, spliced(instrumented, names))
    later = in_order([*masked, *comment_edits(instrumented, secrets.hidden)])
    return msgspec.structs.replace(
        whole,
        code=applied(source.data, edits),
        instrumented=applied(instrumented.data, later),
        structure=without(whole.structure, source, secrets.lifted, secrets.hidden, edits),
        parameters=tuple(_required(p) if p.name in names else p for p in whole.parameters),
    )


def _required(parameter: CapabilityParameter) -> CapabilityParameter:
    return msgspec.structs.replace(parameter, required=True, default=msgspec.UNSET)


def name_of(intent: str) -> str:
    """An identifier of the words of an intent, as many as fit."""
    plain = unicodedata.normalize("NFKD", intent).encode("ascii", "ignore").decode().lower()
    words = [word for word in re.findall(r"[a-z0-9]+", plain) if word not in _ARTICLES]
    name = ""
    for word in words:
        longer = f"{name}_{word}" if name else word[:_NAME_CHARS]
        if len(longer) > _NAME_CHARS:
            break
        name = longer
    if not name or name in RESERVED_NAMES:
        return f"do_{name}" if name else _UNNAMED
    return name if name[0].isalpha() else f"_{name}"[:_NAME_CHARS]
