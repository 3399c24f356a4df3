"""What is no request, comes from elsewhere or never ends is refused, and holds up nobody else.

On a real socket, as in `tests.serve.test_http` (MCP-5, MCP-6, OP-3, EX-9).
"""

import re
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from pml.domain.limits import Limits
from pml.serve.heads import BoundedHeads
from tests.serve.stand_in import HOLD, Served, served
from tests.serve.wire import LEGACY, MODERN, Client, Wire, call_body, post, still_serves


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as server:
        yield server


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no json", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b"7", 400),
        (b'{"jsonrpc":"2.0"}', 400),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400),
        (b"[" * 300 + b"]" * 300, 400),
        (b'{"a":' * 100_000, 400),
        (b"", 400),
    ],
)
async def test_what_is_no_request_is_refused(
    server: Served, revision: str, body: bytes, status: int
) -> None:
    client = await Client(server.port, revision).open()
    wire = await Wire.to(server.port)
    await wire.write(post(server.port, body, client.headers))
    reply = await wire.read_reply()
    await wire.close()
    assert reply.status in {status, 202 if body == b'{"jsonrpc":"2.0"}' else status}
    assert await still_serves(client)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"host": "evil.example"}, "Host: found 'evil.example'"),
        ({"host": "127.0.0.1:1"}, "Host"),
        ({"origin": "http://evil.example"}, "Origin: found 'http://evil.example'"),
        ({"origin": "null"}, "Origin"),
    ],
)
async def test_who_comes_from_elsewhere_is_refused(
    server: Served, headers: dict[str, str], said: str
) -> None:
    client = Client(server.port, MODERN, headers)
    reply = await client.send(call_body("pml_execute", {"intent": "x", "code": "1"}))
    assert reply.status == 403
    assert said in reply.last["error"]["message"]
    assert server.bench.act.requests == []


async def test_a_page_of_our_own_may_ask(server: Served) -> None:
    client = Client(server.port, MODERN, {"origin": f"http://localhost:{server.port}"})
    assert await still_serves(await client.open())


async def test_a_body_is_refused_before_it_is_sent_when_it_says_that_it_is_too_large() -> None:
    async with served(Limits(request_bytes=1_000)) as server:
        wire = await Wire.to(server.port)
        await wire.write(post(server.port, b"", {"content-length": "1001"}))
        reply = await wire.read_reply()
        await wire.close()
    assert (reply.status, "1,000 bytes" in reply.last["error"]["message"]) == (413, True)


async def test_a_body_without_a_length_is_refused_where_it_becomes_too_large() -> None:
    async with served(Limits(request_bytes=1_000)) as server:
        wire = await Wire.to(server.port)
        text = post(server.port, b"", {"transfer-encoding": "chunked"})
        await wire.write(text.replace(b"content-length: 0\r\n", b"") + b"800\r\n" + b"x" * 0x800)
        reply = await wire.read_reply()
        await wire.close()
    assert reply.status == 413


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with served(body_s=0.05) as server:
        wire = await Wire.to(server.port)
        await wire.write(post(server.port, b"{", {"content-length": "100"}))
        reply = await wire.read_reply()
        assert (reply.status, await wire.rest()) == (408, b"")
        await wire.close()


class Impatient(BoundedHeads):
    head_s = 0.05


@pytest.mark.parametrize("begun", [b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nhost: "])
async def test_a_head_that_does_not_come_is_not_waited_for(begun: bytes) -> None:
    async with served(heads=Impatient) as server:
        wire = await Wire.to(server.port)
        await wire.write(begun)
        assert await wire.rest() == b""
        await wire.close()


async def test_a_second_head_on_a_connection_is_not_waited_for_either() -> None:
    async with served(heads=Impatient) as server:
        client = await Client(server.port, MODERN).open()
        wire = await client.begin(call_body("pml_execute", {"intent": "x", "code": "1"}))
        assert (await wire.read_reply()).status == 200
        await wire.write(b"POST /mcp HT")
        assert await wire.rest() == b""
        await wire.close()


async def test_a_head_without_end_is_cut_off(server: Served) -> None:
    wire = await Wire.to(server.port)
    with suppress(ConnectionError):
        await wire.write(b"POST /mcp HTTP/1.1\r\n" + b"x-more: and more\r\n" * 10_000)
    with suppress(ConnectionError):
        assert await wire.rest() == b""
    with suppress(ConnectionError):
        await wire.close()


async def chunked(server: Served, trailers: bytes) -> bytes:
    """A call whose body comes in one chunk, with trailers."""
    body = call_body("pml_execute", {"intent": "x", "code": "1"})
    client = await Client(server.port, MODERN).open()
    head, _, body = client.text(body).partition(b"\r\n\r\n")
    head = re.sub(rb"content-length: \d+", b"transfer-encoding: chunked", head)
    return head + b"\r\n\r\n%x\r\n%s\r\n0\r\n" % (len(body), body) + trailers


@pytest.mark.parametrize("more", [b"x-more: and more\r\n", b"x"])
async def test_what_follows_the_last_chunk_without_end_is_cut_off(
    server: Served, more: bytes
) -> None:
    wire = await Wire.to(server.port)
    with suppress(ConnectionError):
        await wire.write(await chunked(server, b"") + more * (10_000_000 // len(more)))
    with suppress(ConnectionError):
        assert b" 200 " not in await wire.rest()
    with suppress(ConnectionError):
        await wire.close()
    assert server.bench.act.requests == []


async def test_a_trailer_is_no_header(server: Served) -> None:
    wire = await Wire.to(server.port)
    await wire.write(await chunked(server, b"host: evil.example\r\norigin: null\r\n\r\n"))
    assert (await wire.read_reply()).status == 200
    await wire.close()


OFFERS = {
    "h2c": "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n",
    "websocket": "connection: keep-alive, upgrade\r\nupgrade: websocket\r\n",
}


@pytest.mark.parametrize("offer", OFFERS.values(), ids=list(OFFERS))
@pytest.mark.parametrize("at_once", [True, False])
async def test_an_offer_of_another_protocol_is_ignored(
    server: Served, offer: str, at_once: bool
) -> None:
    client = await Client(server.port, MODERN).open()
    body = call_body("pml_execute", {"intent": "x", "code": "1", "context": {"a": 1}})
    head, _, body = client.text(body).partition(b"\r\n\r\n")
    head += b"\r\n" + offer.encode() + b"\r\n"
    wire = await Wire.to(server.port)
    for _ in range(2):  # the connection stays what it was
        if at_once:
            await wire.write(head + body)
        else:
            await wire.write(head)
            await wire.write(body)
        reply = await wire.read_reply()
        assert reply.last["result"]["structuredContent"]["result"] == {"a": 1}
    await wire.close()


async def test_a_tunnel_is_refused(server: Served) -> None:
    wire = await Wire.to(server.port)
    await wire.write(b"CONNECT example.com:80 HTTP/1.1\r\nhost: example.com\r\n\r\n")
    assert (await wire.read_reply()).status == 400
    assert await wire.rest() == b""
    await wire.close()


SECOND = {
    "request": b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello",
    "upgrade": b"GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
    "garbage": b"\x00\xff",
    "half": b"POST /mcp HT",
}


@pytest.mark.parametrize("second", SECOND.values(), ids=list(SECOND))
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_request_before_the_answer_ends_the_connection_after_it(
    server: Served, second: bytes, at_once: bool
) -> None:
    client = await Client(server.port, MODERN).open()
    first = client.text(call_body("pml_execute", HOLD))
    wire = await Wire.to(server.port)
    await wire.write(first + second if at_once else first)
    await server.bench.act.started.wait()
    if not at_once:
        await wire.write(second)
        await still_serves(client)  # the server has read it meanwhile
    server.bench.act.release.set()
    reply = await wire.read_reply()
    assert reply.last["result"]["structuredContent"]["status"] == "success"
    assert await wire.rest() == b""
    await wire.close()


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
async def test_a_client_that_leaves_is_noticed_whatever_it_has_sent_ahead(
    server: Served, revision: str
) -> None:
    client = await Client(server.port, revision).open()
    wire = await Wire.to(server.port)
    await wire.write(client.text(call_body("pml_execute", HOLD)) * 2)
    await server.bench.act.started.wait()
    await wire.close()
    await server.bench.act.cancelled.wait()
    assert await still_serves(client)


@pytest.mark.parametrize("said", [b"", b"POST /mcp HT", b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"])
async def test_who_says_nothing_makes_room_and_who_is_served_does_not(said: bytes) -> None:
    async with served(connections=6) as server:
        client = await Client(server.port, MODERN).open()
        running = await client.begin(call_body("pml_execute", HOLD))
        await server.bench.act.started.wait()
        silent = [await Wire.to(server.port) for _ in range(4)]
        for wire in silent:
            await wire.write(said)
            if said.endswith(b"\r\n\r\n"):
                assert (await wire.read_reply()).status == 403
        assert await still_serves(client)
        assert await silent[0].rest() == b""
        server.bench.act.release.set()
        assert (await running.read_reply()).status == 200
        for wire in (running, *silent):
            await wire.close()


async def test_where_everybody_is_being_served_one_more_is_told_so() -> None:
    async with served(connections=2) as server:
        client = await Client(server.port, MODERN).open()
        running = await client.begin(call_body("pml_execute", HOLD))
        await server.bench.act.started.wait()
        wire = await client.begin(call_body("pml_execute", {"intent": "x", "code": "1"}))
        assert (await wire.read_reply()).status == 503
        server.bench.act.release.set()
        assert (await running.read_reply()).status == 200
        await wire.close()
        await running.close()


async def test_a_run_may_take_longer_than_a_head() -> None:
    async with served(heads=Impatient) as server:
        client = await Client(server.port, MODERN).open()
        wire = await client.begin(call_body("pml_execute", HOLD))
        await server.bench.act.started.wait()
        idle = await Wire.to(server.port)
        assert await idle.rest() == b""  # the bound is over for those who said nothing
        server.bench.act.release.set()
        assert (await wire.read_reply()).status == 200
        await idle.close()
        await wire.close()
