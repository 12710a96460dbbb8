"""A dialogue with one program."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from ostler.errors import Code, OstlerError
from ostler.model.command import Command, Exit, StopReason
from ostler.process import child
from ostler.process.protocol import SendInput
from ostler.process.runner import DefaultCommandRunner
from ostler.process.streams import MAX_PENDING_INPUT_BYTES

ECHO = "import sys\nfor line in sys.stdin: print('heard', line.strip(), flush=True)\nprint('end', flush=True)"
DEAF = "import time; print('up', flush=True); time.sleep(600)"


def python(script: str, **changes: object) -> Command:
    whole = {"PATH": os.environ["PATH"]}
    return Command(
        **{"argv": (sys.executable, "-S", "-c", script), "cwd": "/", "env": whole, "grace_seconds": 0.2}
        | changes
    )


class Talk:
    """Sends its lines one after the other, each after an answer; the last answer is the result."""

    def __init__(self, *words: bytes, last: bytes = b"bye\n") -> None:
        self._words, self._last = list(words), last
        self._send: SendInput = lambda _: None
        self.lines: list[bytes] = []

    def start(self, send: SendInput) -> None:
        self._send = send
        self._next()

    def receive_line(self, line: bytes) -> bool:
        self.lines.append(line)
        return not self._next()

    def prepare_stop(self) -> None:
        self._send(self._last)

    def _next(self) -> bool:
        if self._words:
            self._send(self._words.pop(0))
            return True
        return False


def converse(command: Command, talk: Talk) -> Exit:
    return asyncio.run(DefaultCommandRunner().converse(command, talk))


def test_dialogue_ends_with_the_result(tmp_path: Path) -> None:
    """Each line has its answer, the input is closed after the last one, and the transcript has them all."""
    transcript = tmp_path / "t"
    talk = Talk(b"one\n", b"two\n")
    ended = converse(python(ECHO, transcript=str(transcript)), talk)
    assert talk.lines == [b"heard one", b"heard two", b"end"]
    assert (ended.status, ended.stopped) == (0, None)
    assert transcript.read_bytes() == b"heard one\nheard two\nend\n"


def test_input_larger_than_a_pipe_arrives_whole() -> None:
    """A prompt of megabytes is written as the program reads it, without blocking."""
    counts = "import sys\nprint(len(sys.stdin.readline()), flush=True); sys.stdin.read()"
    talk = Talk(b"x" * 5_000_000 + b"\n")
    assert converse(python(counts), talk).status == 0
    assert talk.lines == [b"5000001"]


def test_program_that_stays_after_its_result_is_stopped() -> None:
    """A program that does not end with its input has only the grace period."""
    ended = converse(python(DEAF, result_grace_seconds=0.1), Talk())
    assert ended.stopped is StopReason.AFTER_RESULT
    assert ended.duration_seconds < 20


@pytest.mark.parametrize("script", ["import os; os.close(0); print('deaf', flush=True)", "print('gone')"])
def test_program_that_reads_nothing_is_no_error(script: str) -> None:
    """A closed pipe is normal: the unread input is dropped."""
    talk = Talk(b"x" * 1_000_000 + b"\n", b"more\n")
    assert converse(python(script), talk).status == 0
    assert len(talk.lines) == 1


def test_unread_input_is_bounded() -> None:
    """More than the limit is refused in one sentence, and the program is ended."""
    began = time.monotonic()
    with pytest.raises(OstlerError, match="does not read its input") as caught:
        converse(python(DEAF), Talk(b"x" * 1000, b"x" * (MAX_PENDING_INPUT_BYTES + 1)))
    assert caught.value.code is Code.AGENT_FAILED
    assert time.monotonic() - began < 60


def test_what_begin_raises_is_raised_after_the_program_is_gone(tmp_path: Path) -> None:
    """A conversation that fails at once leaves no process."""

    class Broken(Talk):
        def start(self, send: SendInput) -> None:
            raise RuntimeError("not ready")

    beats = tmp_path / "beats"
    script = f"import time\nwhile True: open({str(beats)!r}, 'a').write('.'); time.sleep(0.02)"
    with pytest.raises(RuntimeError, match="not ready"):
        converse(python(script), Broken())
    size = beats.stat().st_size if beats.exists() else 0
    time.sleep(0.1)
    assert (beats.stat().st_size if beats.exists() else 0) == size


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last line and TERM a program on a busy machine gets the time that it needs."""
    monkeypatch.setattr(child, "STOP_NOTICE_SECONDS", 20.0)


@pytest.mark.parametrize("limit", ["timeout_seconds", "idle_timeout_seconds"])
def test_last_line_is_sent_before_the_stop(limit: str, patient: None) -> None:
    """A program that is stopped receives the last line first, and may end by itself."""
    quiet = "import sys\nfor line in sys.stdin: print('told', line.strip(), flush=True)"
    talk = Talk()
    ended = converse(python(quiet, **{limit: 0.5}), talk)
    assert talk.lines == [b"told bye"]
    assert ended.stopped in (StopReason.TIMEOUT, StopReason.IDLE)
    assert ended.status == 0


def test_last_line_is_sent_on_cancellation(tmp_path: Path, patient: None) -> None:
    """A cancelled call sends the last line, waits briefly for the program to end, and is cancelled."""
    note = tmp_path / "note"
    script = f"import sys\nprint('up', flush=True)\nopen({str(note)!r}, 'w').write(sys.stdin.read())"

    async def cancel_it() -> None:
        up = asyncio.Event()

        class Waiting(Talk):
            def receive_line(self, line: bytes) -> bool:
                up.set()
                return False

        running = asyncio.create_task(DefaultCommandRunner().converse(python(script), Waiting()))
        await asyncio.wait_for(up.wait(), 30)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel_it())
    assert note.read_text() == "bye\n"


def test_deaf_program_is_ended_all_the_same() -> None:
    """A program that ignores the last line and TERM is killed after the grace period."""
    script = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {DEAF}"

    class Waiting(Talk):
        def receive_line(self, line: bytes) -> bool:
            self.lines.append(line)
            return False

    for limit in (0.3, 3.0, 30.0):
        talk = Waiting()
        ended = converse(python(script, timeout_seconds=limit), talk)
        assert ended.stopped is StopReason.TIMEOUT
        assert ended.duration_seconds < limit + 10
        if talk.lines:  # otherwise a busy machine had not started it by then
            break
    assert (ended.status, talk.lines) == (-9, [b"up"])
