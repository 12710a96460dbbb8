"""The text of agents as lines of `ostler events --transcript`, read from the logs of their attempts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ostler.clock import format_rfc3339
from ostler.model.ids import TaskId
from ostler.project.artifacts.task_folder import LOGS, find_task_folder
from ostler.project.project import Project
from ostler.views.agent_work.attempt_log import log_path, read_log
from ostler.views.agent_work.transcript import list_transcripts

CHUNK_LENGTH = 4000  # characters of one line
_Attempt = tuple[str, int]  # task, number


class TranscriptLines:
    """Yields what agents have written since the last call; secrets are redacted in the logs."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._running: dict[_Attempt, int] = {}  # with the offset in its log

    def read_before(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the text before an event of the feed, so that an attempt's text precedes its end."""
        if event["type"] not in ("attempt_started", "attempt_ended"):
            return
        attempt = (event["task_id"], event["number"])
        self._running.setdefault(attempt, 0)
        if event["type"] == "attempt_ended":
            yield from self._read(attempt, event["seq"])
            del self._running[attempt]

    def read_running(self, seq: int) -> Iterator[dict[str, Any]]:
        """Yield the new text of attempts that have not ended."""
        for attempt in [*self._running]:
            yield from self._read(attempt, seq)

    def _read(self, attempt: _Attempt, seq: int) -> Iterator[dict[str, Any]]:
        (task, number), offset = attempt, self._running[attempt]
        folder = find_task_folder(self._project, TaskId(task), *LOGS)
        found = (one for one in list_transcripts(folder) if one.number == number)
        if (page := next(found, None)) is None:
            return  # it has not started to write, or its files were removed
        facts = {"seq": seq, "task_id": task, "phase": page.name.rpartition("-")[0], "number": number}
        while (part := read_log(log_path(page), offset)).next != offset:
            offset = part.next
            for entry in part.entries:
                if entry["type"] == "text_received":
                    yield from _split(entry, facts)
        self._running[attempt] = offset


def _split(entry: dict[str, Any], facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    text = entry["text"]
    for start in range(0, len(text), CHUNK_LENGTH):
        yield {
            "schema": "ostler.event/1",
            "time": format_rfc3339(entry["at"]),
            "type": "transcript",
            **facts,
            "chunk": start // CHUNK_LENGTH + 1,
            "text": text[start : start + CHUNK_LENGTH],
        }
