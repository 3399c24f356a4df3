"""What is remembered of a source is what analysis would say now, or nothing (D10)."""

from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.analyse import analyse, read
from pml.domain.tools import Catalog, Tool
from pml.loop.analysed import SOURCE_BYTES, SOURCES, Analysed

SOURCE = 'return await mcp.s.a({ x: "1" });'


def catalog(*, kind: str = "string") -> Catalog:
    schema = {"type": "object", "properties": {"x": {"type": kind}}}
    return Catalog({"s": [Tool(server="s", name="a", input_schema=schema)]})


def remembered(source: str, tools: Catalog) -> Analysed:
    analysed = Analysed()
    analysed.put(source, read(source).references)
    analysed.put_program(analyse(source, tools), tools, source=source)
    return analysed


def test_a_source_is_answered_as_analysis_answers_it() -> None:
    analysed = remembered(SOURCE, catalog())
    assert analysed.program(SOURCE, catalog()) == analyse(SOURCE, catalog())
    assert analysed.references(SOURCE) == read(SOURCE).references


def test_another_source_is_not_known() -> None:
    analysed = remembered(SOURCE, catalog())
    assert analysed.program(SOURCE + " ", catalog()) is None
    assert analysed.references(SOURCE + " ") is None


def test_a_tool_that_changed_or_went_makes_the_answer_unknown() -> None:
    analysed = remembered(SOURCE, catalog())
    assert analysed.program(SOURCE, catalog(kind="number")) is None
    assert analysed.program(SOURCE, Catalog({"s": []})) is None


def test_a_source_with_errors_is_analysed_again_each_time() -> None:
    analysed = remembered("return await mcp.s.b();", catalog())
    assert analysed.references("return await mcp.s.b();") is not None
    assert analysed.program("return await mcp.s.b();", catalog()) is None


@given(st.lists(st.integers(0, 2 * SOURCES), min_size=1, max_size=50))
def test_what_was_asked_for_last_is_still_known(asked: list[int]) -> None:
    analysed = Analysed()
    for number in range(SOURCES - 1):
        analysed.put(f"return {number};", read("").references)
    for number in asked:
        analysed.put(f"return {number};", read("").references)
        assert analysed.references(f"return {number};") is not None
    assert analysed.references(f"return {asked[-1]};") is not None


def test_a_source_larger_than_the_memory_is_not_kept() -> None:
    analysed = Analysed()
    source = "/" * (SOURCE_BYTES + 1)
    analysed.put(source, read("").references)
    assert analysed.references(source) is None
