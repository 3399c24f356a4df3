"""Who asks, and what they may do (OP-3, HIL-4).

Over HTTP a key says who: ``Authorization: Bearer pml_...``.  Kept are hashes only.  On an
address that only this machine reaches a request may come without one, and is then the agent
at the endpoint and a reader elsewhere; answers for a person always need a key there.  Over
stdio the client is the agent of whoever started it.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from litestar.types import Scope
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.session import ServerSession

from pml.domain.approval import ApiKey, Principal, Role
from pml.errors import NotAllowedError
from pml.store.ports import ApiKeys

HEALTH = "/health"
"""Answers without a key: whoever watches over the process has none."""
PRINCIPAL = "pml.principal"
"""Key of an HTTP scope: the `Principal` of the key that came with the request."""
_SCHEME = "bearer "
_USED_EVERY_MS = 60_000
"""A key's last use is noted so often at most: it is for people who look for unused keys."""
_LONGEST_KEY = 1_000


class UnknownKeyError(Exception):
    """The request came with a key that opens nothing, or with none where one is needed."""


def key_hash(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Keys:
    """Tells requests apart by their keys."""

    api_keys: ApiKeys
    required: bool
    """Whether nobody is served without one: other machines reach the address."""
    now_ms: Callable[[], int]

    async def admit(self, authorization: str | None, scope: Scope) -> None:
        """Note in the scope who asks.

        Raises:
            UnknownKeyError: says what was expected.
            StoreError: the database is lost.
        """
        if authorization is None:
            if self.required and scope["path"] != HEALTH:
                message = "expected `Authorization: Bearer KEY`; `pml keys create` makes a key"
                raise UnknownKeyError(message)
            return
        if not authorization.lower().startswith(_SCHEME) or len(authorization) > _LONGEST_KEY:
            message = "Authorization: expected `Bearer KEY`"
            raise UnknownKeyError(message)
        key = await self.api_keys.find(key_hash(authorization[len(_SCHEME) :].strip()))
        if key is None:
            message = "Authorization: the key is unknown or revoked; `pml keys` lists the others"
            raise UnknownKeyError(message)
        await self._note_use(key)
        scope[PRINCIPAL] = Principal(name=key.name, role=key.role)  # type: ignore[literal-required]
        # By this the SDK binds a session to the key that began it.
        token = AccessToken(token=key.id, client_id=key.id, scopes=[key.role])
        scope["user"] = AuthenticatedUser(token)

    async def _note_use(self, key: ApiKey) -> None:
        now_ms = self.now_ms()
        if key.used_at_ms is None or now_ms - key.used_at_ms > _USED_EVERY_MS:
            await self.api_keys.used(key.id, now_ms=now_ms)


def principal_of(scope: Scope | None, session: ServerSession) -> Principal:
    """Who calls a tool; without a key an agent, by the name that its client gives itself."""
    found = None if scope is None else scope.get(PRINCIPAL)
    if isinstance(found, Principal):
        return found
    params = session.client_params
    return Principal(name=params.client_info.name if params else "agent", role=Role.AGENT)


def person_at(scope: Scope | None, session: ServerSession) -> Principal:
    """Who answers a form that the client shows.

    Without a key it is the person at this machine.  With one it is whoever holds the key, and
    may no more than the key: that a person has answered is what the client says.
    """
    by = principal_of(scope, session)
    keyed = scope is not None and PRINCIPAL in scope
    return Principal(name=f"user of {by.name}", role=by.role if keyed else Role.APPROVER)


def must_be(needed: Role, by: Principal, what: str) -> None:
    """Refuse who has not the role.

    Raises:
        NotAllowedError: says which role it takes.
    """
    if not by.role.may(needed):
        message = f"{by.name} is {by.role}, and to {what} takes the role {needed}"
        raise NotAllowedError(message)
