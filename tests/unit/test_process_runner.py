"""One program, run to its end."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import resource
import signal
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.errors import Code, OstlerError, SpawnError
from ostler.model.command import Command, Exit, StopReason
from ostler.process.runner import DefaultCommandRunner

FULL = bool(os.environ.get("OSTLER_FULL"))
ENV = {"PATH": os.environ["PATH"]}
PATIENCE_SECONDS = (0.3, 3.0, 30.0)  # a busy machine may not start a program within the first of them


def sh(script: str, **changes: object) -> Command:
    return Command(**{"argv": ("sh", "-c", script), "cwd": "/", "env": ENV, "grace_seconds": 0.2, **changes})


def python(script: str, **changes: object) -> Command:
    return sh("", argv=(sys.executable, "-S", "-E", "-c", script), **changes)


def run(command: Command, sink: Callable[[bytes], bool] | None = None) -> tuple[Exit, list[bytes]]:
    lines: list[bytes] = []
    ended = asyncio.run(DefaultCommandRunner().run(command, sink or (lambda line: bool(lines.append(line)))))
    return ended, lines


def test_output_errors_input_place_and_status_arrive(tmp_path: Path) -> None:
    """The program has its input, directory and environment; its lines, errors and status are returned."""
    script = "cat; pwd; echo $A; echo oops >&2; exit 7"
    ended, lines = run(sh(script, stdin=b"in\n", cwd=str(tmp_path), env={**ENV, "A": "é\udcff"}))
    assert lines == [b"in", os.fsencode(tmp_path), "é".encode() + b"\xff"]
    assert (ended.status, ended.stopped, ended.stderr_tail, ended.leftovers) == (7, None, "oops\n", 0)
    assert ended.stdout_bytes == sum(len(line) + 1 for line in lines)


def test_death_by_signal_is_a_negative_status() -> None:
    """The status of a killed program is the negative number of its signal."""
    assert run(sh("kill -SEGV $$"))[0].status == -signal.SIGSEGV


def test_agent_inherits_nothing_but_its_three_descriptors(tmp_path: Path) -> None:
    """No control socket and no lock is passed to the program; its signals have their defaults."""
    script = """if True:
        import os, signal
        print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1])
        lines = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines())
        print(int(lines["SigBlk"], 16), int(lines["SigIgn"], 16) & ~OURS)"""
    ours = sum(1 << number - 1 for number in (13, 25, 32, 33))  # python ignores two, the C library two
    script = script.replace("OURS", str(ours))
    lines: list[bytes] = []
    with (tmp_path / "lock").open("w") as lock:
        runner = DefaultCommandRunner(held=(lock.fileno(),))
        asyncio.run(runner.run(python(script), lambda line: bool(lines.append(line))))
    assert lines == [b"[0, 1, 2]", b"0 0"]


def test_transcript_has_the_raw_bytes(tmp_path: Path) -> None:
    """Invalid UTF-8, NUL, lone carriage returns and a byte order mark are unchanged."""
    raw = b"\xef\xbb\xbfa\x00b\xff\xfe\rc\xed\xa0\x80\r\nlast"
    script = f"import os; os.write(1, {raw!r}); os.write(2, b'e\\xff')"
    path = tmp_path / "raw"
    ended, lines = run(python(script, transcript=str(path)))
    assert path.read_bytes() == raw
    assert (tmp_path / "raw.stderr").read_bytes() == b"e\xff"
    assert stat.S_IMODE((tmp_path / "raw.stderr").stat().st_mode) == 0o600
    assert lines == [b"\xef\xbb\xbfa\x00b\xff\xfe\rc\xed\xa0\x80", b"last"]
    assert ended.stderr_tail == "e�"


def test_stderr_tail_is_bounded() -> None:
    """Only the last eight kibibytes of stderr are kept."""
    ended, _ = run(python("import os; os.write(2, b'x' * 50000 + b'END')"))
    assert len(ended.stderr_tail) == 8192
    assert ended.stderr_tail.endswith("END")


def test_big_prompt_goes_by_stdin() -> None:
    """Five megabytes arrive completely."""
    _, lines = run(sh("wc -c", stdin=b"p" * 5_000_000))
    assert lines[0].strip() == b"5000000"


@pytest.mark.parametrize("script", ["exec <&-; echo done", "head -c 1 >/dev/null; echo done", "echo done"])
def test_prompt_that_is_not_read_does_no_harm(script: str) -> None:
    """A program that closes or ignores its input early ends by its own status."""
    ended, lines = run(sh(script, stdin=b"p" * 5_000_000))
    assert (ended.status, lines) == (0, [b"done"])


def test_empty_input_ends_at_once() -> None:
    """A program that reads to the end of an empty input does not wait."""
    ended, _ = run(sh("cat; exit 4", timeout_seconds=20))
    assert (ended.status, ended.stopped) == (4, None)


def test_silence_is_stopped() -> None:
    """Without a byte on either stream for this time it is stopped as idle, long before the total limit."""
    ended, _ = run(sh("echo one; sleep 60", idle_timeout_seconds=0.2, grace_seconds=20))
    assert ended.stopped is StopReason.IDLE
    assert ended.status == -signal.SIGTERM


def test_errors_alone_count_as_life() -> None:
    """A program that only writes to standard error is not idle."""
    script = "for i in $(seq 25); do sleep 0.1; echo . >&2; done"
    ended, _ = run(sh(script, idle_timeout_seconds=2))
    assert (ended.status, ended.stopped) == (0, None)


def test_total_limit_holds_while_it_talks() -> None:
    """Output does not extend the total limit; a program that ignores TERM is killed after the grace."""
    script = "trap '' TERM; while :; do echo x; sleep 0.02; done"
    for limit in PATIENCE_SECONDS:
        ended, lines = run(sh(script, timeout_seconds=limit))
        assert ended.stopped is StopReason.TIMEOUT
        assert ended.duration_seconds < 10 * (limit + 0.2)
        if lines:
            break
    assert (ended.status, lines[0]) == (-signal.SIGKILL, b"x")


def test_after_its_result_it_has_a_short_while_to_exit() -> None:
    """A program that printed its result and hangs is stopped and reported; its output after TERM counts."""
    script = "trap 'echo bye; exit 0' TERM; echo result; sleep 60 & wait"
    lines: list[bytes] = []

    def sink(line: bytes) -> bool:
        lines.append(line)
        return line == b"result"

    ended, _ = run(sh(script, result_grace_seconds=0.1, grace_seconds=10), sink)
    assert (ended.status, ended.stopped) == (0, StopReason.AFTER_RESULT)
    assert lines == [b"result", b"bye"]


def test_output_after_the_result_extends_the_while() -> None:
    """While it still prints it may exit by itself."""
    script = "for i in $(seq 25); do echo $i; sleep 0.1; done"
    ended, _ = run(sh(script, result_grace_seconds=2), lambda line: line == b"1")
    assert (ended.status, ended.stopped) == (0, None)


def test_background_child_that_keeps_stdout_does_not_hold_up_the_end() -> None:
    """The exit of the main process is the end; the output is drained for two seconds, the child stopped."""
    ended, lines = run(sh("sleep 60 & echo done"))
    assert (ended.status, ended.stopped, ended.leftovers, lines) == (0, None, 1, [b"done"])
    assert 1.9 < ended.duration_seconds < 20


def test_background_child_without_our_streams_costs_no_time() -> None:
    """After the end of both streams nothing is drained: the child is stopped at once."""
    for _ in range(5):
        ended, _ = run(sh("sleep 60 >/dev/null 2>&1 & echo done"))
        assert ended.leftovers == 1
        if ended.duration_seconds < 1.9:
            return
    pytest.fail("it was drained for two seconds, each time")


def test_flood_without_newline_stays_in_bounds(tmp_path: Path) -> None:
    """A huge line is complete in the transcript, counted, not passed to the sink, and not held in memory."""
    size = 200 if FULL else 24  # above the limit of a line, below that of a transcript
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    command = sh(f"head -c {size}M /dev/zero | tr '\\0' x; echo; echo end", transcript=str(tmp_path / "raw"))
    ended, lines = run(command)
    assert (ended.long_lines, lines) == (1, [b"end"])
    assert (tmp_path / "raw").stat().st_size == ended.stdout_bytes == size * 2**20 + 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_many_short_lines_all_arrive() -> None:
    """A fast writer is slowed down, and no line is lost."""
    count = 5_000_000 if FULL else 300_000
    seen = 0

    def sink(_: bytes) -> bool:
        nonlocal seen
        seen += 1
        return False

    ended, _ = run(sh(f"yes | head -n {count}"), sink)
    assert (seen, ended.status) == (count, 0)


def test_json_line_over_the_limit_is_skipped() -> None:
    """The lines around a line that is too long are read."""
    script = (
        "import os\nos.write(1, b'{\"a\":1}\\n')\nprint('{' + 'x' * 17_000_000 + '}')\nprint('{\"b\":2}')"
    )
    ended, lines = run(python(script))
    assert (ended.long_lines, lines) == (1, [b'{"a":1}', b'{"b":2}'])


@pytest.mark.parametrize(
    ("make", "number", "code"),
    [
        (lambda place: "no-such-agent", errno.ENOENT, Code.AGENT_NOT_FOUND),
        (lambda place: str(place / "missing"), errno.ENOENT, Code.AGENT_NOT_FOUND),
        (lambda place: _file(place / "plain", "#!/bin/sh\n", 0o600), errno.EACCES, Code.AGENT_NOT_FOUND),
        (lambda place: _file(place / "odd", "\x7fELF nonsense", 0o700), errno.ENOEXEC, Code.AGENT_NOT_FOUND),
        (lambda place: _file(place / "lost", "#!/no/such\n", 0o700), errno.ENOENT, Code.AGENT_NOT_FOUND),
    ],
)
def test_program_that_cannot_start_is_refused(
    make: Callable[[Path], str], number: int, code: Code, tmp_path: Path
) -> None:
    """Missing, not executable, of another machine, or without its interpreter."""
    with pytest.raises(SpawnError) as caught:
        run(sh("", argv=(make(tmp_path),)))
    assert (caught.value.errno, caught.value.code) == (number, code)


def test_program_is_found_by_the_childs_own_path(tmp_path: Path) -> None:
    """PATH of the command's environment decides; a relative name is relative to its directory."""
    _file(tmp_path / "agent", "#!/bin/sh\necho mine\n", 0o700)
    for argv, env in ((("agent",), {"PATH": f"/none:{tmp_path}"}), (("./agent",), {})):
        assert run(sh("", argv=argv, env=env, cwd=str(tmp_path)))[1] == [b"mine"]


def test_missing_directory_is_a_lost_worktree(tmp_path: Path) -> None:
    """A missing directory is not reported as a missing program."""
    with pytest.raises(SpawnError) as caught:
        run(sh("true", cwd=str(tmp_path / "gone")))
    assert caught.value.code is Code.WORKTREE_LOST


def test_environment_that_is_too_big_in_sum_is_refused() -> None:
    """A total over the limit is a SpawnError, and a request of megabytes reaches the keeper."""
    with pytest.raises(SpawnError) as caught:
        run(sh("true", env={**ENV, **{f"V{number}": "x" * 100_000 for number in range(80)}}))
    assert caught.value.errno == errno.E2BIG


def test_no_descriptors_left_is_a_spawn_error() -> None:
    """EMFILE is reported with its advice, nothing leaks, and the next program runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def squeeze() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            await DefaultCommandRunner().run(sh("true"), lambda _: False)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    run(sh("true"))
    gc.collect()  # descriptors left by earlier tests must not be closed between the two counts
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(SpawnError) as caught:
        asyncio.run(squeeze())
    assert caught.value.errno == errno.EMFILE
    assert run(sh("true"))[0].status == 0
    assert len(os.listdir("/proc/self/fd")) == before


def test_full_disk_stops_the_program() -> None:
    """A program is stopped if its transcript can neither be written nor kept; the error states this."""
    began = time.monotonic()
    with pytest.raises(OstlerError) as caught:
        run(sh("while :; do head -c 300000 /dev/zero; sleep 0.01; done", transcript="/dev/full"))
    assert caught.value.code is Code.DISK_FULL
    assert time.monotonic() - began < 20


def test_error_of_the_sink_stops_the_program_and_is_raised() -> None:
    """A bug in the caller does not leave a program running."""

    def sink(line: bytes) -> bool:
        raise LookupError(line)

    with pytest.raises(LookupError):
        run(sh("echo x; sleep 60"), sink)


def test_second_cancel_kills_at_once() -> None:
    """A second cancellation does not wait for the grace period."""

    async def body() -> float:
        ready = asyncio.Event()
        command = sh("trap '' TERM; echo x; while :; do sleep 0.01; done", grace_seconds=60)
        running = asyncio.create_task(DefaultCommandRunner().run(command, lambda _: bool(ready.set())))
        await ready.wait()
        running.cancel()
        await asyncio.sleep(0.05)
        began = time.monotonic()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return time.monotonic() - began

    assert asyncio.run(body()) < 10


def test_cancel_before_it_started_leaves_nothing() -> None:
    """Cancelling during the start waits until the program is gone too."""

    async def body() -> None:
        running = asyncio.create_task(DefaultCommandRunner().run(sh("sleep 60"), lambda _: False))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert running.cancelled()

    asyncio.run(body())


def test_program_can_be_nice() -> None:
    """The requested niceness applies to the program."""
    nicer = str(os.getpriority(os.PRIO_PROCESS, 0) + 7)
    script = f"for i in $(seq 500); do [ $(nice) = {nicer} ] && break; sleep 0.01; done; nice"
    assert run(sh(script, nice=7))[1] == [nicer.encode()]


def test_many_at_once() -> None:
    """Sixty programs at the same time each get their own lines."""

    async def one(number: int) -> list[bytes]:
        lines: list[bytes] = []
        await DefaultCommandRunner().run(sh(f"echo {number}"), lambda line: bool(lines.append(line)))
        return lines

    async def all_of_them() -> list[list[bytes]]:
        return await asyncio.gather(*map(one, range(60)))

    assert asyncio.run(all_of_them()) == [[str(number).encode()] for number in range(60)]


def test_no_descriptor_leaks() -> None:
    """After a hundred programs as many descriptors are open as before."""
    run(sh("true"))
    gc.collect()  # descriptors left by earlier tests must not be closed between the two counts
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        run(sh("echo x"))
        with pytest.raises(SpawnError):
            run(sh("", argv=("no-such-agent",)))
    run(sh("true"))
    assert len(os.listdir("/proc/self/fd")) == before


def _file(path: Path, text: str, mode: int) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_stopped_program_can_clean_up(tmp_path: Path) -> None:
    """A program that is suspended at its timeout still gets TERM, and the grace period to act on it."""
    script = "trap 'echo clean > cleaned; exit 3' TERM; echo x; kill -STOP $$; while :; do sleep 0.01; done"
    for limit in PATIENCE_SECONDS:
        ended, lines = run(sh(script, cwd=str(tmp_path), timeout_seconds=limit, grace_seconds=8.0))
        assert ended.stopped is StopReason.TIMEOUT
        if lines:
            break
    assert (ended.status, (tmp_path / "cleaned").read_text()) == (3, "clean\n")
    assert ended.duration_seconds < limit + 8.0
