"""Lines of any length, in chunks of any size, in bounded memory (EX-11)."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pml.runtime.upstream.framing import (
    EDGE_BYTES,
    LineSplitter,
    OverlongLine,
    find_request_id,
)

LIMIT = 3 * EDGE_BYTES


@given(
    lines=st.lists(
        st.one_of(
            st.binary(max_size=50),
            st.builds(lambda n, b: bytes([b]) * n, st.integers(0, 2 * LIMIT), st.integers(11, 255)),
        ).map(lambda line: line.replace(b"\n", b" ")),
        max_size=5,
    ),
    cuts=st.lists(st.integers(0, 6 * LIMIT), max_size=10),
)
def test_chunks_do_not_matter_and_long_lines_keep_their_ends(
    lines: list[bytes], cuts: list[int]
) -> None:
    text = b"".join(line + b"\n" for line in lines)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    splitter = LineSplitter(LIMIT)
    found = [line for start, end in pairwise(edges) for line in splitter.feed(text[start:end])]
    assert found == [
        line
        if len(line) <= LIMIT
        else OverlongLine(len(line), line[:EDGE_BYTES], line[-EDGE_BYTES:])
        for line in lines
    ]
    assert splitter.pending_bytes == 0


JSON = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=20)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(
    request=st.integers(0, 10**17),
    result=st.dictionaries(st.sampled_from(["id", "jsonrpc", "x"]), JSON),
    order=st.permutations(["jsonrpc", "id", "result"]),
    spaces=st.booleans(),
)
def test_the_request_id_is_found_at_either_end_and_never_inside_the_result(
    request: int, result: dict[str, object], order: list[str], spaces: bool
) -> None:
    """SDKs write the id first or last; an id within the result is the tool's own."""
    fields = {"jsonrpc": "2.0", "id": request, "result": result}
    separators = (", ", ": ") if spaces else (",", ":")
    line = json.dumps({name: fields[name] for name in order}, separators=separators).encode()
    found = find_request_id(line[:EDGE_BYTES], line)
    at_an_end = order[0] == "id" or order[-1] == "id" or order.index("result") != 1
    assert found == (request if at_an_end else None)
