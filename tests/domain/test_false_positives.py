"""What people and tools write every day stays readable (ST-5).

A corpus of harmless values of 24 kinds, made at random; at most one in a thousand may be masked,
and of most kinds none.
"""

import base64
import datetime as dt
import random
import string
import uuid
from collections import Counter
from collections.abc import Callable

from pml.domain.sanitising import redact, redact_text

BASE62 = string.ascii_letters + string.digits
TALK = """the quick brown analysis of every token in a password reset page shows that secrets are
kept while authors sign keys and bearer bonds basic authorization cookie recipes api access request
response handler service client error message update delete create customer"""
WORDS = TALK.split()
PER_KIND = 1_000


def words(rng: random.Random, count: int) -> list[str]:
    return rng.choices(WORDS, k=count)


def chars(rng: random.Random, count: int, alphabet: str = BASE62) -> str:
    return "".join(rng.choices(alphabet, k=count))


def camel(rng: random.Random) -> str:
    return "".join(word.title() for word in words(rng, 6)) + str(rng.randrange(100))


def image(rng: random.Random, size: int) -> str:
    head = rng.choice([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff\xe0", b"%PDF-1.7"])
    return base64.b64encode(head + rng.randbytes(size)).decode()


def lock_line(rng: random.Random) -> str:
    return f'"integrity": "sha512-{base64.b64encode(rng.randbytes(64)).decode()}"'


def log_line(rng: random.Random) -> str:
    when = dt.datetime.fromtimestamp(rng.randrange(2**31), dt.UTC).isoformat()
    return f"{when} INFO [{rng.choice(WORDS)}] {' '.join(words(rng, 5))} in {rng.random():.3f} s"


KINDS: dict[str, Callable[[random.Random], str]] = {
    "prose": lambda rng: " ".join(words(rng, 30)).capitalize() + ".",
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128))),
    "uuid without dashes": lambda rng: uuid.UUID(int=rng.getrandbits(128)).hex,
    "git hash": lambda rng: f"commit {rng.randbytes(20).hex()}",
    "sha256": lambda rng: f"sha256:{rng.randbytes(32).hex()}",
    "upper hex": lambda rng: rng.randbytes(32).hex().upper(),
    "integrity": lock_line,
    "drive id": lambda rng: f"1{chars(rng, rng.choice([32, 43]), BASE62 + '-_')}",
    "drive url": lambda rng: f"https://drive.google.com/file/d/1{chars(rng, 32)}/view?usp=sharing",
    "outlook id": lambda rng: f"AAMkA{chars(rng, 140, BASE62 + '-_')}=",
    "ipfs": lambda rng: f"Qm{chars(rng, 44)}",
    "video id": lambda rng: f"https://youtu.be/{chars(rng, 11, BASE62 + '-_')}?t=5",
    "slack ids": lambda rng: f"C0{chars(rng, 9, string.ascii_uppercase + string.digits)}",
    "small image": lambda rng: image(rng, 60),
    "image": lambda rng: image(rng, 4_000),
    "data url": lambda rng: (
        f"data:font/woff2;base64,{base64.b64encode(rng.randbytes(60)).decode()}"
    ),
    "url": lambda rng: (
        f"https://{rng.choice(WORDS)}.org/{'/'.join(words(rng, 4))}?page={rng.random()}"
    ),
    "path": lambda rng: f"/srv/{'/'.join(words(rng, 5))}/{camel(rng)}.py:{rng.randrange(900)}",
    "identifier": camel,
    "snake": lambda rng: "_".join(words(rng, 7)) + str(rng.randrange(10)),
    "slug": lambda rng: "-".join(words(rng, 7)) + f"-{rng.randrange(3000)}",
    "log": log_line,
    "numbers": lambda rng: ",".join(f"{rng.random():.6f}" for _ in range(20)),
    "mail": lambda rng: f"{rng.choice(WORDS)}.{rng.choice(WORDS)}{rng.randrange(99)}@example.org",
    "arn": lambda rng: f"arn:aws:lambda:eu-west-1:{rng.randrange(10**12)}:function:{camel(rng)}",
    "schema": lambda _rng: '{"password": {"type": "string"}, "token": {"type": "string"}}',
}


def test_harmless_values_stay_readable() -> None:
    rng = random.Random(20_261_122)
    masked: Counter[str] = Counter()
    for kind, make in KINDS.items():
        for _ in range(PER_KIND):
            text = make(rng)
            masked[kind] += redact_text(text) != text
    assert +masked == {}


def test_what_a_key_calls_an_id_stays_readable() -> None:
    """Where nothing but the key tells a random id from a random secret, the key is believed."""
    rng = random.Random(1)
    keys = ("id", "fileId", "document_id", "etag", "nextPageToken", "contentHash", "cursor")
    for key in keys:
        value = {key: chars(rng, 40, BASE62 + "-_"), "ids": [chars(rng, 43)]}
        assert redact(value) == value
    for key in ("sessionId", "value", "note", "accessToken", "passwordHash", "password_id"):
        assert redact({key: chars(rng, 48)}) == {key: "[REDACTED]"}


def test_a_known_token_under_an_id_is_a_token() -> None:
    assert redact({"id": f"ghp_{'aB3' * 12}"}) == {"id": "[REDACTED]"}
