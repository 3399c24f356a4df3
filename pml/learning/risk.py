"""How much harm a call of a tool can do (LE-4): what people and servers say first, words second.

``permissions.yaml`` decides where it speaks of the tool, then the annotations of a server that
is marked trusted (HIL-1), then the words of the name: whole words, since substrings lie
(`information` holds `format`).  Of words the worst decides (`get_or_delete` deletes), and a
name that says nothing is moderate: only what is known to read is safe.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from pml.domain.permissions import ApprovalMode, Effect, Permission, Scope
from pml.domain.tools import Tool


class Risk(StrEnum):
    """How much harm a wrong call does."""

    SAFE = "safe"
    """Changes nothing."""
    MODERATE = "moderate"
    """Changes something that can be put right."""
    DANGEROUS = "dangerous"
    """Destroys, spends, speaks to others, or runs what it is given."""

    __hash__ = str.__hash__  # as a key of a dict four times as fast as that of `Enum`


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DESTROYS: Final = _words(
    "delete remove destroy erase wipe purge truncate unlink rm rmdir revoke uninstall "
    "overwrite terminate kill shutdown reboot rollback deactivate ban"
)
"""What was there is gone, and nothing in the call brings it back."""
EXECUTES: Final = _words("execute exec eval invoke sudo shell bash powershell deploy inject spawn")
"""Does whatever its arguments say, so nothing is known of what it does."""
SPENDS: Final = _words("pay purchase buy withdraw refund donate sell wire charge checkout")
"""Moves money."""
SPEAKS: Final = _words("send publish broadcast tweet email notify invite reply")
"""Others read it at once; it cannot be called back."""
DANGEROUS_ANYWHERE: Final = DESTROYS | EXECUTES | SPENDS
DANGEROUS_AS_VERB: Final = SPEAKS | _words(
    "run drop reset format force push merge transfer order book grant stop cancel clear"
)
"""Nouns and adjectives too (`get_run`, `list_orders`, `find_order`): only where a verb stands,
at the beginning and after `and`, `or`, `then`."""
CHANGES: Final = _words(
    "create write update set add insert edit put post patch move rename copy save upload "
    "import append modify replace upsert commit sync apply assign attach configure enable "
    "disable register subscribe schedule reserve submit start open close archive mark label "
    "generate fork restore log login logout store increment touch mkdir"
)
"""Something is different afterwards, and can be made as it was."""
READS: Final = _words(
    "get list read search find fetch show describe view query count check lookup look info "
    "status stat stats head peek inspect summarize summary retrieve browse explore scan "
    "select compare validate verify preview explain analyze calculate compute convert parse "
    "extract download export diff help ping version whoami exists has is translate resolve "
    "recommend track"
)
"""Nothing is different afterwards."""
_VERB_FOLLOWS = frozenset(("and", "or", "then"))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def risk_of(tool: Tool, permission: Permission | None = None, *, trusted: bool = False) -> Risk:
    """The risk of calling ``tool``.

    Args:
        tool: as its server describes it.
        permission: what ``permissions.yaml`` says of it; None where it has no entry, since then
            a `Permission` holds nothing but cautious defaults.
        trusted: whether the server's annotations count.
    """
    if permission is not None:
        return _by_permission(tool, permission)
    known = _by_annotations(tool.annotations) if trusted else None
    return risk_of_name(tool.name) if known is None else known


def risk_of_name(name: str) -> Risk:
    """What the words of a name say."""
    words = [word.lower() for word in _WORD.findall(name)]
    verbs = {
        word
        for before, word in zip([None, *words], words, strict=False)
        if before is None or before in _VERB_FOLLOWS
    }
    if not DANGEROUS_ANYWHERE.isdisjoint(words) or not DANGEROUS_AS_VERB.isdisjoint(verbs):
        return Risk.DANGEROUS
    if not CHANGES.isdisjoint(verbs):
        return Risk.MODERATE
    return Risk.MODERATE if READS.isdisjoint(verbs) else Risk.SAFE


def _by_permission(tool: Tool, permission: Permission) -> Risk:
    """The effect decides; of what writes, a full scope or the name says whether it is dangerous.

    A tool for which a person wants to be asked is not safe, whatever its effect.
    """
    if permission.effect is Effect.READ:
        asks = permission.approval_mode is ApprovalMode.HIL
        return Risk.MODERATE if asks else Risk.SAFE
    if permission.effect is Effect.WRITE and permission.scope is Scope.FULL:
        return Risk.DANGEROUS
    named = risk_of_name(tool.name)
    return Risk.DANGEROUS if named is Risk.DANGEROUS else Risk.MODERATE


def _by_annotations(annotations: Mapping[str, Any]) -> Risk | None:
    """MCP's hints; None where there is none that says how bad it can be.

    The protocol takes a missing `destructiveHint` of a tool that writes for true; a server that
    set no hint at all has not thought of it, and the name decides.
    """
    if annotations.get("readOnlyHint") is True:
        return Risk.SAFE
    match annotations.get("destructiveHint"):
        case True:
            return Risk.DANGEROUS
        case False:
            return Risk.MODERATE
    return Risk.DANGEROUS if annotations.get("readOnlyHint") is False else None
