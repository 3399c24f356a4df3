"""Words are those of the floors, so that figures can be held against them (LE-8)."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.words import Words
from pml.evaluation.dataset import Tool
from pml.evaluation.text import STOP_WORDS, parameter_names, tool_text, words

texts = st.text(st.sampled_from("aB1 _-éß天\n.THE the"), max_size=30)


@given(texts)
def test_words_are_letters_and_digits_in_small_none_of_them_a_stop_word(text: str) -> None:
    found = words(text)
    assert all(re.fullmatch("[a-z0-9]+|[\u4e00-\u9fff]", word) for word in found)
    assert not STOP_WORDS & set(found)


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_on_ascii_they_are_the_words_of_pmls_search_without_stems(text: str) -> None:
    assert words(text) == Words(stemmer=None)(text)


def test_identifiers_fall_apart_and_han_characters_stand_alone() -> None:
    assert words("readCSVFile read_file 天气 v2") == [
        "read",
        "csvfile",
        "read",
        "file",
        "天",
        "气",
        "v2",
    ]


def test_the_name_of_a_tool_counts_twice() -> None:
    tool = Tool(id="t", server="s", name="send", description="Sends mail.")
    assert words(tool_text(tool)) == ["send", "send", "sends", "mail"]


def test_a_schema_without_properties_has_no_parameter_names() -> None:
    schemas: tuple[dict[str, Any] | None, ...] = (
        None,
        {},
        {"properties": None},
        {"properties": {"to": {}, "text": {}}},
    )
    found = [parameter_names(Tool(id="", server="", name="", input_schema=s)) for s in schemas]
    assert found == [(), (), (), ("to", "text")]
