"""Evaluates how a conversation with an ACP agent ended."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors.failures import (
    FailureTable,
    Rule,
    classify_failure,
    is_short_enough_for_error,
    text_rules,
)
from ostler.executors.limits.reading import add_limits
from ostler.executors.output import OutputFormat, evaluate_run
from ostler.executors.retries import RetryLines
from ostler.executors.stream_state import StreamState
from ostler.model.call import AgentCall, CallResult
from ostler.model.command import Exit
from ostler.text import first_line

ACP_FAILURES = FailureTable(
    text_rules(
        {
            r"^authentication required": Code.AUTH_FAILED,
            r"^session not found": Code.SESSION_NOT_FOUND,
            r"^model not found": Code.MODEL_NOT_FOUND,
            r"^mode not found|^protocol version|^method not found|no such method": Code.AGENT_INCOMPATIBLE,
            r"^cannot resume": Code.RESUME_UNSUPPORTED,
            r"turn ended with max_turn_requests": Code.ITERATION_LIMIT,
            r"turn ended with refusal": Code.REFUSED,
        }
    )
)

# When its provider rejects a request, copilot reports a success with the error as the text of the model.
_ERROR_TEXT = re.compile(r"(?:Info: Request failed|Error:|API Error|\[API Error).{0,1000}", re.DOTALL)


def describe_output(program: str, retry_lines: RetryLines, rules: tuple[Rule, ...] = ()) -> OutputFormat:
    """Return the format for an agent whose output is a conversation; `rules` are those of its program."""
    failures = FailureTable((*ACP_FAILURES.rules, *rules))
    return OutputFormat(program, _decode_nothing, failures, retry_lines)


def evaluate_conversation(
    call: AgentCall, state: StreamState, exit: Exit, output_format: OutputFormat
) -> CallResult:
    """Return the result; after an answer the exit code of the program is not relevant."""
    relevant = replace(exit, status=0) if state.finished else exit
    result = replace(evaluate_run(call, state, relevant, output_format), exit_code=exit.status)
    return _detect_error_text(result, state, output_format.program) if result.ok else result


def _detect_error_text(result: CallResult, state: StreamState, program: str) -> CallResult:
    """Return a failure for a success without tokens whose text is an error."""
    text = result.text.strip()
    if state.usage.output_tokens or not (is_short_enough_for_error(text) and _ERROR_TEXT.fullmatch(text)):
        return result
    code = classify_failure(text, table=ACP_FAILURES) or Code.API_ERROR
    message = f"{program} failed: {first_line(text[max(0, text.rfind('Error:')) :])}"
    return add_limits(replace(result, code=code, message=message, text=""), text, result.windows)


def _decode_nothing(line: bytes, state: StreamState) -> bool:
    del line, state
    return False
