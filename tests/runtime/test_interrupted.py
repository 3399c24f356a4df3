"""A Deno that is asked something is gone when whoever asks is interrupted (SA-7, OP-5)."""

import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pml.cli.checks import check_deno
from pml.runtime.type_check import type_check
from tests.runtime.interrupting import interrupt_after, leaving_nothing


def _check_types() -> Awaitable[object]:
    return type_check("return 1;", declarations="", variables=())


@pytest.mark.parametrize("passes", range(6))
@pytest.mark.parametrize("ask", [_check_types, check_deno])
def test_a_loop_that_is_interrupted_leaves_no_deno(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    ask: Callable[[], Awaitable[object]],
    passes: int,
) -> None:
    """As a second Ctrl-C does.  A start that was cancelled half-way was waited for without end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def main() -> None:
        interrupt_after(passes)
        await ask()

    with leaving_nothing(tmp_path) as runner, suppress(KeyboardInterrupt):
        runner.run(main())
