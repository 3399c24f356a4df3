"""What `pml doctor` looks at: each check tries the real thing and says how to mend it."""

import asyncio
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from pml.cli.check import Check, failed, noted, ok
from pml.cli.checks_around import check_clients, check_encoder, check_port
from pml.cli.clients import this_machine
from pml.cli.table import duration
from pml.errors import PmlError
from pml.serve.compose import Settings

ENOUGH_BYTES = 500_000_000
"""An embedded database and its log grow to about 100 MB before anything is kept in it."""


async def check_all(settings: Settings) -> tuple[Check, ...]:
    """Every check, in the order in which they build on each other."""
    checks = [_python(), _data_dir(settings.data_dir)]
    checks.append(await check_deno())
    checks.append(await _guarded("sandbox", lambda: _sandbox(settings), _MEND_SANDBOX))
    checks.append(await _guarded("database", lambda: _database(settings), _MEND_DATABASE))
    checks.append(await _guarded("changed tools", lambda: _changed_tools(settings), _MEND_DATABASE))
    checks.append(await _guarded("permissions", lambda: _permissions(settings), _MEND_FILE))
    try:
        checks += await _servers(settings)
    except PmlError as exc:
        checks.append(failed("servers", str(exc), _MEND_FILE))
    checks.append(await asyncio.to_thread(check_encoder, settings))
    checks.append(check_port())
    checks += check_clients(this_machine())
    return tuple(checks)


_MEND_SANDBOX = "run `pml sandbox-selftest` for details"
_MEND_DATABASE = "free the data folder, name another with --data-dir, or set PML_DATABASE_URL"
_MEND_FILE = "mend the line that the message names"


async def _guarded(name: str, check: Callable[[], Awaitable[Check]], mend: str) -> Check:
    try:
        return await check()
    except PmlError as exc:
        return failed(name, str(exc), mend)


def _python() -> Check:
    return ok("python", f"{platform.python_version()} at {sys.executable}")


def _data_dir(folder: Path) -> Check:
    """How much room there is; that it can be written was checked on the way here."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(nearest).free
    found = f"{folder}, {free / 1e9:.1f} GB free"
    if free < ENOUGH_BYTES:
        return noted("data folder", found, f"free some space: {ENOUGH_BYTES / 1e9:g} GB is enough")
    return ok("data folder", found)


async def check_deno() -> Check:
    """Whether Deno answers, and which it is."""
    from pml.runtime.sandbox.child import Child
    from pml.runtime.sandbox.tier import find_deno

    mend = "reinstall it: `pip install --force-reinstall deno`"
    said = bytearray()
    try:
        binary = find_deno()
        child = Child([str(binary), "--version"], said.extend)
    except (OSError, PmlError) as exc:
        return failed("deno", f"does not start: {exc}", mend)
    try:
        child.send(b"")
        answered, _ = await asyncio.wait([child.ended], timeout=DENO_TIMEOUT_S)
    finally:
        await child.end()
    found = _DENO_VERSION.match(said)
    if found is None:
        last = said.decode(errors="replace").strip()[-200:] or f"exit status {child.returncode}"
        return failed("deno", f"does not start: {last if answered else 'no answer'}", mend)
    return ok("deno", f"{found[1].decode()} at {binary}")


_DENO_VERSION = re.compile(rb"deno (\S+)")
DENO_TIMEOUT_S = 30
"""It answers in 10 ms; a first start from a cold disk takes seconds."""


async def _sandbox(settings: Settings) -> Check:
    from pml.runtime.reaper import Reaper
    from pml.runtime.sandbox.pool import SandboxPool

    started = time.perf_counter()
    async with AsyncExitStack() as stack:
        reaper = Reaper.start()
        stack.callback(reaper.close)
        pool = SandboxPool(limits=settings.limits, reaper=reaper, size=1)
        await stack.enter_async_context(pool)
        await stack.enter_async_context(pool.checkout())
        took = duration((time.perf_counter() - started) * 1_000)
        summary = pool.tier.summary()
    return ok("sandbox", f"started in {took}; {summary}")


async def _database(settings: Settings) -> Check:
    from pml.serve.compose import open_store

    started = time.perf_counter()
    async with open_store(settings) as store:
        runs = await store.runs.recent(1)
        took = duration((time.perf_counter() - started) * 1_000)
    kind = "the server of PML_DATABASE_URL" if settings.database_url else "embedded PostgreSQL"
    return ok("database", f"{kind}, ready in {took}, {'has runs' if runs else 'no runs yet'}")


async def _changed_tools(settings: Settings) -> Check:
    """Tools that nobody can call until somebody has looked at what changed (HIL-5)."""
    from pml.serve.compose import open_store

    async with open_store(settings) as store:
        held = [each.now.id for each in await store.tool_schemas.quarantined()]
    if not held:
        return ok("changed tools", "every tool is described as it was accepted")
    mend = f"`pml tools {' '.join(held)} --accept` shows what changed and accepts it"
    return noted("changed tools", f"quarantined: {', '.join(held)}", mend)


async def _permissions(settings: Settings) -> Check:
    from pml.runtime.permissions import load_permissions

    if settings.permissions is None:
        found = "no permissions.yaml: every tool needs a person's approval"
        return noted("permissions", found, "write one: docs/how-to/own-servers.md")
    load_permissions(settings.permissions)
    return ok("permissions", str(settings.permissions))


async def _servers(settings: Settings) -> Sequence[Check]:
    """One check per configured server.

    Raises:
        ConfigError: mcp.json cannot be used.
    """
    from pml.runtime.reaper import Reaper
    from pml.runtime.upstream.config import load_servers
    from pml.runtime.upstream.servers import Upstreams
    from pml.store.memory import memory_store

    if settings.config is None:
        mend = "name some in mcp.json, or take over a client's: `pml servers import cursor`"
        return [noted("servers", "no mcp.json: programs have no tools", mend)]
    configs = load_servers(settings.config, os.environ)
    async with AsyncExitStack() as stack:
        reaper = Reaper.start()
        stack.callback(reaper.close)
        upstreams = await stack.enter_async_context(
            Upstreams(
                configs, limits=settings.limits, reaper=reaper, sink=memory_store().tool_schemas
            )
        )
        await upstreams.connect(upstreams.names)
        return [
            failed(f"server {server.name}", server.error, "`pml servers` shows its last words")
            if server.error
            else ok(f"server {server.name}", f"{server.tools or 0} tools")
            for server in upstreams.status()
        ]
