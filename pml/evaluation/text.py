"""Text to words, and tools to texts, as the floors define them.

The definitions of the baselines that every set was measured with once (floors.py, functions
`words` and `tool_text`): figures are comparable only between methods that read the same words.
PML's own search has its own, which stem and fold accents (`pml.discovery.words`); on ASCII
text the two differ in stemming only.
"""

import re
from collections.abc import Iterable

from pml.evaluation.dataset import Tool

_STOP_WORDS = """
a an the of to in for and or is are be i me my you your it this that with on at by from as
can could would please want need help also if so do does has have will which what using use
into its about their they we our
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile("[a-z0-9]+|[\u4e00-\u9fff]")


def words(text: str) -> list[str]:
    """Words in small letters: identifiers fall apart, each Han character is one."""
    found = _WORD.findall(_CAMEL.sub(" ", text).lower())
    return [word for word in found if word not in STOP_WORDS]


def tool_text(tool: Tool) -> str:
    """What a tool is compared by: the name counts twice."""
    return f"{tool.name} {tool.name} {tool.description}"


def encoded_text(tool: Tool) -> str:
    """What an encoder sees of a tool: what `pml.discovery.entry` gives it."""
    said = f"{tool.description} {' '.join(parameter_names(tool))}"
    return f"{tool.server}.{tool.name}: {said}"


def tool_texts(tools: Iterable[Tool]) -> str:
    """What several tools are compared by."""
    return " ".join(tool_text(tool) for tool in tools)


def parameter_names(tool: Tool) -> tuple[str, ...]:
    """The names of a tool's inputs, in the order of its schema."""
    properties = (tool.input_schema or {}).get("properties")
    return tuple(properties) if isinstance(properties, dict) else ()
