"""How a conversation with an ACP agent ended."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors import verdict
from ostler.executors.error_text import is_brief
from ostler.executors.failure import Words, code_of_failure, retry_after
from ostler.executors.hearing import Hearing
from ostler.executors.verdict import Manner
from ostler.executors.wire import one_line
from ostler.model.call import AgentCall, CallResult
from ostler.model.command import Exit

WORDS: Words = {
    r"^authentication required": Code.AUTH_FAILED,
    r"^session not found": Code.SESSION_NOT_FOUND,
    r"^model not found": Code.MODEL_NOT_FOUND,
    r"^mode not found|^protocol version|^method not found|no such method": Code.AGENT_INCOMPATIBLE,
    r"^cannot resume": Code.RESUME_UNSUPPORTED,
    r"turn ended with max_turn_requests": Code.ITERATION_LIMIT,
    r"turn ended with refusal": Code.REFUSED,
}

# Copilot ends its turn well when its provider refuses it, and says so as if the model had.
_ERROR_TEXT = re.compile(r"(?:Info: Request failed|Error:|API Error|\[API Error).{0,1000}", re.DOTALL)


def judge(call: AgentCall, heard: Hearing, exit: Exit, program: str) -> CallResult:
    """The answer counts. How a program exits whose input was closed after it says nothing more."""
    seen = replace(exit, status=0) if heard.finished else exit
    manner = Manner(program, decode=_decode_nothing, words=WORDS)
    result = replace(verdict.judge(call, heard, seen, manner), exit_code=exit.status)
    return _doubt(result, heard, program) if result.ok else result


def _doubt(result: CallResult, heard: Hearing, program: str) -> CallResult:
    """A success without a token, whose only text is an error, is none."""
    text = result.text.strip()
    if heard.usage.output_tokens or not (is_brief(text) and _ERROR_TEXT.fullmatch(text)):
        return result
    code = code_of_failure(text, own=WORDS) or Code.API_ERROR
    message = f"{program} failed: {one_line(text[max(0, text.rfind('Error:')) :])}"
    return replace(result, code=code, message=message, text="", retry_after_seconds=retry_after(text))


def _decode_nothing(line: bytes, heard: Hearing) -> bool:
    del line, heard
    return False
