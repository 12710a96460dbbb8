"""Make the journal fixture with the program of commit 3499aac; run it only in a checkout of that commit.

    git worktree add ../old 3499aac && cd ../old && make .venv/installed-dev
    PYTHONPATH=tests .venv/bin/python THIS/FILE SCRATCH_DIRECTORY OUTPUT_DIRECTORY

The scratch directory must not exist. The output directory gets `project.tar.xz` and `manifest.json`.
Each function below makes one or more tasks; its name in the manifest is the name that the tests use.
Paths of the scratch directory are replaced by a placeholder, see pack_3499aac.py.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pack_3499aac import pack

import ostler
from ostler.model.notice import (
    AgentQuiet,
    AgentReported,
    AgentWarned,
    BudgetWarned,
    ModelWoke,
    Notice,
    ParseError,
    PhaseRetried,
    SessionNoted,
    SourceNotTold,
    SourceTold,
    StillBusy,
    ToolUsedNotice,
    WaitEnded,
    WaitStarted,
    WorkAdjusted,
)
from ostler.store.sqlite.journal import SqliteJournal
from ostler.testing.fake_agent import fake_agent
from world import World, wait_until

BASE = """\
[git]
target = 'release'
warm_worktrees = 0
[host]
start_stagger_seconds = 0.0
[documents]
executor = 'claude'
"""
NOTIFY = "[[notify]]\ncommand = ['sh', '-c', 'cat >> notified/messages.jsonl']\n"
STAGES = frozenset(
    ("new", "ready", "turned", "answered", "checking", "merging", "publishing", "done", "ended", "closed")
)
NO_RETRY = {"OSTLER_RETRY__MAX_RETRIES": "0"}
TWO_PHASES = {"OSTLER_PHASES__PLANS__SMALL": '["implement", "test"]'}
SKILLS = {"research": ("strategy", "You find out who buys."), "copy": ("creative", "You write copy.")}
PIPELINE = (
    "name: launch\ngoal: Sell hay\nsteps:\n  - research\n  - {id: post, skill: copy}\n  - review: human\n"
)
MOVES = """\
export GIT_INDEX_FILE="$(pwd)/../index-of-theirs" GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@x
export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@x
git read-tree release
git update-index --add --cacheinfo "100644,$(echo theirs | git hash-object -w --stdin),{path}"
git update-ref refs/heads/release "$(git commit-tree -p release -m theirs "$(git write-tree)")"
rm "$GIT_INDEX_FILE"
"""


class Maker(World):
    """The project of the fixture, with the names of its tasks."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.tasks: dict[str, str] = {}
        self.settings(BASE)
        for name, (squad, body) in SKILLS.items():
            folder = self.root / ".agents" / "skills" / name
            folder.mkdir(parents=True)
            matter = f"name: {name}\ndescription: {name}\nsquad: {squad}"
            (folder / "SKILL.md").write_text(f"---\n{matter}\n---\n{body}\n")
        (self.root / ".agents" / "pipelines").mkdir()
        (self.root / ".agents" / "pipelines" / "launch.yaml").write_text(PIPELINE)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "settings, skills and a pipeline")
        self.git("branch", "release")
        for program in ("codex", "gemini"):
            self.play(program)

    def settings(self, text: str) -> None:
        (self.root / "ostler.toml").write_text(text)

    def play(self, program: str, **behaviour: object) -> None:
        """Set what the fake of this program does from now on."""
        launcher = fake_agent(self.agents, program, **{"ledger": str(self.ledger), **behaviour})
        self.environ[f"OSTLER_{program.upper()}_PATH"] = str(launcher)

    def add(self, name: str, *args: str, **environ: str) -> str:
        """Add a task that edits a file of its own, so that no two tasks conflict."""
        title = name.replace("_", " ").capitalize()
        self.tasks[name] = self.ostler("new", title, *args, **environ).stdout.strip()
        return self.tasks[name]

    def act(self, name: str, **behaviour: Any) -> None:
        """Set what the fake claude does, in a file named after the task."""
        self.behave(**{"edits": {f"{name}.txt": "line"}, **behaviour})

    def status(self, task: str) -> str:
        return self.show(task)["status"]

    def kill_in_call(self, task: str, starts: int = 1, **environ: str) -> None:
        """Start a run and kill it with SIGKILL while its agent works, after the tool use is recorded."""
        before = len(self.started())
        run = self.start("run", task, **environ)
        wait_until(lambda: len(self.started()) == before + starts, 30, "the agent did not start")
        wait_until(lambda: self.has(task, "tool_used", starts), 30, "the agent did nothing")
        run.kill()
        run.wait()
        wait_until(lambda: not self.survivors(), 20, "the agent is still alive")

    def has(self, task: str, kind: str, times: int = 1) -> bool:
        return [event["type"] for event in self.events(task)].count(kind) >= times


def ended(made: Maker) -> None:
    made.act("completed")
    made.ostler("run", made.add("completed", "-d", "A description.\n\nIn two paragraphs."))
    made.act("failed", fault="crash")
    made.ostler("run", made.add("failed"), code=1, **NO_RETRY)
    task = made.add("quarantined")
    for repeat in range(3):
        if repeat:
            made.ostler("retry", task)
        made.ostler("run", task, code=1, **NO_RETRY)
    made.ostler("cancel", made.add("cancelled"), code=None)
    made.act("skipped_phase")
    task = made.add("skipped_phase", **TWO_PHASES)
    made.ostler("skip", task, "--phase", "test", "--reason", "no tests here")
    made.ostler("run", task)


def imported(made: Maker) -> None:
    """Tasks of a checklist: one box is ticked, one cannot be."""
    todo = made.root / "TODO.md"
    todo.write_text("- [ ] Tick this\n- [ ] Cannot tick this\n")
    added = made.json("import", "--checklist", "TODO.md")["tasks"]
    for name, task in zip(("source_told", "source_not_told"), added, strict=True):
        made.tasks[name] = task["id"]
    made.act("source_told")
    made.ostler("run", made.tasks["source_told"])
    moved = todo.rename(made.root / "real.md")
    todo.symlink_to(moved)
    made.act("source_not_told")
    made.ostler("run", made.tasks["source_not_told"])
    todo.unlink()
    moved.rename(todo)


def at_gates(made: Maker) -> None:
    human = {"OSTLER_GATES__PHASES__IMPLEMENT": "human"} | TWO_PHASES
    for name in ("needs_review", "revision"):
        made.act(name)
        made.ostler("run", made.add(name, **human), code=4)
    made.ostler("reject", made.tasks["revision"], "-m", "Make it shorter.")
    made.act("approved_not_run")
    made.ostler("run", made.add("approved_not_run", **human), code=4)
    made.ostler("approve", made.tasks["approved_not_run"], "-m", "Well done.")
    made.act("merge_gate")
    merge = {"OSTLER_GATES__PHASES__MERGE": "human", "OSTLER_GIT__ON_COMPLETE": "merge"}
    made.ostler("run", made.add("merge_gate", **merge), code=4)
    made.act("gate_rejected")
    no = {"OSTLER_GATES__COMMANDS__IMPLEMENT": "test -e wanted.txt", "OSTLER_PHASES__MAX_PHASE_RETRIES": "1"}
    made.ostler("run", made.add("gate_rejected", **no), code=4)


def published(made: Maker) -> None:
    """A target that moved: once without a conflict, once with one."""
    merge = {"OSTLER_GIT__ON_COMPLETE": "merge", "OSTLER_GATES__COMMANDS__IMPLEMENT": "true"}
    made.act("rebased", script=MOVES.format(path="theirs.txt"))
    made.ostler("run", made.add("rebased", **merge))
    made.act("conflict", script=MOVES.format(path="conflict.txt"))
    made.ostler("run", made.add("conflict", **merge), code=4)


def waiting(made: Maker) -> None:
    for name in ("blocked", "answered"):
        made.act(name, fault="blocked")
        made.ostler("run", made.add(name), code=4)
    made.ostler("resume", made.tasks["answered"], "-m", "It is swordfish.")
    made.act("paused_in_call", fault="a1_hangs")
    task, before = made.add("paused_in_call"), len(made.started())
    run = made.start("run", task)
    wait_until(lambda: len(made.started()) == before + 1, 30, "the agent did not start")
    made.ostler("pause", task)
    assert run.wait(30) == 4
    made.ostler("pause", made.add("paused_before_start"))
    made.act("iteration_limit", fault="no_mark", edits={})
    made.ostler("run", made.add("iteration_limit", "--weight", "trivial"), code=5)
    made.act("over_budget", fault="no_mark", cost_usd=0.45)
    made.ostler("run", made.add("over_budget", "--budget-usd", "1"), code=5)
    # An agent does not inherit PYTHONPATH, and must report with the program of this commit, too.
    program = f"PYTHONPATH={Path(ostler.__file__).parents[1]} {sys.executable} -m ostler"
    made.act("reported", script=f"{program} report --status paused --reason 'Blue or red?'")
    made.ostler("run", made.add("reported"), code=4)


def models(made: Maker) -> None:
    """A pool of several models, a limit in the ledger, a model at rest."""
    rows = [("sonnet", "claude"), ("gpt", "codex"), ("flash", "gemini")]
    tables = [f"[[models]]\nname = '{name}'\nexecutor = '{executor}'\n" for name, executor in rows]
    made.settings(BASE + "".join(tables) + "[selection]\nstrategy = 'priority'\n")
    made.act("several_models", fault="api_error", error=529)
    made.play("codex", plan=[{"fault": "api_error", "says": "try again in 1.2 seconds"}, {}])
    made.ostler("run", made.add("several_models"))
    made.settings(BASE)
    made.act("run_adjusted", fault="api_error", error=529)
    careful = {"MAX_RETRIES": "7", "SELF_HEALING": "true", "BREAKER_FAILURES": "99"}
    task = made.add("run_adjusted")
    made.ostler("run", task, code=None, **{f"OSTLER_RETRY__{key}": value for key, value in careful.items()})
    made.play("codex", fault="api_error", expected="you have hit your usage limit, try again in 2 hours")
    made.ostler("run", made.add("deferred", "--executor", "codex"), code=5)
    made.play("gemini", fault="crash")
    made.ostler("run", made.add("model_at_rest", "--executor", "gemini"), code=1)


def opened(made: Maker) -> None:
    made.add("pending", "--priority", "P1")
    made.add("dependent", "--after", made.tasks["pending"])
    made.add("not_before", "--not-before", "2099-01-01")
    for name in ("rewound", "retried"):
        made.act(name, fault="crash" if name == "retried" else "")
        made.ostler("run", made.add(name, **TWO_PHASES), code=None, **NO_RETRY)
    made.ostler("rewind", made.tasks["rewound"], "--to", "test", "-m", "Test the edges too.")
    made.ostler("retry", made.tasks["retried"], "--budget-usd", "5")
    made.act("forgotten_session", fault="a1_hangs")
    made.kill_in_call(made.add("forgotten_session"))
    made.act("forgotten_session", fault="a25_forgets")
    made.ostler("run", made.tasks["forgotten_session"])
    made.act("broken_output", fault="a14_broken_json", bytes=2000)
    made.ostler("run", made.add("broken_output"), code=None)
    made.act("idle", fault="a1_hangs")
    slow = {"OSTLER_RUN__IDLE_TIMEOUT_SECONDS": "2", "OSTLER_WORKSPACE__SETUP": "sleep 1.5"} | NO_RETRY
    made.ostler("run", made.add("idle"), code=1, **slow)
    made.act("stopped", fault="a1_hangs")
    task, before = made.add("stopped"), len(made.started())
    run = made.start("run", task)
    wait_until(lambda: len(made.started()) == before + 1, 30, "the agent did not start")
    run.send_signal(signal.SIGTERM)
    run.wait(30)


def documents(made: Maker) -> None:
    made.act("document", edits={}, text="# Who buys hay\n\nStables.")
    made.ostler("run", made.add("document", "--skill", "research"))
    made.ostler("run", made.add("document_review", "--skill", "copy", "--review", "human"), code=4)
    made.ostler("pipeline", "run", "launch", "--later")
    for task in made.json("status")["tasks"]:
        if task["id"] not in made.tasks.values():
            made.tasks["pipeline_" + task["id"].partition("-")[0]] = task["id"]
    (first,) = [name for name in made.tasks if name.startswith("pipeline_") and name != "pipeline_post"]
    made.ostler("run", made.tasks[first])


def killed(made: Maker) -> None:
    """Runs that SIGKILL ended: in a call, in the call of a second phase, and after each record of a task."""
    made.act("killed_in_call", fault="a1_hangs")
    made.kill_in_call(made.add("killed_in_call"))
    made.act("killed_in_second_phase", plan=[{}, {"fault": "a1_hangs"}])
    for file in made.agents.glob("claude.starts"):
        file.unlink()
    made.kill_in_call(made.add("killed_in_second_phase", **TWO_PHASES), starts=2)
    environ = {
        "OSTLER_PHASES__PLANS__LARGE": '["implement"]',
        "OSTLER_GATES__COMMANDS__IMPLEMENT": "true",
        "OSTLER_GATES__COMMANDS__MERGE": "true",
        "OSTLER_GATES__PHASES__MERGE": "command",
        "OSTLER_GIT__ON_COMPLETE": "merge",
    }
    # The one stage with a failpoint of its own: the task is completed, its worktree is being removed.
    made.act("killed_at_ended")
    made.start("run", made.add("killed_at_ended"), OSTLER_FAILPOINT="worktree.parked:kill").wait(60)
    seen = {"ended"}
    for point in (1, 5, *range(7, 10), *range(13, 20), *range(7, 22), *range(7, 22)):
        # Which record is the last one varies, as records that wait are committed together.
        if seen >= STAGES:
            break
        name = f"killed_{len(made.tasks)}"  # also the name of the file that its agent changes
        for file in made.agents.glob("claude.starts"):
            file.unlink()
        made.act(name, plan=[{"fault": "no_mark"}, {}])
        task = made.add(name, "--weight", "large", **environ)
        run = made.start("run", task, OSTLER_FAILPOINT=f"journal.appended:kill:{point}")
        run.wait(60)
        wait_until(lambda: not made.survivors(), 20, "something is still alive")
        with SqliteJournal(made.root / ".ostler" / "ostler.db") as journal:
            row = journal.row(task)
            assert row
            stage = json.loads(row.state).get("stage", "new")
        renamed = f"killed_at_{stage}"
        del made.tasks[name]
        made.tasks[f"{renamed}_{len(made.tasks)}" if stage in seen else renamed] = task
        seen.add(stage)
    assert seen >= STAGES, f"no run was killed at {STAGES - seen}; run this script again"


def notified(made: Maker) -> None:
    """A message that could not be delivered; must be last, as a run without [[notify]] drops it."""
    made.settings(BASE + NOTIFY)
    made.act("notified")
    made.ostler("run", made.add("notified"))


def injected(made: Maker) -> list[str]:
    """Add the notices that no scene caused, with the encoders of this commit; return their tags."""
    samples: list[Notice] = [
        ToolUsedNotice("Bash", "rm -r x", denied=True),
        ParseError("not JSON"),
        SessionNoted("0f8fad5b-d9cb-469f-a165-70867728950e", resumed=True),
        PhaseRetried("test", "implement", 1, "retry.md"),
        AgentReported(1, "complete", "finished"),
        AgentQuiet(1, 300),
        AgentWarned("settings.json is not used"),
        ModelWoke("sonnet", "sonnet works again after its rest"),
        WorkAdjusted("limits", "6 of 10 failures were limits: half as many agents at once, waits from 2 s"),
        BudgetWarned("day", 80, "80 % of the day's budget are spent"),
        SourceTold("checklist:TODO.md#x"),
        SourceNotTold("checklist:TODO.md#x", "it is a link"),
        StillBusy("makes the worktree", "workspace.log", 12),
        WaitStarted(None, "a place in pool default, and room on the machine"),
        WaitEnded("a place in pool default, and room on the machine"),
    ]
    present = {event["type"] for event in made.events()}
    missing = [one for one in samples if str(one.__struct_config__.tag) not in present]
    with SqliteJournal(made.root / ".ostler" / "ostler.db") as journal:
        journal.notify(made.tasks["completed"], time.time(), missing)
    return [str(one.__struct_config__.tag) for one in missing]


def main(scratch: Path, out: Path) -> None:
    made = Maker(scratch)
    try:
        for scene in (
            ended, imported, at_gates, published, waiting, models, opened, documents, killed, notified
        ):  # fmt: skip
            print(scene.__name__, flush=True)
            scene(made)
        added = injected(made)
        pack(made, made.tasks, out, added)
    finally:
        made.close()
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
