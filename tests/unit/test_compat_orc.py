"""Seed 002 (orc): every public symbol, default, event name and test case of its executor package."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from ostler import Task, compat
from ostler.compat import orc
from ostler.compat.orc import (
    Event,
    EventPublisher,
    ExecutorConfig,
    FullExecutor,
    PhaseCompletion,
    PhaseResult,
    StandardExecutor,
    TrivialExecutor,
    build_retry_context,
    build_template_vars,
    check_phase_completion,
    executor_for_weight,
    new_event_publisher,
    render_template,
    save_retry_context_file,
    setup_worktree,
)
from ostler.errors import Code, GitError, UsageError
from ostler.model.ids import TaskId
from ostler.model.plan import build_plan
from ostler.model.task import Weight
from world import World

SCRIPTED = '[run]\nexecutor = "scripted"\n'
TASK = Task("Fix the login", "It loops.", TaskId("task-001"), weight="medium")
SEVEN = ("TASK_ID", "TASK_TITLE", "TASK_DESCRIPTION", "PHASE", "WEIGHT", "ITERATION", "RETRY_CONTEXT")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose agent runs scripts."""
    world = World(tmp_path)
    world.make_repository(**{"ostler.toml": SCRIPTED})
    return world.root


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


# publish.go: nil safety, event types


def call_each(publisher: EventPublisher) -> None:
    publisher.phase_start("t", "implement")
    publisher.phase_complete(
        "t", "implement", PhaseResult("implement", "completed", 1, 0.1, commit_sha="abc")
    )
    publisher.phase_failed("t", "test", ValueError("no"))
    publisher.transcript("t", "implement", 2, "response", "text")
    publisher.transcript_chunk("t", "implement", 2, "te")
    publisher.tokens("t", "implement", 3, 4)
    publisher.error("t", "test", "broken", fatal=True)
    publisher.state("t", {"status": "running"})
    publisher.complete("t", "completed")


def test_publisher_is_safe_with_nil() -> None:
    """NewEventPublisher(nil): every method does nothing."""
    call_each(new_event_publisher(None))
    call_each(EventPublisher(None))
    call_each(EventPublisher())


def test_publisher_sends_every_event_type() -> None:
    """phase, transcript, tokens, error, state and complete, with their data."""
    sent: list[Event] = []
    call_each(EventPublisher(sent.append))
    assert [(event.type, event.task_id, event.data) for event in sent] == [
        ("phase", "t", {"phase": "implement", "status": "running"}),
        ("phase", "t", {"phase": "implement", "status": "completed", "commit_sha": "abc"}),
        ("phase", "t", {"phase": "test", "status": "failed", "error": "no"}),
        ("transcript", "t", {"phase": "implement", "iteration": 2, "type": "response", "content": "text"}),
        ("transcript", "t", {"phase": "implement", "iteration": 2, "type": "chunk", "content": "te"}),
        ("tokens", "t", {"phase": "implement", "input": 3, "output": 4, "total": 7}),
        ("error", "t", {"phase": "test", "message": "broken", "fatal": True}),
        ("state", "t", {"state": {"status": "running"}}),
        ("complete", "t", {"status": "completed"}),
    ]


def test_publisher_accepts_an_object_with_publish() -> None:
    """As orc's events.Publisher."""

    class Bus:
        def __init__(self) -> None:
            self.events: list[Event] = []

        def publish(self, event: Event) -> None:
            self.events.append(event)

    bus = Bus()
    EventPublisher(bus).phase_start("t", "implement")
    assert [event.type for event in bus.events] == ["phase"]


def test_a_receiver_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It does not end the run."""
    EventPublisher(lambda event: 1 / 0).state("t", "running")
    assert "the receiver of a state event of t failed" in caplog.text


@pytest.mark.parametrize("receiver", [3, "bus", object()])
def test_a_receiver_that_cannot_receive_is_refused(receiver: Any) -> None:
    """At once, and not with each event."""
    with pytest.raises(UsageError, match="cannot receive events"):
        EventPublisher(receiver)


# template.go: variable substitution


def test_the_seven_variables() -> None:
    """vars := BuildTemplateVars(task, phase, iteration, retryContext); RenderTemplate(template, vars)."""
    found = build_template_vars(TASK, "implement", 2, "the tests failed")
    assert [found[name] for name in SEVEN] == [
        "task-001",
        "Fix the login",
        "It loops.",
        "implement",
        "medium",
        "2",
        "the tests failed",
    ]
    template = " ".join(f"{{{{{name}}}}}" for name in SEVEN)
    assert render_template(template, found) == " ".join(found[name] for name in SEVEN)


def test_a_phase_of_a_plan_and_no_retry_context() -> None:
    """The phase may be a value of the plan; a variable without a value is empty."""
    found = build_template_vars(TASK, build_plan("medium").phases[1])
    assert (found["PHASE"], found["ITERATION"], found["RETRY_CONTEXT"]) == ("test", "1", "")


def test_inserted_text_is_not_expanded_again() -> None:
    """orc replaced variables one after the other, so that values could contain variables."""
    found = build_template_vars(Task("{{WEIGHT}}", "x"), "implement")
    assert render_template("{{TASK_TITLE}}", found) == "{{WEIGHT}}"


def test_an_unknown_variable_is_an_error() -> None:
    """With a suggestion."""
    with pytest.raises(UsageError, match=r"unknown variable \{\{TASK_IDD\}\}; did you mean TASK_ID"):
        render_template("{{TASK_IDD}}", {})


def test_variables_of_ones_own() -> None:
    """RenderTemplate(template, vars): a name in vars is known."""
    assert render_template("{{ENV}} of {{TASK_ID}}", {"ENV": "staging"}) == "staging of "


# retry.go: context file I/O


def test_retry_context_file(tmp_path: Path) -> None:
    """ctx := buildRetryContext(...); saveRetryContextFile(taskDir, ctx); then {{RETRY_CONTEXT}}."""
    context = build_retry_context("test", "2 failed", 1)
    assert (context.phase, context.to, context.attempt, context.output) == (
        "test",
        "implement",
        1,
        "2 failed",
    )
    path = save_retry_context_file(tmp_path / "task", context)
    assert path.name == "retry-context-test-1.md"
    text = path.read_text()
    for part in ("From phase: test", "Back to phase: implement", "Attempt: 1", "2 failed"):
        assert part in text
    found = build_template_vars(TASK, "implement", 1, context)
    assert "The phase test failed (attempt 1)" in found["RETRY_CONTEXT"]
    assert "2 failed" in found["RETRY_CONTEXT"]


@pytest.mark.parametrize(
    ("phase", "to"),
    [
        ("test", "implement"),
        ("test_unit", "implement"),
        ("test_e2e", "implement"),
        ("validate", "implement"),
        ("spec", "spec"),
    ],
)
def test_the_retry_map(phase: str, to: str) -> None:
    """A phase that checks sends the work back to implement; others repeat themselves."""
    assert build_retry_context(phase, "", 2).to == to


def test_retry_context_with_bad_input(tmp_path: Path) -> None:
    """A phase is no path, and attempts are counted from 1."""
    with pytest.raises(UsageError, match="invalid attempt 0"):
        build_retry_context("test", "", 0)
    with pytest.raises(UsageError, match="invalid phase"):
        save_retry_context_file(tmp_path, build_retry_context("../../evil", "", 1))
    assert list(tmp_path.iterdir()) == []


# completion.go


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("<phase_complete>true</phase_complete>", ("complete", "")),
        ("Done.\n<phase_complete>TRUE</phase_complete>\n", ("complete", "")),
        ("<implement_complete>true</implement_complete>", ("complete", "")),
        ("<phase_complete>false</phase_complete>", ("continue", "")),
        ("<phase_blocked>reason: missing dependencies</phase_blocked>", ("blocked", "missing dependencies")),
        ("<phase_blocked></phase_blocked>", ("blocked", "")),
        ("Write `<phase_complete>true</phase_complete>` at the end.", ("continue", "")),
        ("", ("continue", "")),
    ],
)
def test_check_phase_completion(content: str, found: tuple[str, str]) -> None:
    """CheckPhaseCompletion(content) returns the status and the reason."""
    assert check_phase_completion(content, "implement") == PhaseCompletion(*found)  # pyright: ignore


# worktree.go: setup and cleanup


def test_worktree_setup_and_cleanup(root: Path) -> None:
    """worktreePath, cleanup, err := setupWorktree(gitSvc, taskID, config); defer cleanup()."""
    path, cleanup = setup_worktree(root, "TASK-001", ExecutorConfig())
    assert path == root / ".ostler/worktrees/task-001"
    assert git(path, "branch", "--show-current") == "orc/task-001"
    assert (path / "ostler.toml").is_file() and git(root, "status", "--porcelain") == ""
    again, _ = setup_worktree(root, "TASK-001")
    assert again == path
    assert cleanup() and not path.exists()
    assert git(root, "branch", "--list", "orc/*") == "orc/task-001"
    assert not cleanup()


def test_worktree_with_changes_is_kept(root: Path) -> None:
    """Work that no commit contains is not deleted."""
    path, cleanup = setup_worktree(root, "task-001")
    (path / "new.txt").write_text("work")
    assert not cleanup()
    assert (path / "new.txt").read_text() == "work"


def test_worktree_with_bad_input(root: Path, tmp_path: Path) -> None:
    """No worktree, no repository, no commit, and an id that is a path."""
    assert setup_worktree(root, "task-001", ExecutorConfig(worktree=False))[0] == root
    with pytest.raises(UsageError, match="invalid task id"):
        setup_worktree(root, "../../evil")
    for name in ("plain", "empty"):
        (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match="not in a git repository"):
        setup_worktree(tmp_path / "plain", "task-001")
    git(tmp_path / "empty", "init", "-q")
    with pytest.raises(GitError) as caught:
        setup_worktree(tmp_path / "empty", "task-001")
    assert caught.value.code is Code.GIT_NO_COMMITS


# config.go, and the table of strategies


def test_executor_config_defaults() -> None:
    """Those of orc."""
    config = ExecutorConfig()
    assert (config.branch_prefix, config.commit_prefix, config.timeout_seconds) == ("orc/", "[orc]", 600.0)
    assert (config.worktree, config.cleanup_on_complete, config.cleanup_on_fail) == (True, True, False)
    assert (config.max_iterations, config.max_retries, config.profile) == (None, 2, "auto")


STRATEGIES = [
    ("trivial", TrivialExecutor, 5, "none", "none"),
    ("small", StandardExecutor, 10, "phase", "phase"),
    ("medium", StandardExecutor, 20, "phase", "phase"),
    ("large", FullExecutor, 30, "persistent", "iteration"),
    ("greenfield", FullExecutor, 50, "persistent", "iteration"),
]


@pytest.mark.parametrize(("weight", "kind", "limit", "session", "checkpoints"), STRATEGIES)
def test_executor_strategies(
    weight: Weight, kind: type[TrivialExecutor], limit: int, session: str, checkpoints: str
) -> None:
    """Session, checkpoints and iterations of each weight, as the engine plans them."""
    made = executor_for_weight(weight)
    assert isinstance(made, kind)
    assert (made.max_iterations, made.session, made.checkpoints) == (limit, session, checkpoints)
    phase = build_plan(weight).phases[0]
    assert (phase.max_iterations, phase.strategy) == (limit, made.strategy)
    assert (made.strategy.session == "fresh") == (session == "none")
    assert made.strategy.checkpoint_each_iteration == (checkpoints == "iteration")


def test_strategies_without_a_weight() -> None:
    """5, 20 and 30 iterations."""
    found = [kind().max_iterations for kind in (TrivialExecutor, StandardExecutor, FullExecutor)]
    assert found == [5, 20, 30]
    with pytest.raises(UsageError, match="trivial does not run large tasks"):
        TrivialExecutor(weight="large")
    with pytest.raises(UsageError, match="unknown weight 'huge'"):
        executor_for_weight("huge")  # pyright: ignore[reportArgumentType]


def test_every_name_of_the_package_is_public() -> None:
    """In `ostler.compat`, except two that other systems use for something else."""
    names = set(orc.__all__) - {"Event", "Publisher", "Executor", "ExecutorConfig"}
    assert all(getattr(compat, name) is getattr(orc, name) for name in names)
