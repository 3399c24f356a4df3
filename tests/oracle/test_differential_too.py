"""1,050 further programs of the differential test, for a second worker (EX-1, SA-5, SA-6)."""

import pytest
from hypothesis import given, note

from tests.oracle.compare import problems
from tests.oracle.native import Native
from tests.oracle.programs import cases
from tests.oracle.sandboxed import Reusing
from tests.oracle.scenario import Case
from tests.oracle.test_differential import thorough

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(900)]


@thorough
@given(case=cases())
async def test_what_another_program_does_is_what_its_source_and_its_structure_say(
    case: Case, native: Native, reusing: Reusing
) -> None:
    note(case.source)
    assert await problems(case, native, reusing) == []
