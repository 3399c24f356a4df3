"""A command that needs an extra says so, and how to get it (OP-1)."""

import sys

import pytest

from pml.cli.extras import check_extra
from pml.errors import RequestError


def test_an_extra_that_is_installed_is_enough() -> None:
    check_extra("evaluate")


def test_what_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("polars", "sklearn"):
        monkeypatch.setitem(sys.modules, module, None)  # as if not installed

    with pytest.raises(RequestError, match=r"polars, sklearn .* pip install 'pml\[evaluate\]'"):
        check_extra("evaluate")
