"""What a server says of its tools, and what is kept of them (HIL-5, SA-10)."""

import msgspec

from pml.domain.tools import Tool
from pml.loop.listed import all_as_kept


def test_what_a_server_says_is_joined_with_what_is_kept_of_it() -> None:
    """What results showed stays known; what the store knows otherwise was never accepted."""
    kept = Tool(server="fs", name="read", observed_schema={"type": "string"})
    same, other = Tool(server="fs", name="read"), Tool(server="fs", name="read", description="New.")
    held = msgspec.structs.replace(kept, changed=("input schema",))
    new = Tool(server="fs", name="new")
    assert all_as_kept([same, new], {"read": kept}) == {"read": kept, "new": new}
    assert all_as_kept([same], {"read": held}) == {"read": held}
    assert all_as_kept([other], {"read": kept})["read"].changed == ("description",)
