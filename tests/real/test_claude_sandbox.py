"""The real claude in a sandbox, with a local model server."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from ostler.model.call import ToolReturned
from ostler.testing.fake_llm import Answer, FakeLlm, call, say
from ostler.testing.llm import request as recorder
from real_claude import Seat, real_world
from sandboxed_seat import SandboxedSeat, texts

ANSWER = {"status": "complete", "reason": "", "summary": "I added a greeting."}
KEY = "sk-ant-real-0123456789"
TOKEN = "sk-ant-oat-real-9876543210"


def shell(command: str) -> Answer:
    return call("Bash", command=command, description="x")


@pytest.mark.smoke
def test_a_first_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It edits, tests and commits; a push, a read of another project and a foreign host are refused.

    No process and no file inside has its key, which the server receives.
    """
    monkeypatch.setattr(recorder, "_without_secret", lambda name, value: value)
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("PRIVATE-NOTES")
    turns = [
        call("Write", file_path="hello.py", content="def greet():\n    return 'hello'\n"),
        shell("python3 check.py && git add -A && git commit -qm greeting && echo COMMITTED"),
        shell("git push origin HEAD:main; echo push $?"),
        shell(f"cat {other}/notes.txt; echo read $?"),
        shell("curl -sS -m 5 https://foreign.example/; echo connect $?"),
        shell(f"MARK=planted-value; echo $({dump(KEY)}) found"),
        call("StructuredOutput", **ANSWER),
    ]
    with FakeLlm(turns) as llm:
        world = real_world(tmp_path, llm)
        world.environ |= {"OSTLER_SANDBOX__TIER": "auto", "ANTHROPIC_API_KEY": KEY}
        (world.root / "check.py").write_text(
            "import hello\nassert hello.greet() == 'hello'\nprint('TESTED')\n"
        )
        world.git("init", "-q", "--bare", str(tmp_path / "remote.git"))
        world.git("remote", "add", "origin", str(tmp_path / "remote.git"))
        world.git("add", "-A")
        world.git("commit", "-qm", "a test")
        task = world.new("Add a greeting", "-d", "Write hello.py")
        world.ostler("run", task)
        shown, log, events = world.show(task), world.ostler("log", task, "--full").stdout, world.events(task)
        world.close()
    assert (shown["status"], shown["code"]) == ("completed", None)
    assert "return 'hello'" in world.git("show", f"ostler/{task}:hello.py")
    assert "TESTED" in log and "COMMITTED" in log
    assert "push 1" in log and "read 1" in log and "PRIVATE-NOTES" not in log
    assert re.search(r"\b0 0 [1-9]\d* found", log), log
    assert {request.headers.get("x-api-key") for request in llm.requests} == {KEY}
    refused = [(event["kind"], event["target"]) for event in events if event["type"] == "access_refused"]
    expected = [("push", "origin"), ("file", f"{other}/notes.txt"), ("network", "foreign.example:443")]
    assert refused == expected
    assert [one["target"] for one in shown["refused"]] == [target for _, target in expected]
    attempt = shown["attempts"][0]
    assert (attempt["permissions"], attempt["sandbox"]["tier"]) == ("skip", "bubblewrap")
    assert world.git("ls-remote", str(tmp_path / "remote.git")) == ""


@pytest.mark.full
def test_the_budget_ends_a_running_agent(tmp_path: Path) -> None:
    """The proxy counts each answer, and refuses the call after the one that used the budget up."""
    with FakeLlm([shell("echo ONE"), shell("echo TWO"), call("StructuredOutput", **ANSWER)]) as llm:
        world = real_world(tmp_path, llm)
        world.environ |= {"OSTLER_SANDBOX__TIER": "auto", "OSTLER_BUDGET__TASK_USD": "0.000001"}
        task = world.new("Add a greeting", "-d", "Write hello.py")
        world.ostler("run", task, code=5)
        shown = world.show(task)
        world.close()
    assert (shown["status"], shown["code"]) == ("paused", "BUDGET_EXCEEDED")
    assert len(llm.requests) == 1


def dump(marker: str) -> str:
    """Return a command that counts a text in all environments and in all files of HOME."""
    parts = f"{marker[:8]}'{marker[8:]}'"  # so that the command itself is no match
    return (
        f"cat /proc/*/environ 2>/dev/null | grep -ac {parts}; grep -raol {parts} $HOME | wc -l; "
        "export PLANTED=$MARK; bash -c 'cat /proc/*/environ' | grep -ac planted-value"
    )


@pytest.mark.full
@pytest.mark.parametrize("kind", ["key", "login"])
def test_keys_stay_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """No process and no file has the key, a planted value is found, and the server receives the key."""
    monkeypatch.setattr(recorder, "_without_secret", lambda name, value: value)
    secret = KEY if kind == "key" else TOKEN
    turns = [shell(f"MARK=planted-value; {dump(secret)}"), say("Done."), say("Again.")]
    with FakeLlm(turns) as llm:
        inner = Seat(tmp_path, llm)
        inner.environ |= {"ANTHROPIC_API_KEY": KEY if kind == "key" else ""}
        if kind == "login":
            write_login(tmp_path / "claude-config", time.time() + 3600)
        seat = SandboxedSeat(inner)
        first = seat.run("Hello")
        second = seat.run("And now?", first.session_id, resume=True)
    assert (first.code, first.text, second.code, second.text) == (None, "Done.", None, "Again."), (
        first.message
    )
    environments, files, planted = texts(inner.events, ToolReturned, "text").split()
    assert (environments, files) == ("0", "0") and int(planted) > 0
    header, value = ("x-api-key", KEY) if kind == "key" else ("authorization", f"Bearer {TOKEN}")
    assert {request.headers.get(header) for request in llm.requests} == {value}
    assert llm.prompts[-1].holds("Hello") and seat.refusals == []
    used = seat.opened[0]
    assert (used.permissions, used.record.tier, used.record.verified) == ("skip", "bubblewrap", True)


def write_login(folder: Path, expires_at: float) -> None:
    login = {
        "accessToken": TOKEN,
        "refreshToken": "r",
        "expiresAt": int(expires_at * 1000),
        "scopes": ["user:inference"],
    }
    folder.mkdir(exist_ok=True)
    (folder / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login}))
