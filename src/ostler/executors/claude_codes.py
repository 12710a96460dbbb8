"""Which code claude's evidence stands for: tables, strongest evidence first."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from ostler.errors import Code

Where = Literal["terminal", "stop", "word", "status", "text"]


class Evidence(Struct, frozen=True):
    """What claude said about a failure, structured first, in words last."""

    text: str = ""
    terminal: str = ""  # terminal_reason of the result
    stop: str = ""  # stop_reason of the result
    word: str = ""  # the error word of the last assistant line
    status: int | None = None  # the HTTP status


class Rule(Struct, frozen=True):
    where: Where
    what: str  # a word, a status or, for text, a pattern
    code: Code

    def matches(self, evidence: Evidence) -> bool:
        if self.where == "text":
            return re.search(self.what, evidence.text, re.IGNORECASE) is not None
        found: object = getattr(evidence, self.where)
        return str(found) == self.what


def _rules(where: Where, table: dict[str, Code]) -> tuple[Rule, ...]:
    return tuple(Rule(where, what, code) for what, code in table.items())


# A spend limit comes as 400 or 429, a used-up subscription as 429: their words are stronger than the status.
_RULES = (
    *_rules(
        "terminal",
        {
            "prompt_too_long": Code.PROMPT_TOO_LARGE,
            "blocking_limit": Code.PROMPT_TOO_LARGE,  # claude itself counted too many tokens
            "budget_exhausted": Code.BUDGET_EXCEEDED,
            "max_turns": Code.ITERATION_LIMIT,
        },
    ),
    Rule("stop", "refusal", Code.REFUSED),
    *_rules(
        "text",
        {
            r"no conversation found with session id|does not match any session": Code.SESSION_NOT_FOUND,
            r"session id \S+ is already in use": Code.SESSION_IN_USE,
            r"credit balance is too low|spend(ing)?.limit|specified api usage limits|billing": Code.BILLING,
            r"usage limit reached|hit your (\w+ )?limit|limit will reset": Code.QUOTA_EXCEEDED,
            r"connection to the api was lost": Code.STREAM_BROKEN,  # else it reads as if never connected
        },
    ),
    *_rules(
        "word",
        {
            "billing_error": Code.BILLING,
            "authentication_failed": Code.AUTH_FAILED,
            "model_not_found": Code.MODEL_NOT_FOUND,
            "rate_limit": Code.RATE_LIMITED,
            "overloaded": Code.OVERLOADED,
            "connection_failed": Code.NETWORK,
            "max_output_tokens": Code.OUTPUT_LIMIT,
        },
    ),
    *_rules(
        "status",
        {
            "401": Code.AUTH_FAILED,
            "402": Code.BILLING,
            "403": Code.AUTH_FAILED,
            "404": Code.MODEL_NOT_FOUND,
            "408": Code.TIMEOUT,
            "413": Code.PROMPT_TOO_LARGE,
            "429": Code.RATE_LIMITED,
            "529": Code.OVERLOADED,
        },
    ),
    # What versions up to 2.1.197, which name no status, say.
    *_rules(
        "text",
        {
            r"invalid api key|not logged in|please run /login|oauth token": Code.AUTH_FAILED,
            r"failed to authenticate|authentication_error|api error: 40[13]\b": Code.AUTH_FAILED,
            r"issue with the selected model|api error: 404\b": Code.MODEL_NOT_FOUND,
            r"prompt is too long|exceeds 10MB|api error: 413\b": Code.PROMPT_TOO_LARGE,
            r"\(429\)|api error: 429\b|rate_limit_error": Code.RATE_LIMITED,
            r"529 overloaded|api error: 529\b|overloaded_error": Code.OVERLOADED,
            r"econn|enotfound|etimedout|connection (refused|error)": Code.NETWORK,
            r"request timed out|fetch failed": Code.NETWORK,
            r"output token maximum": Code.OUTPUT_LIMIT,
            r"safeguards flagged|usage policy": Code.REFUSED,
            r"stream (ended|closed|disconnected)|premature close|json parse error": Code.STREAM_BROKEN,
            r"unknown option|unknown argument": Code.AGENT_INCOMPATIBLE,
            r"^api error": Code.API_ERROR,
        },
    ),
    Rule("word", "server_error", Code.API_ERROR),
    Rule("terminal", "api_error", Code.API_ERROR),
)

_RESET = re.compile(r"limit reached\|(\d{10})\b")


def code_of(evidence: Evidence) -> Code | None:
    """The first rule that matches, or None when nothing is known."""
    return next((rule.code for rule in _RULES if rule.matches(evidence)), None)


def code_of_retry(word: str, status: int | None) -> Code:
    """What claude waits for when it announces that it will try again."""
    return code_of(Evidence(word=word, status=status)) or (Code.API_ERROR if status else Code.NETWORK)


def reset_time(text: str) -> float | None:
    """The moment at which a used-up quota comes back, where the text names one."""
    found = _RESET.search(text)
    return float(found[1]) if found else None
