"""Formats of tokens that services give out: how they begin, of what they consist (ST-5).

Most services prefix their tokens so that scanners find them; the table holds such prefixes.
Its sources are the services' own pages; it is held against a maintained rule set,
Yelp's detect-secrets (github.com/Yelp/detect-secrets, a test dependency): what that knows by its
format is found here too (tests/domain/test_token_formats.py).  Its patterns are not used as they
are: some backtrack, and none minds where a word begins.

Every pattern is possessive and starts at a boundary, and all of them are only tried within runs
of characters that tokens consist of, so the time is linear and hardly depends on their number.
"""

import re
from collections.abc import Iterator

from pml.domain.record import Record


class TokenFormat(Record, frozen=True, kw_only=True):
    """Tokens of one kind: a prefix, then at least ``chars`` of ``alphabet``."""

    service: str
    prefixes: tuple[str, ...]
    alphabet: str
    """Of the rest, as it stands in a character class."""
    chars: int
    digit: bool = False
    """The rest holds a digit: without one, names that people write look the same."""

    @property
    def pattern(self) -> str:
        """The regular expression, without what has to stand before it."""
        begins = "|".join(map(re.escape, self.prefixes))
        other = self.alphabet.replace("0-9", "")
        ahead = rf"(?=[{other}]{{0,100}}[0-9])" if self.digit else ""
        return rf"(?:{begins}){ahead}[{self.alphabet}]{{{self.chars},}}+"


_ALNUM = "A-Za-z0-9"
_WORD = "A-Za-z0-9_"
_DASH = "A-Za-z0-9_-"
_DOTS = "A-Za-z0-9_.-"
_UPPER = "A-Z0-9"
_LOWER = "a-z0-9"


def _of(
    service: str, prefixes: str, alphabet: str, chars: int, *, digit: bool = False
) -> TokenFormat:
    return TokenFormat(
        service=service,
        prefixes=tuple(prefixes.split()),
        alphabet=alphabet,
        chars=chars,
        digit=digit,
    )


FORMATS: tuple[TokenFormat, ...] = (
    # code and packages
    _of("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", _WORD, 20),
    _of(
        "GitLab",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct-",
        _DOTS,
        16,
    ),
    _of("GitLab runner", "GR1348941", _DASH, 20),
    _of("Bitbucket", "ATBB ATCTT3", _DASH, 28),
    _of("npm", "npm_", _DASH, 24),
    _of("PyPI", "pypi-", _DASH, 24),
    _of("RubyGems", "rubygems_", _LOWER, 40),
    _of("Clojars", "CLOJARS_", _LOWER, 40),
    _of("NuGet", "oy2", _LOWER, 43),
    _of("Docker", "dckr_pat_ dckr_oat_", _DASH, 24),
    _of("Artifactory", "AKCp cmVmd", _ALNUM, 50),
    _of("Sourcegraph", "sgp_", _WORD, 40),
    _of("SonarQube", "squ_ sqp_ sqa_", _LOWER, 40),
    _of("Snyk", "snyk_uat. snyk_sat.", _DOTS, 30),
    _of("CircleCI", "CCIPAT_ CCIPRJ_", _DASH, 20),
    _of("Buildkite", "bkua_", _LOWER, 40),
    _of("Postman", "PMAK-", "a-f0-9-", 40),
    _of("ReadMe", "rdme_", _LOWER, 60),
    # clouds
    _of("AWS key id", "AKIA ASIA ABIA ACCA", _UPPER, 16),
    _of("AWS Bedrock", "ABSK", "A-Za-z0-9+/", 100),
    _of("Google", "AIza ya29. GOCSPX-", _DASH, 20),
    _of("Google refresh", "1//0", _DASH, 40),
    _of("Alibaba", "LTAI", _ALNUM, 16),
    _of("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", "a-f0-9", 32),
    _of("Databricks", "dapi", _DASH, 24, digit=True),
    _of("Heroku", "HRKU-", _DASH, 30),
    _of("Fly.io", "fo1_ fm1_ fm1a_ fm1r_ fm2_", "A-Za-z0-9_+/", 40),
    _of("Netlify", "nfp_", _ALNUM, 30),
    _of("Vercel", "vcp_ vck_ vci_ vcr_ vca_", _ALNUM, 24, digit=True),
    _of("Supabase", "sbp_ sb_secret_", _WORD, 30),
    _of("PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", _DOTS, 32),
    _of("Neon", "napi_", _ALNUM, 40),
    _of("MongoDB Atlas", "mdb_sa_sk_", _DASH, 30),
    _of("OpenShift", "sha256~", _DASH, 40),
    _of("Scalingo", "tk-us-", _DASH, 40),
    _of("Cloudflare origin", "v1.0-", "a-f0-9-", 100),
    _of("Pulumi", "pul-", "a-f0-9", 40),
    _of("Terraform", "atlasv1.", _DASH, 40),
    _of("Vault", "hvs. hvb. hvr.", _DASH, 24),
    _of("Doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", _DOTS, 30),
    _of("Infracost", "ico-", _ALNUM, 32),
    _of("1Password", "ops_eyJ", "A-Za-z0-9+/_-", 100),
    _of("Prefect", "pnu_ pnb_", _ALNUM, 36),
    _of("Tailscale", "tskey-", _DASH, 20),
    _of("age", "AGE-SECRET-KEY-1", _UPPER, 50),
    # models
    _of("OpenAI, Anthropic and others", "sk-", _DASH, 20, digit=True),
    _of("Hugging Face", "hf_ api_org_", _DASH, 24, digit=True),
    _of("Groq", "gsk_", _DASH, 24),
    _of("xAI", "xai-", _ALNUM, 60),
    _of("Perplexity", "pplx-", _ALNUM, 40),
    _of("Replicate", "r8_", _ALNUM, 30),
    _of("Tavily", "tvly-", _DASH, 20, digit=True),
    _of("Pinecone", "pcsk_", _WORD, 40),
    _of("LangSmith", "lsv2_pt_ lsv2_sk_", _WORD, 30),
    # work
    _of("Slack", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe.xox", _DOTS, 10),
    _of("Atlassian", "ATATT3", "A-Za-z0-9_=-", 100),
    _of("Linear", "lin_api_ lin_oauth_", _ALNUM, 24),
    _of("Notion", "ntn_", _ALNUM, 40),
    _of("Notion, older", "secret_", _ALNUM, 43),
    _of("Figma", "figd_ figo_ figoh_ figor_", _DASH, 36),
    _of("Typeform", "tfp_", _DOTS, 50),
    _of("Contentful", "CFPAT-", _DASH, 40),
    _of("HubSpot", "pat-na1- pat-eu1-", "a-f0-9-", 32),
    _of("Trello", "ATTA", "a-f0-9", 60),
    _of("Dropbox", "sl.u. sl.B", _DASH, 100),
    _of("Frame.io", "fio-u-", _DASH, 60),
    _of("Discord", "mfa.", _DASH, 80),
    # mail
    _of("Mailgun", "key- pubkey-", "a-f0-9", 32),
    _of("Brevo", "xkeysib- xsmtpsib-", "A-Za-z0-9-", 60),
    _of("Resend", "re_", _WORD, 30, digit=True),
    # watching
    _of("Grafana", "glsa_ glc_ eyJrIjoi", "A-Za-z0-9_+/=-", 32),
    _of("New Relic", "NRAK- NRII- NRJS- NRRA- NRSP-", "A-Za-z0-9-", 18),
    _of("Sentry", "sntrys_ sntryu_", "A-Za-z0-9_+/=-", 40),
    _of("Dynatrace", "dt0c01. dt0s01. dt0s16.", _DOTS, 60),
    _of("Harness", "pat. sat.", "A-Za-z0-9_.-", 60, digit=True),
    # money
    _of(
        "Stripe",
        "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_live_ pk_test_",
        _ALNUM,
        10,
    ),
    _of("webhook secrets", "whsec_", "A-Za-z0-9+/=", 16),
    _of("Square", "sq0atp- sq0csp- sq0idp-", "A-Za-z0-9_\\\\-", 22),
    _of("Square", "EAAA", "A-Za-z0-9_-", 56),
    _of("Facebook", "EAACEdEose0cBA", _ALNUM, 20),
    _of("Shopify", "shpat_ shpss_ shpca_ shppa_ shptka_", _ALNUM, 16),
    _of("Shippo", "shippo_live_ shippo_test_", "a-f0-9", 30),
    _of("EasyPost", "EZAK EZTK", _ALNUM, 50),
    _of("Duffel", "duffel_live_ duffel_test_", "A-Za-z0-9_=-", 40),
    _of("Flutterwave", "FLWSECK- FLWSECK_TEST- FLWPUBK- FLWPUBK_TEST-", "A-Za-z0-9-", 12),
    _of("Razorpay", "rzp_live_ rzp_test_", _ALNUM, 14),
    _of("Adobe", "p8e-", _LOWER, 32),
    _of("Mapbox", "sk.eyJ pk.eyJ tk.eyJ", _DOTS, 40),
)

_SHAPED = (
    # what has no prefix, or more than one part
    r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)*+",  # JWT
    r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",  # SendGrid
    # Telegram; with a capital, for times go before words too
    r"[0-9]{8,10}:(?=[a-z0-9_-]{0,34}[A-Z])[A-Za-z0-9_-]{35}(?![\w-])",
    r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+",  # Discord
    r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",  # Microsoft Entra
    r"A3T[A-Z0-9][A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS, unusual
    r"A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}+",  # 1Password
    r"[0-9a-z]{32}-us[0-9]{1,2}(?![A-Za-z0-9])",  # Mailchimp
    r"SK[0-9a-z]{32}(?![A-Za-z0-9])",  # Twilio
    r"(?<![/+])AP[0-9A-F][A-Za-z0-9]{30,}+",  # Artifactory, encrypted passwords
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",  # Airtable
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{10,}+",
    r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}+/[A-Za-z0-9_-]{30,}+",
    r"hooks\.zapier\.com/hooks/catch/[A-Za-z0-9/_-]{10,}+",
    r"[a-z0-9-]{1,60}\.webhook\.office\.com/[A-Za-z0-9/_@-]{30,}+",
)

_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""A token begins where no word goes on; ``\\n`` in escaped text is no part of a word."""
_TOKEN = re.compile(_START + "(?:" + "|".join([*(f.pattern for f in FORMATS), *_SHAPED]) + ")")
SHORTEST_TOKEN = 15
"""Characters; most words have fewer."""
_RUN = re.compile(rf"[A-Za-z0-9_.:~/+=@\\-]{{{SHORTEST_TOKEN},}}+")
"""What tokens consist of."""


def tokens_in(text: str) -> Iterator[re.Match[str]]:
    """The tokens of known formats in a text, from left to right.  Linear in its length."""
    for run in _RUN.finditer(text):
        yield from _TOKEN.finditer(text, run.start(), run.end())
