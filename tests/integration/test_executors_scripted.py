"""The scripted executor with a real process that edits, fails, is killed and resumes."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import msgspec
import psutil
import pytest
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.scripted.executor import ScriptedExecutor
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    CallResult,
    SessionReplaced,
    TextReceived,
    ToolReturned,
    ToolUsed,
)
from ostler.process.runner import DefaultCommandRunner
from ostler.views.agent_work.edits import find_edits


class Stage:
    """A workspace, and the script that runs in it."""

    def __init__(self, place: Path, script: str = "") -> None:
        self.place = place / "workspace"
        self.place.mkdir()
        self.transcripts = place / "transcripts"
        self.transcripts.mkdir()
        (place / "script.yaml").write_text(script)
        args = (str(place / "script.yaml"),) if script else ()
        self.executor = ScriptedExecutor("scripted", ExecutorSettings(args=args), DefaultCommandRunner())
        self.events: list[AgentEvent] = []
        self._attempts = 0

    def play(self, verb: str = "spawn", prompt: str = "go", session: str = "s-1") -> CallResult:
        return asyncio.run(self.start(verb, prompt, session))

    async def start(self, verb: str = "spawn", prompt: str = "go", session: str = "s-1") -> CallResult:
        self._attempts += 1
        env = {"PATH": os.environ["PATH"], "OSTLER_ATTEMPT": str(self.place)}
        transcript = str(self.transcripts / f"{self._attempts}.jsonl")
        call = AgentCall("i", prompt, session, cwd=str(self.place), env=env, transcript=transcript)
        return await getattr(self.executor, verb)(call, self.events.append)


def test_script_runs(tmp_path: Path) -> None:
    """Edits and commands run in the workspace, and each step is reported."""
    stage = Stage(
        tmp_path,
        "- edit: {path: src/a.txt, content: 'one two'}\n"
        "- edit: {path: src/a.txt, replace: one, by: three}\n"
        "- edit: {path: src/a.txt, append: '!'}\n"
        "- run: cp src/a.txt b.txt\n"
        "- tool: {name: look, detail: around}\n"
        "- say: all done\n",
    )
    result = stage.play()
    assert (result.code, result.text) == (None, "all done")
    assert (stage.place / "b.txt").read_text() == "three two!"
    assert result.usage.total > 0
    assert result.cost_usd is None
    used = [event for event in stage.events if isinstance(event, ToolUsed)]
    assert [(use.tool, use.detail) for use in used[3:]] == [("run", "cp src/a.txt b.txt"), ("look", "around")]
    returned = [event for event in stage.events if isinstance(event, ToolReturned)]
    assert returned == [ToolReturned(use.id) for use in used[:4]]


def test_what_an_edit_changes_is_reported(tmp_path: Path) -> None:
    """The input of an edit has the old and the new text."""
    stage = Stage(
        tmp_path,
        "- edit: {path: a.txt, content: 'one two'}\n"
        "- edit: {path: a.txt, replace: one, by: three}\n"
        "- edit: {path: a.txt, append: '!'}\n"
        "- edit: {path: a.txt, content: new}\n",
    )
    stage.play()
    used = [event for event in stage.events if isinstance(event, ToolUsed)]
    edits = [find_edits(msgspec.json.decode(use.input)) for use in used]
    assert [(edit["old"], edit["new"]) for (edit,) in edits] == [
        ("", "one two"),
        ("one", "three"),
        ("", "!"),
        ("three two!", "new"),
    ]


@pytest.mark.parametrize("status", [0, 3])
def test_what_a_command_printed_is_reported(status: int, tmp_path: Path) -> None:
    """The result of a command has its output, and whether it failed."""
    stage = Stage(tmp_path, f"- run: echo hello; exit {status}\n")
    stage.play()
    (used,) = [event for event in stage.events if isinstance(event, ToolUsed)]
    assert ToolReturned(used.id, "hello\n", failed=status != 0) in stage.events


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("- fail: {code: RATE_LIMITED, message: slow down}", Code.RATE_LIMITED, "slow down"),
        ("- fail: {exit: 3}", Code.AGENT_FAILED, "the script failed"),
        ("- run: 'echo no >&2; exit 7'", Code.AGENT_FAILED, "ended with status 7: no"),
        ("- edit: {path: ../out.txt, content: x}", Code.AGENT_FAILED, "outside the workspace"),
        ("- edit: {path: a, replace: x, by: y}", Code.AGENT_FAILED, "does not contain 'x'"),
        ("- run: kill -9 $PPID", Code.AGENT_KILLED, "SIGKILL"),
        ("- shout: x", Code.CONFIG_INVALID, "script.yaml:1: expected one of"),
    ],
)
def test_script_fails_as_specified(script: str, code: Code, message: str, tmp_path: Path) -> None:
    """A failing step ends the attempt with its code and one sentence."""
    result = Stage(tmp_path, script).play()
    assert result.code is code
    assert message in result.message
    assert not (tmp_path / "out.txt").exists()


def test_missing_script_is_explained(tmp_path: Path) -> None:
    """Without a file and a block in the prompt, the error states where a script can be."""
    result = Stage(tmp_path).play()
    assert result.code is Code.CONFIG_INVALID
    assert "no ```ostler-script block" in result.message
    assert "executors.scripted.args" in result.message


def test_failed_step_does_not_run_again(tmp_path: Path) -> None:
    """The attempt after a failure continues after the failing step."""
    stage = Stage(tmp_path, "- run: echo x >> runs\n- fail: {code: OVERLOADED}\n- say: second try\n")
    assert stage.play().code is Code.OVERLOADED
    assert stage.play("resume").text == "second try"
    assert (stage.place / "runs").read_text() == "x\n"


def test_killed_script_continues_with_the_next_step(tmp_path: Path) -> None:
    """After kill -9 a resumed session runs only the unfinished steps, without the script in the prompt."""
    stage = Stage(tmp_path)
    prompt = "```ostler-script\n- run: echo x >> runs\n- say: waiting\n- sleep: 30\n- say: done\n```"

    async def kill_and_resume() -> tuple[CallResult, CallResult]:
        first = asyncio.create_task(stage.start(prompt=prompt))
        while TextReceived("waiting") not in stage.events:
            await asyncio.sleep(0.01)
        _kill_agent(str(stage.place))
        killed = await first
        state = next(stage.transcripts.glob("*.script.json"))
        state.write_text(state.read_text().replace('"sleep": 30', '"sleep": 0'))
        return killed, await stage.start("resume", prompt="continue")

    killed, resumed = asyncio.run(kill_and_resume())
    assert killed.code is Code.AGENT_KILLED
    assert resumed.text == "done"
    assert (stage.place / "runs").read_text() == "x\n"
    assert not [event for event in stage.events if isinstance(event, SessionReplaced)]


def test_state_is_private(tmp_path: Path) -> None:
    """The file of a session is readable only by its owner, and is outside the workspace."""
    stage = Stage(tmp_path, "- say: hello\n")
    stage.play(session="../../escape")
    stored = list(stage.transcripts.glob("*.script.json"))
    assert [path.stat().st_mode & 0o777 for path in stored] == [0o600]
    assert list(stage.place.iterdir()) == []


def _kill_agent(marker: str) -> None:
    for process in psutil.process_iter():
        try:
            if process.environ().get("OSTLER_ATTEMPT") == marker:
                os.kill(process.pid, signal.SIGKILL)
        except (psutil.Error, OSError):
            continue


def test_a_session_whose_files_are_gone_is_reported(tmp_path: Path) -> None:
    """The call then starts a new session with the whole prompt, as on another machine."""
    stage = Stage(tmp_path)
    assert stage.play("resume").code is Code.SESSION_NOT_FOUND

    async def make_prompt() -> str:
        return "Go.\n```ostler-script\n- say: from the beginning\n```\n"

    call = AgentCall("i", "continue", "s-1", cwd=str(stage.place), fresh_prompt=make_prompt)
    call = replace(call, transcript=str(stage.transcripts / "9.jsonl"), env={"PATH": os.environ["PATH"]})
    assert asyncio.run(stage.executor.resume(call, stage.events.append)).text == "from the beginning"
    assert SessionReplaced("s-1", resumed=False) in stage.events
