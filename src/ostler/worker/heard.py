"""What is written to the feed of what an agent says while it works."""

from __future__ import annotations

from typing import assert_never

from ostler.model.call import (
    AgentEvent,
    LineUnread,
    RetrySeen,
    SessionReplaced,
    SessionStarted,
    TextSaid,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageSeen,
    Warned,
)
from ostler.model.notice import AgentWarned, Notice, ParseError, SessionNoted, ToolUsedNotice, UsageReported


def notices_of(event: AgentEvent) -> tuple[Notice, ...]:
    match event:
        case ToolUsed(tool=tool, detail=detail):
            return (ToolUsedNotice(tool, detail),)
        case ToolDenied(tool=tool, detail=detail):
            return (ToolUsedNotice(tool, detail, denied=True),)
        case UsageSeen(usage=usage):
            return (UsageReported(usage),)
        case LineUnread(detail=detail):
            return (ParseError(detail),)
        case SessionReplaced(session_id=session, resumed=resumed):
            return (SessionNoted(session, resumed),)
        case Warned(message=message):
            return (AgentWarned(message),)
        case SessionStarted() | TextSaid() | ToolReturned() | RetrySeen():
            return ()
        case _:
            assert_never(event)
