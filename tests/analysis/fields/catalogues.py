"""Small catalogues of tools as hypothesis draws them: few names, so that much matches."""

from typing import Any

from hypothesis import strategies as st

from pml.domain.tools import Tool

NOUNS = ("user", "order", "city", "track")
FIELDS = (
    "id", "user_id", "userIds", "name", "city", "destination", "date", "order_date", "status",
    "email", "owner_email", "limit", "track", "songTitle",
)  # fmt: skip
TYPES = ("string", "integer", "boolean", None)
DESCRIPTIONS = ("", "Returns the city of a user.", "A list of orders, such as order_id and date")
VERBS = ("get", "create", "delete", "search", "login")


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Of objects, some with a nested object or a list of objects."""
    scalar = st.sampled_from(TYPES).map(lambda kind: {} if kind is None else {"type": kind})
    flat = st.dictionaries(st.sampled_from(FIELDS), scalar, max_size=4).map(an_object)
    nested = flat.map(lambda inner: {"type": "array", "items": inner}) | flat
    return st.builds(
        lambda outer, key, inner: an_object({**outer["properties"], key: inner}),
        flat,
        st.sampled_from(("items", "owner", "tracks")),
        nested,
    )


def an_object(properties: dict[str, Any]) -> dict[str, Any]:
    """A schema in which every other field is required."""
    return {"type": "object", "properties": properties, "required": sorted(properties)[::2]}


def tools() -> st.SearchStrategy[Tool]:
    """Of two servers and ten names, so that later ones replace earlier ones."""
    return st.builds(
        lambda server, verb, noun, description, given, taken: Tool(
            server=server,
            name=f"{verb}_{noun}",
            description=description,
            input_schema=taken,
            output_schema=given,
        ),
        st.sampled_from(("one", "two")),
        st.sampled_from(VERBS),
        st.sampled_from(NOUNS),
        st.sampled_from(DESCRIPTIONS),
        st.none() | schemas(),
        schemas(),
    )
