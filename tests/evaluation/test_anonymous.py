"""An anonymous trace tells how, and what was equal to what, and nothing else (RW-5, ST-5)."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given

from pml.domain.record import encode
from pml.domain.run import RunState
from pml.domain.trace import ExecutionTrace
from pml.evaluation.anonymity import VALUE_TOKEN, breach, vocabulary
from pml.evaluation.anonymous import KEY_BYTES, Anonymiser
from tests.evaluation.random_traces import CANARY, TOOLS, traces

EPOCH_MS = 10**12
KEY = bytes(range(KEY_BYTES))


def anonymiser(key: bytes = KEY, *, keep_intents: bool = False) -> Anonymiser:
    return Anonymiser(key, TOOLS, keep_intents=keep_intents)


def scalars(value: Any) -> Iterator[Any]:  # noqa: ANN401  # JSON
    """In order; what stands under which key does not matter."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner)
    else:
        yield value


@given(traces())
def test_no_text_and_no_number_of_a_trace_is_left(trace: ExecutionTrace) -> None:
    """Every text that is not a tool's own holds the canary; numbers are too long for chance."""
    text = encode(anonymiser().trace(trace, epoch_ms=EPOCH_MS)).decode()

    values = [trace.initial_context, *((t.args, t.result) for t in trace.task_results)]
    numbers = [n for n in scalars(json.loads(encode(values))) if type(n) in (int, float)]
    assert CANARY not in text.lower()
    assert [n for n in numbers if json.dumps(n) in text or str(int(n)) in text] == []


@given(traces())
def test_what_it_makes_is_all_that_is_let_in(trace: ExecutionTrace) -> None:
    public = vocabulary(TOOLS)

    assert breach(anonymiser().trace(trace, epoch_ms=EPOCH_MS), public) is None
    assert breach(trace, public) is not None


@given(traces())
def test_equal_values_stay_equal_and_different_ones_different(trace: ExecutionTrace) -> None:
    made = anonymiser().trace(trace, epoch_ms=EPOCH_MS)

    tokens: dict[str, set[Any]] = {}
    for before, after in zip(trace.task_results, made.task_results, strict=True):
        for value, token in zip(
            scalars([before.args, before.result]), scalars([after.args, after.result]), strict=True
        ):
            tokens.setdefault(str(token), set()).add((type(value), value))
    assert [values for values in tokens.values() if len(values) > 1] == []


@given(traces())
def test_two_exports_have_nothing_in_common(trace: ExecutionTrace) -> None:
    one, other = (
        set(VALUE_TOKEN.findall(encode(made.trace(trace, epoch_ms=EPOCH_MS)).decode()))
        for made in (anonymiser(), anonymiser(bytes(KEY_BYTES)))
    )

    assert one.isdisjoint(other)


@given(traces())
def test_what_is_learned_from_stays_as_it_is(trace: ExecutionTrace) -> None:
    made = anonymiser().trace(trace, epoch_ms=EPOCH_MS)

    kept = ("success", "state", "duration_ms", "priority", "exploratory", "dry_run")
    assert [getattr(made, name) for name in kept] == [getattr(trace, name) for name in kept]
    assert made.executed_at_ms == trace.executed_at_ms - EPOCH_MS
    assert len(made.executed_path) == len(trace.executed_path)
    for before, after in zip(trace.task_results, made.task_results, strict=True):
        assert (before.success, before.attempts) == (after.success, after.attempts)
        assert before.tool == after.tool or before.tool not in {tool.id for tool in TOOLS}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("/home/me/notes.md", "path-md:3"),
        ("ada@example.com", "email:2"),
        (48_213, "integer:3"),
        (True, "boolean:0"),
        ("#payments-prod", "channel-production:2"),
        ("[REDACTED]", "redacted:2"),
    ],
)
def test_a_token_says_the_form_and_the_step_of_the_size(value: object, form: str) -> None:
    token = anonymiser().value(value)

    assert VALUE_TOKEN.fullmatch(token)
    assert token.rpartition(":")[0] == form


def test_a_number_and_its_text_have_one_digest() -> None:
    made = anonymiser()

    digests = {made.value(value).rpartition(":")[2] for value in (42, 42.0, "42")}

    assert len(digests) == 1


def test_words_of_tools_stay_in_an_intent_and_others_become_comparable_tokens() -> None:
    made = anonymiser()

    one = made.intent("Read Ada's files, send line 7 to invoicing").split()
    other = made.intent("send the invoices to Grace").split()

    assert one[:1] + one[3:6] == ["read", "files", "send", "line"]
    assert one[-1] == other[2]
    assert other[-1] not in one
    assert "7" not in one
    assert [word for word in one if word in ("ada", "invoicing")] == []


def test_intents_stay_where_that_is_asked_for() -> None:
    assert anonymiser(keep_intents=True).intent("Read Ada's files") == "Read Ada's files"


def test_a_value_that_was_too_large_stays_marked() -> None:
    made = anonymiser().value({"_truncated": True, "_originalSize": 90_001})

    assert made == {"_truncated": True}


def _trace(trace_id: str) -> ExecutionTrace:
    return ExecutionTrace(
        id=trace_id,
        run_id=trace_id,
        intent_text="",
        executed_at_ms=0,
        success=True,
        state=RunState.SUCCESS,
        duration_ms=1,
        executed_path=(),
        decisions=(),
        task_results=(),
    )


def test_links_between_traces_stay() -> None:
    made = anonymiser()
    parent = _trace("a")
    child = msgspec.structs.replace(_trace("b"), parent_trace_id="a", capability_id="c")

    assert made.trace(child, epoch_ms=0).parent_trace_id == made.trace(parent, epoch_ms=0).id
    assert made.trace(child, epoch_ms=0).id != made.trace(parent, epoch_ms=0).id


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes, not 5"):
        Anonymiser(b"short", TOOLS)
