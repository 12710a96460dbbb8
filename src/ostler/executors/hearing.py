"""What one run of an agent says: told on as it comes, and kept for the verdict."""

from __future__ import annotations

import re

from msgspec import Raw, Struct

from ostler.errors import Code
from ostler.executors.tool_input import NOTHING, object_of
from ostler.executors.wire import one_line
from ostler.model.call import (
    AgentCall,
    LineUnread,
    OnEvent,
    RetrySeen,
    SessionStarted,
    TextSaid,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageSeen,
)
from ostler.model.usage import Usage, add_cost

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")  # it becomes an argument: never an option or a path
_TOLD = 20  # unread lines told one by one; an agent may print millions


class Failure(Struct, frozen=True):
    """What the agent itself says went wrong."""

    text: str
    status: int | None = None  # the HTTP status, where it names one
    retry_after_seconds: float | None = None  # where it is a number, and not in the text


class Hearing:
    """One run's evidence; a decoder calls the verbs, the verdict reads the fields."""

    def __init__(self, call: AgentCall, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._before = call.session_usage
        self._denied: set[str] = set()
        self._uses: dict[str, str] = {}
        self._pieces: list[str] = []
        self.asked_id = call.session_id  # the session that it was told to begin or to continue
        self.session_id = ""  # as the agent names it
        self.model = ""
        self.text = ""  # of the last message
        self.usage = Usage()
        self.session_usage: Usage | None = None  # where the agent counts for the whole session
        self.cost_usd: float | None = None
        self.failure: Failure | None = None
        self.retry: RetrySeen | None = None  # set while the agent waits for its provider
        self.finished = False  # it has said that its turn is over
        self.truncated = False
        self.unread = 0

    @property
    def denied(self) -> bool:
        return bool(self._denied)

    def begin(self, session_id: str, model: str = "", version: str = "") -> None:
        """The agent has named its session; told once."""
        first = not self.session_id
        self.model = model or self.model
        if _SESSION.fullmatch(session_id):
            self.session_id = session_id
        if first and self.session_id:
            self._on_event(SessionStarted(self.session_id, self.model, version))

    def say(self, text: str) -> None:
        """A whole message; the last one is the answer."""
        self._pieces.clear()
        self.text = text
        self.retry = None
        if text.strip():
            self._on_event(TextSaid(text))

    def say_more(self, piece: str) -> None:
        """A piece of a message; told when something else follows."""
        self._pieces.append(piece)

    def end_message(self) -> None:
        """What follows is another message."""
        if self._pieces:
            self.say("".join(self._pieces))

    def use(self, tool: str, detail: str = "", use: str = "", given: Raw = NOTHING) -> None:
        """A tool is used; `use` is the agent's own number for that, `given` what the tool is asked."""
        self.end_message()
        self.retry = None
        self._uses[use] = tool
        self._on_event(ToolUsed(tool, one_line(detail), use, object_of(given)))

    def knows(self, use: str) -> bool:
        """Whether it was told that this tool is used."""
        return use in self._uses

    def receive(self, use: str, text: str, *, failed: bool = False) -> None:
        """A tool has returned."""
        self._on_event(ToolReturned(use, text, failed))

    def deny(self, use: str, detail: str = "", tool: str = "") -> None:
        """A tool was refused; told once for each use."""
        if use not in self._denied:
            self._denied.add(use)
            self._on_event(ToolDenied(tool or self._uses.get(use, ""), one_line(detail)))

    def count(self, usage: Usage) -> None:
        """More tokens."""
        self.usage += usage
        self._on_event(UsageSeen(usage))

    def count_session(self, total: Usage) -> None:
        """The tokens of the whole session."""
        self.session_usage = total
        self.count(total.since(self._before))

    def charge(self, cost_usd: float) -> None:
        self.cost_usd = add_cost(self.cost_usd, cost_usd)

    def wait(self, code: Code, seconds: float = 0.0) -> None:
        """The agent tries its provider again by itself."""
        self.retry = RetrySeen(code, seconds)
        self._on_event(self.retry)

    def fail(self, text: str, status: int | None = None, retry_after_seconds: float | None = None) -> None:
        """What went wrong, in the agent's words; the verdict finds the code for them."""
        self.failure = Failure(text, status, retry_after_seconds)

    def finish(self, *, well: bool = False) -> bool:
        """The turn is over; ended well, what went wrong before was mended. True, as a sink says it."""
        self.end_message()
        self.finished = True
        self.failure = None if well else self.failure
        return True

    def miss(self, line: bytes) -> None:
        """A line that is not what this agent prints."""
        if line.strip():
            self.unread += 1
        if line.strip() and self.unread <= _TOLD:
            self._on_event(LineUnread(one_line(line[:400].decode("utf-8", "replace"))))

    def close(self, long_lines: int = 0) -> None:
        """Tell what was still held back, and how many lines were counted without being told one by one."""
        self.end_message()
        if long_lines:
            said = f"lines over the limit of 16 MiB: {long_lines}; the transcript has them"
            self._on_event(LineUnread(said))
        if self.unread > _TOLD:
            self._on_event(LineUnread(f"and {self.unread - _TOLD} more lines that are not JSON"))
