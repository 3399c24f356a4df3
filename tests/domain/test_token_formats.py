"""Tokens of every known format are found, by the table and by a maintained rule set (ST-5)."""

import random
from collections.abc import Iterator

import pytest
from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.sanitising import redact_text
from pml.domain.secret_rules import known_token
from pml.domain.token_formats import FORMATS, SHORTEST_TOKEN, TokenFormat, tokens_in
from tests.domain.token_makers import matching, token_of

DETECTORS: tuple[RegexBasedDetector, ...] = (
    ArtifactoryDetector(),
    AWSKeyDetector(),
    AzureStorageKeyDetector(),
    BasicAuthDetector(),
    DiscordBotTokenDetector(),
    GitHubTokenDetector(),
    GitLabTokenDetector(),
    JwtTokenDetector(),
    MailchimpDetector(),
    NpmDetector(),
    OpenAIDetector(),
    PypiTokenDetector(),
    SendGridDetector(),
    SlackDetector(),
    SquareOAuthDetector(),
    StripeDetector(),
    TelegramBotTokenDetector(),
)
"""Those that know tokens by their format.  Left out: what goes by the names of services before an
assignment (Cloudant, IBM, Softlayer), keywords and entropy, which are nets of our own, headers of
private keys, which are half of one, addresses, and account ids of Twilio, which are no secrets."""
TOO_LOOSE = ("AKC[a-zA-Z0-9]{10,}", "AP[", "aws.{0,20}?")
"""Patterns of Artifactory that words in capitals match, where ours want as much as tokens have, and
AWS's secret key, which has no format and is a matter of entropy."""


def patterns() -> Iterator[tuple[str, str]]:
    for detector in DETECTORS:
        for number, pattern in enumerate(detector.denylist):
            if not any(loose in pattern.pattern for loose in TOO_LOOSE):
                yield f"{type(detector).__name__}-{number}", pattern.pattern


@pytest.mark.parametrize(("name", "pattern"), list(patterns()), ids=lambda value: str(value)[:40])
@given(seed=st.integers(0, 2**32))
def test_what_a_maintained_rule_set_knows_is_redacted(name: str, pattern: str, seed: int) -> None:
    """detect-secrets is the oracle: what it finds in a text, it does not find in ours."""
    token = matching(pattern, random.Random(seed)).strip()
    (detector,) = (each for each in DETECTORS if name.startswith(f"{type(each).__name__}-"))
    text = f'it said "{token}" and no more'
    found = set(detector.analyze_string(text))
    left = set(detector.analyze_string(redact_text(text)))
    assert not found & left


@given(st.sampled_from(FORMATS), st.integers(0, 2**32), st.text(max_size=8))
def test_a_token_of_the_table_vanishes_whole(
    token_format: TokenFormat, seed: int, around: str
) -> None:
    token = token_of(token_format, random.Random(seed))
    for text in (f"{around} {token} {around}", f'{{"a":"{token}"}}', f"x\\n{token}\\n"):
        redacted = redact_text(text)
        assert "[REDACTED]" in redacted
        assert token[len(token) // 2 :].rstrip(".-_=+/\\") not in redacted
        assert redact_text(redacted) == redacted


@given(st.sampled_from(FORMATS), st.integers(0, 2**32))
def test_a_token_in_code_is_found_where_it_begins(token_format: TokenFormat, seed: int) -> None:
    token = token_of(token_format, random.Random(seed))
    assert known_token(f"const a = 1; {token}") in {13, 13 + token.find("eyJ")}


@given(st.sampled_from(FORMATS), st.integers(0, 2**32))
def test_a_token_that_goes_on_from_a_word_is_none(token_format: TokenFormat, seed: int) -> None:
    """``task-...`` ends in ``sk-``: a boundary decides."""
    token = token_of(token_format, random.Random(seed))
    assert all(match.start() > 0 for match in tokens_in(f"x{token}"))


def test_every_prefix_is_known_once() -> None:
    prefixes = [prefix for each in FORMATS for prefix in each.prefixes]
    assert len(prefixes) == len(set(prefixes))
    assert len(prefixes) >= 140
    assert min(each.chars + min(map(len, each.prefixes)) for each in FORMATS) >= SHORTEST_TOKEN
