"""Secrets vanish, ordinary text stays, sizes hold (ST-5)."""

import base64
import datetime as dt
import json
import random
import string
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.limits import Limits
from pml.domain.sanitising import for_trace, preview, redact, redact_text
from pml.domain.secret_rules import sensitive_key

BASE62 = string.ascii_letters + string.digits
MASK = "[REDACTED]"


def opaque(rng: random.Random, length: int, alphabet: str = BASE62) -> str:
    return "".join(rng.choices(alphabet, k=length))


def pem(rng: random.Random) -> str:
    body = "\n".join(opaque(rng, 64, BASE62 + "+/") for _ in range(3))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"


def tokens(rng: random.Random) -> list[str]:
    """One of each known format, made up."""
    upper = string.ascii_uppercase + string.digits
    return [
        f"ghp_{opaque(rng, 36)}",
        f"github_pat_{opaque(rng, 22)}_{opaque(rng, 59)}",
        f"glpat-{opaque(rng, 20)}",
        f"AKIA{opaque(rng, 16, upper)}",
        opaque(rng, 40, BASE62 + "+/").replace("/", "a", 1),
        f"AIza{opaque(rng, 35)}",
        f"ya29.{opaque(rng, 60)}",
        f"xoxb-123456789012-{opaque(rng, 24)}",
        f"sk-ant-api03-{opaque(rng, 90)}1",
        f"sk-proj-{opaque(rng, 40)}1",
        f"sk_live_{opaque(rng, 24)}",
        f"whsec_{opaque(rng, 32)}",
        f"eyJ{opaque(rng, 30)}.{opaque(rng, 80)}.{opaque(rng, 43)}",
        f"npm_{opaque(rng, 36)}",
        f"pypi-{opaque(rng, 120)}",
        f"hf_{opaque(rng, 34)}",
        f"SG.{opaque(rng, 22)}.{opaque(rng, 43)}",
        pem(rng),
    ]


@pytest.mark.parametrize("number", range(len(tokens(random.Random(0)))))
@pytest.mark.parametrize("seed", range(5))
def test_a_known_token_vanishes_from_text(number: int, seed: int) -> None:
    token = tokens(random.Random(seed))[number]
    for text in (f"see {token} here", f'{{"a":"{token}"}}', f"a\\n{token}\\n", f"({token})"):
        redacted = redact_text(text)
        assert token not in redacted
        assert MASK in redacted
        assert redact_text(redacted) == redacted
        assert not any(part in redacted for part in (token[6:], token[:-6], token[8:24]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc123def456ghi7", "Authorization: Bearer [REDACTED]"),
        ("-H 'authorization: Basic Ym9iOnB3'", "-H 'authorization: Basic [REDACTED]'"),
        ("postgres://bob:hunter2@db/x", "postgres://bob:[REDACTED]@db/x"),
        ("redis://:hunter2@cache:6379", "redis://:[REDACTED]@cache:6379"),
        ("host=db password=hunter2 user=bob", "host=db password=[REDACTED] user=bob"),
        ("AccountKey=abc==;Endpoint=x", "AccountKey=[REDACTED];Endpoint=x"),
        ("export DB_PASSWORD=hunter2", "export DB_PASSWORD=[REDACTED]"),
        ("/cb?access_token=abc&state=1", "/cb?access_token=[REDACTED]&state=1"),
        ('{"api_key": "hunter2"}', '{"api_key": "[REDACTED]"}'),
        ('{\\"secret\\": \\"hunter2\\"}', '{\\"secret\\": \\"[REDACTED]\\"}'),
        ("client_secret: 'hunter2'", "client_secret: '[REDACTED]'"),
        ("password: hunter2hunter2", "password: [REDACTED]"),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(text: str, expected: str) -> None:
    assert redact_text(text) == expected
    assert redact_text(expected) == expected


ORDINARY = [
    "commit 63df04e8c1a2b3d4e5f60718293a4b5c6d7e8f90",
    "63df04e8c1a2b3d4e5f60718293a4b5c6d7e8f9063df04e8c1a2b3d4e5f60718",
    "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
    "src/pml/runtime/upstream/connection.py:120",
    "getUserByIdAndReturnTheWholeThing32AndMore",
    "test_a_server_that_dies_in_the_middle_of_a_call_is_replaced_once",
    "task-management-for-developers-2024-edition",
    "Basic internationalization works; the bearer of this letter",
    "token: string; password: string | undefined",
    "def login(token=None, password=get_password()): ...",
    "the password is required",
    "password=$PASSWORD token=${TOKEN} secret=<secret>",
    "nextPageToken=abcdef12345 continuation_token=abcdef12345",
    "http://host:8080/path@foo and bob@example.org",
    "2026-11-21T22:43:02.000Z HTTP/2 200 OK",
    "the author signed; tokenCount=55555",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_text(text) == text


@given(st.uuids(), st.binary(min_size=20, max_size=32), st.binary(min_size=400, max_size=500))
def test_uuids_hashes_digests_and_images_stay(number: uuid.UUID, sha: bytes, data: bytes) -> None:
    digest = base64.b64encode((sha * 4)[:64]).decode()
    image = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    for text in (str(number), number.hex, sha.hex(), f"sha512-{digest}", image):
        assert redact_text(f"x {text} y") == f"x {text} y"


@pytest.mark.parametrize(
    ("key", "sensitive"),
    [
        *((key, True) for key in ("password", "dbPassword", "API_KEY", "apiKey", "x-api-key")),
        *((key, True) for key in ("accessToken", "token", "Authorization", "client_secret")),
        *((key, True) for key in ("Set-Cookie", "privateKey", "passwordHash", "credentials")),
        *((key, False) for key in ("tokenCount", "author", "authors", "tokens", "max_tokens")),
        *((key, False) for key in ("nextPageToken", "page_token", "key", "keyboard", "secretary")),
        *((key, False) for key in ("passwordLength", "primaryKey", "", "tokenizer", "bypass")),
    ],
)
def test_keys_are_judged_by_whole_words(key: str, sensitive: bool) -> None:
    assert sensitive_key(key) is sensitive


def test_what_stands_under_a_sensitive_key_is_replaced_whole() -> None:
    value = {"user": "bob", "password": {"old": "a", "new": ["b"]}, "pin": 7, "apiKey": None}
    assert redact(value) == {"user": "bob", "password": MASK, "pin": 7, "apiKey": None}


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.sampled_from(ORDINARY),
    st.dates(),
    st.datetimes(),
    st.binary(max_size=50),
    st.builds(object),
    st.randoms(use_true_random=False).map(lambda rng: rng.choice(tokens(rng))),
)
KEYS = st.one_of(st.text(), st.integers(), st.sampled_from(["password", "tokenCount", "a=b"]))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_leaves=15,
)


@given(VALUES)
def test_redacting_gives_json_and_twice_is_once(value: Any) -> None:  # noqa: ANN401
    once = redact(value)
    assert json.loads(json.dumps(once, allow_nan=False).encode()) == once
    assert redact(once) == once


@given(VALUES, st.randoms(use_true_random=False), st.text(max_size=10), st.data())
def test_a_token_anywhere_in_a_value_vanishes(
    value: Any,  # noqa: ANN401
    rng: random.Random,
    around: str,
    data: st.DataObject,
) -> None:
    token = data.draw(st.sampled_from(tokens(rng)))
    # what touches a token may make it part of a longer word, so a blank stands between
    hidden: Any = f"{around} {token} {around}"
    for _ in range(data.draw(st.integers(0, 4))):
        hidden = data.draw(st.sampled_from([[value, hidden], {"x": hidden}, (hidden,)]))
    for shown in (redact(hidden), for_trace(hidden, Limits()), preview(hidden, 240)):
        text = json.dumps(shown, ensure_ascii=False)
        assert token not in text
        assert token[4:20] not in text


@given(VALUES, st.integers(50, 500))
def test_a_trace_value_is_within_its_bound_or_a_marker(value: Any, bound: int) -> None:  # noqa: ANN401
    kept = for_trace(value, Limits(trace_value_bytes=bound))
    size = len(json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode())
    marked = isinstance(kept, dict) and kept.get("_truncated") is True
    assert marked or size <= bound
    if marked:
        assert kept["_originalSize"] > bound
        assert set(kept) == {"_truncated", "_originalSize"}


@given(VALUES, st.integers(0, 300))
def test_a_preview_is_within_its_bound_and_is_the_beginning(value: Any, chars: int) -> None:  # noqa: ANN401
    shown = preview(value, chars)
    assert len(shown) <= chars
    whole = redact(value)
    text = whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False)
    if len(text) <= chars and isinstance(whole, str):
        assert shown == text


def test_dates_large_integers_and_what_is_no_json_become_text() -> None:
    value = {
        "day": dt.date(2026, 11, 21),
        "big": 2**60,
        "small": -(2**53) + 1,
        "nan": float("nan"),
        "inf": float("-inf"),
        "bytes": b"hi",
        "set": {1},
        "object": object(),
        "surrogate": "\ud800",
    }
    assert redact(value) == {
        "day": "2026-11-21",
        "big": "1152921504606846976",
        "small": -(2**53) + 1,
        "nan": "nan",
        "inf": "-inf",
        "bytes": "aGk=",
        "set": [1],
        "object": "[object]",
        "surrogate": "?",
    }


def test_circles_and_depth_are_cut() -> None:
    circle: dict[str, Any] = {"name": "a"}
    circle["self"] = circle
    shared = ["twice is no circle"]
    assert redact([circle, shared, shared]) == [
        {"name": "a", "self": "[CIRCULAR]"},
        shared,
        shared,
    ]
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert "[TOO DEEP]" in json.dumps(redact(deep))
    assert for_trace(deep, Limits()) == redact(deep)
    assert len(preview(deep, 240)) <= 240
    assert for_trace(circle, Limits()) == {"name": "a", "self": "[CIRCULAR]"}


def test_keys_that_are_secrets_vanish_and_stay_apart() -> None:
    first, second = tokens(random.Random(1))[:2]
    assert redact({first: 1, second: 2}) == {MASK: 1, f"{MASK}#2": 2}


@pytest.mark.parametrize(
    "unit",
    [
        *("eyJ", "password=", "a", "-", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "://a:"),
        *("x" * 31 + " ", "token : ", "Bearer aA1", "authorization: ", "secret='", "sk-a", "SG.a"),
        *("aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3 ", "ghp_", "xoxb-", "1234567890:AA", "&quot;", "[["),
    ],
)
def test_time_grows_with_length_only(unit: str) -> None:
    """A pattern that backtracks would need hours, and end at the global timeout."""
    redact_text(unit * (2_000_000 // len(unit)))


def test_ten_megabytes_of_everything_are_no_trouble() -> None:
    rng = random.Random(1)
    page = "\n".join([*ORDINARY, *tokens(rng)] * 3)
    text = page * (10_000_000 // len(page))
    redacted = redact_text(text)
    assert redacted.count(MASK) >= text.count("AKIA")
    assert "AKIA" not in redacted
