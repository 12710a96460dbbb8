"""People control tasks from another terminal: pause, resume, approve, reject, skip, rewind; agents report."""

from __future__ import annotations

import sys
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from world import World, wait_until

TWO_PHASES = '["implement", "test"]'
ACTS_WITHIN_SECONDS = 0.5


@pytest.fixture
def phased(world: World) -> World:
    """Small tasks have two phases, as outside of tests."""
    world.environ["OSTLER_PHASES__PLANS__SMALL"] = TWO_PHASES
    return world


@pytest.fixture
def gated(phased: World) -> World:
    """A human gate after implement."""
    (phased.root / "ostler.toml").write_text('[gates.phases]\nimplement = "human"\n')
    return phased


def prompts(world: World, task: str) -> list[str]:
    """Return the prompts of a task's agents, in order."""

    def attempt(path: Path) -> str:
        return path.stem.rpartition("-")[2]

    found = (world.root / ".ostler" / "tasks" / task / "prompts").glob("*-[0-9][0-9][0-9].md")
    return [path.read_text("utf-8") for path in sorted(found, key=attempt)]


def phases(world: World, task: str) -> dict[str, str]:
    return {phase["id"]: phase["status"] for phase in world.show(task)["phases"]}


def kinds(world: World, task: str) -> list[str]:
    return [event["type"] for event in world.events(task)]


def moment(world: World, task: str, kind: str) -> float:
    """Return when it was recorded first."""
    (first, *_) = [event["time"] for event in world.events(task) if event["type"] == kind]
    return datetime.fromisoformat(first).timestamp()


def asked_often_enough(world: World, task: str, times: int) -> bool:
    return kinds(world, task).count("gate_waiting") == times


@pytest.mark.full
def test_pause_stops_the_agent_at_once_and_keeps_its_session(world: World) -> None:
    """The run ends with exit 4; resume and run continue in the same session."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    task = world.new()
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    world.ostler("pause", task)
    assert run.wait(30) == 4
    reported, received = (moment(world, task, kind) for kind in ("decision_recorded", "task_paused"))
    assert received - reported < 10 * ACTS_WITHIN_SECONDS
    assert not world.survivors()
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("paused", None)
    assert f"ostler resume {task}" in world.ostler("show", task).stdout
    world.ostler("resume", task)
    world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert [attempt["status"] for attempt in shown["attempts"]] == ["interrupted", "succeeded"]
    assert shown["attempts"][1]["resumed"]


def test_a_message_stops_the_agent_which_continues_its_session_with_it(world: World) -> None:
    """The attempt is interrupted, the next one has the text, and the task ends as usual."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    task = world.new()
    refused = world.ostler("message", task, "-m", "Too early", code=2).stderr
    assert "no agent works on it at the moment" in refused
    run = world.start("run", task)
    wait_until(lambda: len(world.started()) == 1, 30, "the agent did not start")
    world.ostler("message", task, "-m", "Greet in French, too.")
    assert run.wait(30) == 0
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert [attempt["status"] for attempt in shown["attempts"]] == ["interrupted", "succeeded"]
    assert shown["attempts"][1]["resumed"]
    assert ["Greet in French, too." in prompt for prompt in prompts(world, task)] == [False, True]


@pytest.mark.full
def test_a_paused_task_is_not_taken_and_a_run_goes_on_with_it_when_it_is_resumed(world: World) -> None:
    """The same run, which meanwhile has another task."""
    over = world.root.parent / "over"
    (world.root / "ostler.toml").write_text(
        '[executors.waits]\ntype = "command"\ncommand = "sh"\n'
        f'args = ["-c", "until test -e {over}; do sleep 0.05; done; echo x > x"]\n'
    )
    task = world.new("Rest first")
    world.new("Slow", "--executor", "waits")
    world.ostler("pause", task)
    assert world.ostler("run", task, code=4).stdout.startswith("paused")
    assert world.started() == []
    run = world.start("run", "--all", "-j", "2")
    wait_until(lambda: "in_progress" in str(world.json("status")), 30, "the run did not begin")
    assert world.show(task)["status"] == "paused"
    world.ostler("resume", task)
    wait_until(lambda: world.show(task)["status"] == "completed", 30, "the run did not take it")
    over.touch()
    assert run.wait(20) == 0


def test_an_answer_reaches_the_agent_that_asked(world: World) -> None:
    """C101, C134: blocked with its reason, resumed with the answer in its session."""
    world.behave(plan=[{"fault": "blocked"}, {}])
    task = world.new()
    world.ostler("run", task, code=4)
    assert f"ostler resume {task} -m TEXT" in world.ostler("show", task).stdout
    world.ostler("resume", task, "-m", "It is swordfish.")
    assert world.show(task)["status"] == "pending"
    world.ostler("run", task)
    first, second = prompts(world, task)
    assert "swordfish" not in first and "It is swordfish." in second
    shown = world.show(task)
    assert shown["attempts"][0]["session_id"] == shown["attempts"][1]["session_id"]


@pytest.mark.full
def test_more_iterations_are_given_by_resume(world: World) -> None:
    """At the limit the task waits, exit 5; resumed it has as many again, each with the text."""
    world.behave(plan=[*[{"fault": "no_mark", "edits": {}}] * 6, "ok"])
    task = world.new("Slow going", "--weight", "trivial")
    world.ostler("run", task, code=5)
    used = world.show(task)["iteration"]
    world.ostler("resume", task, "-m", "Use blue.")
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["iteration"]) == ("completed", used + 2)
    assert ["Use blue." in text for text in prompts(world, task)] == [False] * used + [True] * 2


@pytest.mark.full
def test_a_person_at_a_gate_is_waited_for_at_no_cost(gated: World) -> None:
    """needs_review, exit 4; another run starts nothing; approve starts the next phase."""
    task = gated.new()
    printed = gated.ostler("run", "--all", code=4)
    assert "gate waiting" in printed.stdout and f"ostler approve {task}" in printed.stderr
    shown = gated.show(task)
    assert (shown["status"], shown["phase"], shown["iteration"]) == ("needs_review", "implement", 1)
    gate = shown["phases"][0]["gate"]
    assert (gate["type"], gate["verdict"], gate["sha"]) == ("human", "pending", shown["commit"])
    gated.ostler("run", task, code=4)
    gated.ostler("run", "--all")
    assert len(gated.started()) == 1
    gated.ostler("approve", task, "-m", "well done")
    assert gated.show(task)["status"] == "pending"
    assert len(gated.started()) == 1
    gated.ostler("run", "--all")
    shown = gated.show(task)
    assert shown["status"] == "completed"
    gate = shown["phases"][0]["gate"]
    assert (gate["verdict"], gate["reason"]) == ("pass", "well done")
    assert [attempt["phase"] for attempt in shown["attempts"]] == ["implement", "test"]


def test_a_rejection_goes_back_with_its_reason(gated: World) -> None:
    """C133: revision, the reason in the prompt, another review; rejections of a person use up no retry."""
    task = gated.new()
    gated.ostler("run", task, code=4)
    for number in (1, 2, 3):  # of two retries
        gated.ostler("reject", task, "-m", f"shorter, time {number}")
        assert gated.show(task)["status"] == "revision"
        gated.ostler("run", "--all", code=4)
        assert f"shorter, time {number}" in prompts(gated, task)[number]
    assert gated.show(task)["status"] == "needs_review"
    assert f"ostler approve {task}" in gated.ostler("show", task).stdout
    gated.ostler("approve", task)
    gated.ostler("run", "--all")
    assert gated.show(task)["status"] == "completed"
    assert len(gated.started()) == 5


def test_a_running_run_receives_an_approval(gated: World) -> None:
    """Another task keeps it busy; the approved one continues at once, and so does a rejected one."""
    over = gated.root.parent / "over"
    (gated.root / "ostler.toml").write_text(
        '[gates.phases]\nimplement = "human"\n[executors.waits]\ntype = "command"\ncommand = "sh"\n'
        f'args = ["-c", "until test -e {over}; do sleep 0.05; done; echo x > x"]\n'
    )
    task = gated.new()
    gated.new("Slow", "--executor", "waits")
    run = gated.start("run", "--all", "-j", "2")
    for number, verb in enumerate(("reject", "approve"), 1):
        asked = partial(asked_often_enough, gated, task, number)
        wait_until(asked, 30, "no question was asked")
        gated.ostler(verb, task, "-m", "my word")
    wait_until(lambda: gated.show(task)["status"] == "completed", 30, "it did not continue")
    history = gated.events(task)
    for place, event in enumerate(history):
        if event["type"] == "decision_recorded":
            claimed = next(later for later in history[place:] if later["type"] == "task_claimed")
            waited = [datetime.fromisoformat(one["time"]).timestamp() for one in (event, claimed)]
            assert waited[1] - waited[0] < 10 * ACTS_WITHIN_SECONDS
    over.touch()
    assert run.wait(20) == 4  # the slow one waits for its own approval


@pytest.mark.full
def test_a_person_is_asked_before_publishing(phased: World) -> None:
    """The gate named merge: a rejection leads back to implement with its reason, an approval to the end."""
    (phased.root / "ostler.toml").write_text('[gates.phases]\nmerge = "human"\n')
    task = phased.new()
    phased.ostler("run", task, code=4)
    assert (phased.show(task)["status"], len(phased.started())) == ("needs_review", 2)
    phased.ostler("reject", task, "-m", "the title is wrong")
    phased.ostler("run", task, code=4)
    assert "the title is wrong" in prompts(phased, task)[2]
    assert [one["phase"] for one in phased.show(task)["attempts"]] == ["implement", "test"] * 2
    phased.ostler("approve", task)
    phased.ostler("run", task)
    assert phased.show(task)["status"] == "completed"
    assert len(phased.started()) == 4


def test_a_skipped_phase_makes_no_call(phased: World) -> None:
    """Before it begins; its reason is kept, and the task completes without it."""
    task = phased.new()
    phased.ostler("skip", task, "--phase", "test", "--reason", "no tests here")
    phased.ostler("run", task)
    assert phases(phased, task) == {"implement": "completed", "test": "skipped"}
    assert len(phased.started()) == 1
    gate = phased.show(task)["phases"][1]["gate"]
    assert (gate["verdict"], gate["reason"]) == ("skipped", "no tests here")


def test_a_phase_is_skipped_while_its_agent_works(phased: World) -> None:
    """The agent is stopped, its work is committed, and the next phase begins in the same run."""
    phased.behave(plan=[{"fault": "a1_hangs"}, {}])
    task = phased.new()
    run = phased.start("run", task)
    wait_until(lambda: len(phased.started()) == 1, 30, "the agent did not start")
    wait_until(lambda: "tool_used" in kinds(phased, task), 30, "the agent did nothing")
    phased.ostler("skip", task, "--phase", "implement", "--reason", "done by hand")
    assert run.wait(30) == 0
    assert phases(phased, task) == {"implement": "skipped", "test": "completed"}
    assert "fake-agent.txt" in phased.ostler("diff", task).stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("phase", ["implement", "test"])
def test_a_completed_task_is_rewound_and_done_again(phased: World, phase: str) -> None:
    """From the work before that phase; the history is kept, and no earlier phase is repeated."""
    task = phased.new()
    phased.ostler("run", task)
    kept = phased.show(task)["phases"][0]["commit"] if phase == "test" else None
    phased.ostler("rewind", task, "--to", phase, "-m", "Mind the edges too.")
    shown = phased.show(task)
    assert (shown["status"], shown["phase"], shown["commit"]) == ("pending", phase, kept)
    phased.ostler("run", "--all")
    shown = phased.show(task)
    assert shown["status"] == "completed"
    again = ["implement", "test"][phase == "test" :]
    assert [attempt["phase"] for attempt in shown["attempts"]] == ["implement", "test", *again]
    assert "Mind the edges too." in prompts(phased, task)[2]
    assert (shown["phases"][0]["commit"] == kept) is (phase == "test")
    assert phased.git("rev-list", "--count", f"main..{shown['branch']}").strip() == "2"
    assert kinds(phased, task).count("task_completed") == 2
    assert kinds(phased, task).count("task_reopened") == 1


def test_a_task_at_work_is_rewound(phased: World) -> None:
    """The agent is stopped and the phase begins again, in the same run."""
    phased.behave(plan=[{}, {"fault": "a1_hangs"}, {}])
    task = phased.new()
    run = phased.start("run", task)
    wait_until(lambda: len(phased.started()) == 2, 30, "the second phase did not start")
    phased.ostler("rewind", task, "--to", "implement")
    assert run.wait(30) == 0
    shown = phased.show(task)
    assert shown["status"] == "completed"
    assert [attempt["phase"] for attempt in shown["attempts"]] == ["implement", "test", "implement", "test"]


@pytest.mark.parametrize(
    ("word", "status", "code", "exit_code"),
    [
        ("complete", "completed", None, 0),
        ("blocked", "blocked", "AGENT_BLOCKED", 4),
        ("paused", "paused", None, 4),
        ("needs_review", "needs_review", None, 4),
    ],
)
@pytest.mark.sampled(1)
def test_an_agent_reports_the_status_of_its_task(
    world: World, word: str, status: str, code: str | None, exit_code: int
) -> None:
    """By the command, from inside its task; its last report counts, and its reason is kept."""
    report = f"{sys.executable} -m ostler report --status"
    script = f"echo x > x; {report} blocked --reason first; {report} {word} --reason last"
    (world.root / "ostler.toml").write_text(
        '[run]\nexecutor = "mine"\n'
        f'[executors.mine]\ntype = "command"\ncommand = "sh"\nargs = ["-c", "{script}"]\n'
    )
    task = world.new()
    world.ostler("run", task, code=exit_code)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == (status, code)
    printed = [event for event in world.events(task) if event["type"] == "agent_reported"]
    assert [(event["attempt"], event["status"]) for event in printed] == [(1, "blocked"), (1, word)]


def test_a_report_of_an_attempt_that_is_over_is_refused(world: World) -> None:
    """The report of a leftover process changes nothing."""
    task = world.new()
    world.ostler("run", task)
    marks = {"OSTLER_TASK": task, "OSTLER_ATTEMPT": f"store:{task}:1"}
    refused = world.ostler("report", "--status", "blocked", code=2, **marks)
    assert f"attempt 1 of {task} has ended" in refused.stderr
    assert "agent_reported" not in kinds(world, task)
