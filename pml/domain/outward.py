"""The one door by which records leave PML: to agents, to people, over any edge (ST-5).

What is stored was sanitised when it was stored; a response also holds what was never stored: the
words of errors, plans with their arguments, what analysis says of code.  The direct result of a
program is what the agent asked for, and passes as it is.
"""

from typing import Any, TypeVar

import msgspec

from pml.domain.plan import Plan, PlannedArgument
from pml.domain.record import Record
from pml.domain.response import ExecuteResponse
from pml.domain.sanitising import redact, redact_text
from pml.domain.secret_rules import MASK, sensitive_key

RecordT = TypeVar("RecordT", bound=Record)


def outward(record: RecordT) -> RecordT:
    """The record without secrets, but for the direct result of a program.  Idempotent.

    Types stay what they are: a text, or a value in a plan, may be masked, nothing else.
    """
    kept = {"result"} if isinstance(record, ExecuteResponse) else set()
    changed = {
        name: after
        for name in record.__struct_fields__
        if name not in kept
        and (after := _cleaned(value := getattr(record, name))) is not value
        and after != value
    }
    if isinstance(record, Plan):
        changed["arguments"] = redact(record.arguments)
    if isinstance(record, PlannedArgument):
        values = {name: getattr(record, name) for name in ("value", "default")}
        changed |= {n: redact(v) for n, v in values.items() if v is not msgspec.UNSET}
    return msgspec.structs.replace(record, **changed) if changed else record


def _cleaned(value: Any) -> Any:  # noqa: ANN401  # a field of a record
    match value:
        case Record():
            return outward(value)
        case str() if type(value) is str:  # members of enumerations are names of ours
            return redact_text(value)
        case tuple():
            return tuple(_cleaned(item) for item in value)
        case list():
            return [_cleaned(item) for item in value]
        case dict():
            return {_cleaned(key): _under(key, item) for key, item in value.items()}
    return value


def _under(key: object, value: Any) -> Any:  # noqa: ANN401
    """What stands under a key; the key of a schema's field says nothing of the field's schema."""
    if isinstance(key, str) and sensitive_key(key):
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return MASK
        if isinstance(value, PlannedArgument):
            masks = {
                name: MASK
                for name in ("value", "default")
                if getattr(value, name) is not msgspec.UNSET
            }
            return msgspec.structs.replace(outward(value), **masks)
    return _cleaned(value)
