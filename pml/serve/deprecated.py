"""The five tools that `pml_discover` and `pml_execute` replace (MCP-4).

They answer on the same path as their replacements: here their arguments become the same
requests.  They can always be called; they are listed only where somebody asks for it
(``PML_DEPRECATED_TOOLS``), since every agent pays for what is listed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeAlias

from mcp_types import Tool, ToolAnnotations

from pml.domain.dag import ExplicitDag
from pml.domain.discovery import DiscoverFilter, DiscoverRequest
from pml.domain.limits import Limits
from pml.domain.response import DEFAULT_TIMEOUT_MS, ExecuteRequest
from pml.serve.arguments import InvalidArgumentsError, Json, dag_of
from pml.serve.definitions import DISCOVER, EXECUTE

Kind: TypeAlias = Literal["tool", "capability"]
Request: TypeAlias = ExecuteRequest | DiscoverRequest
_MOST_NAMED = 5
_TEXT: dict[str, Any] = {"type": "string"}
_OBJECT: dict[str, Any] = {"type": "object"}


@dataclass(frozen=True, slots=True)
class DeprecatedTool:
    """A tool of before, and what stands for it now."""

    definition: Tool
    instead: str
    request: Callable[[Mapping[str, Json]], Request]
    """Of checked arguments; raises `InvalidArgumentsError`."""

    @property
    def note(self) -> str:
        """What every answer of it says."""
        return f"[DEPRECATED] {self.definition.name} goes away: use {self.instead}"


def deprecated_tools(limits: Limits) -> dict[str, DeprecatedTool]:
    """All of them by name."""
    timeout = {"type": "integer", "minimum": 1, "maximum": limits.max_timeout_ms}
    run = {
        "intent": {**_TEXT, "maxLength": limits.message_chars},
        "context": _OBJECT,
        "options": _closed({"timeout": timeout, "args": _OBJECT}),
    }
    workflow = {"workflow": _OBJECT, "tasks": {"type": "array"}}
    search = {
        "query": {**_TEXT, "maxLength": limits.message_chars},
        "intent": {**_TEXT, "maxLength": limits.message_chars},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
    }
    found = [
        _runs("pml_execute_dag", f"{EXECUTE}({{intent, dag}})", {**workflow, **run}, _of_dag),
        _runs("pml_execute_code", f"{EXECUTE}({{intent, code}})", {"code": _TEXT, **run}, _of_code),
    ]
    for name, kind in _SEARCHES.items():
        instead = f'{DISCOVER}({{intent, filter: {{type: "{kind}"}}}})'
        found.append(_searches(name, instead, search, kind))
    return {tool.definition.name: tool for tool in found}


_SEARCHES: Final[dict[str, Kind]] = {
    "pml_search_tools": "tool",
    "pml_search_capabilities": "capability",
    "pml_find_capabilities": "capability",
}


def _runs(
    name: str,
    instead: str,
    properties: dict[str, Any],
    request: Callable[[Mapping[str, Json]], Request],
) -> DeprecatedTool:
    hints = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)
    return DeprecatedTool(_definition(name, instead, properties, hints), instead, request)


def _searches(name: str, instead: str, properties: dict[str, Any], kind: Kind) -> DeprecatedTool:
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

    def request(arguments: Mapping[str, Json]) -> Request:
        return DiscoverRequest(
            intent=_intent(arguments, "query") or _missing("query"),
            filter=DiscoverFilter(type=kind),
            limit=int(arguments.get("limit", DiscoverRequest(intent="x").limit)),
        )

    return DeprecatedTool(_definition(name, instead, properties, hints), instead, request)


def _definition(
    name: str, instead: str, properties: dict[str, Any], annotations: ToolAnnotations
) -> Tool:
    return Tool(
        name=name,
        description=f"[DEPRECATED] Use {instead}.",
        input_schema=_closed(properties),
        annotations=annotations,
    )


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _of_dag(arguments: Mapping[str, Json]) -> Request:
    if "workflow" in arguments and "tasks" in arguments:
        raise InvalidArgumentsError(("tasks: means the same as workflow.tasks: give one of them",))
    if "workflow" in arguments:
        dag = dag_of(arguments["workflow"], "workflow")
    elif "tasks" in arguments:
        dag = dag_of({"tasks": arguments["tasks"]}, "arguments")
    else:
        _missing("workflow")
    intent = _intent(arguments) or _named(dag)
    return ExecuteRequest(
        intent=intent, dag=dag, args=_args(arguments), timeout_ms=_timeout(arguments)
    )


def _of_code(arguments: Mapping[str, Json]) -> Request:
    code: str = arguments.get("code", "")
    if not code.strip():
        _missing("code")
    intent = _intent(arguments) or _first_line(code)
    return ExecuteRequest(
        intent=intent, code=code, args=_args(arguments), timeout_ms=_timeout(arguments)
    )


def _args(arguments: Mapping[str, Json]) -> dict[str, Any]:
    options = arguments.get("options", {})
    found: dict[str, Any] = options.get("args", arguments.get("context", {}))
    return found


def _timeout(arguments: Mapping[str, Json]) -> int:
    return int(arguments.get("options", {}).get("timeout", DEFAULT_TIMEOUT_MS))


def _intent(arguments: Mapping[str, Json], *others: str) -> str:
    """What is wanted, under one of its names; empty where nobody says it."""
    said = [str(arguments.get(name, "")).strip() for name in ("intent", *others)]
    return next(filter(None, said), "")


def _named(dag: ExplicitDag) -> str:
    """An intent for tasks that came without one, which was allowed."""
    tools = list(dict.fromkeys(task.tool or task.id for task in dag.tasks))
    more = f" and {len(tools) - _MOST_NAMED} more" if len(tools) > _MOST_NAMED else ""
    return f"run {', '.join(tools[:_MOST_NAMED])}{more}"


def _first_line(code: str) -> str:
    return "run " + " ".join(code.strip().split("\n", 1)[0].split())[:200]


def _missing(field: str) -> NoReturn:
    raise InvalidArgumentsError((f"{field}: expected {_EXPECTED[field]}, got nothing",))


_EXPECTED: Final = {
    "query": "a sentence that says what is wanted",
    "workflow": "an object with tasks",
    "code": "TypeScript",
}
