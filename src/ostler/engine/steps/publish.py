"""Publish: opens a pull request for the task's branch, or merges it locally."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ostler.calls.thread import run_in_thread
from ostler.engine.core.step import Publish
from ostler.engine.core.verdicts import checks_files, has_live_rules
from ostler.engine.steps.gates.guarded_files import list_guarded_files
from ostler.engine.steps.mover import TaskMover
from ostler.engine.steps.protection import find_protection, find_publication
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.base import read_works
from ostler.engine.steps.workspaces.moving import push_rewritten_work
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.errors import Code, GitError
from ostler.files.protected import describe_guarded_files
from ostler.git.identity import read_identity
from ostler.git.move.task_ref import find_task_ref_name
from ostler.git.publish import publish as publishing
from ostler.git.publish.fast_forward import CheckedOutTarget
from ostler.git.publish.proposal import Proposal, write_body, write_title
from ostler.git.refs import find_base
from ostler.git.repository import Repository, Worktree
from ostler.model.event import GateWaiting, Published, Rebased
from ostler.model.plan import MERGE
from ostler.model.rows import decode_state
from ostler.model.state import GateState, State
from ostler.model.warning import describe_warnings
from ostler.prompt.completion import strip_final_mark
from ostler.secrets.redact import redact_text
from ostler.views.gate_check import describe_check
from ostler.views.verdict import format_verdict


async def publish(step: Publish, context: TaskContext, services: StepServices) -> StepResult:
    """Publish the branch; repeating it after a crash publishes nothing twice."""
    step = _use_live_settings(step, context, services)
    if step.how == "none":
        return StepResult(Published("none", note="not published: git.on_complete is none now"))
    try:
        done = await run_in_thread(_publish, step, context, services)
    except CheckedOutTarget as refused:
        return StepResult(GateWaiting(MERGE, context.state.commit, _ask_to_merge(step, refused)))
    if services.mover is not None:
        await run_in_thread(_push_for_other_hosts, done.base, context.state, services)
    # The branches, and the files of a target that is checked out.
    flush = () if services.repository is None else (services.repository.common_dir, services.layout.root)
    if done.result is publishing.PublishResult.REBASED:
        return StepResult(Rebased(done.commit, done.base, done.clean), flush=flush)
    published = Published(step.how, done.pr_url, done.commit, done.base, "; ".join(done.notes), done.into)
    return StepResult(published, flush=flush)


def _use_live_settings(step: Publish, context: TaskContext, services: StepServices) -> Publish:
    """Return the step as the settings allow it now."""
    if not has_live_rules(context.state):
        return step
    used = find_protection(context, services)
    rechecked = any(checks_files(gate) for gate in used.gates.values()) or used.gate(MERGE).type == "human"
    how = find_publication(context, services)
    return replace(step, how=how, checked_commit=step.checked_commit if rechecked else None)


def _publish(step: Publish, context: TaskContext, services: StepServices) -> publishing.PublishOutcome:
    worktree = find_worktree(context.state, services)
    if worktree is None:
        raise GitError(
            Code.WORKTREE_LOST, f"the worktree of {step.task} is missing", f"ostler retry {step.task}"
        )
    who, target = read_identity(worktree.repository), _find_target(context.state, worktree, services)
    if step.how == "merge":
        _require_own_clone(step, services)
        message = f"{services.settings.git.commit_prefix} {step.task}: {context.task.title}".strip()
        return publishing.publish_merge(worktree, target, who, message, _build_terms(step, context, services))
    terms = _build_terms(step, context, services)
    if step.how == "rebase":
        remote = services.mover is not None or context.state.baseline.publish == "pr"
        return publishing.rebase_branch(worktree, target, who, terms, use_remote=remote)
    _require_recorded_remote(context.state)
    return publishing.publish_pull_request(worktree, target, _build_proposal(context, services), who, terms)


def _require_recorded_remote(state: State) -> None:
    """Raise for a requested pull request if the remote of the task's start is unknown or missing."""
    if state.requested_publishing is None or state.pr_url is not None or state.remotes:
        return
    known = "its remotes were not recorded" if state.remotes is None else "the repository had no remote"
    raise GitError(
        Code.PUBLISH_FAILED,
        f"{known} when {state.task} started, and one that was added since is not used",
        f"git push REMOTE {state.branch}   and then   gh pr create --head {state.branch}",
    )


def _require_own_clone(step: Publish, services: StepServices) -> None:
    """Raise in a cluster: the branch of one worker's clone would move, and nobody else would see it."""
    if services.mover is not None:
        message = "in a cluster, a merge would change only the clone of one worker"
        raise GitError(Code.PUBLISH_FAILED, message, _advise_own_merge(step, services.mover))


def _advise_own_merge(step: Publish, mover: TaskMover) -> str:
    return f"git fetch {mover.remote} {find_task_ref_name(step.task)} && git merge FETCH_HEAD"


def _ask_to_merge(step: Publish, refused: CheckedOutTarget) -> str:
    return f"{refused.message}; next: {refused.command}; ostler approve {step.task}"


def _build_terms(step: Publish, context: TaskContext, services: StepServices) -> publishing.PublishOptions:
    git = services.settings.git
    works = read_works(context.state, services) if context.state.predecessors else ()
    without_github = publishing.DEFAULT_OPTIONS.without_github
    if services.mover is not None:
        without_github = _advise_own_merge(step, services.mover)
    return publishing.PublishOptions(
        approved_commit=step.checked_commit,
        remotes=context.state.remotes,
        fork=git.push_remote,
        allow_secrets=git.allow_secrets,
        works=works,
        stack_branch=_find_stack_branch(context.state, services),
        main_checkout=_find_main_checkout(services.repository),
        # The branch of the pull request must not have commits that no other host has.
        after_rebase=lambda base: _push_for_other_hosts(base, context.state, services),
        without_github=without_github,
    )


def _push_for_other_hosts(base: str, state: State, services: StepServices) -> None:
    push_rewritten_work(replace(state, base=base), state, services)


def _find_main_checkout(project: Repository | None) -> Path | None:
    """Return the user's checkout, unless it is a linked worktree."""
    if project is None or project.git_dir != project.common_dir:
        return None
    return project.work_tree


def _find_stack_branch(state: State, services: StepServices) -> str:
    """Return the branch of the only unmerged task that this one builds on; empty if there are several."""
    unmerged = [one.task for one in state.predecessors if not one.merged and one.task in state.after]
    row = services.journal.row(unmerged[0]) if len(unmerged) == 1 else None
    return "" if row is None else decode_state(row).branch or ""


def _find_target(state: State, worktree: Worktree, services: StepServices) -> str:
    # The branch of the checkout, for a task that started from a detached commit: that of the worktree is
    # the task's own.
    target = services.settings.git.target or state.target
    target = target or find_base(services.repository or worktree.repository).branch
    if not target or target == state.branch:
        message = f"{state.task} starts from a detached commit and has no target branch"
        raise GitError(Code.PUBLISH_FAILED, message, "check out a branch, or set git.target in ostler.toml")
    return target


def _build_proposal(context: TaskContext, services: StepServices) -> Proposal:
    settings, state = services.settings.pull_request, context.state
    verdicts = [(one.id, one.gate) for one in state.phases] + [(one.name, one.gate) for one in state.gates]
    verdicts.append((MERGE, state.merge))
    checks = tuple(_describe_gate(name, gate, state) for name, gate in verdicts if gate)
    warnings = (*describe_warnings(state), *describe_guarded_files(list_guarded_files(state, services)))
    return Proposal(
        title=write_title(redact_text(context.task.title), services.settings.git.commit_prefix or "[ostler]"),
        body=redact_text(
            write_body(state.task, context.task.title, _read_summary(context, services), checks, warnings)
        ),
        draft=settings.draft,
        labels=settings.labels,
        reviewers=settings.reviewers,
        auto_merge=settings.auto_merge,
    )


def _describe_gate(name: str, gate: GateState, state: State) -> str:
    """Return the verdict of a gate, with its commit if another one is published."""
    verdict = format_verdict(gate.verdict, gate.by, gate.original)
    if gate.check is not None and gate.check.command:
        return f"{name}: {describe_check(gate.check, verdict, gate.sha)}{_describe_person(gate)}"
    elsewhere = gate.reason and gate.sha and gate.sha != state.commit
    on = f" (on {gate.sha:.10})" if elsewhere else ""
    return f"{name}: {verdict} {gate.reason}".strip() + on


def _describe_person(gate: GateState) -> str:
    """Return what the person who decided about the result of a command wrote; empty without a person."""
    if not gate.by_person:
        return ""
    approved = f"approved by {gate.by or 'a person'}" if gate.verdict == "pass" else ""
    note = ": ".join(part for part in (approved, gate.reason) if part)
    return f"; {note}" if note else ""


def _read_summary(context: TaskContext, services: StepServices) -> str:
    """Return the last answer of the implement phase, or the description of the task."""
    done = [a for a in services.journal.attempts(context.state.task) if a.status == "succeeded"]
    own = [a for a in done if a.phase == "implement"] or done
    if not own:
        return context.task.body
    path = services.layout.task(context.state.task) / f"{own[-1].transcript.removesuffix('.jsonl')}.answer.md"
    return strip_final_mark(path.read_text("utf-8", "replace")) if path.exists() else context.task.body
