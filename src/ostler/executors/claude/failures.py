"""The failures of Claude Code and their codes, the strongest evidence first."""

from __future__ import annotations

from ostler.errors import Code
from ostler.executors.failures import HTTP_STATUSES, Evidence, FailureTable, Rule, make_rules, text_rules

CLAUDE_FAILURES = FailureTable(
    rules=(
        *make_rules(
            "terminal_reason",
            {
                "prompt_too_long": Code.PROMPT_TOO_LARGE,
                # The count of claude itself is over the limit.
                "blocking_limit": Code.PROMPT_TOO_LARGE,
                "budget_exhausted": Code.BUDGET_EXCEEDED,
                "max_turns": Code.ITERATION_LIMIT,
            },
        ),
        Rule("stop_reason", "refusal", Code.REFUSED),
        # A spend limit comes as 400 or 429, an exhausted subscription as 429: the text is stronger evidence.
        *text_rules(
            {
                r"no conversation found with session id|does not match any session": Code.SESSION_NOT_FOUND,
                r"session id \S+ is already in use": Code.SESSION_IN_USE,
                r"billing.{0,40}limit": Code.QUOTA_EXCEEDED,
                r"credit balance is too low|spend(ing)?.limit|specified api usage limits|billing": (
                    Code.BILLING
                ),
                r"usage limit reached|hit your ([\w-]+ ){0,2}limit|limit will reset": Code.QUOTA_EXCEEDED,
                r"out of (extra usage|usage credits)": Code.QUOTA_EXCEEDED,
                # Before the rules of NETWORK: this connection had been open.
                r"connection to the api was lost": Code.STREAM_BROKEN,
            },
        ),
        *make_rules(
            "error_type",
            {
                "billing_error": Code.BILLING,
                "authentication_failed": Code.AUTH_FAILED,
                "model_not_found": Code.MODEL_NOT_FOUND,
                "usage_limit_reached": Code.QUOTA_EXCEEDED,
                "rate_limit": Code.RATE_LIMITED,
                "overloaded": Code.OVERLOADED,
                "connection_failed": Code.NETWORK,
                "max_output_tokens": Code.OUTPUT_LIMIT,
            },
        ),
        *make_rules("status", {str(status): code for status, code in HTTP_STATUSES.items()}),
        # The texts of versions up to 2.1.197, which report no status.
        *text_rules(
            {
                r"invalid api key|not logged in|please run /login|oauth token": Code.AUTH_FAILED,
                r"failed to authenticate|authentication_error|api error: 40[13]\b": Code.AUTH_FAILED,
                r"issue with the selected model|api error: 404\b": Code.MODEL_NOT_FOUND,
                r"prompt is too long|exceeds 10MB|api error: 413\b": Code.PROMPT_TOO_LARGE,
                r"\(429\)|api error: 429\b|rate_limit_error": Code.RATE_LIMITED,
                r"529 overloaded|api error: (5[0-3][0-9])\b|overloaded_error": Code.OVERLOADED,
                r"econn|enotfound|etimedout|eai_again|connection (refused|error)": Code.NETWORK,
                r"request timed out|fetch failed|socket hang up": Code.NETWORK,
                r"output token maximum": Code.OUTPUT_LIMIT,
                r"safeguards flagged|usage policy": Code.REFUSED,
                r"stream (ended|closed|disconnected)|premature close|json parse error": Code.STREAM_BROKEN,
                r"unknown option|unknown argument": Code.AGENT_INCOMPATIBLE,
                r"^api error": Code.API_ERROR,
            },
        ),
        Rule("error_type", "server_error", Code.OVERLOADED),
        Rule("terminal_reason", "api_error", Code.API_ERROR),
    ),
)


def classify_retry(error_type: str, status: int | None) -> Code:
    """Return the code of the failure after which claude retries by itself."""
    code = CLAUDE_FAILURES.classify(Evidence(error_type=error_type, status=status))
    return code or (Code.API_ERROR if status else Code.NETWORK)
