"""How the fake agent misbehaves: one function per row of the fault matrix, and some everyday failures.

Each takes the agent and returns its exit status. Imported by the running fake, never by Ostler.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

_FOREVER = 3600.0


def behave(agent: FakeAgent) -> int:
    """No fault: read the prompt, open the session, do one turn."""
    return begin(agent) or agent.run()


def begin(agent: FakeAgent) -> int:
    agent.prompt = agent.wire.receive(agent) if hasattr(agent.wire, "receive") else sys.stdin.read()
    refused = agent.open_session()
    agent.adapt()
    return refused


def crash(agent: FakeAgent) -> int:
    """Edits, then dies without a result."""
    begun = begin(agent)
    if not begun:
        agent.work()
    return begun or agent["status"]


def blocked(agent: FakeAgent) -> int:
    agent.behaviour["text"] = "<phase_blocked>I need the password</phase_blocked>"
    return behave(agent)


def no_mark(agent: FakeAgent) -> int:
    agent.behaviour["text"] = "I changed something."
    return behave(agent)


def denied(agent: FakeAgent) -> int:
    begun = begin(agent)
    if begun:
        return begun
    agent.wire.init(agent)
    agent.wire.denied(agent)
    return 0


def api_error(agent: FakeAgent) -> int:
    """Fails as the real one does when the provider answers with behaviour["error"]."""
    begun = begin(agent)
    if begun:
        return begun
    agent.wire.init(agent)
    agent.remember({"prompt": agent.prompt})
    return agent.wire.api_error(agent)


def limited(agent: FakeAgent) -> int:
    """After behaviour["count"] starts the provider answers 429, behaviour["seconds"] long, whoever asks."""
    if agent.number <= agent["count"]:
        return behave(agent)
    left = _closes(Path(f"{agent.launcher}.window"), agent["seconds"]) - time.time()
    if left <= 0:
        return behave(agent)
    agent.record("limit")
    agent.behaviour["says"] = f"try again in {left:.3f} seconds"
    return api_error(agent)


def _closes(window: Path, seconds: float) -> float:
    """When the limit ends that the first caller ran into: the later ones are told the same."""
    try:
        with window.open("x") as file:
            file.write(f"{time.time() + seconds}\n")
    except FileExistsError:
        pass
    while not (written := window.read_text()).endswith("\n"):
        time.sleep(0.001)
    return float(written)


def hangs_after_result(agent: FakeAgent) -> int:
    status = behave(agent)
    time.sleep(_FOREVER)
    return status


def two_results(agent: FakeAgent) -> int:
    """A background tool ends after the first result; the second one counts."""
    begun = begin(agent)
    if begun:
        return begun
    agent.work()
    agent.say_result("first")
    agent.wire.init(agent)
    agent.say_result(agent.answer())
    return 0


def a1_hangs(agent: FakeAgent) -> int:
    begun = begin(agent)
    if not begun:
        agent.work()
        time.sleep(_FOREVER)
    return begun


def a2_ignores_term(agent: FakeAgent) -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return a1_hangs(agent)


def a3_stops_itself(agent: FakeAgent) -> int:
    begin(agent)
    agent.work()
    os.kill(os.getpid(), signal.SIGSTOP)
    return a1_hangs(agent)


def a4_daemons(agent: FakeAgent) -> int:
    """Leaves behaviour["count"] daemons behind: double fork, own session, no environment, closed output."""
    for _ in range(agent["count"]):
        _daemon(agent, lambda: _beat(agent.beats))
    return behave(agent)


def a5_hops(agent: FakeAgent) -> int:
    """Leaves processes that fork and exit for ever, so that no list of pids is ever true."""
    for _ in range(min(agent["count"], 5)):
        _daemon(agent, lambda: _hop(agent.beats))
    return behave(agent)


def a7_child_keeps_stdout(agent: FakeAgent) -> int:
    if os.fork() == 0:
        time.sleep(_FOREVER)
        os._exit(0)
    return behave(agent)


def a8_never_reads(agent: FakeAgent) -> int:
    agent.open_session()
    return agent.run()


def a9_closes_stdin(agent: FakeAgent) -> int:
    os.close(0)
    agent.open_session()
    return agent.run()


def a10_flood(agent: FakeAgent) -> int:
    """behaviour["bytes"] without a newline, then a good result."""
    begin(agent)
    block = b"x" * (1 << 20)
    for _ in range(agent["bytes"] >> 20):
        agent.print_bytes(block)
    agent.print_bytes(b"\n")
    return agent.run()


def a11_many_lines(agent: FakeAgent) -> int:
    begin(agent)
    block = b"y\n" * 50_000
    for _ in range(max(1, agent["count"])):
        agent.print_bytes(block)
    return agent.run()


def a12_bad_bytes(agent: FakeAgent) -> int:
    begin(agent)
    agent.print_bytes(b'\xef\xbb\xbf{"type":"system","subtype":"status"}\n\xff\xfe\x00\x80\n\r\r\r\n')
    agent.print_bytes(
        b'{"type":"assistant","message":{"content":[{"type":"text","text":"lone \\ud800 half"}]}}\n'
    )
    agent.print_bytes(
        b'{"type":"assistant","message":{"content":[{"type":"text","text":"bad \xff\x00 byte"}]}}\n'
    )
    return agent.run()


def a13_escapes(agent: FakeAgent) -> int:
    begin(agent)
    agent.say("\x1b[2J\x1b]52;c;aGk=\x07\x1b]8;;http://evil.test\x07link\x1b]8;;\x07\u202egnp.exe\U000e0041")
    agent.print_bytes(b"\x1bP1$r0 q\x1b\\\x1b[31mnot json\n")
    return agent.run()


def a14_broken_json(agent: FakeAgent) -> int:
    """A line cut short, a line in two writes, stderr between them, a line over every limit."""
    begin(agent)
    agent.print_bytes(b'{"type":"assistant","message":{"content":[{"type":"te\n{"type":"assistant","mess')
    os.write(2, b"a warning in between\n")
    time.sleep(0.02)
    agent.print_bytes(b'age":{"content":[{"type":"text","text":"whole again"}]}}\n')
    agent.print_bytes(b'{"type":"assistant","pad":"' + b"p" * agent["bytes"] + b'"}\n')
    return agent.run()


def a15_no_result(agent: FakeAgent) -> int:
    begun = begin(agent)
    if not begun:
        agent.work()
        agent.say("I think that is all.")
    return begun


def a16_empty(agent: FakeAgent) -> int:
    agent.behaviour.update(text="", edits={})
    return behave(agent)


def a16_silent(agent: FakeAgent) -> int:
    return begin(agent)


def a17_error_in_text(agent: FakeAgent) -> int:
    if agent["error"] == "credit":
        agent.behaviour["text"] = "Credit balance is too low"
    else:
        agent.behaviour["text"] = f"API Error: {agent['error']} " + '{"type":"error"}'
    return behave(agent)


def a18_exit(agent: FakeAgent) -> int:
    """behaviour["status"]; below zero, the signal that ends it."""
    begin(agent)
    if agent["status"] < 0:
        os.kill(os.getpid(), -agent["status"])
        time.sleep(_FOREVER)
    return agent["status"]


def a18_after_result(agent: FakeAgent) -> int:
    """A good turn, and then behaviour["status"]."""
    return behave(agent) or agent["status"]


def a23_measures_prompt(agent: FakeAgent) -> int:
    """Answers with the size of what it got, so that a prompt cut on its way shows."""
    begun = begin(agent)
    if begun:
        return begun
    agent.wire.init(agent)
    agent.say_result(f"{len(agent.prompt.encode())} bytes, the longest line {_longest(agent.prompt)}")
    return 0


def a25_forgets(agent: FakeAgent) -> int:
    """Knows no session on resume, as when the file was lost."""
    if agent.resumed:
        agent.session_file().unlink(missing_ok=True)
    return behave(agent)


def a25_corrupt(agent: FakeAgent) -> int:
    if agent.resumed:
        agent.session_file().write_bytes(b'{"prompt": "cut')
    return behave(agent)


def a26_deletes_workspace(agent: FakeAgent) -> int:
    begin(agent)
    agent.work()
    _remove_tree(Path.cwd())
    agent.say_result(agent.answer())
    return 0


def a28_odd_files(agent: FakeAgent) -> int:
    begin(agent)
    Path("no-rights").write_text("x")
    Path("no-rights").chmod(0)
    Path("no-entry/inside").mkdir(parents=True)
    Path("no-entry").chmod(0)
    for name in ("two\nlines", "-rf", "é" * 127, " ", "quote'\""):
        Path(name).write_text("x")
    os.mkfifo("fifo")
    os.mknod("socket", stat.S_IFSOCK | 0o600)
    return agent.run()


def _daemon(agent: FakeAgent, then: Callable[[], object]) -> None:
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    agent.record("daemon")
    for descriptor in range(3):
        os.close(descriptor)
    then()
    os._exit(0)


def _beat(beats: str) -> NoReturn:
    """Nothing but this file tells that it lives: its environment is empty and its directory is the root."""
    os.chdir("/")
    os.execve("/bin/sh", ["sh", "-c", 'while :; do printf . >>"$0"; sleep 0.05; done', beats], {})  # noqa: S606


def _hop(beats: str) -> NoReturn:
    descriptor = os.open(beats, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True:
        if os.fork():
            os._exit(0)
        os.setsid()
        os.write(descriptor, b".")
        time.sleep(0.0005)


def _remove_tree(root: Path) -> None:
    """As shutil.rmtree, which costs the fake a fifth of its start."""
    for place, directories, files in os.walk(root, topdown=False):
        for name in files:
            Path(place, name).unlink()
        for name in directories:
            Path(place, name).rmdir()
    root.rmdir()


def _longest(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


FAULTS: dict[str, Callable[[FakeAgent], int]] = {"": behave} | {
    fault.__name__: fault
    for fault in (
        crash,
        blocked,
        no_mark,
        denied,
        api_error,
        limited,
        hangs_after_result,
        two_results,
        a1_hangs,
        a2_ignores_term,
        a3_stops_itself,
        a4_daemons,
        a5_hops,
        a7_child_keeps_stdout,
        a8_never_reads,
        a9_closes_stdin,
        a10_flood,
        a11_many_lines,
        a12_bad_bytes,
        a13_escapes,
        a14_broken_json,
        a15_no_result,
        a16_empty,
        a16_silent,
        a17_error_in_text,
        a18_exit,
        a18_after_result,
        a23_measures_prompt,
        a25_forgets,
        a25_corrupt,
        a26_deletes_workspace,
        a28_odd_files,
    )
}
