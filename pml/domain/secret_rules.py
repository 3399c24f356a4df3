"""How secrets look in text and how their keys are named (ST-5).

Three nets, each linear in the text: known token formats (`pml.domain.token_formats`),
assignments to a sensitive name, and opaque strings of high entropy.  Every pattern starts at a
boundary and is possessive, so no text makes one backtrack.

The entropy net takes 32 to 200 characters that mix lower case, upper case and digits as
random keys do.  Git hashes and UUIDs (one case only), paths and identifiers (words), and
long data such as base64 images (over 200) pass; so do ids that look random and are not secret,
where their format or the key over them says what they are.
"""

import math
import re
from collections import Counter
from functools import lru_cache

from pml.domain.token_formats import SHORTEST_TOKEN, tokens_in

MASK = "[REDACTED]"

_PEM = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[A-Za-z0-9+/=\s\\:,]|-(?!-))*+(?:-----END [A-Z0-9 ]{0,60}+-----)?+"
)
"""A key that was cut off counts too, so the end is optional."""
_PUTTY = re.compile(r"(Private-Lines: ?[0-9]{1,4}(?:\\[rn]|\s)++)[A-Za-z0-9+/=\s\\]{16,}+")

_URL_PASSWORD = re.compile(r"(://[^\s/@:\"'\[]{0,200}+:)[^\s/@\"']{1,500}+(?=@)")
_HEADER = re.compile(
    r"(authorization[\"']?\s{0,3}+[:=]\s{0,3}+[\"']?(?:basic|bearer|token|apikey|digest)?+\s{0,3}+)"
    r"(?!\s)[^\s\"',;\[][^\"'\r\n]{3,}+",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    r"(\bcookie[\"']?\s{0,3}+[:=]\s{0,3}+[\"']?)[A-Za-z0-9_.-]{1,80}+=[^\"'\r\n\\\[]{4,}+",
    re.IGNORECASE,
)
_BEARER = re.compile(
    r"(\b(?:bearer|basic)\s{1,3}+)(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{16,}+",
    re.IGNORECASE,
)
_NAMES = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|(?<!page)(?<!page[_-])(?<!tion)(?<!tion[_-])token"
    r"|api[_-]?key|access[_-]?key|account[_-]?key|secret[_-]?key|private[_-]?key"
    r"|credentials?|signature)"
)
_ASSIGNED = re.compile(
    _NAMES + r"(?:"
    r"=(?![\s\"'$<{%(\[=]|(?:none|null|true|false|undefined)\b)"
    r"[^\s\"'&;,<>()\[\]{}]{3,}+(?!\()"  # in a shell, a query, a connection string; no call
    r"|\\?[\"']?\s{0,3}+[:=]\s{0,3}+\\?[\"'](?![$<{%\[])[^\"'\r\n\\]{4,}+"  # quoted
    r"|\s{0,3}+[:=]\s{0,3}+(?=[^\s\"'0-9]{0,60}[0-9])[^\s\"'&;,<>()\[\]{}]{8,}+"  # with a digit
    r")",
    re.IGNORECASE,
)
_ASSIGNED_HINTS = (
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "key",
    "credential",
    "signature",
)
_SEPARATOR = re.compile(r"[:=]")

_RUN = re.compile(r"[A-Za-z0-9+/_=-]{32,}+")
_OPAQUE_CHARS = range(32, 201)
_HARMLESS = re.compile(
    r"sha(?:1|256|384|512)-"  # integrity fields of lock files
    r"|1(?:[A-Za-z0-9_-]{32}|[A-Za-z0-9_-]{43})$"  # files and folders of Google Drive
    r"|AAMk[A-Za-z0-9_=-]+$"  # messages and events of Outlook
    r"|Qm[A-Za-z0-9]{44}$"  # content of IPFS
    r"|iVBORw0KGg|R0lGODlh|/9j/|UklGR|JVBERi0|UEsDB|PHN2Zy"  # PNG, GIF, JPEG, WebP, PDF, ZIP, SVG
)
"""What looks random and is no secret by its format.  A secret of 33 or 44 characters that begins
with 1 slips through here, which is one in 62 of those lengths."""
_DATA = ";base64,"
"""Before what a data URL holds."""
_AWS_SECRET_CHARS = 40
_MIN_BITS = 4.2
"""Per character; 32 random letters and digits have about 4.7, identifiers 3.5 to 4.1."""
_MIN_CHANGES = 0.35
"""Changes between words, capitals and digits, per character; what people write has few."""
_KINDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[+/_=-]+")
_PASSES = 4
"""A replacement can open a boundary for another pattern; two passes settle what people write."""

_KEYS = 10_000
"""So many are remembered: rows have the same ones."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SENSITIVE = frozenset(
    {"apikey", "auth", "authorization", "cookie", "cookies", "credential", "credentials", "jwt"}
    | {"passphrase", "passwd", "password", "passwords", "pwd", "secret", "secrets"}
)
_SENSITIVE_KEYS = frozenset({"api", "access", "account", "private", "secret", "signing", "master"})
"""Words that make the ``key`` after them a secret."""
_HARMLESS_TOKENS = frozenset(
    ("cancellation", "continuation", "delta", "next", "page", "progress", "resume", "sync")
)
"""Words that make the ``token`` after them a place in a listing and no secret."""
_IDENTIFYING = frozenset(
    {
        "id",
        "ids",
        "etag",
        "etags",
        "hash",
        "hashes",
        "digest",
        "checksum",
        "fingerprint",
        "integrity",
    }
    | {"sha", "sha1", "sha256", "sha512", "md5", "cursor", "revision"}
)
_SECRET_IDS = frozenset({"session", "sess", "sid", "secret", "password", "token", "auth", "cookie"})
"""Before ``id`` they make it what a session is taken over with; before ``hash``, one to break."""
_DECORATION = frozenset({"b64", "base64", "hash", "header", "plain", "raw", "text", "value"})


def redact_text(text: str, *, opaque: bool = True) -> str:
    """``text`` with every secret that the rules find replaced by ``[REDACTED]``.

    Without ``opaque`` the entropy net is left out.  Idempotent.  Linear in the length of the text.
    """
    if len(text) < SHORTEST_TOKEN and ":" not in text and "=" not in text:
        return text
    for _ in range(_PASSES):
        redacted = _pass(text, opaque=opaque)
        if redacted == text:
            break
        text = redacted
    return text


def known_token(text: str) -> int | None:
    """Where the first token of a known format starts in code that is no text; None if nowhere.

    Names are made of words and tokens are not, so one without a digit has only capitals.
    """
    for match in tokens_in(text):
        if match[0].isupper() or any(char.isdigit() for char in match[0]):
            return match.start()
    return None


@lru_cache(maxsize=_KEYS)
def sensitive_key(key: str) -> bool:
    """Whether what stands under ``key`` is secret by its name.

    Whole words count, in camelCase, snake_case and kebab-case, and the last one decides:
    ``accessToken`` is sensitive, ``tokenCount``, ``author`` and ``nextPageToken`` are not.
    """
    words = [word.lower() for word in _WORD.findall(key[:200])]
    while len(words) > 1 and words[-1] in _DECORATION:
        words.pop()
    if not words:
        return False
    before = words[-2] if len(words) > 1 else ""
    if words[-1] == "key":
        return before in _SENSITIVE_KEYS
    if words[-1] == "token":
        return before not in _HARMLESS_TOKENS
    return words[-1] in _SENSITIVE


@lru_cache(maxsize=_KEYS)
def identifying_key(key: str) -> bool:
    """Whether what stands under ``key`` names something, by what the key says: no secret.

    The last word decides, as in ``fileId``, ``etag``, ``next_page_token``; a session's id is one.
    """
    words = [word.lower() for word in _WORD.findall(key[:200])]
    before = words[-2] if len(words) > 1 else ""
    if not words or before in _SECRET_IDS:
        return False
    return words[-1] in _IDENTIFYING or (words[-1] == "token" and before in _HARMLESS_TOKENS)


def _pass(text: str, *, opaque: bool) -> str:
    text = _without_tokens(text)
    if "PRIVATE KEY" in text:
        text = _PEM.sub(MASK, text)
    if "Private-Lines" in text:
        text = _PUTTY.sub(rf"\1{MASK}", text)
    if "://" in text:
        text = _URL_PASSWORD.sub(rf"\1{MASK}", text)
    lower = text.lower()
    if "authorization" in lower:
        text = _HEADER.sub(rf"\1{MASK}", text)
    if "cookie" in lower:
        text = _COOKIE.sub(rf"\1{MASK}", text)
    if "bearer" in lower or "basic" in lower:
        text = _BEARER.sub(rf"\1{MASK}", text)
    if any(hint in lower for hint in _ASSIGNED_HINTS):
        text = _ASSIGNED.sub(_mask_value, text)
    return _RUN.sub(_mask_opaque, text) if opaque else text


def _without_tokens(text: str) -> str:
    parts: list[str] = []
    done = 0
    for match in tokens_in(text):
        parts += text[done : match.start()], MASK
        done = match.end()
    return "".join([*parts, text[done:]]) if parts else text


def _mask_value(match: re.Match[str]) -> str:
    """Keep name, separator and quotes, so that the text still reads as what it was."""
    found = match[0]
    separator = _SEPARATOR.search(found)
    assert separator is not None
    end = separator.end()
    while found[end] in " \t\n\r\f\v\\\"'":
        end += 1
    return found[:end] + MASK


def _mask_opaque(match: re.Match[str]) -> str:
    run = match[0]
    if len(run) not in _OPAQUE_CHARS or not _has_all_kinds(run) or _HARMLESS.match(run):
        return run
    if match.string.startswith(_DATA, match.start() - len(_DATA)):
        return run
    if len(run) == _AWS_SECRET_CHARS and run[0] != "/" and _is_random(run):
        return MASK  # may hold slashes
    return "/".join(MASK if _is_opaque(segment) else segment for segment in run.split("/"))


def _is_opaque(text: str) -> bool:
    return (
        len(text) in _OPAQUE_CHARS
        and _has_all_kinds(text)
        and not _HARMLESS.match(text)
        and _is_random(text)
    )


def _has_all_kinds(text: str) -> bool:
    return not (text.islower() or text.isupper()) and any(char.isdigit() for char in text)


def _is_random(text: str) -> bool:
    changes = len(_KINDS.findall(text)) - 1
    if changes < _MIN_CHANGES * len(text):
        return False
    counts = Counter(text)
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    return bits >= _MIN_BITS
