"""Dry runs: tools that would change the world answer with mocks, the others run (EX-6).

What is mocked is decided in one place, `DryRun`, from the permissions: every tool whose effect is
not ``read``, and whatever the request gives a mock for.  A mock does nothing to the world, so to
the broker it is a read that needs no approval: no dry run is ever in doubt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from pml.analysis.schema_sample import ABSENT, sample
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.json_text import flaw
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import ApprovalMode, Effect, Permission, Scope
from pml.domain.record import JsonText, encode
from pml.domain.run import Issued, Outcome, Returned
from pml.domain.tools import Catalog, Tool, matches
from pml.runtime.calls import CallsTools
from pml.runtime.config_text import read_yaml
from pml.runtime.plan import JudgesTools

VERSION: Final = 1
DEFAULT: Final[Mapping[str, Any]] = {"success": True, "mocked": True}
"""Of a tool of which nothing is known."""

Mocks = Mapping[str, JsonText]
"""What tools answer, by ``server:tool`` or a pattern of it (``*``, ``?``)."""


def mock_for(mocks: Mocks, tool_id: str) -> JsonText | None:
    """The mock that means the tool: its own, else that of the first pattern that matches."""
    if tool_id in mocks:
        return mocks[tool_id]
    return next((text for pattern, text in mocks.items() if matches(pattern, tool_id)), None)


def mock_problem(mocks: Mapping[str, Any], limits: Limits) -> str | None:
    """What is wrong with mocks that somebody gave, or None; begins with the pattern."""
    for pattern, value in mocks.items():
        server, _, tool = pattern.partition(":")
        if pattern != "*" and not (server and tool):
            return f"{pattern}: expected server:tool or a pattern such as github:*"
        if value == []:
            return f"{pattern}: expected a value, or a list with one value per call, got []"
        try:
            reason = flaw(encode(value).decode(), limits)
        except (TypeError, ValueError, RecursionError) as exc:
            reason = f"is no JSON: {exc}"
        if reason:
            return f"{pattern}: the value {reason}"
    return None


def as_texts(mocks: Mapping[str, Any]) -> dict[str, JsonText]:
    """Mocks as they are kept with a run."""
    return {pattern: encode(value).decode() for pattern, value in mocks.items()}


def load_mocks(path: Path | None, limits: Limits) -> Mocks:
    """Read ``mocks.yaml``: ``version: 1`` and ``mocks``, by tool or pattern.

    Raises:
        ConfigError: unreadable, malformed, or a value that is no JSON; names the line.
    """
    if path is None:
        return {}
    text = read_yaml(path)
    top = text.mapping(text.value)
    text.known_keys(top, ("version", "mocks"))
    if top.get("version") != VERSION or isinstance(top.get("version"), bool):
        text.fail(f"expected version: {VERSION}, found {top.get('version')!r}", "version")
    mocks = text.mapping(top.get("mocks") or {}, "mocks")
    for pattern, value in mocks.items():
        if problem := mock_problem({pattern: value}, limits):
            text.fail(problem.removeprefix(f"{pattern}: "), "mocks", pattern)
    return as_texts(mocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Permissions of a dry run: what is mocked is a read, and needs nobody's approval."""

    judge: JudgesTools
    """The permissions in force."""
    catalog: Catalog
    requested: Mocks
    """Of the request: they also answer for tools that only read."""
    configured: Mocks
    """Of ``mocks.yaml``: for tools that are mocked anyway."""
    _made: dict[str, JsonText] = field(default_factory=dict)

    def mocked(self, tool: Tool) -> bool:
        """Whether calls of the tool go to no server; a capability runs dry itself."""
        if mock_for(self.requested, tool.id) is not None:
            return True
        return tool.server != CAPABILITY_SERVER and self.judge.of(tool).effect is not Effect.READ

    def of(self, tool: Tool) -> Permission:
        """What holds for the tool in this run."""
        if not self.mocked(tool):
            return self.judge.of(tool)
        return Permission(
            tool=tool.id,
            scope=Scope.MINIMAL,
            effect=Effect.READ,
            approval_mode=ApprovalMode.AUTO,
            reason="mocked: this is a dry run",
        )

    def value(self, tool: Tool, occurrence: int) -> JsonText:
        """What the call answers that is the tool's ``occurrence``-th in the run, from 1.

        A list has one value for each call, the last one for all that follow.
        """
        for mocks in (self.requested, self.configured):
            text = mock_for(mocks, tool.id)
            if text is not None and not text.startswith("["):
                return text
            if text is not None:
                items = msgspec.json.decode(text, type=list[msgspec.Raw])
                return bytes(items[min(occurrence, len(items)) - 1]).decode()
        if tool.id not in self._made:
            made = _made_up(tool)
            self._made[tool.id] = encode(DEFAULT if made is ABSENT else made).decode()
        return self._made[tool.id]


def _made_up(tool: Tool) -> Any:  # noqa: ANN401  # JSON
    """A value as code would see it, from what is known of the tool's results."""
    if tool.output_schema is None:
        schema = tool.observed_schema
        return ABSENT if schema is None else sample(schema, tool.name)
    made = sample(tool.output_schema, tool.name)
    return made["result"] if made is not ABSENT and tool.wraps_result() else made


@dataclass(slots=True, kw_only=True)
class MockedCalls:
    """Answers the calls of a dry run: mocks where they are due, ``calls`` for the rest."""

    calls: CallsTools
    dry_run: DryRun
    ledger: Ledger
    """Of the run: says which of its tool's calls a call is, after a resume too."""
    _counted: dict[str, int] = field(default_factory=dict)
    _occurrences: list[int] = field(default_factory=list)

    async def ready(self, server: str) -> None:
        """Nothing: which tool is meant is not known yet, and a mock needs no server."""

    async def call(self, issued: Issued) -> Outcome:
        """Make one attempt, or answer with a mock.

        Raises:
            UpstreamUnavailableError: nothing was sent.
            OutcomeUnknownError: nobody knows what it did.
        """
        tool = self.dry_run.catalog.find(issued.tool)
        if tool is None or not self.dry_run.mocked(tool):
            await self.calls.ready(issued.tool.partition(":")[0])
            return await self.calls.call(issued)
        value = self.dry_run.value(tool, self._occurrence(issued))
        return Returned(value=value, mocked=True)

    def _occurrence(self, issued: Issued) -> int:
        for call in self.ledger.calls[len(self._occurrences) : issued.call + 1]:
            tool = call.issued.tool
            self._counted[tool] = self._counted.get(tool, 0) + 1
            self._occurrences.append(self._counted[tool])
        return self._occurrences[issued.call]
