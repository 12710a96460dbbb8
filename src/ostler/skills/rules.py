"""The rules of the linter: known attacks in skills."""

from __future__ import annotations

import re

from msgspec import Struct


class Rule(Struct, frozen=True):
    """One kind of attack."""

    what: str  # the message of a finding
    keywords: tuple[str, ...]  # in lower case; a text without any of them is not searched
    pattern: re.Pattern[str]


_SHELL = r"(?:sudo\s+)?(?:(?:ba|z|k|da|fi)?sh|python[\d.]*|node|perl|ruby|iex)\b"
_FETCH = r"(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)\b"

HIDDEN = Rule(
    "invisible characters",
    (),
    re.compile(
        "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
        "|[\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
        "|(?<=[ -~])[\u200c\u200d]|[\u200c\u200d](?=[ -~])"  # elsewhere they join emoji and letters
    ),
)
BASE64 = Rule(
    "long base64 text",
    (),
    re.compile(r"(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]*[0-9+])[A-Za-z0-9+/]{160,}"),
)
DOWNLOADS = Rule(
    "runs downloaded code",
    ("curl", "wget", "iwr", "irm", "invoke-"),
    re.compile(
        rf"\b{_FETCH}[^\n|]{{0,300}}\|\s*{_SHELL}"
        rf"|\b(?:sh|bash|zsh|python[\d.]*|eval|source|iex)\b[^\n]{{0,40}}(?:<\(|\$\(|\(|`)\s*{_FETCH}",
        re.IGNORECASE,
    ),
)
DECODES = Rule(
    "runs decoded code",
    ("base64", "b64decode", "atob", "fromhex", "buffer.from", "powershell"),
    re.compile(
        rf"base64\s+(?:-d|--decode)[^\n|]{{0,100}}\|\s*{_SHELL}"
        r"|\b(?:exec|eval)\s*\([^\n]{0,60}(?:b64decode|atob|fromhex|Buffer\.from)"
        r"|powershell[^\n]{0,60}\s-e(?:nc|ncodedcommand)?\s",
        re.IGNORECASE,
    ),
)
_CREDENTIAL_FILES = (
    r"\.ssh/(?:id_|\*|config|authorized_keys)|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws/credentials|\.netrc\b"
    r"|\.git-credentials|\.kube/config\b|\.docker/config\.json|\.config/gh/hosts|/etc/shadow\b"
    r"|\.claude/\.credentials|\.codex/auth\.json|find-(?:generic|internet)-password"
)
CREDENTIALS = Rule(
    "accesses credentials",
    (
        *(".ssh", "id_", ".netrc", "credentials", ".kube", ".docker", "gh/hosts", "/etc/shadow", "auth.json"),
        *("-password", ".env", "private key", "api keys", "passwords", "environment variables"),
    ),
    re.compile(
        rf"{_CREDENTIAL_FILES}|\b(?:cat|read|print|send|upload|post|copy|exfiltrate)\b[^\n.]{{0,60}}"
        r"(?:\.env\b|private keys?\b|api keys\b|credentials\b|passwords\b|environment variables\b)",
        re.IGNORECASE,
    ),
)
SECRECY = Rule(
    "hides something from people",
    ("user", "human", "operator", "anyone", "instruction", "prompt", "rule"),
    re.compile(
        r"\b(?:do not|don't|never|without)\s+(?:\w+\s+){0,2}?"
        r"(?:tell|mention|inform|notify|reveal|alert)(?:ing)?\b[^\n.]{0,40}\b(?:user|human|operator|anyone)\b"
        r"|\b(?:ignore|disregard|forget)\s+(?:\w+\s+){0,3}?(?:previous|prior|above|earlier|system)\s"
        r"(?:\w+\s+)?(?:instructions?|prompts?|rules?)",
        re.IGNORECASE,
    ),
)
RULES = (HIDDEN, BASE64, DOWNLOADS, DECODES, CREDENTIALS, SECRECY)
