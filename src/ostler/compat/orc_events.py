"""The events of orc: a publisher that may have no receiver, and the translation of Ostler's feed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol, cast

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.attempt import Attempt
from ostler.model.event import FeedEvent, FeedLine, decode_event
from ostler.model.ids import TaskId
from ostler.project.project import Project

EventType = Literal["state", "transcript", "phase", "error", "complete", "tokens"]
TranscriptType = Literal["prompt", "response", "chunk", "tool", "error"]

_log = logging.getLogger(__name__)


class Event(Struct, frozen=True):
    """One event, with the data of its type."""

    type: EventType
    task_id: str
    data: dict[str, Any]
    time: float  # seconds since the epoch


class Publisher(Protocol):
    """Receives events."""

    def publish(self, event: Event) -> object: ...


class EventPublisher:
    """Sends events to a publisher or a function; with None every method does nothing."""

    def __init__(self, publisher: Publisher | Callable[[Event], object] | None = None) -> None:
        receiver = getattr(publisher, "publish", publisher)
        if receiver is not None and not callable(receiver):
            raise UsageError(
                f"a {type(publisher).__name__} cannot receive events",
                "pass a function, an object with publish, or None",
            )
        self._publish = cast("Callable[[Event], object] | None", receiver)

    def publish(self, event: Event) -> None:
        """Send an event; an error of the receiver is logged and does not end the run."""
        if self._publish is None:
            return
        try:
            self._publish(event)
        except Exception:  # noqa: BLE001  (foreign code may raise anything)
            _log.exception("the receiver of a %s event of %s failed", event.type, event.task_id)

    def phase_start(self, task_id: str, phase: str) -> None:
        self._send("phase", task_id, phase=phase, status="running")

    def phase_complete(self, task_id: str, phase: str, result: object = None) -> None:
        """`result` is the commit of the phase, or a PhaseResult."""
        sha = getattr(result, "commit_sha", result)
        self._send("phase", task_id, phase=phase, status="completed", commit_sha=sha)

    def phase_failed(self, task_id: str, phase: str, error: object) -> None:
        self._send("phase", task_id, phase=phase, status="failed", error=str(error))

    def transcript(
        self, task_id: str, phase: str, iteration: int, kind: TranscriptType, content: str
    ) -> None:
        self._send("transcript", task_id, phase=phase, iteration=iteration, type=kind, content=content)

    def transcript_chunk(self, task_id: str, phase: str, iteration: int, chunk: str) -> None:
        self.transcript(task_id, phase, iteration, "chunk", chunk)

    def tokens(self, task_id: str, phase: str, input_tokens: int, output_tokens: int) -> None:
        total = input_tokens + output_tokens
        self._send("tokens", task_id, phase=phase, input=input_tokens, output=output_tokens, total=total)

    def error(self, task_id: str, phase: str, message: object, *, fatal: bool = False) -> None:
        self._send("error", task_id, phase=phase, message=str(message), fatal=fatal)

    def state(self, task_id: str, state: object) -> None:
        self._send("state", task_id, state=state)

    def complete(self, task_id: str, status: str = "completed", **data: object) -> None:
        self._send("complete", task_id, status=status, **data)

    def _send(self, kind: EventType, task_id: str, **data: object) -> None:
        if self._publish is not None:
            self.publish(Event(kind, task_id, data, time.time()))


def new_event_publisher(publisher: Publisher | Callable[[Event], object] | None) -> EventPublisher:
    """Return a publisher; with None it does nothing."""
    return EventPublisher(publisher)


_WAITING = ("task_blocked", "task_deferred", "task_paused", "task_held", "task_cancelled")


class FeedTranslator:
    """Publishes the events of one task of Ostler as events of orc, from the end of its feed."""

    def __init__(self, project: Project, task: TaskId, publisher: EventPublisher) -> None:
        self._project = project
        self._task = task
        self._publisher = publisher
        self._position = 0
        self._phase = ""
        self._starting = ""
        self._reason = ""  # of the last rejection
        self._attempt: Attempt | None = None
        while lines := self._read():
            self._position = lines[-1].position

    def publish_new(self) -> None:
        """Publish what was recorded since the last call."""
        while lines := self._read():
            for line in lines:
                self._position = line.position
                self._translate(decode_event(line))

    def _read(self) -> list[FeedLine]:
        return self._project.feed(self._position, self._task)

    def _translate(self, event: FeedEvent) -> None:
        task, send = self._task, self._publisher
        self._phase = event.phase or self._phase
        match event.type:
            case "phase_started":
                self._starting = event.phase  # execute_phase stops before the first call of the next phase
            case "phase_completed":
                send.phase_complete(task, event.phase, event.commit)
            case "phase_failed":
                send.phase_failed(task, event.phase, event.error_text)
            case "gate_decided":
                self._reason = event.reason if event.verdict == "fail" else ""
            case "decision_recorded" if event.verb == "reject":
                self._reason = event.text
            case "phase_retried":
                reason = event.message or self._reason
                send.phase_failed(task, event.phase, f"{reason or 'failed'}; retried from {event.to}")
            case "attempt_started" | "attempt_ended":
                if self._starting:
                    send.phase_start(task, self._starting)
                    self._starting = ""
                self._send_transcript(event)
            case "tool_used":
                self._transcribe("tool", f"{event.tool} {event.detail}".strip())
            case "usage_reported":
                send.tokens(task, self._phase, event.usage.input_tokens, event.usage.output_tokens)
            case "task_failed":
                send.error(task, self._phase, event.error_text, fatal=True)
            case "task_completed":
                send.complete(task, commit_sha=event.commit)
            case _ if event.type in _WAITING:
                send.error(task, self._phase, event.error_text or event.type)
            case _:
                pass
        if event.type.startswith("task_") or event.type == "gate_waiting":
            send.state(task, str(self._project.state(task).status))

    def _send_transcript(self, event: FeedEvent) -> None:
        """Send the prompt of an attempt when it starts, and its answer or its error when it ends."""
        attempts = self._project.journal.attempts(self._task)
        self._attempt = next((one for one in attempts if one.number == event.number), self._attempt)
        if event.type == "attempt_started":
            self._transcribe("prompt", read_prompt(self._project, self._attempt))
        elif event.code is not None:
            self._transcribe("error", event.error_text)
        else:
            self._transcribe("response", read_answer(self._project, self._attempt))

    def _transcribe(self, kind: TranscriptType, content: str) -> None:
        iteration = self._attempt.iteration if self._attempt else 0
        self._publisher.transcript(self._task, self._phase, iteration, kind, content)


def read_prompt(project: Project, attempt: Attempt | None) -> str:
    """Return the prompt of an attempt; empty if it was not kept."""
    return _read_file(project, attempt, "prompts/{stem}.md")


def read_answer(project: Project, attempt: Attempt | None) -> str:
    """Return the final text of an attempt; empty if there is none."""
    return _read_file(project, attempt, "transcripts/{stem}.answer.md")


def _read_file(project: Project, attempt: Attempt | None, pattern: str) -> str:
    if attempt is None:
        return ""
    stem = attempt.transcript.rpartition("/")[2].removesuffix(".jsonl")
    path = project.layout.task(attempt.task) / pattern.format(stem=stem)
    return path.read_text("utf-8", "replace") if path.is_file() else ""
