"""What is wrong with a request itself, before anything is looked up or analysed (MCP-6, OP-5)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.dag import ExplicitDag
from pml.domain.json_text import flaw
from pml.domain.limits import Limits
from pml.domain.nearest import did_you_mean
from pml.domain.program import Diagnostic, Severity
from pml.domain.record import encode
from pml.domain.response import ExecuteRequest
from pml.domain.structure import StaticStructure
from pml.domain.tools import matches
from pml.runtime.mocks import mock_problem


def problem_of(request: ExecuteRequest, limits: Limits) -> str | None:
    """What is wrong with the request itself, or None."""
    if problem := problem_of_intent(request.intent, limits):
        return problem
    if request.code is not None and request.dag is not None:
        return "expected at most one of code and dag"
    if not 0 < request.timeout_ms <= limits.max_timeout_ms:
        return (
            f"timeout: expected 1 to {limits.max_timeout_ms} ms (max_timeout_ms), got "
            f"{request.timeout_ms}"
        )
    if problem := _problem_of_dry_run(request, limits):
        return problem
    if request.dag is not None and (problem := _problem_of_dag(request.dag, limits)):
        return problem
    return _problem_of_args(request.args, limits)


def problem_of_intent(intent: str, limits: Limits) -> str | None:
    """What is wrong with an intent, or None."""
    if not intent.strip():
        return "intent: expected a few words that say what is wanted, got nothing"
    if len(intent) > limits.message_chars:
        return (
            f"intent: {len(intent)} characters, the limit is {limits.message_chars} "
            "(message_chars): say it in fewer words"
        )
    if not _is_unicode(intent):
        return "intent: expected text, found bytes that are none"
    return None


def _problem_of_dry_run(request: ExecuteRequest, limits: Limits) -> str | None:
    if request.dry_run_mocks and not request.dry_run:
        return "dryRunMocks: expected only together with dryRun"
    problem = mock_problem(request.dry_run_mocks, limits)
    return f"dryRunMocks.{problem}" if problem else None


def _problem_of_args(args: Mapping[str, Any], limits: Limits) -> str | None:
    hint = "pass a path or an id instead of the data"
    return problem_of_json("args", args, "arguments_bytes", hint, limits)


def _problem_of_dag(dag: ExplicitDag, limits: Limits) -> str | None:
    hint = "split the workflow, or let tools read the data"
    return problem_of_json("dag", dag, "source_bytes", hint, limits)


def problem_of_json(name: str, value: object, limit: str, hint: str, limits: Limits) -> str | None:
    """Why a value that was sent in cannot be used as JSON; None: it can.

    Args:
        name: what messages call it.
        value: whatever was sent.
        limit: which of the limits bounds its size.
        hint: what to do where it is too large.
        limits: the limits.
    """
    try:
        text = encode(value)
    except (TypeError, ValueError, OverflowError) as exc:
        return f"{name}: expected JSON: {exc}"
    except RecursionError:
        return f"{name}: nested deeper than {limits.nesting} levels (nesting): make it flatter"
    if len(text) > (most := getattr(limits, limit)):
        return f"{name}: {len(text)} bytes, the limit is {most} ({limit}): {hint}"
    reason = flaw(text.decode(), limits)
    return None if reason is None else f"{name}: the value {reason}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def idle_mocks(
    mocks: Iterable[str], structures: Sequence[StaticStructure], called: Iterable[str]
) -> tuple[Diagnostic, ...]:
    """A warning for each mock that means nothing that a program may call.

    Args:
        mocks: tools, or patterns of them.
        structures: of the program, and of every capability below it.
        called: names of the capabilities that it calls itself.
    """
    if not all(structure.complete for structure in structures):
        return ()
    tools = {tool for structure in structures for tool in structure.tools()}
    tools |= {f"{CAPABILITY_SERVER}:{name}" for name in called}
    idle = [name for name in mocks if not any(matches(name, tool) for tool in tools)]
    return tuple(
        Diagnostic(
            severity=Severity.WARNING,
            code="idle-mock",
            message=f"dryRunMocks.{name}: the program calls no such tool"
            + did_you_mean(name, sorted(tools)),
            line=1,
            column=1,
        )
        for name in idle
    )
