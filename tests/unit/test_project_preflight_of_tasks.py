"""What a new task or a run lacks is found before an agent starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspected_project import git, make_repository, write
from ostler.config.load import load_settings
from ostler.errors import Code, OstlerError, PreflightFailed, Problem, UsageError
from ostler.model.task import Input, Output, Task, explain_invalid_label
from ostler.process import tool
from ostler.project.inspection.refuse import refuse
from ostler.project.preflight import check_new, check_ready, find_ready_tasks
from ostler.project.project import Project


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


PULL = '[git]\non_complete = "pr"\n'


def project(root: Path, text: str = "") -> Project:
    write(root, {"ostler.toml": text})
    return Project.open(root, {"PATH": "/usr/bin:/bin", "HOME": str(root)}, create=True)


def test_a_new_task_is_refused_with_everything_that_it_lacks(tmp_path: Path) -> None:
    """Executor, role, skills, the next skill and the task before it; nothing is written."""
    with project(tmp_path) as opened:
        task = Task("t", executor="claud", role="zz", skill="no", next=("nope",), after=("other",))
        with pytest.raises(PreflightFailed) as caught:
            opened.add(task)
        assert [one.message.split(";")[0] for one in caught.value.problems] == [
            'unknown executor "claud"',
            'unknown role "zz"',
            "no skill no in .agents/skills, .claude/skills",
            "the next skill of the task: no skill nope in .agents/skills, .claude/skills",
            "no task other",
        ]
        assert caught.value.exit == 2 and not opened.tasks()


def test_an_input_outside_the_project_is_refused_for_every_caller(tmp_path: Path) -> None:
    """Also without the command line; a missing file may be written later."""
    with project(tmp_path) as opened:
        for path in ("../x.md", "/etc/hostname", "a/../../x"):
            with pytest.raises(PreflightFailed, match="is not a path below the project") as caught:
                opened.add(Task("t", inputs=(Input(path),), output=Output("outputs/x.md")))
            assert (caught.value.code, caught.value.exit) == (Code.INPUT_NOT_FOUND, 2)
        assert not opened.tasks()
        assert opened.add(Task("t", inputs=(Input("later.md"),), output=Output("outputs/x.md"))).id


def test_a_new_task_of_a_missing_agent_is_a_warning(tmp_path: Path) -> None:
    """It can be installed before the run."""
    with project(tmp_path, '[executors.gone]\ntype = "command"\ncommand = "/nowhere/x"\n') as opened:
        [warning] = check_new(opened, Task("t", executor="gone"))
        assert warning.severity == "warning" and "/nowhere/x" in warning.message


CLUSTER = """[engine]
kind = "temporal"
address = "h:1"
shared_root = true
[store]
url = "postgresql://h/x"
[executors.claude]
permissions = "skip"
"""


@pytest.mark.parametrize(
    ("sandbox", "refused"),
    [
        ('tier = "supervised"', True),
        ('tier = "landlock"', True),
        ('network = "on"', True),
        ('tier = "supervised"\nallow_unsandboxed_skip = true', False),
        ('tier = "auto"', False),
        ('tier = "docker"\nimage = "x"', False),
    ],
)
def test_a_cluster_refuses_an_agent_that_no_worker_may_start(
    tmp_path: Path, sandbox: str, refused: bool
) -> None:
    """A new task and a run get one sentence, as on one machine; a worker may have what is missing here."""
    with project(tmp_path) as local:
        write(tmp_path, {"ostler.toml": f"{CLUSTER}[sandbox]\n{sandbox}\n"})
        loaded = load_settings(tmp_path, local.environ)
        opened = Project(local.layout, lambda: loaded, local.journal, local.environ, local.store)
        task = Task("t", id="one", executor="claude")
        for check in (lambda: check_new(opened, task), lambda: check_ready(opened, [task])):
            if not refused:
                check()
                continue
            with pytest.raises(PreflightFailed, match="lets the agent do anything on this machine") as caught:
                check()
            assert (caught.value.code, caught.value.exit) == (Code.SANDBOX_UNAVAILABLE, 2)


def test_a_phase_of_a_task_that_resembles_a_known_one_is_a_warning(tmp_path: Path) -> None:
    """Any name is allowed, with the general template."""
    with project(
        tmp_path, '[run]\nexecutor = "mine"\n[executors.mine]\ntype = "command"\ncommand = "sh"\n'
    ) as opened:
        found = check_new(opened, Task("t", phases=("implement", "tets", "zebra")))
        assert [one.text for one in found] == ['no phase has the name "tets"; did you mean "test"?']


def test_the_reviewer_of_a_gate_is_checked_before_the_run(repository: Path) -> None:
    """The agent of an ai gate is needed only after the first phase was paid for."""
    text = (
        '[run]\nexecutor = "mine"\n[executors.mine]\ntype = "command"\ncommand = "sh"\n'
        '[executors.gone]\ntype = "command"\ncommand = "/nowhere/x"\n'
        '[agents]\nreviewer = "gone"\n[gates.phases]\nimplement = "ai"\n'
    )
    with project(repository, text) as opened:
        with pytest.raises(PreflightFailed) as caught:
            check_ready(opened, [opened.add(Task("t", weight="trivial"))])
        assert (caught.value.code, caught.value.exit) == (Code.AGENT_NOT_FOUND, 2)
        assert "/nowhere/x" in caught.value.message


def test_an_unknown_executor_is_reported_once(repository: Path) -> None:
    """With the setting that names it, and not again for each task."""
    with project(repository, "") as opened:
        task = opened.add(Task("t"))
    with project(repository, '[run]\nexecutor = "claud"\n') as opened:
        with pytest.raises(PreflightFailed) as caught:
            check_ready(opened, [task])
        assert [one.key for one in caught.value.problems] == ["run.executor"]


def test_a_task_that_lacks_something_is_refused_alone(repository: Path) -> None:
    """The others are ready; the message names the task and the reason."""
    text = '[run]\nexecutor = "mine"\n[executors.mine]\ntype = "command"\ncommand = "sh"\n'
    text += '[executors.gone]\ntype = "command"\ncommand = "/nowhere/x"\n'
    with project(repository, text) as opened:
        bad, good = opened.add(Task("bad", executor="gone")), opened.add(Task("good"))
        found = find_ready_tasks(opened)
        assert found.ready == [good.id]
        [message] = found.refused
        assert message.startswith(f"not run: {bad.id}: ") and "/nowhere/x" in message


def test_the_preflight_of_a_run_starts_no_process(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even git, also with pull requests: repository, commit and settings are read from their files."""
    started: list[list[str]] = []
    run = tool._run_once
    monkeypatch.setattr(tool, "_run_once", lambda argv, *rest: started.append(argv) or run(argv, *rest))
    text = '[run]\nexecutor = "mine"\n[executors.mine]\ntype = "command"\ncommand = "sh"\n'
    text += '[gates.commands]\ntest = "make"\n[[notify]]\ncommand = ["true"]\n' + PULL
    git(repository, "remote", "add", "origin", "/somewhere/else")
    write(repository, {".agents/prompts/test.md": "Test it.", ".claude/settings.json": "{}"})
    with project(repository, text) as opened:
        task = opened.add(Task("t"))
        started.clear()
        check_ready(opened, [task])
    assert started == []


def test_one_error_keeps_its_code_and_hint() -> None:
    """Several become one list; warnings alone refuse nothing."""
    warning = Problem("a", 1, "k", "m", "warning")
    refuse([], [warning])
    with pytest.raises(PreflightFailed) as caught:
        refuse([OstlerError(Code.GIT_NO_COMMITS, "no commits", "git commit")])
    assert (caught.value.code, caught.value.hint, caught.value.exit) == (Code.GIT_NO_COMMITS, "git commit", 2)
    with pytest.raises(PreflightFailed) as caught:
        refuse([UsageError("one", "do it"), UsageError("two")], [warning])
    assert caught.value.message.splitlines() == ["one; do it", "two", "warning: a:1: k: m"]


def test_a_run_without_its_named_sandbox_is_refused(repository: Path) -> None:
    """The task stays as it is, and `auto` needs no sandbox."""
    own = '[executors.own]\ntype = "command"\ncommand = "/bin/sh"\n'
    text = own + '[run]\nexecutor = "own"\n[sandbox]\ntier = "{}"\n'
    for tier, expected in (("docker", [Code.SANDBOX_UNAVAILABLE]), ("auto", [])):
        write(repository, {"ostler.toml": text.format(tier)})
        with Project.open(repository, {"PATH": "/nowhere"}, create=True) as opened:
            found: list[Code] = []
            try:
                check_ready(opened, [Task("t")])
            except PreflightFailed as error:
                found.append(error.code)
        assert found == expected


@pytest.mark.parametrize("label", ["GPU", "a b", "a.b", "-a", "x" * 33, "é", "a\n"])
def test_a_label_that_no_worker_can_have(label: str) -> None:
    """It is part of the name of a queue: short words of letters and digits."""
    assert explain_invalid_label(label).startswith(f"invalid label {label!r}: expected up to 32")
    assert explain_invalid_label("linux-x64_2") == ""


def test_a_pool_that_does_not_exist_is_a_warning(tmp_path: Path) -> None:
    """The feature of a task is also a label; it selects a pool only if one has its name."""
    agent = '[run]\nexecutor = "mine"\n[executors.mine]\ntype = "command"\ncommand = "sh"\n'
    with project(tmp_path, f"{agent}[pools.gpu]\nsize = 1\n") as opened:
        assert check_new(opened, Task("t", feature="gpu")) == []
        assert [one.message for one in check_new(opened, Task("t", feature="hihg", priority="P3"))] == [
            "no pool has the name hihg, so the task uses the pool low; did you mean high?"
        ]
        [other] = check_new(opened, Task("t", feature="auth"))
        assert (
            other.severity == "warning" and "the task uses the pool medium; add [pools.auth]" in other.message
        )
