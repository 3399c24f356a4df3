"""Who answers first, what is remembered, and what the audit log says of it (HIL-3, HIL-4)."""

import asyncio
from collections.abc import Sequence

import pytest

from pml.domain.approval import Approval, ApprovalState, AuditEvent, GrantScope
from pml.errors import ApprovalStateError, FencedError, NotFoundError
from pml.store.ports import Store
from tests.store.nouns import a_grant, a_program, a_run, an_api_key, an_approval

ENDS = {AuditEvent.GRANTED, AuditEvent.REFUSED, AuditEvent.EXPIRED, AuditEvent.WITHDRAWN}


async def asked(store: Store, *calls: int) -> Approval:
    await store.runs.create(a_run(), a_program())
    await store.approvals.ask(an_approval(calls=calls), epoch=0)
    return await store.approvals.get("ask-1")


async def told(store: Store) -> list[AuditEvent]:
    """What the audit log says, the first first."""
    return [entry.event for entry in reversed(await store.audit.recent(99))]


def ended(events: Sequence[AuditEvent]) -> list[AuditEvent]:
    return [event for event in events if event in ENDS]


async def test_an_approval_comes_back_as_it_was_asked(any_store: Store) -> None:
    found = await asked(any_store, 3, 1)
    assert found == an_approval(calls=(3, 1))
    assert await any_store.approvals.pending(9) == (found,)
    (entry,) = await any_store.audit.recent(9)
    assert (entry.at_ms, entry.event, entry.actor, entry.run_id) == (
        1_000,
        AuditEvent.ASKED,
        "pml",
        "run-1",
    )
    assert entry.arguments_hmac == found.arguments_hmac
    assert entry.detail == {"approvalId": "ask-1", "tools": ["fs:write\x00"], "calls": [3, 1]}


@pytest.mark.parametrize("round_", range(5))
async def test_of_many_approvers_one_answer_holds(any_store: Store, round_: int) -> None:
    await asked(any_store)
    answers = [
        any_store.approvals.decide(
            "ask-1", granted=number % 2 == round_ % 2, by=f"p{number}", now_ms=2
        )
        for number in range(8)
    ]
    outcomes = await asyncio.gather(*answers, return_exceptions=True)
    held = [outcome for outcome in outcomes if isinstance(outcome, Approval)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, ApprovalStateError)]
    assert (len(held), len(refused)) == (4, 4)
    assert set(held) == {await any_store.approvals.get("ask-1")}
    assert len(ended(await told(any_store))) == 1


async def test_an_answer_and_the_end_of_its_time_exclude_each_other(any_store: Store) -> None:
    await asked(any_store)
    outcomes = await asyncio.gather(
        any_store.approvals.expire(9_000),
        any_store.approvals.decide("ask-1", granted=True, by="ada", now_ms=8_999),
        any_store.approvals.withdraw("run-1", now_ms=5),
        any_store.approvals.expire(9_001),
        return_exceptions=True,
    )
    state = (await any_store.approvals.get("ask-1")).state
    assert state is not ApprovalState.PENDING
    assert isinstance(outcomes[1], ApprovalStateError) == (state is not ApprovalState.GRANTED)
    assert ended(await told(any_store)) == [AuditEvent(state.value)]


async def test_an_answer_that_comes_too_late_is_refused(any_store: Store) -> None:
    await asked(any_store)
    with pytest.raises(ApprovalStateError, match="approval ask-1 is expired"):
        await any_store.approvals.decide("ask-1", granted=True, by="ada", now_ms=9_000)
    assert await any_store.approvals.expire(8_999) == ()
    (over,) = await any_store.approvals.expire(9_000)
    assert (over.state, over.decided_at_ms) == (ApprovalState.EXPIRED, 9_000)
    assert await any_store.approvals.expire(9_000) == ()


async def test_the_same_answer_again_returns_the_first(any_store: Store) -> None:
    await asked(any_store)
    decide = any_store.approvals.decide
    first = await decide("ask-1", granted=False, by="ada", note="password=hunter2xyz", now_ms=2_000)
    assert (first.state, first.decided_by, first.decided_at_ms, first.note) == (
        ApprovalState.REFUSED,
        "ada",
        2_000,
        "password=[REDACTED]",
    )
    assert await decide("ask-1", granted=False, by="bob", now_ms=99_999) == first
    with pytest.raises(ApprovalStateError, match="is refused and cannot"):
        await decide("ask-1", granted=True, by="bob", now_ms=3_000)
    with pytest.raises(NotFoundError, match="no approval 'other'"):
        await decide("other", granted=True, by="bob", now_ms=3_000)
    assert await told(any_store) == [AuditEvent.ASKED, AuditEvent.REFUSED]


async def test_of_one_run_one_request_waits(any_store: Store) -> None:
    await asked(any_store)
    ask = any_store.approvals.ask
    more = [ask(an_approval(f"ask-{number}"), epoch=0) for number in range(2, 9)]
    await asyncio.gather(*more)
    states = [one.state for one in await any_store.approvals.of_run("run-1")]
    assert states.count(ApprovalState.PENDING) == 1
    assert states.count(ApprovalState.WITHDRAWN) == 7
    await any_store.approvals.withdraw("run-1", now_ms=5)
    await any_store.approvals.withdraw("run-1", now_ms=6)
    assert await any_store.approvals.pending(9) == ()
    assert len(await told(any_store)) == 16


async def test_what_cannot_be_asked_changes_nothing(any_store: Store) -> None:
    await asked(any_store)
    for approval, message in (
        (an_approval("ask-1"), "there is an approval 'ask-1' already"),
        (an_approval("ask-2", "other"), "there is no run 'other' to be approved"),
        (an_approval("ask-2", state=ApprovalState.GRANTED), "expected a pending one"),
    ):
        with pytest.raises(ValueError, match=message):
            await any_store.approvals.ask(approval, epoch=0)
    assert [one.id for one in await any_store.approvals.pending(9)] == ["ask-1"]
    assert await told(any_store) == [AuditEvent.ASKED]


async def test_who_lost_a_run_asks_nothing_of_it_any_more(any_store: Store) -> None:
    """OP-4: and withdraws nothing of what its new owner asked."""
    await asked(any_store)
    run = await any_store.runs.get("run-1")
    assert (await any_store.runs.claim(run, owner="host/2", now_ms=2)).epoch == 1
    await any_store.approvals.ask(an_approval("ask-2"), epoch=1)
    with pytest.raises(FencedError, match="run run-1 was taken over"):
        await any_store.approvals.ask(an_approval("ask-3"), epoch=0)
    assert [one.id for one in await any_store.approvals.pending(9)] == ["ask-2"]
    assert await told(any_store) == [AuditEvent.ASKED, AuditEvent.WITHDRAWN, AuditEvent.ASKED]


async def test_who_makes_and_revokes_keys_is_in_the_audit_log(any_store: Store) -> None:
    """HIL-3: once for each change; the keys themselves, and their hashes, are not."""
    keys = any_store.api_keys
    await keys.create(an_api_key(), key_hash="ab12", by="ada")
    with pytest.raises(ValueError, match="there is an API key"):
        await keys.create(an_api_key(), key_hash="cd", by="ada")
    for by in ("bob", "cid"):
        await keys.revoke("key-1", now_ms=7_000, by=by)
    with pytest.raises(NotFoundError, match="none"):
        await keys.revoke("none", now_ms=7_000, by="bob")
    revoked, created = await any_store.audit.recent(9)
    assert (created.event, created.actor) == (AuditEvent.KEY_CREATED, "ada")
    assert (revoked.event, revoked.actor) == (AuditEvent.KEY_REVOKED, "bob")
    assert (created.at_ms, revoked.at_ms) == (an_api_key().created_at_ms, 7_000)
    for entry in (created, revoked):
        assert entry.detail["keyId"] == "key-1"
        assert "ab12" not in repr(entry)


async def test_a_grant_holds_until_it_is_over_or_revoked(any_store: Store) -> None:
    grants = [a_grant("b"), a_grant("a"), a_grant("for-ever", granted_at_ms=1, expires_at_ms=None)]
    for grant in grants:
        await any_store.grants.remember(grant)
    with pytest.raises(ValueError, match="there is a grant 'b' already"):
        await any_store.grants.remember(a_grant("b", granted_by="bob"))
    assert await any_store.grants.all() == (grants[1], grants[0], grants[2])
    assert await any_store.grants.active(8_999) == (grants[2], grants[1], grants[0])
    assert await any_store.grants.active(9_000) == (grants[2],)
    revokes = [any_store.grants.revoke("a", by=f"p{n}", now_ms=5) for n in range(8)]
    assert len(set(map(repr, await asyncio.gather(*revokes)))) == 1
    assert [one.id for one in await any_store.grants.active(6)] == ["for-ever", "b"]
    with pytest.raises(NotFoundError, match="no grant 'x'"):
        await any_store.grants.revoke("x", by="ada", now_ms=5)
    assert (await told(any_store)).count(AuditEvent.REVOKED) == 1


async def test_secrets_stay_out_of_the_audit_log(any_store: Store) -> None:
    """ST-5: a grant holds the values that it compares with, the log of it does not."""
    scope = GrantScope(tool="fs:*", arguments={"password": "hunter2hunter2"})
    await any_store.grants.remember(a_grant(scope=scope))
    (entry,) = await any_store.audit.recent(1)
    assert entry.detail["scope"]["arguments"] == {"password": "[REDACTED]"}
    assert (await any_store.grants.all())[0].scope == scope


async def test_a_key_opens_until_it_is_revoked(any_store: Store) -> None:
    keys = any_store.api_keys
    await keys.create(an_api_key(), key_hash="ab")
    for key, sha in ((an_api_key("next"), "cd"), (an_api_key(name="x"), "cd"),
                     (an_api_key("k3", name="y"), "ab")):  # fmt: skip
        with pytest.raises(ValueError, match="there is an API key"):
            await keys.create(key, key_hash=sha)
    await keys.used("key-1", now_ms=5)
    await keys.used("key-1", now_ms=3)
    await keys.used("none", now_ms=3)
    assert await keys.find("ab") == an_api_key(used_at_ms=5)
    assert await keys.find("cd") is None
    revoked = await keys.revoke("key-1", now_ms=7)
    assert (
        await keys.revoke("key-1", now_ms=8) == revoked == an_api_key(used_at_ms=5, revoked_at_ms=7)
    )
    assert await keys.find("ab") is None
    await keys.create(an_api_key("next"), key_hash="cd")
    assert [key.id for key in await keys.all()] == ["key-1", "next"]
    with pytest.raises(NotFoundError, match="no API key 'x'"):
        await keys.revoke("x", now_ms=1)


async def test_hashes_tell_equal_values_and_nothing_else(any_store: Store) -> None:
    assert any_store.hmac("a") == any_store.hmac("a") != any_store.hmac("b")
    assert len(any_store.hmac("\ud800")) == 64
