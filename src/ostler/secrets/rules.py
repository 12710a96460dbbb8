"""The forms of well-known secrets: one row per kind, with the keyword that starts each match."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from ostler.lazy import lazy_pattern
from ostler.secrets.private_key import WHOLE_KEY

# The escapes of strings and URLs, and the codes of a terminal, end in letters or digits.
_ESCAPE_BEFORE = lazy_pattern(
    rb"(?:\\(?:[0abefnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})|%[0-9A-Fa-f]{2}|\[[0-9;:]{0,20}[GHJKm])\Z"
)
LONGEST_ESCAPE = 24
_CONTAINED_BYTES = 1024
_END = r"(?![A-Za-z0-9])"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ASSIGN = r"[\s\"'\\:=>|]{1,12}"
_USER = r"[^\s/:@\"'<>\\`\[]*"  # a mark is no user
_PLACEHOLDER = r"(?!(?:\$|\[|\{|%7B|\*|\.\.\.|x{3}|pass(?:word|wd)?@|pwd@|secret@|token@|changeme@|your[_-]))"


class Rule(Struct, frozen=True):
    """One kind of secret; a group named `secret` is the part to redact, otherwise it is the whole match."""

    kind: str
    keywords: tuple[str, ...]  # each match starts with one of them
    form: str  # after the keyword
    anywhere: bool = False  # true: the keyword may follow a letter
    # False: redacted in records, but no reason to refuse a commit, as examples of this form are common.
    refused_in_commits: bool = True
    contains: str = ""  # within the first bytes of each match: much faster to search than the form


RULES = (
    # Clouds
    Rule(
        "aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), rf"(?![0-9A-Z]{{9}}EXAMPLE)[0-9A-Z]{{16}}{_END}"
    ),
    Rule(
        "aws-secret-key",
        (
            "aws_secret_access_key",
            "AWS_SECRET_ACCESS_KEY",
            "SecretAccessKey",
            "secretAccessKey",
            "aws_secret_key",
        ),
        rf"{_ASSIGN}(?P<secret>(?![A-Za-z0-9/+]{{29,31}}EXAMPLEKEY)[A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+=])",
    ),
    Rule("aws-bedrock-key", ("ABSKQmVkcm9ja0FQSUtleS",), r"[A-Za-z0-9+/=]{60,}"),
    Rule("google-api-key", ("AIza",), r"[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    Rule("google-oauth-secret", ("GOCSPX-",), r"[A-Za-z0-9_-]{28}"),
    Rule("google-oauth-token", ("ya29.",), r"[A-Za-z0-9_-]{20,}"),
    Rule(
        "azure-storage-key",
        ("AccountKey=", "SharedAccessKey="),
        r"(?P<secret>[A-Za-z0-9+/]{43,88}={0,2})",
        anywhere=True,
    ),
    Rule("azure-client-secret", ("8Q~",), r"(?<=[A-Za-z0-9_.~-]{3}8Q~)[A-Za-z0-9_.~-]{31,34}", anywhere=True),
    Rule("azure-sas", ("&sig=", "?sig="), r"(?P<secret>[A-Za-z0-9%+/]{40,}(?:=|%3[Dd])?)", anywhere=True),
    Rule("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), rf"[0-9a-f]{{64}}{_END}"),
    Rule("alibaba-key", ("LTAI",), rf"[A-Za-z0-9]{{16,26}}{_END}"),
    Rule("tencent-key", ("AKID",), rf"[A-Za-z0-9]{{32}}{_END}"),
    Rule("yandex-key", ("AQVN",), rf"[A-Za-z0-9_-]{{35,38}}{_END}"),
    Rule("cloudflare-origin-key", ("v1.0-",), rf"[0-9a-f]{{24}}-[0-9a-f]{{146}}{_END}"),
    Rule("heroku-key", ("HRKU-",), r"[A-Za-z0-9_-]{36,}"),
    Rule("fly-token", ("FlyV1 fm", "fo1_"), r"[A-Za-z0-9_=+/,-]{40,}"),
    Rule("render-key", ("rnd_",), rf"[A-Za-z0-9]{{28,36}}{_END}"),
    Rule("netlify-token", ("nfp_",), rf"[A-Za-z0-9]{{36,40}}{_END}"),
    Rule("supabase-token", ("sbp_",), rf"[0-9a-f]{{40}}{_END}"),
    Rule("supabase-secret-key", ("sb_secret_",), r"[A-Za-z0-9_-]{20,}"),
    Rule("databricks-token", ("dapi",), rf"[0-9a-f]{{32}}(?:-\d)?{_END}"),
    Rule("planetscale-token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[A-Za-z0-9_=.-]{32,64}"),
    Rule("scalingo-token", ("tk-us-",), rf"[A-Za-z0-9_-]{{48}}{_END}"),
    # Code hosts, packages and builds
    Rule("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,}"),
    Rule("github-fine-grained-token", ("github_pat_",), r"[A-Za-z0-9_]{40,}"),
    Rule(
        "gitlab-token",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glptt-",
            "glft-",
            "glsoat-",
            "glimt-",
            "glagent-",
            "glcbt-",
            "glffct-",
            "gloas-",
        ),
        r"[A-Za-z0-9_.-]{20,}",
    ),
    Rule("bitbucket-password", ("ATBB",), rf"[A-Za-z0-9]{{32}}{_END}"),
    Rule("atlassian-token", ("ATATT3", "ATCTT3"), r"[A-Za-z0-9_=-]{60,}"),
    Rule("npm-token", ("npm_",), rf"[A-Za-z0-9]{{36}}{_END}"),
    Rule("pypi-token", ("pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"), r"[A-Za-z0-9_-]{40,}"),
    Rule("rubygems-key", ("rubygems_",), rf"[0-9a-f]{{48}}{_END}"),
    Rule("crates-token", ("cio",), rf"[A-Za-z0-9]{{32}}{_END}"),
    Rule("clojars-token", ("CLOJARS_",), rf"[a-z0-9]{{60}}{_END}"),
    Rule("docker-token", ("dckr_pat_", "dckr_oat_"), r"[A-Za-z0-9_-]{27,}"),
    Rule("artifactory-key", ("AKCp",), rf"[A-Za-z0-9]{{66,73}}{_END}"),
    Rule("buildkite-token", ("bkua_",), rf"[0-9a-f]{{40}}{_END}"),
    Rule("circleci-token", ("CCIPAT_", "CCIPRJ_"), rf"[A-Za-z0-9]{{22}}_[0-9a-f]{{40}}{_END}"),
    Rule("sourcegraph-token", ("sgp_",), rf"(?:(?:[0-9a-f]{{16}}|local)_)?[0-9a-f]{{40}}{_END}"),
    Rule("postman-key", ("PMAK-",), rf"[0-9a-f]{{24}}-[0-9a-f]{{34}}{_END}"),
    Rule("readme-key", ("rdme_",), rf"[a-z0-9]{{70}}{_END}"),
    Rule("infracost-key", ("ico-",), rf"[A-Za-z0-9]{{32}}{_END}"),
    Rule("prefect-key", ("pnu_",), rf"[A-Za-z0-9]{{36}}{_END}"),
    Rule("figma-token", ("figd_",), r"[A-Za-z0-9_-]{38,}"),
    Rule("linear-key", ("lin_api_", "lin_oauth_"), rf"[A-Za-z0-9]{{32,64}}{_END}"),
    Rule("notion-token", ("secret_", "ntn_"), rf"[A-Za-z0-9]{{43,46}}{_END}"),
    Rule("contentful-token", ("CFPAT-",), r"[A-Za-z0-9_-]{43}"),
    # Models
    Rule("anthropic-key", ("sk-ant-",), r"[A-Za-z0-9_-]{20,}"),
    Rule("openai-project-key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), r"[A-Za-z0-9_-]{40,}"),
    Rule("openrouter-key", ("sk-or-v1-",), rf"[0-9a-f]{{64}}{_END}"),
    Rule("model-api-key", ("sk-",), rf"(?:[0-9a-f]{{32}}|[A-Za-z0-9]{{48,64}}){_END}"),
    Rule("elevenlabs-key", ("sk_",), rf"[0-9a-f]{{48}}{_END}"),
    Rule("huggingface-token", ("hf_", "api_org_"), rf"[A-Za-z0-9]{{34,37}}{_END}"),
    Rule("replicate-token", ("r8_",), rf"[A-Za-z0-9]{{37}}{_END}"),
    Rule("groq-key", ("gsk_",), rf"[A-Za-z0-9]{{52}}{_END}"),
    Rule("perplexity-key", ("pplx-",), rf"[A-Za-z0-9]{{40,56}}{_END}"),
    Rule("xai-key", ("xai-",), rf"[A-Za-z0-9]{{70,90}}{_END}"),
    Rule("nvidia-key", ("nvapi-",), r"[A-Za-z0-9_-]{60,}"),
    Rule("langsmith-key", ("lsv2_pt_", "lsv2_sk_"), rf"[0-9a-f]{{32}}_[0-9a-f]{{10}}{_END}"),
    Rule("pinecone-key", ("pcsk_",), rf"[A-Za-z0-9]{{5,6}}_[A-Za-z0-9]{{50,70}}{_END}"),
    Rule("tavily-key", ("tvly-",), rf"(?:dev-|prod-)?[A-Za-z0-9]{{32}}{_END}"),
    Rule("cursor-key", ("key_", "crsr_"), rf"[0-9a-f]{{64}}{_END}"),
    # Messages and payments
    Rule(
        "slack-token",
        ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe.xoxp-", "xoxe.xoxb-"),
        r"[0-9A-Za-z-]{20,}",
    ),
    Rule("slack-app-token", ("xapp-",), r"\d-[A-Z0-9]+-\d+-[a-z0-9]{32,}"),
    Rule(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{30,})",
    ),
    Rule(
        "discord-webhook",
        ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        r"(?P<secret>\d{15,}/[A-Za-z0-9_-]{60,})",
    ),
    Rule(
        "teams-webhook",
        (".webhook.office.com/webhookb2/",),
        r"(?P<secret>[A-Za-z0-9@/-]{60,})",
        anywhere=True,
    ),
    Rule("telegram-token", (":AA",), rf"(?<=\d{{8}}:AA)[A-Za-z0-9_-]{{33}}{_END}", anywhere=True),
    Rule(
        "stripe-key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"),
        r"[A-Za-z0-9]{16,}",
    ),
    Rule("webhook-secret", ("whsec_",), r"[A-Za-z0-9+/=]{24,}"),
    Rule("square-token", ("sq0atp-", "sq0csp-", "sq0idp-"), r"[A-Za-z0-9_-]{22,43}"),
    Rule("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), rf"[0-9a-fA-F]{{32}}{_END}"),
    Rule("plaid-token", ("access-sandbox-", "access-development-", "access-production-"), rf"{_UUID}{_END}"),
    Rule("flutterwave-key", ("FLWSECK_TEST-", "FLWSECK-"), r"[A-Za-z0-9]{12,}(?:-X)?"),
    Rule("easypost-key", ("EZAK", "EZTK"), rf"[A-Za-z0-9]{{54}}{_END}"),
    Rule("shippo-token", ("shippo_live_", "shippo_test_"), rf"[0-9a-f]{{40}}{_END}"),
    Rule("duffel-token", ("duffel_live_", "duffel_test_"), r"[A-Za-z0-9_=-]{43}"),
    Rule("sendgrid-key", ("SG.",), rf"[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}{_END}"),
    Rule("mailgun-key", ("key-", "pubkey-"), rf"[0-9a-f]{{32}}{_END}"),
    Rule("brevo-key", ("xkeysib-", "xsmtpsib-"), rf"[0-9a-f]{{64}}-[A-Za-z0-9]{{16}}{_END}"),
    Rule("resend-key", ("re_",), rf"[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}{_END}"),
    Rule("typeform-token", ("tfp_",), r"[A-Za-z0-9_.=-]{40,}"),
    Rule("frameio-token", ("fio-u-",), r"[A-Za-z0-9_=-]{60,}"),
    Rule("dropbox-token", ("sl.",), r"(?:u\.)?[A-Za-z0-9_-]{130,}"),
    Rule("mapbox-token", ("sk.eyJ",), r"[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}"),
    # Operations
    Rule("newrelic-key", ("NRAK-", "NRII-", "NRJS-", "NRRA-"), r"[A-Za-z0-9_-]{19,}"),
    Rule("grafana-token", ("glc_",), r"[A-Za-z0-9+/=]{32,}"),
    Rule("grafana-service-token", ("glsa_",), rf"[A-Za-z0-9]{{32}}_[0-9A-Fa-f]{{8}}{_END}"),
    Rule("sentry-token", ("sntrys_eyJ", "sntryu_"), r"[A-Za-z0-9+/=_]{60,}"),
    Rule("posthog-key", ("phx_",), rf"[A-Za-z0-9]{{40,50}}{_END}"),
    Rule("vault-token", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{24,}"),
    Rule("terraform-token", (".atlasv1.",), r"(?P<secret>[A-Za-z0-9_=-]{60,70})", anywhere=True),
    Rule("pulumi-token", ("pul-",), rf"[0-9a-f]{{40}}{_END}"),
    Rule(
        "doppler-token",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    Rule("onepassword-token", ("ops_eyJ",), r"[A-Za-z0-9+/=_-]{200,}"),
    Rule("tailscale-key", ("tskey-",), r"(?:api|auth|client|scim|webhook)-[A-Za-z0-9]+-[A-Za-z0-9]{20,}"),
    Rule("openshift-token", ("sha256~",), rf"[A-Za-z0-9_-]{{43}}{_END}"),
    Rule("adobe-secret", ("p8e-", "p8-"), rf"[A-Za-z0-9]{{32}}{_END}"),
    Rule("intra-token", ("s-s4t2ud-", "s-s4t2af-"), rf"[0-9a-f]{{64}}{_END}"),
    Rule("age-key", ("AGE-SECRET-KEY-1",), r"[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    # Forms that any program uses
    Rule("private-key", ("-----BEGIN",), "", anywhere=True),
    Rule(
        "jwt",
        ("eyJ",),
        # Without the limit, a text of many beginnings takes quadratic time.
        r"[A-Za-z0-9_-]{8,1000}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{16,}",
        refused_in_commits=False,
        contains=".eyJ",
    ),
    Rule(
        "url-password",
        ("://",),
        rf"(?P<user>{_USER}):(?P<secret>{_PLACEHOLDER}[^\s/@\"'<>\\`]{{3,}})@(?=[A-Za-z0-9\[.-])",
        anywhere=True,
        refused_in_commits=False,
    ),
    Rule(
        "authorization",
        ("Bearer ", "bearer ", "Basic ", "Authorization: token "),
        r"(?P<secret>(?=[A-Za-z0-9._~+/-]*\d)[A-Za-z0-9._~+/-]{20,}={0,2})",
        refused_in_commits=False,
    ),
)

PRIVATE_KEY = "private-key"
KEYWORDS_WITH_SPACES = tuple(word for rule in RULES for word in rule.keywords if " " in word)
_BY_KEYWORD = {word.encode(): rule for rule in RULES for word in rule.keywords}
LONGEST_KEYWORD = max(map(len, _BY_KEYWORD))


MIN_RUN = 20
"""No secret is shorter, except for those of LOOSE_KEYWORDS."""
RUN_CHARACTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.+/=~%:?&@,-"
_LOOSE_KINDS = (PRIVATE_KEY, "url-password", "aws-secret-key")
LOOSE_KEYWORDS = tuple(
    word.encode() for rule in RULES for word in rule.keywords if " " in word or rule.kind in _LOOSE_KINDS
)
"""Keywords that are searched everywhere; the others only in long runs of RUN_CHARACTERS, which are rare."""
_SHARED_PARTS = (b"aws_secret_", b"ecretAccessKey", b"earer ")


def _group_by_part(keywords: tuple[bytes, ...]) -> dict[bytes, list[tuple[bytes, int]]]:
    """Return the parts to search, with the keywords that contain each of them and its offset in them."""
    found: dict[bytes, list[tuple[bytes, int]]] = {}
    for word in keywords:
        part = next((part for part in _SHARED_PARTS if part in word), word)
        found.setdefault(part, []).append((word, word.index(part)))
    return found


LOOSE_PARTS = _group_by_part(LOOSE_KEYWORDS)
"""One search finds all keywords with the same part; the text is read once for each search."""


@cache
def keyword_search() -> re.Pattern[bytes]:
    """Return the search for all other keywords; of two at one place it finds the longer one."""
    return re.compile(_as_tree(sorted(_BY_KEYWORD.keys() - set(LOOSE_KEYWORDS))))


@cache
def any_keyword() -> re.Pattern[bytes]:
    """Return the search for every keyword."""
    return re.compile(_as_tree(sorted(_BY_KEYWORD)))


@cache
def compiled_form(keyword: bytes) -> re.Pattern[bytes]:
    """Return the form of a secret from its keyword on."""
    rule = _BY_KEYWORD[keyword]
    if rule.kind == PRIVATE_KEY:
        return re.compile(WHOLE_KEY.encode())
    return re.compile(f"{re.escape(keyword.decode())}{rule.form}".encode())


def can_start(rule: Rule, data: bytes, at: int) -> bool:
    """Return whether a token can start here: after no letter or digit, except for the end of an escape."""
    if rule.contains and data.find(rule.contains.encode(), at, at + _CONTAINED_BYTES) < 0:
        return False
    if rule.anywhere or not data[at - 1 : at].isalnum():
        return True
    return _ESCAPE_BEFORE.search(data, max(0, at - LONGEST_ESCAPE), at) is not None


def rules_for(keyword: bytes) -> list[bytes]:
    """Return the keywords to try at a place: the one that was found and those it starts with."""
    return [word for word in (keyword[:size] for size in range(len(keyword), 1, -1)) if word in _BY_KEYWORD]


def rule_of(keyword: bytes) -> Rule:
    return _BY_KEYWORD[keyword]


def _as_tree(words: list[bytes]) -> bytes:
    """Return an expression in which words share their beginnings: it is tried at every byte."""
    by_first: dict[bytes, list[bytes]] = {}
    for word in words:
        by_first.setdefault(word[:1], []).append(word[1:])
    branches = [re.escape(first) + _as_rest(rests) for first, rests in by_first.items()]
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"


def _as_rest(rests: list[bytes]) -> bytes:
    longer = [rest for rest in rests if rest]
    if not longer:
        return b""
    tree = _as_tree(longer)
    return b"(?:" + tree + b")?" if len(longer) < len(rests) else tree
