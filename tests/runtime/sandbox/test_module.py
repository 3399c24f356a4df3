"""The program as the body of one function (rule 1; SA-6: lines stay what they are)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.runtime.sandbox.module import module_text


@given(source=st.text(), names=st.lists(st.sampled_from(["path", "$x", "_y", "größe"])))
def test_every_line_of_the_program_keeps_its_number(source: str, names: list[str]) -> None:
    text = module_text(source, names)
    lines = text.split("\n")
    assert lines[-1] == "}"
    assert "\n".join(lines[:-1]).endswith(source)
    assert len(lines) == source.count("\n") + 2


@pytest.mark.parametrize("name", ["", "a b", "1a", "a}", "a=1", "a-b", "a\n"])
def test_a_parameter_that_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no identifier"):
        module_text("", [name])
