"""Maps the failures that agents report to codes: one shape of table for every agent, and the shared rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from ostler.errors import Code
from ostler.lazy import lazy_pattern

Field = Literal["text", "status", "error_type", "terminal_reason", "stop_reason"]


class Evidence(Struct, frozen=True):
    """What an agent reported about a failure."""

    text: str = ""
    status: int | None = None  # the HTTP status
    error_type: str = ""  # the provider's name of the error, such as rate_limit
    terminal_reason: str = ""  # why the run ended, such as max_turns
    stop_reason: str = ""  # why the last message ended, such as refusal


class Rule(Struct, frozen=True):
    """One row of a table: a value of one field of the evidence, and the code that it means."""

    field: Field
    pattern: str  # a regular expression: searched in `text`, matched against the whole of another field
    code: Code

    def matches(self, evidence: Evidence) -> bool:
        """Return whether the evidence has this value."""
        if self.field == "text":
            return re.search(self.pattern, evidence.text, re.IGNORECASE) is not None
        value: object = getattr(evidence, self.field)
        return re.fullmatch(self.pattern, str(value)) is not None


class FailureTable(Struct, frozen=True):
    """The failures of one agent. Every agent has one; the first rule that matches decides."""

    rules: tuple[Rule, ...] = ()
    uses_shared_rules: bool = True  # tried after its own
    http_exit_codes: Mapping[int, int] = {}  # exit codes that stand for an HTTP status
    exit_codes: Mapping[int, Code] = {}  # what its other exit codes mean, when no rule matches

    def classify(self, evidence: Evidence) -> Code | None:
        """Return the code of the first rule that matches, or None."""
        rules = (*self.rules, *SHARED_RULES) if self.uses_shared_rules else self.rules
        return next((rule.code for rule in rules if rule.matches(evidence)), None)

    def matches_text(self, text: str) -> bool:
        """Return whether a text rule of the agent's own matches."""
        evidence = Evidence(text=text)
        return any(rule.field == "text" and rule.matches(evidence) for rule in self.rules)


def make_rules(field: Field, codes: Mapping[str, Code]) -> tuple[Rule, ...]:
    """Return one rule for each pattern."""
    return tuple(Rule(field, pattern, code) for pattern, code in codes.items())


def text_rules(codes: Mapping[str, Code]) -> tuple[Rule, ...]:
    """Return rules that search the text of an error for a regular expression."""
    return make_rules("text", codes)


HTTP_STATUSES: dict[int, Code] = {
    401: Code.AUTH_FAILED,
    402: Code.BILLING,
    403: Code.AUTH_FAILED,
    404: Code.MODEL_NOT_FOUND,
    408: Code.NETWORK,
    413: Code.PROMPT_TOO_LARGE,
    429: Code.RATE_LIMITED,
    500: Code.OVERLOADED,
    502: Code.OVERLOADED,
    503: Code.OVERLOADED,
    504: Code.OVERLOADED,
    520: Code.OVERLOADED,
    522: Code.NETWORK,
    524: Code.OVERLOADED,
    529: Code.OVERLOADED,
}

SHARED_RULES = (
    # An exhausted account comes as 400, 403 or 429: these texts are stronger evidence than a status.
    *text_rules(
        {
            r"insufficient_quota|quota exceeded|exceeded your current quota": Code.QUOTA_EXCEEDED,
            r"spend(ing)?[ _]limit": Code.BILLING,
            r"billing.{0,40}limit": Code.QUOTA_EXCEEDED,
            r"hit your ([\w-]+ ){0,2}limit|(?<!not your )usage limit|limit will reset": Code.QUOTA_EXCEEDED,
            r"out of (extra usage|usage credits)|usage_limit_reached|quota_exhausted": Code.QUOTA_EXCEEDED,
            r"(weekly|daily|hour|session) limit reached|limit reached.{0,5}resets": Code.QUOTA_EXCEEDED,
            r"throttlingexception": Code.RATE_LIMITED,
            r"credit balance|credits? (is|are|was|were)? ?exhausted|payment required": Code.BILLING,
            r"insufficient (funds|credits|balance)|billing.{0,20}not.{0,20}enabled": Code.BILLING,
            r"(exceed|maximum|too long|out of room).{0,60}context.?(length|window)": Code.PROMPT_TOO_LARGE,
            r"context.?(length|window).{0,60}(exceed|too|full)": Code.PROMPT_TOO_LARGE,
            r"(prompt|input) is too long|too many tokens": Code.PROMPT_TOO_LARGE,
            r"max_output_tokens|output token (limit|maximum)": Code.OUTPUT_LIMIT,
        }
    ),
    *make_rules("status", {str(status): code for status, code in HTTP_STATUSES.items()}),
    Rule("status", r"[45]\d\d", Code.API_ERROR),
    *text_rules(
        {
            r"rate.?limit|\brate\b.{0,30}\blimit|too.{0,3}many.{0,20}request": Code.RATE_LIMITED,
            r"resource.?exhausted": Code.RATE_LIMITED,
            r"overloaded|at capacity|high demand": Code.OVERLOADED,
            r"internal server error|server_error|bad gateway|service unavailable": Code.OVERLOADED,
            r"gateway time-?out|service_?unavailable": Code.OVERLOADED,
            r"(server|service|model) is (currently|temporarily) unavailable": Code.OVERLOADED,
            r"server had an error": Code.OVERLOADED,
            r"(invalid|missing|incorrect|bad).{0,20}(api.?key|credentials)|unauthori[sz]ed": Code.AUTH_FAILED,
            r"not (logged in|authenticated)|please (log ?in|sign in)": Code.AUTH_FAILED,
            r"authentication.{0,3}(error|failed|required|failure)|failed to authenticate": Code.AUTH_FAILED,
            r"oauth token.{0,20}expired|invalid_grant|please.{0,20} (log|sign) in again": Code.AUTH_FAILED,
            r"please run .{0,20}login\b|api.?key.{0,10}missing|set an auth method": Code.AUTH_FAILED,
            r"no authentication (information|credentials)": Code.AUTH_FAILED,
            r"model.{0,60}(not found|does not exist|not supported|unknown)|unknown model": (
                Code.MODEL_NOT_FOUND
            ),
            r"stream (closed|ended|disconnected)|premature close|terminated early": Code.STREAM_BROKEN,
            r"econn|enotfound|enetunreach|ehostunreach|etimedout|eai_again|epipe|fetch failed": Code.NETWORK,
            r"connection (refused|reset|error|closed)|network (is unreachable|error)": Code.NETWORK,
            r"(request|connection|operation|connect|read) timed out|error sending request": Code.NETWORK,
            r"socket hang up|temporary failure in name resolution|could not resolve": Code.NETWORK,
            r"getaddrinfo|no route to host|tls handshake timeout|(connection|connect|read) timeout": (
                Code.NETWORK
            ),
            r"disconnect/reset before headers|err_internet_disconnected|connecttimeout": Code.NETWORK,
            r"cannot connect to api|dns (lookup|resolution) (failed|error|timed out)": Code.NETWORK,
            r"content.?(filter|policy)|usage policy|refus(al|ed to answer)": Code.REFUSED,
            r"(blocked|flagged|stopped|finish).{0,40}safety|safety.{0,3}(filter|reason|setting)": (
                Code.REFUSED
            ),
            r"(unknown|unexpected|unrecogni[sz]ed) (option|argument|flag)": Code.AGENT_INCOMPATIBLE,
            r"api[_ ]?error|bad request|invalid_request": Code.API_ERROR,
        }
    ),
)
SHARED_FAILURES = FailureTable()

_STATUS = lazy_pattern(
    r"\b(?:status|http(?:/[\d.]+)?|error|code)\b\W{0,3}(?:code\W{0,3})?(\d{3})\b|\((\d{3})\)"
    # A count, such as "429 passed", is no status.
    r"|^(\d{3})\b(?! (?:passed|failed|passing|failing|tests?|files?|lines?|errors?|warnings?)\b)",
    re.IGNORECASE,
)
_MAX_TEXT = 4000  # characters at the end of a text that are searched


def classify_failure(
    text: str, status: int | None = None, table: FailureTable = SHARED_FAILURES
) -> Code | None:
    """Return the code for an error text, or None; without a status, one in the text counts."""
    text = text[-_MAX_TEXT:]
    return table.classify(Evidence(text=text, status=status or _find_status(text)))


def _find_status(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1] or found[2] or found[3]) if found else None


_ERROR_ANSWER = lazy_pattern(
    r"\[?API Error: (?:\d{3}\b|Request rejected|Repeated \d{3}|Connection ).*"
    r"|Credit balance is too low\W*"
    r"|Invalid API key · .*|Not logged in · .*|Claude AI usage limit reached\|\d+"
    r"|You(?:['\u2019]ve hit your [\w -]{0,30}limit|['\u2019]re out of (?:extra usage|usage credits)) [·∙] .*"
)
_ERROR_LINE = lazy_pattern(
    r"\W*(?:(?:(?:api )?\w*error|fatal|failed|failure|panic|http|status|code)\b|\d{3}\b"
    r"|rate.?limit|too.?many.?requests|resource.?exhausted|overloaded|credit balance"
    r"|(?:usage|weekly|daily|session|5-hour) limit|\w*quota|you(?:['\u2019]ve| have)? (?:hit|exceeded)"
    r"|you['\u2019]re out of|(?:your )?billing (?:\w+ )?limit)",
    re.IGNORECASE,
)
# A failed test of what the agent works on: it may quote any text.
_TEST_RESULT = lazy_pattern(r"\bassert|\.\w{1,4}::\w", re.IGNORECASE)
_MAX_ERROR_ANSWER, _MAX_ERROR_LINE, _MAX_ERROR_LINES = 1000, 300, 3


def is_error_answer(text: str) -> bool:
    """Return whether a final text is only an API error, which some agents report as success (C36, A17)."""
    line = text.strip()
    return len(line) <= _MAX_ERROR_ANSWER and _ERROR_ANSWER.fullmatch(line) is not None


def is_short_enough_for_error(text: str) -> bool:
    """Return whether a text that is reported as an error can be one; a longer text is the agent's own."""
    lines = [line for line in text.splitlines() if line.strip()]
    short = len(text) <= _MAX_ERROR_ANSWER and len(lines) <= _MAX_ERROR_LINES
    return short or text.lstrip("[").startswith("API Error")


def find_error_line(output: str) -> str:
    """Return the last line of a failed program's output when it looks like an error, or an empty string."""
    last = output.strip().rpartition("\n")[2]
    is_error = _ERROR_LINE.match(last) is not None or is_error_answer(last)
    is_error = is_error and _TEST_RESULT.search(last) is None
    return last if len(last) <= _MAX_ERROR_LINE and is_error else ""
