"""What is executed for a sandbox: flags, environment and limits.  Pure."""

from pathlib import Path
from typing import Any

import msgspec

from pml.domain.limits import Limits
from pml.domain.record import to_builtins
from pml.runtime.sandbox.guards import Guards

_MIB = 1 << 20
_BOOT_FILE_BYTES = 4 * _MIB
"""RLIMIT_FSIZE while Deno sets up its caches (at most 0.1 MB each)."""
_OPEN_FILES = 64
"""Deno boots with 20."""
_PROCESSES = 64
"""Threads of a sandbox with a user id of its own; Deno boots with 8 on two cores."""
_CPU_GRACE_S = 2
_BLOCKED = "data:text/javascript,throw new Error('this module is not available in the sandbox')"
_BUILTINS = """_http_agent _http_client _http_common _http_incoming _http_outgoing _http_server
 _stream_duplex _stream_passthrough _stream_readable _stream_transform _stream_wrap
 _stream_writable _tls_common _tls_wrap assert assert/strict async_hooks buffer child_process
 cluster console constants crypto dgram diagnostics_channel dns dns/promises domain events fs
 fs/promises http http2 https inspector inspector/promises module net os path path/posix
 path/win32 perf_hooks process punycode querystring readline readline/promises repl sea sqlite
 stream stream/consumers stream/promises stream/web string_decoder sys test test/reporters
 timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads
 zlib"""


def import_map() -> str:
    """A ``data:`` URL of an import map that leaves no ``node:`` module."""
    imports = {f"node:{name}": _BLOCKED for name in _BUILTINS.split()}
    return "data:application/json," + msgspec.json.encode({"imports": imports}).decode()


def deno_arguments(port: int, host: Path, *, limits: Limits, guards: Guards) -> list[str]:
    """The command line, from ``deno`` on."""
    v8 = []
    if guards.heap:
        v8.append(f"--max-old-space-size={limits.heap_mb}")
    if guards.codegen:
        v8.append("--disallow-code-generation-from-strings")
    arguments = ["deno", "run", "--unstable-worker-options", "--no-prompt", "--no-config"]
    arguments += ["--no-lock", "--node-modules-dir=none", "--quiet"]
    if guards.offline:
        arguments += ["--no-remote", "--no-npm", "--cached-only"]
    if v8:
        arguments.append("--v8-flags=" + ",".join(v8))
    if guards.builtins:
        arguments.append(f"--import-map={import_map()}")
    permission = f"--allow-net=127.0.0.1:{port}" if guards.permissions else "--allow-all"
    return [*arguments, permission, str(host)]


def deno_environment(scratch: Path) -> dict[str, str]:
    """All that a sandbox finds in its environment: nothing of ours."""
    return {
        "DENO_DIR": str(scratch),
        "DENO_NO_UPDATE_CHECK": "1",
        "LANG": "en_US.UTF-8",
        "NO_COLOR": "1",
        "TZ": "UTC",
    }


def resource_limits(limits: Limits, guards: Guards, *, own_uid: bool) -> dict[str, tuple[int, int]]:
    """Soft and hard limits of the process, by their names in `resource`."""
    wanted = {"RLIMIT_CORE": 0}
    if guards.frozen_files:
        wanted["RLIMIT_FSIZE"] = _BOOT_FILE_BYTES
    if guards.data:
        wanted["RLIMIT_DATA"] = limits.data_mb * 1_000_000
    if guards.open_files:
        wanted["RLIMIT_NOFILE"] = _OPEN_FILES
    if guards.processes and own_uid:
        # counts all processes of the user, so it binds only where the user is the sandbox's own
        wanted["RLIMIT_NPROC"] = _PROCESSES
    pairs = {name: (value, value) for name, value in wanted.items()}
    if guards.cpu:
        # SIGXCPU at the soft limit says why; a process that ignores it is killed at the hard one
        pairs["RLIMIT_CPU"] = (limits.cpu_s, limits.cpu_s + _CPU_GRACE_S)
    return pairs


def hello(port: int, token: str, worker: str, *, limits: Limits, guards: Guards) -> dict[str, Any]:
    """What ``host.js`` reads from stdin."""
    options = {
        "guards": {
            name: to_builtins(getattr(guards, field))
            for name, field in (
                ("permissions", "permissions"),
                ("globals", "globals"),
                ("intrinsics", "intrinsics"),
                ("events", "events"),
                ("privatePort", "private_port"),
                ("stamp", "stamp"),
                ("determinism", "determinism"),
            )
        },
        "limits": {
            "result": limits.result_bytes,
            "arguments": limits.arguments_bytes,
            "nesting": limits.nesting,
            "calls": limits.calls_per_run,
            "timers": limits.timers_per_run,
        },
    }
    return {"port": port, "token": token, "worker": worker, "options": options}
