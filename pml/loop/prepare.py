"""From a request to something that can run: analysed, bound, every tool known.

Servers are asked only when a request names them and nothing is known of them yet, or when
what is known does not have the tool.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pml.analysis.analyse import analyse, references
from pml.analysis.dag import compile_dag
from pml.analysis.parameters import bind
from pml.domain.json_text import flaw
from pml.domain.limits import Limits
from pml.domain.program import Diagnostic, Program, Severity
from pml.domain.record import JsonText, encode
from pml.domain.response import ExecuteError, ExecuteRequest
from pml.domain.tools import Catalog, Tool
from pml.errors import DagError, UpstreamUnavailableError
from pml.loop.ports import Servers
from pml.store.ports import ToolSchemas


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request that may run."""

    program: Program
    catalog: Catalog
    arguments: Mapping[str, JsonText]
    diagnostics: tuple[Diagnostic, ...]
    """Warnings only."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that may not run, and why."""

    error: ExecuteError
    diagnostics: tuple[Diagnostic, ...] = ()


def _refusal(code: str, message: str) -> Refusal:
    return Refusal(ExecuteError(code=code, message=message))


async def prepare(
    request: ExecuteRequest, *, schemas: ToolSchemas, servers: Servers, limits: Limits
) -> Prepared | Refusal:
    """Analyse and bind one request; nothing runs.

    Raises:
        StoreError: the database is lost.
    """
    if problem := _problem(request, limits):
        return _refusal("bad_request", problem)
    try:
        source = request.code if request.dag is None else compile_dag(request.dag)
    except DagError as exc:
        return _refusal("bad_dag", str(exc))
    assert source is not None
    found = await examine(source, schemas=schemas, servers=servers, limits=limits)
    program = found.program
    if found.unavailable:
        return _refusal("server_unavailable", "; ".join(found.unavailable.values()))
    if program.errors:
        return _refused_by(program.diagnostics)
    arguments, unbound = bind(program, request.args)
    diagnostics = (*program.diagnostics, *unbound)
    if any(d.severity is Severity.ERROR for d in unbound):
        return _refused_by(diagnostics)
    return Prepared(
        program=program, catalog=found.catalog, arguments=arguments, diagnostics=diagnostics
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A program, seen with the tools of the servers that it names."""

    program: Program
    catalog: Catalog
    unavailable: Mapping[str, str]
    """Servers that the code names and nobody could ask, and why."""


async def examine(
    source: str, *, schemas: ToolSchemas, servers: Servers, limits: Limits
) -> Examined:
    """Analyse a program against what is known of its servers, or what they say now.

    Raises:
        StoreError: the database is lost.
    """
    catalog, unavailable = await _catalog(source, schemas, servers)
    # in a thread: a source of 1 MB takes seconds, and other runs go on meanwhile
    program = await asyncio.to_thread(analyse, source, catalog, limits=limits)
    if any(d.code == "unknown-tool" for d in program.errors):  # perhaps it is new
        catalog, unavailable = await _catalog(source, schemas, servers, refresh=True)
        program = await asyncio.to_thread(analyse, source, catalog, limits=limits)
    return Examined(program=program, catalog=catalog, unavailable=unavailable)


def _refused_by(diagnostics: tuple[Diagnostic, ...]) -> Refusal:
    """The first error speaks; all of them come with the answer."""
    first = next(d for d in diagnostics if d.severity is Severity.ERROR)
    return Refusal(
        ExecuteError(code=first.code, message=first.message, line=first.line), diagnostics
    )


def _problem(request: ExecuteRequest, limits: Limits) -> str | None:
    """What is wrong with the request itself, or None."""
    if not request.intent.strip():
        return "intent: expected a few words that say what the code is for, got nothing"
    if len(request.intent) > limits.message_chars:
        return f"intent: {len(request.intent)} characters, the limit is {limits.message_chars}"
    if not _is_unicode(request.intent):
        return "intent: expected text, found bytes that are none"
    if (request.code is None) == (request.dag is None):
        return "expected exactly one of code and dag"
    if not 0 < request.timeout_ms <= limits.max_timeout_ms:
        return f"timeout: expected 1 to {limits.max_timeout_ms} ms, got {request.timeout_ms}"
    return _problem_of_args(request.args, limits)


def _problem_of_args(args: Mapping[str, Any], limits: Limits) -> str | None:
    try:
        text = encode(args)
    except (TypeError, ValueError, OverflowError) as exc:
        return f"args: expected JSON: {exc}"
    except RecursionError:
        return f"args: nested deeper than {limits.nesting} levels"
    if len(text) > limits.arguments_bytes:
        return (
            f"args: {len(text)} bytes, the limit is {limits.arguments_bytes}: "
            "pass a path or an id instead of the data"
        )
    reason = flaw(text.decode(), limits)
    return None if reason is None else f"args: the value {reason}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


async def _catalog(
    source: str, schemas: ToolSchemas, servers: Servers, *, refresh: bool = False
) -> tuple[Catalog, dict[str, str]]:
    """The tools of every configured server as far as the code needs them.

    Returns:
        The catalog, and for each server that the code names and nobody could reach, why.
    """
    known = (await schemas.catalog()).servers
    named = references(source).servers
    wanted = servers.names if "*" in named else [s for s in servers.names if s in named]
    missing = [server for server in wanted if refresh or server not in known]
    listings = await asyncio.gather(
        *(servers.tools(server) for server in missing), return_exceptions=True
    )
    fresh: dict[str, Iterable[Tool]] = {}
    unavailable: dict[str, str] = {}
    for server, listing in zip(missing, listings, strict=True):
        if isinstance(listing, UpstreamUnavailableError):
            unavailable[server] = str(listing)
        elif isinstance(listing, BaseException):
            raise listing
        else:
            fresh[server] = listing
    tools = {
        server: fresh.get(server, known[server].values() if server in known else ())
        for server in servers.names
    }
    return Catalog(tools), unavailable
