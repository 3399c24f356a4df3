"""Records for the store's tests: complete, with what a test cares about as an argument."""

import hashlib
from typing import Any

from pml.domain.approval import ApiKey, Approval, Grant, GrantScope, Role, ToolVersion
from pml.domain.capability import CapabilityParameter, NewCapability
from pml.domain.permissions import Effect
from pml.domain.run import Delivered, Issued, LogRecord, Returned, Run, RunProgram, RunState
from pml.domain.structure import CapabilityCall, Decision, Literal, StaticStructure, Task
from pml.domain.tools import Tool
from pml.domain.trace import (
    BranchDecision,
    DependencyType,
    ExecutionTrace,
    TaskResult,
    ToolDependency,
)


def a_run(run_id: str = "run-1", **fields: object) -> Run:
    known: dict[str, Any] = {
        "intent": "read the log",
        "state": RunState.RUNNING,
        "source_hash": "0" * 64,
        "owner": "host/1",
        "created_at_ms": 1_000,
        "updated_at_ms": 1_000,
        "timeout_ms": 30_000,
    }
    return Run(id=run_id, **known | fields)


def a_program(**fields: object) -> RunProgram:
    known: dict[str, Any] = {
        "source": "return await mcp.fs.read({ path });",
        "instrumented": 'return await mcp.fs["read⊥n1"]({ path });',
        "structure": '{"nodes":[]}',
        "arguments": {"path": '"a\\u0000b"'},
        "seed": 7,
    }
    return RunProgram(**known | fields)


def some_records(first: int, number: int) -> list[LogRecord]:
    """``number`` records from ``seq`` ``first``: a call, its delivery, and so on."""
    return [_record(seq) for seq in range(first, first + number)]


def _record(seq: int) -> LogRecord:
    call = seq // 2
    if seq % 2:
        value = Returned(value='{"b":1,"a":1.0}')
        return Delivered(seq=seq, at_ms=1_000 + seq, call=call, outcome=value)
    return Issued(
        seq=seq,
        at_ms=1_000 + seq,
        call=call,
        site="n1",
        occurrence=call + 1,
        tool="fs:read",
        arguments='{"path":"a"}',
        effect=Effect.READ,
    )


def a_trace(trace_id: str = "trace-1", run_id: str = "run-1", **fields: object) -> ExecutionTrace:
    result = TaskResult(
        task_id="n1",
        node_id="n1",
        tool="fs:read",
        args={"z": 1, "a": [1.5, None, "\x00", 10**15]},
        result={"text": "…", "n": 1e300},
        success=True,
        started_at_ms=1_000,
        duration_ms=1.25,
        attempts=1,
        delivered=True,
    )
    known: dict[str, Any] = {
        "intent_text": "read the log",
        "initial_context": {"path": "a"},
        "executed_at_ms": 1_000,
        "success": True,
        "state": "success",
        "duration_ms": 12.5,
        "executed_path": ("d1", "n1"),
        "decisions": (BranchDecision(node_id="d1", outcome="case:\x00"),),
        "task_results": (result,),
    }
    return ExecutionTrace(id=trace_id, run_id=run_id, **known | fields)


def an_edge(source: str = "fs:read", target: str = "fs:write", **fields: object) -> ToolDependency:
    kind = DependencyType(str(fields.pop("type", DependencyType.SEQUENCE)))
    known: dict[str, Any] = {"edge_source": "observed", "weight": kind.weight}
    return ToolDependency(source=source, target=target, type=kind, **known | fields)


def a_tool(name: str = "read", server: str = "fs", **fields: object) -> Tool:
    known: dict[str, Any] = {
        "description": "Reads a file.",
        "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}, "required": ["z"]},
    }
    return Tool(server=server, name=name, **known | fields)


def a_capability(name: str = "read_log", **fields: object) -> NewCapability:
    """A procedure whose canonical hash follows from ``procedure``, else from its name."""
    procedure = str(fields.pop("procedure", name))
    known: dict[str, Any] = {
        "intent": "Read the log.",
        "description": "Reads a file.",
        "code": 'return await mcp.fs.read({ path: "a\u2028" });',
        "instrumented": 'return await mcp.fs["read⊥n1"]({ path: __pml.arg("path", "a") });',
        "structure": a_structure(),
        "parameters": (
            CapabilityParameter(name="path", schema={"type": "string"}, default="a", lifted=True),
            CapabilityParameter(name="limit", required=True),
        ),
        "depth": 1,
    }
    digest = hashlib.sha256(procedure.encode()).hexdigest()
    return NewCapability(name=name, canonical_hash=digest, **known | fields)


def a_structure(*tools: str, calls: tuple[str, ...] = ()) -> StaticStructure:
    """A call of each tool (``fs:read`` alone by default) and capability, and a decision."""
    tasks = [
        Task(
            id=f"n{number}",
            tool=tool,
            arguments={"path": Literal(value={"z": 1.0, "a": "\x00", "n": 1e300})},
        )
        for number, tool in enumerate(tools or ("fs:read",), start=1)
    ]
    decision = Decision(id="d1", condition='x === "\x00"')
    nested = [
        CapabilityCall(id=f"n{number}", capability_id=callee)
        for number, callee in enumerate(calls, start=len(tasks) + 1)
    ]
    return StaticStructure(nodes=(decision, *tasks, *nested), edges=(), complete=True)


def an_approval(approval_id: str = "ask-1", run_id: str = "run-1", **fields: object) -> Approval:
    known: dict[str, Any] = {
        "source_hash": "0" * 64,
        "arguments_hmac": "1" * 64,
        "tools": (ToolVersion(tool="fs:write\x00", schema_hash="2" * 64),),
        "asked_at_ms": 1_000,
        "expires_at_ms": 9_000,
    }
    return Approval(id=approval_id, run_id=run_id, **known | fields)


def a_grant(grant_id: str = "grant-1", **fields: object) -> Grant:
    arguments = {"path": "/tmp/*", "\x00": [1.0, {"z": None, "a": 10**15}]}
    known: dict[str, Any] = {
        "scope": GrantScope(tool="fs:*", arguments=arguments, ttl_s=3_600),
        "granted_at_ms": 1_000,
        "granted_by": "ada",
        "expires_at_ms": 9_000,
    }
    return Grant(id=grant_id, **known | fields)


def an_api_key(key_id: str = "key-1", **fields: object) -> ApiKey:
    known: dict[str, Any] = {"name": "laptop", "role": Role.AGENT, "created_at_ms": 1_000}
    return ApiKey(id=key_id, **known | fields)
