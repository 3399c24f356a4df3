"""What each tool may do and who is asked: ``permissions.yaml`` and annotations (HIL-1).

The file decides first, by server and tool pattern; then, for servers marked trusted, the
annotations that the server gives its tools; what nobody speaks of writes, reaches
everything, and needs approval.  Reference with examples: docs/reference/permissions-yaml.md.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from pml.domain.permissions import (
    ApprovalMode,
    ApprovalRules,
    Effect,
    Permission,
    PermissionRule,
    PermissionsFile,
    Scope,
    ServerPermissions,
)
from pml.domain.tools import Tool, matches
from pml.runtime.config_text import ConfigText, read_yaml

VERSION: Final = 1
_FILE_KEYS = ("version", "servers", "approvals")
_SERVER_KEYS = ("trusted", "tools")
_RULE_KEYS = ("scope", "effect", "approval_mode")
_APPROVAL_KEYS = ("agents", "ttl_s")
_LONGEST_TTL_S = 31_536_000
"""Of a request for approval; nobody remembers longer what they were asked."""

_Choice = TypeVar("_Choice", bound=StrEnum)


class Permissions:
    """Judges tools by one `PermissionsFile`.

    Invariant: a tool that no rule names needs approval.
    """

    def __init__(
        self,
        file: PermissionsFile,
        source: str,
        lines: Mapping[tuple[str, str], int | None],
        effects: frozenset[tuple[str, str]],
    ) -> None:
        """Judge by ``file``.

        Args:
            file: the rules.
            source: where they come from, for the reasons.
            lines: the line of each (server, pattern).
            effects: the (server, pattern) whose rule gives an effect.
        """
        self.file = file
        self._source = source
        self._lines = lines
        self._effects = effects

    @classmethod
    def none(cls) -> Self:
        """No file: everything needs approval."""
        return cls(PermissionsFile(version=VERSION), "", {}, frozenset())

    def of(self, tool: Tool) -> Permission:
        """What holds for ``tool``, and why."""
        server = self.file.servers.get(tool.server)
        if server is None:
            where = f"{self._source} has no server {tool.server!r}"
            reason = where if self._source else "there is no permissions.yaml"
            return Permission(tool=tool.id, reason=f"{reason}: approval is needed")
        for pattern, rule in server.tools.items():
            if matches(pattern, tool.name):
                return self._by_rule(tool, server, pattern, rule)
        effect, why = _by_annotations(tool) if server.trusted else (Effect.WRITE, "")
        reason = f"{self._source}: no pattern of server {tool.server!r} matches: approval is needed"
        return Permission(tool=tool.id, effect=effect, reason=reason + why)

    def _by_rule(
        self, tool: Tool, server: ServerPermissions, pattern: str, rule: PermissionRule
    ) -> Permission:
        effect, why = rule.effect, ""
        if (tool.server, pattern) not in self._effects and server.trusted:
            effect, why = _by_annotations(tool)
        line = self._lines.get((tool.server, pattern))
        return Permission(
            tool=tool.id,
            scope=rule.scope,
            effect=effect,
            approval_mode=rule.approval_mode,
            reason=f"{self._source}:{line}: {tool.server}: {pattern!r}{why}",
        )


def load_permissions(path: Path | None) -> Permissions:
    """Read ``permissions.yaml``; without one everything needs approval.

    Raises:
        ConfigError: unreadable, malformed, or a key or value that is none; names the line.
    """
    if path is None:
        return Permissions.none()
    text = read_yaml(path)
    top = text.mapping(text.value)
    text.known_keys(top, _FILE_KEYS)
    if top.get("version") != VERSION or isinstance(top.get("version"), bool):
        text.fail(f"expected version: {VERSION}, found {top.get('version')!r}", "version")
    servers = _optional(text, top, "servers")
    parsed = {name: _server(text, name, value) for name, value in servers.items()}
    at = {(name, pattern) for name, server in parsed.items() for pattern in server.tools}
    effects = {
        (name, pattern) for name, pattern in at if "effect" in servers[name]["tools"][pattern]
    }
    return Permissions(
        PermissionsFile(version=VERSION, servers=parsed, approvals=_approvals(text, top)),
        path.name,
        {(name, pattern): text.line("servers", name, "tools", pattern) for name, pattern in at},
        frozenset(effects),
    )


def _server(text: ConfigText, name: str, value: object) -> ServerPermissions:
    at = ("servers", name)
    fields = text.mapping(value, *at)
    text.known_keys(fields, _SERVER_KEYS, *at)
    trusted = _flag(text, fields, *at, "trusted")
    tools = _optional(text, fields, "tools", *at)
    return ServerPermissions(
        trusted=trusted,
        tools={pattern: _rule(text, (*at, "tools", pattern), tools[pattern]) for pattern in tools},
    )


def _approvals(text: ConfigText, top: Mapping[str, Any]) -> ApprovalRules:
    fields = _optional(text, top, "approvals")
    text.known_keys(fields, _APPROVAL_KEYS, "approvals")
    ttl_s = fields.get("ttl_s")
    is_whole = isinstance(ttl_s, int) and not isinstance(ttl_s, bool)
    if ttl_s is not None and not (is_whole and 0 < ttl_s <= _LONGEST_TTL_S):
        message = f"expected whole seconds, 1 to {_LONGEST_TTL_S} (a year), found {ttl_s!r}"
        text.fail(message, "approvals", "ttl_s")
    return ApprovalRules(agents=_flag(text, fields, "approvals", "agents"), ttl_s=ttl_s)


def _flag(text: ConfigText, fields: Mapping[str, Any], *path: str) -> bool:
    """The value of the field that ``path`` ends with; false where it is absent."""
    value = fields.get(path[-1], False)
    if not isinstance(value, bool):
        text.fail(f"expected true or false, found {value!r}", *path)
    return value


def _rule(text: ConfigText, at: tuple[str, ...], value: object) -> PermissionRule:
    fields = text.mapping(value, *at)
    text.known_keys(fields, _RULE_KEYS, *at)
    return PermissionRule(
        scope=_choice(text, fields, Scope.FULL, *at, "scope"),
        effect=_choice(text, fields, Effect.WRITE, *at, "effect"),
        approval_mode=_choice(text, fields, ApprovalMode.HIL, *at, "approval_mode"),
    )


def _choice(text: ConfigText, fields: Mapping[str, Any], default: _Choice, *path: str) -> _Choice:
    """The value of the field that ``path`` ends with; ``default`` where it is absent."""
    kind = type(default)
    value = text.choice(fields.get(path[-1], default.value), [item.value for item in kind], *path)
    return kind(value)


def _optional(text: ConfigText, fields: Mapping[str, Any], key: str, *at: str) -> dict[str, Any]:
    """The mapping under ``key``; empty where nothing stands there."""
    value = fields.get(key)
    return {} if value is None else text.mapping(value, *at, key)


def _by_annotations(tool: Tool) -> tuple[Effect, str]:
    """The effect that a trusted server's annotations promise; only plain ``true`` counts."""
    contradicts = tool.annotations.get("destructiveHint") is True
    if tool.annotations.get("readOnlyHint") is True and not contradicts:
        return Effect.READ, "; effect from readOnlyHint of the trusted server"
    if tool.annotations.get("idempotentHint") is True:
        return Effect.IDEMPOTENT, "; effect from idempotentHint of the trusted server"
    return Effect.WRITE, "; the trusted server's annotations promise nothing"
