"""The actions on a task: which states allow them, who may use them, and that every interface offers them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ostler.cli.app import GROUPS
from ostler.cli.commands.decide.actions import make_command
from ostler.errors import UsageError
from ostler.mcp.tools import TOOLS, read_arguments
from ostler.model.event import DecisionRecorded, TaskReopened
from ostler.model.events.disposal import DisposalEvent
from ostler.model.ids import TaskId
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.actions import ACTIONS, decode_params, find_action
from ostler.project.project import Project
from ostler.web.application import BASE, ROUTES
from ostler.web.openapi import make_openapi

_S = TaskStatus
ENDED = {_S.COMPLETED, _S.APPROVED, _S.FAILED, _S.QUARANTINED, _S.CANCELLED, _S.ABANDONED}
OPEN = set(_S) - ENDED
PARAMS: dict[str, dict[str, Any]] = {
    "reject": {"text": "in French"},
    "message": {"text": "in French"},
    "skip": {"phase": "implement", "reason": "done by hand"},
    "rewind": {"phase": "implement"},
}
# The statuses that allow an action; all others refuse it.
ALLOWED: dict[str, set[TaskStatus]] = {
    "approve": {_S.NEEDS_REVIEW},
    "reject": {_S.NEEDS_REVIEW},
    "resume": {_S.PAUSED, _S.BLOCKED, _S.DEFERRED},
    "message": set(),  # only while a call runs
    "retry": ENDED - {_S.COMPLETED, _S.APPROVED} | {_S.BLOCKED, _S.PAUSED, _S.DEFERRED},
    "pause": {_S.PENDING, _S.ASSIGNED, _S.REVISION, _S.IN_PROGRESS, _S.DEFERRED},
    "cancel": OPEN | {_S.CANCELLED},
    "kill": {_S.IN_PROGRESS},
    "skip": OPEN,
    "rewind": set(_S) - {_S.APPROVED},
    "merge": {_S.COMPLETED},
    "publish": {_S.COMPLETED},
    "rebase": {_S.COMPLETED},
    "undo": set(),  # only the decision before decides
    "archive": ENDED,
    "rm": set(_S) - {_S.IN_PROGRESS, _S.COMPLETED, _S.APPROVED},
    "purge": ENDED,
}


@pytest.fixture(scope="module")
def new_state(tmp_path_factory: pytest.TempPathFactory) -> State:
    with Project.open(tmp_path_factory.mktemp("project"), {}, create=True) as project:
        return project.state(project.add(Task("Greet", weight="small")).id)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project.open(tmp_path, {}, create=True) as opened:
        yield opened


def decide(name: str, state: State, **values: object) -> object:
    action = find_action(name)
    return action.decide(state, decode_params(action, values or PARAMS.get(name, {})))


def test_the_table_of_allowed_states_has_every_action() -> None:
    assert set(ALLOWED) == set(ACTIONS)


@pytest.mark.parametrize("status", _S)
@pytest.mark.parametrize("name", ACTIONS)
def test_each_action_in_each_status(name: str, status: TaskStatus, new_state: State) -> None:
    """An action that is not allowed is refused with the task's id and a command that helps."""
    state = replace(new_state, status=status, branch="ostler/x", commit="a" * 40)
    if status in ALLOWED[name]:
        assert isinstance(decide(name, state), DecisionRecorded | TaskReopened | DisposalEvent)
        return
    with pytest.raises(UsageError) as refused:
        decide(name, state)
    assert state.task in refused.value.message and "ostler " in refused.value.hint


@pytest.mark.parametrize("stage", [Stage.CHECKING, Stage.MERGING])
@pytest.mark.parametrize("name", ["approve", "reject"])
def test_a_task_that_a_gate_blocked_can_be_decided(name: str, stage: Stage, new_state: State) -> None:
    """A task that is blocked for another reason cannot be decided."""
    blocked = replace(new_state, status=_S.BLOCKED, stage=stage)
    assert isinstance(decide(name, blocked), DecisionRecorded)
    with pytest.raises(UsageError, match="not waiting for a decision"):
        decide(name, replace(blocked, stage=Stage.READY))


def test_a_pause_that_is_not_yet_applied_can_be_undone(new_state: State) -> None:
    running = replace(new_state, status=_S.IN_PROGRESS)
    with pytest.raises(UsageError, match="nothing to resume"):
        decide("resume", running)
    assert decide("resume", replace(running, pause_requested=True)) == DecisionRecorded("resume")


def test_a_message_needs_an_agent_that_works(new_state: State) -> None:
    """While a call runs it is recorded; a task that is being paused names the command that takes a text."""
    running = replace(new_state, status=_S.IN_PROGRESS, stage=Stage.READY)
    assert decide("message", running) == DecisionRecorded("message", "in French")
    with pytest.raises(UsageError) as refused:
        decide("message", replace(running, pause_requested=True))
    assert refused.value.hint == f"ostler resume {new_state.task} -m TEXT"


@pytest.mark.parametrize("name", ["skip", "rewind"])
def test_an_unknown_phase_is_refused_with_the_known_ones(name: str, new_state: State) -> None:
    with pytest.raises(UsageError, match="has no phase 'nope'") as refused:
        decide(name, new_state, phase="nope", **({"reason": "x"} if name == "skip" else {}))
    assert "implement" in refused.value.hint


def test_a_completed_phase_is_not_skipped(new_state: State) -> None:
    phases = (replace(new_state.phases[0], status="completed"), *new_state.phases[1:])
    with pytest.raises(UsageError, match="is completed"):
        decide("skip", replace(new_state, phases=phases), phase=phases[0].id, reason="x")


def test_a_rewind_reopens_a_task_that_ended(new_state: State) -> None:
    reopened = decide("rewind", replace(new_state, status=_S.COMPLETED), phase="implement", text="again")
    assert reopened == TaskReopened("rewind", "implement", "again")
    recorded = decide("rewind", new_state, phase="implement", text="again")
    assert recorded == DecisionRecorded("rewind", "again", "implement")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("reject", {}),
        ("reject", {"text": "  "}),
        ("skip", {"phase": "implement"}),
        ("rewind", {}),
        ("retry", {"budget_usd": 0}),
        ("pause", {"text": "x"}),
    ],
)
def test_wrong_parameters_are_refused(name: str, values: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=name) as refused:
        decode_params(find_action(name), values)
    assert refused.value.hint.startswith("expected ")


def test_an_unknown_action_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown action 'explode'") as refused:
        find_action("explode")
    assert all(name in refused.value.hint for name in ACTIONS)


@pytest.mark.parametrize("name", ACTIONS)
def test_no_action_is_allowed_inside_a_task(name: str, tmp_path: Path) -> None:
    """Neither on its own task nor on another one, and nothing is recorded (finding A1)."""
    with Project.open(tmp_path, {}, create=True) as project:
        own, other = (project.add(Task(title)).id for title in ("Own", "Other"))
    marks = {"OSTLER_TASK": own, "OSTLER_ATTEMPT": f"store:{own}:1"}
    with Project.open(tmp_path, marks) as inside:
        before = inside.journal.position()
        for task in (own, other):
            with pytest.raises(UsageError, match=f"inside task {own}"):
                inside.act(task, name, **PARAMS.get(name, {}))
        assert inside.journal.position() == before


def test_an_action_outside_a_task_is_recorded(project: Project) -> None:
    """The control of the test above."""
    task = project.add(Task("Greet")).id
    assert project.act(task, "pause").status is _S.PAUSED
    assert project.act(task, "resume", text="go").status is _S.PENDING


def test_the_command_line_has_every_action() -> None:
    """`ostler --help` lists them with the summaries of the table; each has a flag per parameter."""
    own = {"review"}  # a command of its own, not a single action
    listed = {name: summary for name, (_, summary) in GROUPS["Decide"].items() if name not in own}
    assert listed == {name: action.summary for name, action in ACTIONS.items()}
    for name, action in ACTIONS.items():
        command = make_command(name)
        assert command.name == name and command.help == action.details
        options = {param.name: param.required for param in command.params} | {}
        required = {field.name: field.required for field in msgspec.structs.fields(action.params)}
        assert {key: options[key] for key in required} == required


def test_the_api_has_every_action() -> None:
    """A route and an operation per action, with its parameters as the body."""
    routes = {route.path: route for route in ROUTES if route.method == "POST"}
    document = json.loads(msgspec.json.encode(make_openapi(ROUTES, BASE)))
    for name, action in ACTIONS.items():
        route = routes[f"/tasks/{{task}}/{name}"]
        assert (route.name, route.summary) == (name, action.summary)
        assert route.signature.body is action.params
        operation = document["paths"][f"{BASE}/tasks/{{task}}/{name}"]["post"]
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
        assert set(schema["properties"]) == set(action.params.__struct_fields__)


def test_mcp_has_every_action() -> None:
    """A tool per action, with the task's id and the parameters as arguments."""
    tools = {tool.name: tool for tool in TOOLS}
    for name, action in ACTIONS.items():
        assert tools[name].description.startswith(action.details)
        assert set(tools[name].arguments.__struct_fields__) == {"id", *action.params.__struct_fields__}
        assert (tools[name].effect == "ends") == action.ends_task


def test_a_tool_and_a_route_refuse_the_same_parameters() -> None:
    """The schema of the table holds for both."""
    tools = {tool.name: tool for tool in TOOLS}
    for kind, values in ((ACTIONS["reject"].params, {}), (tools["reject"].arguments, {"id": TaskId("x")})):
        with pytest.raises(msgspec.ValidationError, match="text"):
            msgspec.convert(values, kind)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_blank_text_is_one_clear_sentence(text: str) -> None:
    """In every interface that decodes the parameters (no regular expression is shown)."""
    with pytest.raises(UsageError) as caught:
        decode_params(ACTIONS["reject"], {"text": text})
    assert caught.value.message == "invalid text for reject: it must not be blank"
    reject = next(tool for tool in TOOLS if tool.name == "reject")
    with pytest.raises(UsageError) as caught:
        read_arguments(reject, {"id": "x", "text": text})
    assert caught.value.message == "reject: text: it must not be blank"
