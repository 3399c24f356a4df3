"""The published suite says of us what docs/conformance.md says that it does (MCP-5)."""

import pytest

from tests.conformance.suite import documented, table, verdicts


@pytest.mark.timeout(300)  # fetches an npm package the first time
async def test_the_conformance_suite_says_what_is_documented() -> None:
    assert table(await verdicts()) == documented()
