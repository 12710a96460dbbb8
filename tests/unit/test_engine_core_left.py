"""Files that no commit contains and changes of the repository: in the state, and as text."""

from __future__ import annotations

import msgspec

from ostler.engine.core.evolve import fold
from ostler.errors import WarningCode
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    Event,
    Record,
    TaskClaimed,
    TaskCompleted,
    TaskCreated,
    TaskReopened,
    TaskStarted,
    WorkspaceReleased,
)
from ostler.model.ids import TaskId
from ostler.model.plan import build_plan
from ostler.model.state import State
from ostler.model.task import Task
from ostler.model.warning import LeftFiles, WarningDetail, describe_warnings, list_warning_lines

ID = TaskId("greet-ab12")
START: tuple[Event, ...] = (
    TaskCreated(Task("Greet", id=ID), build_plan("small", ("implement",)), 1, "seed"),
    TaskClaimed("r1"),
    TaskStarted("/w", "ostler/greet-ab12", "abc"),
)
MOVED = WarningDetail(WarningCode.BRANCH_MOVED, "the branch main moved")
CALL = CallEnded("implement", 1, "complete", warnings=(WarningCode.BRANCH_MOVED,), warning_details=(MOVED,))
LEFT = LeftFiles(12, tuple(f"dist/{number}" for number in range(10)), 100)
COMMITTED = CheckpointMade("implement", "sha", left=LEFT)
DONE = TaskCompleted("sha")


def after(*events: Event) -> State:
    return fold([Record(ID, n, float(n), event) for n, event in enumerate((*START, *events), 1)])


def test_a_checkpoint_and_the_release_set_the_warning() -> None:
    """It is named once; the release adds where the files are."""
    kept = LeftFiles(1, ("dist/a",), 5, kept_in="left/1")
    state = after(CALL, COMMITTED, DONE, WorkspaceReleased(left=kept))
    assert state.warnings == (WarningCode.BRANCH_MOVED, WarningCode.FILES_LEFT)
    assert describe_warnings(state) == (
        "BRANCH_MOVED: the branch main moved",
        "FILES_LEFT: the agent left 1 file that no commit contains: dist/a (copied to left/1)",
    )


def test_the_number_of_further_files_is_shown() -> None:
    """The first ten have names."""
    assert describe_warnings(after(CALL, COMMITTED))[1].endswith("dist/9 and 2 more (in its worktree)")


def test_an_empty_result_of_the_release_removes_the_warning() -> None:
    """A release without a search, as of an older version, keeps it."""
    assert after(CALL, COMMITTED, DONE, WorkspaceReleased()).left == LEFT
    cleared = after(CALL, COMMITTED, DONE, WorkspaceReleased(left=LeftFiles()))
    assert cleared.left is None and cleared.warnings == (WarningCode.BRANCH_MOVED,)


def test_a_rewind_forgets_the_details_with_the_warnings() -> None:
    """They are about the work that is done again."""
    released = WorkspaceReleased(left=LEFT)
    state = after(CALL, COMMITTED, DONE, released, TaskReopened("rewind", "implement"))
    assert (state.warnings, state.warning_details, state.left) == ((), (), None)


def test_records_of_older_versions_have_no_details() -> None:
    """The fields are optional in the journal."""
    old = msgspec.json.decode(b'{"type": "checkpoint_made", "phase": "implement"}', type=CheckpointMade)
    assert old.left is None


def test_each_detail_has_a_line() -> None:
    """Details above the limit are counted; a warning without several details is one line."""
    details = tuple(WarningDetail(WarningCode.FILE_REFUSED, f"refused {number}") for number in range(4))
    codes = (WarningCode.BRANCH_MOVED, WarningCode.FILE_REFUSED)
    call = CallEnded("implement", 1, "complete", warnings=codes, warning_details=(MOVED, *details))
    assert list_warning_lines(after(call), 2) == (
        "BRANCH_MOVED: the branch main moved",
        "FILE_REFUSED: refused 0",
        "FILE_REFUSED: refused 1",
        "FILE_REFUSED: 2 more (ostler show)",
    )
