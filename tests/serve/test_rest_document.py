"""The OpenAPI document says what REST does, whatever is sent (OP-3)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx2
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.approval import ApiKey, Role
from pml.serve.access import key_hash
from pml.serve.rest import Rest
from pml.serve.routes import Route
from tests.serve.stand_in import StandIn, served

ROUTES = Rest(bench=StandIn(), now_ms=lambda: 1).routes()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
WORDS = ("approved", "note", "remember", "code", "dag", "args", "timeoutMs", "reason", "tool")
BODIES = JSON | st.dictionaries(st.sampled_from(WORDS), JSON)
QUERIES = st.dictionaries(st.sampled_from(["limit", "state", "run_id", "x"]), st.text())
PARTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda t: t not in {".", ".."})


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with served() as server:
        key = ApiKey(id="k", name="k", role=Role.ADMIN, created_at_ms=1)
        await server.bench.store.api_keys.create(key, key_hash=key_hash("k"))
        url, headers = f"http://127.0.0.1:{server.port}", {"authorization": "Bearer k"}
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=30) as client:
            yield client


def promised(document: dict[str, Any], route: Route, answer: httpx2.Response) -> dict[str, Any]:
    """The schema that the document gives for such an answer."""
    operation = document["paths"][route.path][route.method.lower()]
    content = operation["responses"][str(answer.status_code)]["content"]
    schema: dict[str, Any] = content[answer.headers["content-type"].partition(";")[0]]["schema"]
    return schema | {"components": document["components"]}


async def test_whatever_is_sent_is_answered_as_the_document_says(http: httpx2.AsyncClient) -> None:
    document = (await http.get("/api/openapi.json")).json()
    loop = asyncio.get_running_loop()

    @given(route=st.sampled_from(ROUTES), body=BODIES, query=QUERIES, part=PARTS)
    def sent(route: Route, body: object, query: dict[str, str], part: str) -> None:
        path = "/".join(
            quote(part, safe="") if step.startswith("{") else step for step in route.path.split("/")
        )
        coming = http.request(
            route.method, path, params=query, json=None if route.body is None else body
        )
        answer = asyncio.run_coroutine_threadsafe(coming, loop).result(30)
        jsonschema_rs.validate(promised(document, route, answer), answer.json())
        assert answer.status_code != 500

    await loop.run_in_executor(None, sent)
