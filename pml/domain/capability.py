"""A capability: a learned procedure, how it is called, and what its traces taught (ST-2, ST-4)."""

import re
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from pml.domain.record import Count, Duration, JsonText, Record
from pml.domain.structure import StaticStructure

CAPABILITY_SERVER = "capabilities"
"""Stands where a server would in the tool id of a nested call; no server may be named so."""
CAPABILITY_NAME = r"^[a-z_][a-z0-9_]{0,63}$"
"""A name that stands after ``capabilities.`` in code."""
_APOSTROPHE = re.compile("['\u2019]")
_ENDED = re.compile("(.*[^\\W_])[.]|([^\\W_]+)[!?]+")
"""A token that a stop ends; "/tmp/a?" may be a pattern."""
RESERVED_NAMES = frozenset(
    re.findall(
        r"\S+",
        """
    arguments async await break case catch class const continue debugger default delete do else
    enum eval export extends false finally for function if implements import in instanceof
    interface let new null of package private protected public return static super switch this
    throw true try typeof undefined var void while with yield
    apply bind call caller constructor length name prototype then
    __proto__
    """,
    )
)
"""Words of the language, and what promises, proxies and functions are asked for."""

Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A share or a probability."""


class CapabilitySource(StrEnum):
    """What a capability was made of."""

    CODE = "code"
    DAG = "dag"
    EXTERNAL = "external"


class Lifecycle(StrEnum):
    """How far a capability is trusted; the evidence decides (ST-4)."""

    CANDIDATE = "candidate"
    VERIFIED = "verified"
    CANONICAL = "canonical"
    DEPRECATED = "deprecated"


_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
}


class CapabilityParameter(Record, frozen=True, kw_only=True):
    """One input of a capability (SA-9)."""

    name: str
    schema: dict[str, Any] = {}  # noqa: RUF012
    """JSON Schema of its values, from the input schema of the tool that gets them; empty: any."""
    required: bool = False
    default: Any | msgspec.UnsetType = msgspec.UNSET
    """The literal that stands in the code; absent where the code has none."""
    lifted: bool = False
    """True for a literal of the code, false for a name that the code reads (``args.x``)."""

    def shown_schema(self) -> dict[str, Any]:
        """The schema for readers; where it says no more than a default, that hints at a type.

        Nobody is held to it: JavaScript may cope with others.
        """
        kind = _TYPES.get(type(self.schema.get("default")))
        is_hint = set(self.schema) == {"default"} and kind is not None
        return {"type": kind, **self.schema} if is_hint else self.schema


class PathStatistics(Record, frozen=True, kw_only=True):
    """What is known of one executed path (LE-2)."""

    path: tuple[str, ...]
    count: Count
    success_rate: Rate
    """V of TD(0): starts at 0.5."""
    avg_duration_ms: Duration


class OutcomeStatistics(Record, frozen=True, kw_only=True):
    """What is known of one outcome of a decision."""

    count: Count
    success_rate: Rate


class DecisionStatistics(Record, frozen=True, kw_only=True):
    """What is known of one decision, by outcome."""

    node_id: str
    condition: str = ""
    outcomes: dict[str, OutcomeStatistics] = {}  # noqa: RUF012


class Learning(Record, frozen=True, kw_only=True):
    """Statistics over a capability's traces (LE-2); empty before the first."""

    paths: tuple[PathStatistics, ...] = ()
    """In order of first sight."""
    decision_stats: tuple[DecisionStatistics, ...] = ()
    dominant_path: tuple[str, ...] = ()


class NewCapability(Record, frozen=True, kw_only=True):
    """A procedure that was submitted, as far as it shall be kept: no secret is in it.

    ``code`` and ``instrumented`` hold ``"[REDACTED]"`` where a literal was a secret; the
    parameter that stands for it is required.
    """

    canonical_hash: str
    """SHA-256 of the canonical form, as hex: the identity and the version (SA-8)."""
    name: str
    """Wanted; the store adds ``_2``, ``_3``... where another capability has it."""
    intent: str
    """Sanitised."""
    description: str = ""
    source: CapabilitySource = CapabilitySource.CODE
    code: str
    instrumented: str
    structure: StaticStructure
    parameters: tuple[CapabilityParameter, ...] = ()
    depth: Count = 0
    """Levels of capabilities below it; 0 where it calls none (EX-10)."""

    @property
    def id(self) -> str:
        """Follows from the canonical hash, so that the same procedure has the same id."""
        return f"cap_{self.canonical_hash[:20]}"


class Capability(NewCapability, frozen=True, kw_only=True):
    """A procedure that is kept; ``name`` is unique and ``intent`` is the first it was sent with."""

    user_id: str = "local"
    learning: Learning = Learning()
    lifecycle: Lifecycle = Lifecycle.CANDIDATE
    stale: bool = False
    """A tool that it uses has changed since the last success (ST-4)."""
    hidden: bool = True
    """Until a run succeeded (ST-8)."""
    usage_count: Count = 0
    """Runs that ended in success or error."""
    success_count: Count = 0
    distinct_arguments: Count = 0
    """With how many different arguments it succeeded, as far as they were counted."""
    created_at_ms: Count = 0
    updated_at_ms: Count = 0

    @property
    def success_rate(self) -> float:
        """Share of the runs that succeeded; 0 before the first."""
        return self.success_count / self.usage_count if self.usage_count else 0.0


class Literals(Record, frozen=True, kw_only=True):
    """The literals of one submission of a procedure; no secret is among them."""

    values: JsonText = "{}"
    """One JSON object by lifted parameter."""
    missing: tuple[str, ...] = ()
    """Those that are not kept, because they are secret or large."""


class PastIntent(Record, frozen=True, kw_only=True):
    """An intent with which a capability has run, as it was sent (sanitised).

    "the time in Paris" and "the time in Tokyo" are one procedure: what tells them apart are
    the literals with which each was submitted, so they belong to the intent.
    """

    capability_id: str
    intent: str
    success_count: Count
    failure_count: Count
    last_success: bool
    """How the latest of its runs ended."""
    last_at_ms: Count
    literals: Literals = Literals()
    """Of the latest successful submission with it; the kept code's own where there was none."""


def normalised_intent(intent: str) -> str:
    """Under which an intent counts as the same.

    Spaces, the case of words (`is_word`) and a stop at the end of a sentence do not matter.
    Everything else does: "/tmp/A" is not "/tmp/a", "delete .." is not "delete".
    """
    tokens = intent.split()
    ended = _ENDED.fullmatch(tokens[-1]) if tokens else None
    if ended is not None:
        tokens[-1] = ended[1] or ended[2]
    return " ".join(token.casefold() if is_word(token) else token for token in tokens)


def is_word(token: str) -> bool:
    """Whether it is letters only, with apostrophes between them at most.

    What the store puts for a character that it cannot hold counts as a letter.
    """
    parts = _APOSTROPHE.split(token)
    return all(part.replace("\ufffd", "x").isalpha() for part in parts)
