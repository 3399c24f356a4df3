"""Names that could mislead are refused, and said (HIL-5)."""

import json
from pathlib import Path

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.structure import SITE_MARK
from pml.errors import ConfigError
from pml.runtime.upstream.config import load_servers
from pml.runtime.upstream.listing import checked
from pml.runtime.upstream.names import collisions, name_fault, skeleton

PLAIN = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./", min_size=1)


@given(PLAIN)
def test_the_names_that_mcp_recommends_are_never_refused(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize("name", ["get_отчёт", "読む", "πληροφορίες", "größe", "µs_to_ms", "a b"])
def test_names_in_other_scripts_are_no_fault(name: str) -> None:
    """A word of one script is what it looks like."""
    assert name_fault(name) is None


@given(PLAIN, st.integers(0), st.characters(categories=["Cc", "Cf", "Cs", "Co", "Zl", "Zp"]))
def test_a_hidden_character_anywhere_is_a_fault(name: str, at: int, hidden: str) -> None:
    """Controls, direction, no width, tags, halves of characters."""
    place = at % (len(name) + 1)
    assert name_fault(name[:place] + hidden + name[place:]) is not None


@pytest.mark.parametrize(
    "name",
    [
        "",
        " read",
        "read ",
        "re\u00a0ad",
        "read\u2800",
        "read\u3164",
        "read\ufe00",
        "read\U000e0061",
        "r\u0435ad",
        "\u0440ay_now",
        f"read{SITE_MARK}n1",
    ],
)
def test_what_cannot_be_seen_or_is_not_what_it_seems_is_a_fault(name: str) -> None:
    """Blanks that are none, fillers, selectors, tags, and Cyrillic letters among Latin ones."""
    assert name_fault(name) is not None


@pytest.mark.parametrize(
    "other",
    [
        "Copy",
        "COPY",
        "\uff43opy",
        "\u0441\u043e\u0440\u0443",
        "\u0421\u041e\u0420\u0423",
        "c\u03bfpy",
    ],
)
def test_names_that_look_the_same_collide(other: str) -> None:
    """Case, wide letters, and words made of letters of another script."""
    assert skeleton(other) == skeleton("copy")
    assert collisions(["copy", "paste", other]) == {"copy": (other,), other: ("copy",)}


@given(st.lists(PLAIN | st.text(max_size=4)))
def test_names_collide_exactly_with_those_of_the_same_skeleton(names: list[str]) -> None:
    """And a name never with itself."""
    found = collisions(names)
    for one in names:
        alike = {other for other in names if other != one and skeleton(other) == skeleton(one)}
        assert set(found.get(one, ())) == alike


@given(st.text(max_size=6))
def test_a_skeleton_is_its_own_skeleton(name: str) -> None:
    """Or looking alike would depend on who is compared first."""
    assert skeleton(skeleton(name)) == skeleton(name)


def listed(*names: str) -> list[mcp_types.Tool]:
    return [mcp_types.Tool(name=name, input_schema={"type": "object"}) for name in names]


def test_tools_that_look_alike_are_all_refused_and_named() -> None:
    """Nobody can tell which of them is meant; the others are offered."""
    listing = checked("fs", listed("copy", "Copy", "read", "rea\u200bd", "r\u0435ad"))
    assert [tool.name for tool in listing.tools] == ["read"]
    assert listing.refused == (
        "'copy' looks like 'Copy': it could be taken for another",
        "'Copy' looks like 'copy': it could be taken for another",
        "'rea\\u200bd' holds control or invisible characters",
        "'r\\u0435ad' mixes Latin letters with others that look like them",
    )


@given(st.permutations(["copy", "Copy", "read", "rea\u200bd", "move", "move"]))
def test_what_is_refused_does_not_depend_on_the_order(names: list[str]) -> None:
    listing = checked("fs", listed(*names))
    assert [tool.name for tool in listing.tools] == ["read"]
    assert len(listing.refused) == 4


@pytest.mark.parametrize(
    ("names", "line", "other"),
    [(("git", "Git"), 2, "Git"), (("Capabilities",), 2, "capabilities")],
)
def test_servers_that_look_alike_are_an_error_with_its_line(
    tmp_path: Path, names: tuple[str, ...], line: int, other: str
) -> None:
    """Whoever wrote the file can give them other names."""
    path = tmp_path / "mcp.json"
    servers = ",\n".join(f'{json.dumps(name)}: {{"command": "x"}}' for name in names)
    path.write_text(f'{{"mcpServers":{{\n{servers}\n}}}}', encoding="utf-8")
    with pytest.raises(ConfigError, match=f"looks like '{other}'") as caught:
        load_servers(path, {})
    assert caught.value.line == line
