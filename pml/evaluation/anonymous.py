"""Traces without what they were about: who may read an export learns how, not what.

The one idea: equal values stay equal within one export and nothing else of them is left.  A value
becomes a token of its form (`pml.features.value_kinds`, a closed vocabulary) and a keyed digest;
the key is random and kept nowhere, so nobody can try values out, and tokens of two exports have
nothing to do with each other.  That result and argument were one value can still be seen, so
data flow stays provable (`pml.evaluation.trace_sets`).

What stays: names of tools that are listed, names of fields that tools declare, how lists and
objects are nested, outcomes, codes of errors, durations, and times since the first trace.  Of an
intent those words stay that the tools' own names, descriptions and parameters use; any other
word, and any with a digit, is a token, the same one wherever its stem comes up, so that intents
can still be compared.  What is left to see: which values are equal, how often each comes, the
step of a text's or number's size, and a name that is also a word of a tool's description.

Reference: keyed BLAKE2b (M.-J. Saarinen, J.-P. Aumasson, RFC 7693, section 2.9), which is a
message authentication code as HMAC is, at a third of the cost.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from pml.discovery.words import Words, split
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.tools import Tool
from pml.domain.trace import BranchDecision, ExecutionTrace, TaskResult
from pml.evaluation.anonymity import (
    CASE,
    ERROR_CODES,
    ID_BYTES,
    OTHER_CODE,
    OUTCOMES,
    SITE,
    TRUNCATED,
    UNKNOWN_SERVER,
    VALUE_BYTES,
    vocabulary,
)
from pml.features.value_kinds import value_pattern

KEY_BYTES = 32
_LETTERS = "bcfhjkmpqvwxz"
"""Of which words are made that no stemmer shortens."""
_WORD_LETTERS = 12


class Anonymiser:
    """Turns traces into ones without values.

    Invariant: the same value, id or word gives the same token, as long as the object lives.
    """

    def __init__(self, key: bytes, tools: Iterable[Tool], *, keep_intents: bool = False) -> None:
        """``key`` of `KEY_BYTES` random bytes, to be thrown away; ``tools`` are what is public."""
        if len(key) != KEY_BYTES:
            msg = f"the key has to have {KEY_BYTES} bytes, not {len(key)}"
            raise ValueError(msg)
        self._key = key
        self._keep_intents = keep_intents
        self._stems = Words(stop_words=frozenset())
        self._public = vocabulary(tools)

    def trace(self, trace: ExecutionTrace, *, epoch_ms: int) -> ExecutionTrace:
        """The trace without values; times count from ``epoch_ms``, which is not later."""
        token = self.id("trace", trace.id)
        parent, capability = trace.parent_trace_id, trace.capability_id
        error = trace.error_message
        return msgspec.structs.replace(
            trace,
            id=token,
            run_id=token,
            user_id="local",
            capability_id=None if capability is None else self.id("capability", capability),
            parent_trace_id=None if parent is None else self.id("trace", parent),
            intent_text=self.intent(trace.intent_text),
            initial_context=self.value(trace.initial_context),
            executed_at_ms=trace.executed_at_ms - epoch_ms,
            executed_path=tuple(map(_site, trace.executed_path)),
            error_message=None if error is None else self._token(error),
            decisions=tuple(map(self._decision, trace.decisions)),
            task_results=tuple(self._task(task, epoch_ms) for task in trace.task_results),
        )

    def id(self, kind: str, given: str) -> str:
        """What stands for an id of that kind."""
        return self._digest(f"{kind}\0{given}", person=b"id", size=ID_BYTES).hex()

    def intent(self, text: str) -> str:
        """The words of an intent, those that are not public as tokens; all of it if so asked."""
        if self._keep_intents:
            return text
        words = split(text)
        stems = self._stems(text)
        return " ".join(map(self._word, words, stems))

    def value(self, value: Any) -> Any:  # noqa: ANN401  # JSON
        """JSON of the same nesting; null stays, any other scalar becomes a token."""
        match value:
            case None:
                return None
            case dict():
                if value.get(TRUNCATED) is True:
                    return {TRUNCATED: True}
                return {self._field(name): self.value(inner) for name, inner in value.items()}
            case list() | tuple():
                return [self.value(inner) for inner in value]
            case _:
                return self._token(value)

    def _token(self, value: bool | float | str) -> str:
        """Equal digests for what is equal as text: 42, 42.0 and "42"."""
        pattern = value_pattern(value)
        form = f"{pattern.kind}-{pattern.detail}" if pattern.detail else pattern.kind
        digest = self._digest(_written(value), person=b"value", size=VALUE_BYTES)
        return f"{form}:{pattern.size}:{digest.hex()}"

    def _field(self, name: str) -> str:
        if name in self._public.fields:
            return name
        return "key:" + self._digest(name, person=b"key", size=VALUE_BYTES).hex()

    def _word(self, word: str, stem: str) -> str:
        if stem in self._public.stems and word.isalpha():
            return word
        number = int.from_bytes(self._digest(stem, person=b"word", size=VALUE_BYTES))
        letters = []
        for _ in range(_WORD_LETTERS):
            number, rest = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[rest])
        return "".join(letters)

    def _decision(self, decision: BranchDecision) -> BranchDecision:
        outcome = decision.outcome
        if outcome not in OUTCOMES:
            outcome = CASE + self._token(outcome.removeprefix(CASE))
        return BranchDecision(node_id=_site(decision.node_id), outcome=outcome)

    def _task(self, task: TaskResult, epoch_ms: int) -> TaskResult:
        code = task.error_code
        return msgspec.structs.replace(
            task,
            task_id=_site(task.task_id),
            node_id=_site(task.node_id),
            tool=self._tool(task.tool),
            args=self.value(task.args),
            result=self.value(task.result),
            error=None if task.error is None else self._token(task.error),
            error_code=code if code is None or code in ERROR_CODES else OTHER_CODE,
            started_at_ms=max(task.started_at_ms - epoch_ms, 0),
        )

    def _tool(self, tool_id: str) -> str:
        """Names of capabilities tell of intents; a tool that nobody lists can be any text."""
        if tool_id in self._public.tools:
            return tool_id
        server = tool_id.partition(":")[0]
        known = server if server == CAPABILITY_SERVER else UNKNOWN_SERVER
        return f"{known}:{self.id('tool', tool_id)}"

    def _digest(self, text: str, *, person: bytes, size: int) -> bytes:
        data = text.encode(errors="surrogatepass")
        return blake2b(data, key=self._key, digest_size=size, person=person).digest()


def _site(label: str) -> str:
    """Labels come from the sandbox, where the program could have made one up."""
    return label if SITE.fullmatch(label) else "?"


def _written(value: bool | float | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
