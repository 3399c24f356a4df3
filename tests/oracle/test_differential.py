"""1,050 programs that hypothesis writes do through PML what they do natively (EX-1, SA-5, SA-6).

And what they did obeys the structure: soundness, paths and data flow (`tests.oracle.laws`).
As many others are in ``test_differential_too``, so that two workers share them.
"""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, note, settings

from tests.oracle.compare import problems
from tests.oracle.native import Native
from tests.oracle.programs import cases
from tests.oracle.sandboxed import Reusing
from tests.oracle.scenario import Case

pytestmark = pytest.mark.timeout(900)

thorough = settings(
    max_examples=1_050,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.asyncio(loop_scope="module")
@thorough
@given(case=cases())
async def test_what_a_program_does_is_what_its_source_and_its_structure_say(
    case: Case, native: Native, reusing: Reusing
) -> None:
    note(case.source)
    assert await problems(case, native, reusing) == []


def test_programs_are_of_many_kinds() -> None:
    """A control: hardly a program comes twice, and each construct comes in many of them."""
    seen: Counter[str] = Counter()
    sources: set[str] = set()

    @settings(thorough, max_examples=500)
    @given(case=cases())
    def collect(case: Case) -> None:
        sources.add(case.source)
        seen.update(word for word in CONSTRUCTS if word in case.source)

    collect()
    assert len(sources) > 490
    assert {word: seen[word] for word in CONSTRUCTS if not seen[word]} == {}


CONSTRUCTS = (
    *("if (", "else ", "switch (", "default:", "for (", "for await (", "while (", "do ", " in {"),
    *(
        "break",
        "continue",
        "return",
        "throw ",
        "try {",
        "catch",
        "finally",
        "&&",
        "||",
        "?? ",
        "?.",
    ),
    *("??=", "||=", "&&=", " ? ", "async function*", "function*", "yield", "class ", "extends"),
    *("static {", "#p", "super", "get ", ".map(", ".forEach(", ".reduce(", ".filter(", ".flatMap("),
    *(".some(", ".every(", ".find(", ".sort(", "Promise.all(", "Promise.allSettled(", ".race("),
    *(
        "Promise.any(",
        ".then(",
        ".catch(",
        ".finally(",
        "new Promise",
        "enum ",
        "satisfies",
        "as any",
    ),
    *("abstract ", "interface ", "<T", "tag`", "...", "setTimeout", "\r\n", "\u2028", "/*.*/"),
    *(
        'mcp["',
        "mcp[`",
        "'my server'",
        "'read-file'",
        ".bind(",
        ".call(",
        ".apply(",
        "new Map",
        "größe",
    ),
)
